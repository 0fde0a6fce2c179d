"""Super-networks with additional and split weights beside the authors': NAS-Bench-201 cells, and a chain."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from witness import icw_ours, icw_start
from witness.formula import numbers, sketch
from witness.icw_start import CHAIN, KINDS, NO_ZERO, WITH_ZERO

from harness.training.optimisers import weight_optimiser

THEIRS = {space: numbers(f"icw_{space}")["kinds"] for space in ("sequential", "nb201")}
ARCHS = {"sequential": CHAIN, "nb201": NO_ZERO}
SMOOTHING = {"sequential": 0.1, "nb201": 0.0}  # of the two configurations
# Double precision over twelve steps; other processors add up in another order.
CLOSE = {"rtol": 1e-8, "atol": 1e-10}

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.parametrize("kind", KINDS),
    pytest.mark.parametrize("space", THEIRS),
]


def begun(space: str, kind: str) -> tuple[nn.Module, dict[str, Any]]:
    return icw_ours.begin(getattr(icw_ours, space)(kind)), THEIRS[space][kind]


def close(found: object, expected: object) -> None:
    ours = torch.as_tensor(found, dtype=torch.float64)
    torch.testing.assert_close(ours, torch.tensor(expected, dtype=torch.float64), **CLOSE)


def test_logits_in_both_modes(space: str, kind: str) -> None:
    """Also of paths with Zero: what they leave out changes running statistics alone (D21)."""
    network, theirs = begun(space, kind)
    x, _ = icw_start.images(0)
    assert sum(p.numel() for p in network.parameters()) == theirs["parameters"]
    archs = (*ARCHS[space][:3], *(WITH_ZERO if space == "nb201" else ()))
    for place, arch in enumerate(archs):
        path = icw_ours.path_of(network, arch)
        icw_ours.begin(network).train()
        close(sketch(network(x, path)), theirs["training"][place])
        icw_ours.begin(network).eval()
        close(sketch(network(x, path)), theirs["evaluation"][place])


def test_the_loss_and_its_gradients(space: str, kind: str) -> None:
    network, theirs = begun(space, kind)
    x, y = icw_start.images(0)
    logits = network.train()(x, icw_ours.path_of(network, ARCHS[space][0]))
    loss = functional.cross_entropy(logits, y, label_smoothing=SMOOTHING[space])
    loss.backward()
    close(loss.item(), theirs["loss"])
    close(icw_ours.flat([icw_ours.gradient(p) for p in icw_ours.ordered(network)]), theirs["gradients"])
    if network.additional is not None:
        bias = network.additional
        inside = [bias.of(i, gradient=True) for i in range(len(network.candidates))]
        close(icw_ours.flat([g for g in inside if g is not None]), theirs["gradients of vectors"])


def test_a_training_with_their_optimiser_and_all_that_it_leaves(space: str, kind: str) -> None:
    """Momentum, decay, weights that were not drawn moving on (D13), copies after a split (D16)."""
    network, theirs = begun(space, kind)
    close(icw_ours.trained(network, ARCHS[space], theirs["rates"], SMOOTHING[space]), theirs["losses"])
    x, _ = icw_start.images(0)
    network.eval()
    with torch.no_grad():
        for place, arch in enumerate(ARCHS[space]):
            close(sketch(network(x, icw_ours.path_of(network, arch))), theirs["after"][place])
        network(x, icw_ours.path_of(network, ARCHS[space][0]))  # of a split one, loads its copies
    close(icw_ours.flat(icw_ours.ordered(network)), theirs["weights"])
    close(icw_ours.statistics(network), theirs["statistics"])
    if network.additional is not None:
        close(icw_ours.flat([v for v in icw_ours.vectors(network) if v is not None]), theirs["vectors"])
    if kind == "split":
        assert any(len(one.held) > 2 for one in icw_ours.copies(network))


def test_which_weights_decay(space: str, kind: str) -> None:
    """The bias vectors among them (D2, D17)."""
    network, theirs = begun(space, kind)
    found = {
        group["weight_decay"] > 0: sum(p.numel() for p in group["params"])
        for group in weight_optimiser(network, icw_ours.SETUP).param_groups
    }
    assert (found[True], found[False]) == (theirs["decayed"], theirs["not decayed"])
