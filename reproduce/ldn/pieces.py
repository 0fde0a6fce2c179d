"""One network's state as tensors with its layers stacked, and several of them joined into one."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from reproduce.ldn.networks import FullyConnected

BUFFERS = {"mean": "2.running_mean", "var": "2.running_var"}
ROWS = {"weight": "0.weight", "bias": "0.bias", "gamma": "2.weight", "beta": "2.bias"}
ENDS = {
    "in_weight": "input.weight",
    "in_bias": "input.bias",
    "out_weight": "output.weight",
    "out_bias": "output.bias",
    "alpha": "depth_logits",
}
Piece = dict[str, Tensor]  # the state of one model, or of a stack of them: name -> tensor


def piece_of(network: FullyConnected) -> Piece:
    """A network's parameters and buffers, its layers stacked."""
    state, layers = network.state_dict(), range(network.depth)
    width = network.width
    piece = {name: state[key].clone() for name, key in ENDS.items()}
    for name, key in {**ROWS, **BUFFERS}.items():
        rows = [state[f"blocks.{i}.{key}"] for i in layers]
        shape = (0, width, width) if name == "weight" else (0, width)
        piece[name] = torch.stack(rows) if rows else piece["in_bias"].new_empty(shape)
    return piece


def load_piece(network: FullyConnected, piece: Piece) -> None:
    """The way back: parameters and buffers into the network."""
    state = network.state_dict()
    for name, key in ENDS.items():
        state[key] = piece[name]
    for name, key in {**ROWS, **BUFFERS}.items():
        for i in range(network.depth):
            state[f"blocks.{i}.{key}"] = piece[name][i]
    network.load_state_dict(state)


def momentum_of(piece: Piece) -> Piece:
    """SGD's memory, empty: of everything but batch norm's buffers."""
    return {name: torch.zeros_like(tensor) for name, tensor in piece.items() if name not in BUFFERS}


def _order(depths: Sequence[int]) -> Tensor:
    """Where the rows of models that follow each other go when layers follow each other."""
    layer = torch.cat([torch.arange(d) for d in depths])
    return layer.argsort(stable=True)


def join(pieces: Sequence[Piece], depths: Sequence[int]) -> Piece:
    """Models → stack. Depth logits of depths that a model does not have are −inf (and their momentum 0)."""
    order, longest = _order(depths), max(depths) + 1
    absent = -torch.inf if "mean" in pieces[0] else 0.0
    stack = {}
    for name in pieces[0]:
        parts = [piece[name] for piece in pieces]
        if name == "alpha":
            parts = [functional.pad(p, (0, longest - len(p)), value=absent) for p in parts]
        stack[name] = torch.stack(parts) if name in ENDS else torch.cat(parts)[order]
    return stack


def split(stack: Piece, depths: Sequence[int]) -> list[Piece]:
    """Stack → models: the inverse of `join`."""
    order = _order(depths)
    pieces: list[Piece] = [{} for _ in depths]
    for name, tensor in stack.items():
        if name in ENDS:
            parts: Sequence[Tensor] = tensor.unbind(0)
        else:
            flat = torch.empty_like(tensor)
            flat[order] = tensor
            parts = flat.split(list(depths))
        for piece, part, depth in zip(pieces, parts, depths, strict=True):
            piece[name] = (part[: depth + 1] if name == "alpha" else part).clone()
    return pieces
