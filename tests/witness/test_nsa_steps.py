"""Steps of nsa beside the authors': many architectures in a batch, dropout, semi-supervised learning, a
random start of an attack, calibration."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from witness import nsa_start
from witness.formula import numbers, sketch
from witness.test_nsa import PIXELS, close, scales, started, weights

from harness.metrics.calibration import ece_guo
from harness.training.optimisers import SGD, weight_optimiser
from reproduce.nsa import applications
from reproduce.nsa.attacks import Attack, attacked, normalised
from reproduce.nsa.dropout import Dropout
from reproduce.nsa.members import architectures, probabilities
from reproduce.nsa.network import FEW, Shape, WiredNet
from reproduce.nsa.norms import norms
from reproduce.nsa.semi_supervised import SemiSupervised
from reproduce.nsa.wiring import residual, wirings

THEIRS = numbers("nsa_steps")

pytestmark = pytest.mark.usefixtures("one_thread")


def built(count: int, conditional: bool, residual_: bool = False, dropout: float = 0.0) -> WiredNet:
    """Without the second classifier, with the weights that theirs has."""
    shape = Shape(
        width=nsa_start.WIDTH,
        side=nsa_start.SIDE,
        auxiliary=False,
        learn_aggregation=True,
        conditional_norm=conditional,
        dropout=dropout,
    )
    network = WiredNet(shape, residual() if residual_ else wirings(1, count)).double()
    nsa_start.start(weights(network), scales(network), network.aggregation.data.unbind(1))
    return network


def flat(parts: list[Tensor]) -> list[float]:
    return sketch(torch.cat([part.flatten() for part in parts]))


def test_more_architectures_in_a_batch_than_it_is_sorted_by() -> None:
    assert len(set(nsa_start.TWENTY)) > FEW
    theirs, network = THEIRS["twenty"], built(20, True)
    x, y = nsa_start.twenty()
    loss = functional.cross_entropy(network(x, torch.tensor(nsa_start.TWENTY)), y)
    loss.backward()
    close(loss.item(), theirs["loss"])
    close([sketch(p.grad) for p in weights(network)], theirs["gradients"])
    close(flat([p.grad for p in scales(network)]), theirs["norms"])
    close([sketch(g) for g in network.aggregation.grad.unbind(1)], theirs["edges"])


@pytest.mark.parametrize("case", nsa_start.SEMI)
def test_two_steps_of_semi_supervised_learning(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses, their gradients, and the running statistics that both passes move; where dropout is."""
    theirs, network = THEIRS["semi"][case], built(*nsa_start.SEMI[case]).train()
    masks = iter(range(1, 999))

    def kept(module: Dropout, x: Tensor) -> Tensor:
        return x * nsa_start.kept(next(masks), tuple(x.shape), module.p) if module.p else x

    monkeypatch.setattr(Dropout, "forward", kept)
    setup = SGD(nsa_start.RATE, 0.0, nsa_start.MOMENTUM, nsa_start.DECAY, nesterov=True)
    optimiser = weight_optimiser(network, setup)
    one = SemiSupervised.__new__(SemiSupervised)
    one.network, one.batch_size, one.labelled, one.total = network, nsa_start.KIND, range(99), 8
    one.config = SimpleNamespace(consistency=20.0, ramp=0.5, of_labelled=True, two_views=True)
    for one.step in (2, 3):
        ids = iter(nsa_start.PASSES[one.step] if case == "NSA-id" else ([0], [0]))
        x, again, y = nsa_start.views(one.step)
        one.draw = lambda *_, ids=ids: torch.tensor(next(ids))
        one._view = lambda *_, again=again: (again, None)
        optimiser.zero_grad()
        one.loss(x, y)[0].backward()
        optimiser.step()
    close(flat(weights(network)), theirs["weights"])
    close(flat(scales(network)), theirs["norms"])
    close([sketch(e) for e in network.aggregation.unbind(1)], theirs["edges"])
    close(flat([b for n in norms(network) for b in (n.mean, n.var)])[:2], theirs["statistics"])
    assert next(masks) == theirs["masks"] + 1


def test_an_attack_from_a_random_start() -> None:
    """The start is not cut to what images can be before the first gradient."""
    network = started("NSA-id").eval()
    members, levels, y = architectures(network), 255 * nsa_start.levels(), nsa_start.images()[1]

    class Given:
        def uniform(self, low: float, high: float, shape: tuple) -> np.ndarray:
            assert low == -high
            return nsa_start.beginning(shape, high).numpy()

    found = attacked(members, levels, y, PIXELS, Attack(3, 4, 1), Given())
    close(probabilities(members, [normalised(found, PIXELS)]).mean(0), THEIRS["attack"]["predicted"])


def test_the_calibration_error_of_a_mean_prediction() -> None:
    p, y = (one.numpy() for one in nsa_start.predictions())
    (theirs,) = THEIRS["calibration"]
    # Theirs takes means of hits in single precision.
    assert ece_guo(p, y, applications.BINS) == pytest.approx(theirs, rel=1e-7)
    assert applications.scores(p[None], y)["ece"] == pytest.approx(theirs, rel=1e-7)
