"""The wired network beside the authors': logits, gradients, steps, attacks, the ramp of consistency."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from witness import nsa_start
from witness.formula import numbers, sketch

from harness.metrics.uncertainty import mutual_information
from harness.training.batches import Pixels
from harness.training.optimisers import SGD, weight_optimiser
from reproduce.nsa.attacks import Attack, attacked, gradient, normalised
from reproduce.nsa.members import architectures, probabilities
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.norms import Norm, norms
from reproduce.nsa.semi_supervised import ramp
from reproduce.nsa.training import classification
from reproduce.nsa.wiring import residual, wirings

THEIRS = numbers("nsa")
# Double precision: measured is at most 1e-12 relative, but for gradients that almost cancel.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
PIXELS = Pixels(np.array([0.4, 0.5, 0.6]) * 255, np.array([0.2, 0.25, 0.3]) * 255)

pytestmark = pytest.mark.usefixtures("one_thread")


def close(found: object, expected: object) -> None:
    ours = torch.as_tensor(found, dtype=torch.float64)
    torch.testing.assert_close(ours, torch.tensor(expected, dtype=torch.float64), **CLOSE)


def started(case: str) -> WiredNet:
    """With the weights that theirs has; statistics as they begin."""
    learnt, conditional, ids = nsa_start.CASES[case]
    shape = Shape(
        width=nsa_start.WIDTH, side=nsa_start.SIDE, learn_aggregation=learnt, conditional_norm=conditional
    )
    network = WiredNet(shape, residual() if ids is None else wirings(1, nsa_start.SETS)).double()
    edges = network.aggregation.data.unbind(1) if learnt else []
    nsa_start.start(weights(network), scales(network), edges)
    return network


def weights(network: WiredNet) -> list[nn.Parameter]:
    """In the order in which they are called; the second classifier last."""
    found = [network.stem.weight]
    for i, stage in enumerate(network.stages):
        found += [conv.weight for conv in stage.convs]
        found += [network.transitions[i].conv.weight] if i < 2 else []
    found += network.classifier.parameters()
    if not network.shape.auxiliary:
        return found
    second = network.second
    return [*found, second.conv1.weight, second.conv2.weight, *second.classifier.parameters()]


def scales(network: WiredNet) -> list[nn.Parameter]:
    """Of norms, likewise."""
    found: list[Norm | nn.BatchNorm2d] = [network.stem_norm]
    for i, stage in enumerate(network.stages):
        found += [*stage.norms, *([network.transitions[i].norm] if i < 2 else [])]
    found += [network.second.norm1, network.second.norm2] if network.shape.auxiliary else []
    return [p for norm in found for p in (norm.weight, norm.bias)]


def ids_of(case: str) -> Tensor:
    return torch.tensor(nsa_start.CASES[case][2] or [0])


def loss_of(network: WiredNet, case: str) -> Tensor:
    x, y = nsa_start.images()
    return classification(network(x, ids_of(case)), y, nsa_start.AUXILIARY)[0]


@pytest.mark.parametrize("case", nsa_start.CASES)
def test_logits_of_both_classifiers_and_gradients(case: str) -> None:
    theirs, network = THEIRS["cases"][case], started(case)
    logits, second = network(nsa_start.images()[0], ids_of(case))
    close(logits, theirs["training"])
    close(second, theirs["second"])
    loss = loss_of(network, case)
    close(loss.item(), theirs["loss"])
    loss.backward()
    close([sketch(p.grad) for p in weights(network)], theirs["gradients"])
    close(sketch(torch.cat([p.grad.flatten() for p in scales(network)])), theirs["gradients of norms"])
    if network.shape.learn_aggregation:
        close([sketch(g) for g in network.aggregation.grad.unbind(1)], theirs["gradients of edges"])


@pytest.mark.parametrize("case", nsa_start.CASES)
def test_two_steps_and_the_test_mode_behind_them(case: str) -> None:
    theirs, network = THEIRS["cases"][case], started(case)
    setup = SGD(nsa_start.RATE, 0.0, nsa_start.MOMENTUM, nsa_start.DECAY, nesterov=True)
    optimiser = weight_optimiser(network, setup)
    for _ in range(2):
        optimiser.zero_grad()
        loss_of(network, case).backward()
        optimiser.step()
    close(sketch(torch.cat([p.flatten() for p in weights(network)])), theirs["after two steps"]["weights"])
    close(sketch(torch.cat([p.flatten() for p in scales(network)])), theirs["after two steps"]["norms"])
    if network.shape.learn_aggregation:
        close([sketch(e) for e in network.aggregation.unbind(1)], theirs["after two steps"]["edges"])
    kept = torch.cat([b.flatten() for n in norms(network) for b in (n.mean, n.var)])
    close(sketch(kept)[:2], theirs["statistics"])
    close(network.eval()(nsa_start.images()[0], ids_of(case)), theirs["evaluation"])


def test_predictions_uncertainty_and_attacks_of_five_architectures() -> None:
    theirs, network = THEIRS["attack"], started("NSA-id").eval()
    members, levels, y = architectures(network), 255 * nsa_start.levels(), nsa_start.images()[1]
    p = probabilities(members, [normalised(levels, PIXELS)])
    close(p.mean(0), theirs["predicted"])
    close(mutual_information(p), theirs["mutual information"])
    # Their scale is 0 to 1, and so is their gradient's.
    close(sketch(255 * gradient(members, levels, y, PIXELS)), theirs["gradient"])


def test_an_attack_of_four_steps() -> None:
    """Without the random start, which no two generators share (D14)."""
    theirs, network = THEIRS["attack"], started("NSA-id").eval()
    members, levels, y = architectures(network), 255 * nsa_start.levels(), nsa_start.images()[1]

    class Nothing:
        def uniform(self, low: float, high: float, shape: tuple) -> np.ndarray:
            return np.zeros(shape)

    found = attacked(members, levels, y, PIXELS, Attack(3, 4, 1), Nothing())
    p = probabilities(members, [normalised(found, PIXELS)])
    close(p.mean(0), theirs["attacked predicted"])
    close(mutual_information(p), theirs["attacked mutual information"])


def test_the_ramp_of_the_consistency() -> None:
    close([ramp(step / 50) for step in (0, 10, 25, 49, 50, 51, 80)], THEIRS["ramp"])
