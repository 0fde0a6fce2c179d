"""DARTS' stand-alone network and its training against the thesis author's code, as it ran (Table 4.3)."""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from witness.formula import fill, noise, numbers, sketch
from witness.sotl_search import flat, near, norms

from harness.data.transform import cutout_mask
from harness.spaces.darts import costs, parse
from harness.spaces.darts_net import network
from reproduce.sotl import retraining
from reproduce.sotl.retraining import Protocol

THEIRS = numbers("sotl_darts_retraining")
GENOTYPE = THEIRS["genotype"]


def images(number: int, n: int = 6) -> tuple[Tensor, Tensor]:
    return noise(8000 + number, n, 3, 32, 32), (torch.arange(n) * 3 + number) % 10


@pytest.fixture
def masks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Drop path's coins come from the formula, one number a draw, on both sides."""
    drawn: list[int] = []

    def bernoulli_(coins: Tensor, keep: float) -> Tensor:
        drawn.append(9001 + len(drawn))
        return coins.copy_(noise(drawn[-1], *coins.shape) < 2 * keep - 1)

    monkeypatch.setattr(Tensor, "bernoulli_", bernoulli_)
    return drawn


def test_the_published_network(masks: list[int]) -> None:
    """Twenty layers of 36 channels: both classifiers in training mode with drop path, and evaluation."""
    theirs, shape = THEIRS["published size"], Protocol()
    net = network(GENOTYPE, shape.channels, shape.layers, 10, auxiliary=True).double()
    assert sum(p.numel() for p in net.parameters()) == THEIRS["parameters"]
    counted = costs(shape.channels, shape.layers, 10).of([parse(GENOTYPE)])[0, 0]
    assert counted == THEIRS["counted"]
    fill(list(net.parameters()))
    net.to(memory_format=torch.channels_last).drop_path = 0.1
    x, _ = images(0, 4)
    with torch.no_grad():
        logits, second = net.train()(x)
        assert len(masks) == theirs["masks"]
        near(logits, theirs["logits"])
        near(second, theirs["auxiliary"])
        for number, norm in enumerate(norms(net)):
            norm.running_mean.copy_(noise(6000 + number, norm.num_features) / 10)
            norm.running_var.copy_((noise(6500 + number, norm.num_features) + 2) / 10)
        near(net.eval()(x), theirs["evaluation"])


class TwoBatches:
    """In place of the training images: the witness's two minibatches, whatever is asked for."""

    def __init__(self) -> None:
        self.turn = iter(range(10**6))

    def __len__(self) -> int:
        return 12

    def take(self, indices: np.ndarray, crops: np.random.Generator) -> tuple[Tensor, Tensor]:
        return images(1 + next(self.turn) % 2)


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Iterator[retraining.RetrainingLoop]:
    """Our retraining of the witness's network, in double precision, without cutout."""
    theirs = THEIRS["training"]
    monkeypatch.setattr(retraining, "cutout_mask", lambda n, h, w, *_, **__: np.zeros((n, h, w), bool))
    run = SimpleNamespace(stream=lambda _: np.random.default_rng(0))
    shape = {"channels": theirs["channels"], "layers": theirs["layers"], "epochs": theirs["epochs"]}
    protocol = Protocol(**shape, batch=6, clip=1.0)
    ours = retraining.RetrainingLoop(
        run, SimpleNamespace(retrain=protocol, device="cpu"), GENOTYPE, TwoBatches()
    )
    ours.network.double()
    fill(list(ours.network.parameters()))
    yield ours


def test_three_epochs_of_the_author_s_script_whose_schedule_is_stepped_before_each(
    mine: retraining.RetrainingLoop, masks: list[int]
) -> None:
    """Both losses, clipped steps, weights, running statistics; drop path and rate of an epoch."""
    theirs, losses, drops, rates = THEIRS["training"], [], [], []
    of_both = mine.loss

    def loss(x: Tensor, y: Tensor) -> Tensor:
        losses.append(of_both(x, y))
        return losses[-1]

    mine.loss = loss
    for _ in range(theirs["epochs"]):
        mine._one()
        drops.append(mine.network.drop_path)
        rates.append(mine.optimiser.param_groups[0]["lr"])
        mine.step += 1
    # D37: the schedule is stepped before an epoch; in the first versions of torch the rate began at 0.025.
    near(rates, theirs["rates"])
    near(rates, [0.01875, 0.00625, 0.0])
    near(drops, theirs["drop_path"])
    assert len(masks) == theirs["masks"]
    main, second = np.reshape(theirs["losses"], (-1, 2)).T
    near([float(x.detach()) for x in losses], main + 0.4 * second)
    parts = [mine.network.parameters(), *_statistics(mine.network)]
    for ours, key in zip(parts, ("weights", "means", "variances"), strict=True):
        near(sketch(flat(list(ours))), theirs[key])
    assert min(theirs["norms"]) > 1.0  # the gradient was clipped at every step


def _statistics(net: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    return [n.running_mean for n in norms(net)], [n.running_var for n in norms(net)]


def test_the_protocol_is_that_of_the_script() -> None:
    ours = Protocol()
    flags = THEIRS["flags"]
    assert (ours.channels, ours.layers, ours.epochs, ours.batch) == (
        flags["init_channels"],
        flags["layers"],
        flags["epochs"],
        flags["batch_size"],
    )
    assert (ours.clip, ours.auxiliary) == (flags["grad_clip"], flags["auxiliary_weight"])
    assert (ours.cutout, ours.drop_path) == (flags["cutout_length"], flags["drop_path_prob"])
    weights = ours.weights
    assert (weights.lr_max, weights.lr_min) == (flags["learning_rate"], 0.0)
    assert (weights.momentum, weights.weight_decay) == (flags["momentum"], flags["weight_decay"])
    assert not weights.nesterov and flags["auxiliary"] and flags["cutout"]


@pytest.mark.parametrize("square", THEIRS["cutout"], ids=lambda square: str(square["centre"]))
def test_cutout_of_a_centre(square: dict[str, list[int]]) -> None:
    rng = SimpleNamespace(integers=lambda low, high, size: np.array([square["centre"]]))
    rows, columns = cutout_mask(1, 32, 32, rng)[0].nonzero()
    assert [rows.min(), rows.max() + 1] == square["rows"]
    assert [columns.min(), columns.max() + 1] == square["columns"]
