"""This project's super-networks, with the witness's weights, and what both tests of them ask."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from witness import icw_start
from witness.formula import sketch

from harness.supernet import dependent_nb201_net, nb201_net, sequential_net
from harness.supernet.copies import Copies
from harness.supernet.dependent import Dependence
from harness.supernet.nb201_net import Skeleton, SuperCell
from harness.supernet.sampling import whole
from harness.training.optimisers import SGD, weight_optimiser
from reproduce.icw import small_sequential
from reproduce.icw.small_sequential import Space, Stage

SPACE = Space(
    stem=16,
    stem_stride=2,
    first=8,
    stages=(Stage(channels=8, stride=2, cells=2), Stage(channels=16, stride=2, cells=2)),
    head=24,
)
SETUP = SGD(0.05, 1e-5, 0.9, 0.01, decay_vectors=False)


def dependence(kind: str) -> Dependence:
    return Dependence(kind="bias", depth=int(kind[-1])) if kind.startswith("bias") else Dependence(kind=kind)


def sequential(kind: str) -> nn.Module:
    return sequential_net.SuperNetwork(
        small_sequential.stem(SPACE),
        small_sequential.layers(SPACE),
        small_sequential.head(SPACE, 10),
        small_sequential.channels(SPACE),
        dependence(kind),
    )


def nb201(kind: str) -> nn.Module:
    return dependent_nb201_net.SuperNetwork(
        Skeleton(channels=8, cells=1, pool_counts_padding=True), dependence(kind)
    )


def begin(network: nn.Module) -> nn.Module:
    """In double precision, with the formula's weights and fresh statistics."""
    for part in network.double().modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.reset_running_stats()
    candidates = [[op.parameters() for op in each] for each in network.candidates]
    parts = [part.parameters() for part in reductions(network)]
    icw_start.weights(network.stem.parameters(), candidates, network.head.parameters(), parts)
    icw_start.excite(vectors(network))
    return network.to(memory_format=torch.channels_last)


def reductions(network: nn.Module) -> list[nn.Module]:
    return [part for part in getattr(network, "body", []) if not isinstance(part, SuperCell)]


def vectors(network: nn.Module) -> list[Tensor | None]:
    """Each position's bias vectors in section 3.3's shape: views."""
    if network.additional is None:
        return []
    return [network.additional.of(i) for i in range(len(network.candidates))]


def ordered(network: nn.Module) -> list[nn.Parameter]:
    """All weights but the additional ones, in the witness's order."""
    fixed = [p for part in reductions(network) for p in icw_start.shortcut_last(part.parameters())]
    inside = [p for each in network.candidates for p in each.parameters()]
    return [*network.stem.parameters(), *inside, *fixed, *network.head.parameters()]


def statistics(network: nn.Module) -> list[float]:
    """Running ones, of the reductions none."""
    parts = [network.stem, *network.candidates, network.head]
    kept = [b for part in parts for name, b in part.named_buffers() if "running" in name]
    return sketch(torch.cat([b.reshape(-1) for b in kept]))


def flat(tensors: list[Tensor]) -> list[float]:
    return sketch(torch.cat([tensor.reshape(-1) for tensor in tensors]))


def gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def path_of(network: nn.Module, arch: str) -> tuple:
    if isinstance(network, nb201_net.SuperNetwork):
        return whole(arch, network.cells)
    return (tuple(map(int, arch.split("-"))),)


def trained(network: nn.Module, archs: tuple[str, ...], rates: list[float], smoothing: float) -> list[float]:
    """The losses of the witness's steps, with its learning rates."""
    optimiser = weight_optimiser(network, SETUP)
    losses = []
    for step, rate in enumerate(rates):
        if network.dependence.kind == "split" and step == icw_start.SPLIT_AT:
            network.split(optimiser)
        for group in optimiser.param_groups:
            group["lr"] = rate
        x, y = icw_start.images(step)
        network.train()
        optimiser.zero_grad(set_to_none=False)
        logits = network(x, path_of(network, archs[step % len(archs)]))
        loss = functional.cross_entropy(logits, y, label_smoothing=smoothing)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def copies(network: nn.Module) -> list[Copies]:
    return [one for one in network.apart or [] if one is not None]
