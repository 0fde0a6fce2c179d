"""MaxDeg learnt, and models of a fixed degree, beside the author's code: data, gate, slopes, paths."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor
from witness.formula import noise, numbers, sketch

from harness.base.settings import build
from harness.training.unrolled import Batch, State
from reproduce.sotl import degree_search
from reproduce.sotl.degree_search import Config, Search, moments, slope_of
from reproduce.sotl.fourier_model import DEGREE, Lines, Model, Points, features, soft

THEIRS = numbers("sotl_fourier")
STARTS = {"t2": (2, -1.0), "t5": (5, 2.0), "t25": (25, 1.0)}  # T, and MaxDeg before its first update
ROLLOUTS, EPOCHS = 3, 2  # an epoch's minibatches are those of the epoch before
# Both sum in double precision, in another order; nothing here was further apart than 2e-14.
CLOSE = {"rel": 1e-12, "abs": 1e-12}

pytestmark = pytest.mark.usefixtures("one_thread")


class InOrder:
    """A run whose streams leave everything where it is, and whose weights are the formula's."""

    spec = SimpleNamespace(id="a witness")

    def stream(self, _: str) -> "InOrder":
        return self

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)

    def uniform(self, *_: float) -> np.ndarray:
        return noise(310, 18).numpy()


def series() -> tuple[Tensor, Tensor, Tensor]:
    """The author's 50,000 points: features, targets without noise, degrees."""
    at = np.linspace(-1e4 * np.pi, 1e4 * np.pi, 50000)
    x, degrees = features(at, "separate", 18)
    y = x[:, degrees <= DEGREE].sum(axis=1)
    return torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(degrees.astype(float))


def shown(steps: int) -> Points:
    """The points in a formula's order with a formula's noise: those trained on, then those held out."""
    x, y, degrees = series()
    order, train = noise(300, len(y)).argsort(), 64 * steps * ROLLOUTS
    used = slice(0, train + 64 * ROLLOUTS)
    return Points(x[order][used], (y[order] + 0.75**0.5 * noise(301, len(y)))[used], degrees, train)


def given(decay: float, *searches: dict[str, object], penalty: float = 0.1) -> Config:
    """The code's settings; `points` are handed over, so that `data` is never read."""
    data = {"features": "separate", "count": 18, "frequency": 1, "points": 50000, "spaced": "evenly"}
    data |= {"half_width": 31415.926535897932, "noise": 0.25, "held": 0.01}
    some = {"penalty": penalty, "penalty_of": "norm", "root": False, "validation_batches": ROLLOUTS}
    some |= {"validation_penalised": False, "model": {"weight_decay": decay}}
    return build(Config, {"data": data, **some, "searches": list(searches)}, "a witness")


def path(config: Config, found: Points, updates: int) -> list[float]:
    """MaxDeg after each update, by the experiment's own search."""
    (search,) = config.searches
    search = build(Search, {**vars(search), "steps": updates * search.unroll}, "a witness")
    return [float(moment.degrees[0]) for moment in moments(InOrder(), config, found, search)][1:]


def lines(config: Config, found: Points, decay: float) -> Lines:
    return Lines(
        found.degrees, soft, Model(weight_decay=decay), partial(degree_search.penalty, config=config)
    )


def by_their_rules(
    config: Config, found: Points, unrolled: float, replayed: float, *, last: bool = False
) -> dict[str, list]:
    """Our gradients and steps put together as the author's are: a weight decay for each of the two passes.

    `last`: each step of a replay starts where the unrolling ended.
    """
    (search,) = config.searches
    one, other = lines(config, found, unrolled), lines(config, found, replayed)
    state: State = {"w": noise(310, 1, 18) / 18**0.5}
    outer = {"degree": torch.tensor(search.starts, dtype=torch.float64)}
    seen: dict[str, list] = {"gradient": [], "value": [], "weights": []}
    for rollout in [*range(ROLLOUTS)] * EPOCHS:
        first = rollout * search.unroll
        batches: list[Batch] = [
            (found.x[64 * i : 64 * i + 64], found.y[64 * i : 64 * i + 64])
            for i in range(first, first + search.unroll)
        ]
        slope = slope_of(search, config, one, state, outer, batches, batches[0])
        end = state
        for batch in batches:
            end, _ = one.step()(end, outer, batch)
        outer = {"degree": outer["degree"] - config.hyper_lr * slope}
        for batch in batches:
            new, _ = other.step()(state, outer, batch)
            state = {"w": end["w"] + new["w"] - state["w"]} if last else new
        for name, value in zip(seen, (float(slope), float(outer["degree"]), sketch(state["w"])), strict=True):
            seen[name].append(value)
    return seen


def assert_same(ours: dict[str, list], theirs: dict[str, list]) -> None:
    for name in ("gradient", "value", "weights"):
        assert np.array(ours[name]) == pytest.approx(np.array(theirs[name]), **CLOSE), name


def setting(case: str, decay: float, **changed: object) -> tuple[Config, Points]:
    steps, start = STARTS[case]
    penalty = changed.pop("penalty", 0.1)
    search = {"name": case, "unroll": steps, "starts": [start], **changed}
    return given(decay, search, penalty=penalty), shown(steps)


def test_features_targets_and_gate_are_the_authors():
    x, y, degrees = series()
    assert sketch(x) == pytest.approx(THEIRS["features"], **CLOSE)
    assert sketch(y) == pytest.approx(THEIRS["targets"], **CLOSE)
    gate = soft(torch.tensor(2.3, dtype=torch.float64), degrees)
    assert gate.tolist() == pytest.approx(THEIRS["gate"], **CLOSE)


@pytest.mark.parametrize("case", STARTS)
def test_six_updates_of_max_deg_are_the_authors(case):
    """With the penalty on MaxDeg, which starts below, at and above degree 1."""
    theirs = THEIRS[f"{case}_no_weight_decay"]
    config, found = setting(case, 0.0)
    assert path(config, found, 6) == pytest.approx(theirs["value"], **CLOSE)
    assert_same(by_their_rules(config, found, 0.0, 0.0), theirs)


@pytest.mark.parametrize(("case", "apart"), [("t2", 3.9e-9), ("t5", 4.9e-8), ("t25", 3.1e-6)])
def test_the_authors_weight_decay_is_in_the_replay_only(case, apart):
    """D41: its unrolling never sees it. That rule gives its numbers; ours has it in both."""
    theirs = THEIRS[case]
    config, found = setting(case, 0.001)
    assert_same(by_their_rules(config, found, 0.0, 0.001), theirs)
    ours = path(config, found, 6)
    assert ours == pytest.approx(by_their_rules(config, found, 0.001, 0.001)["value"], **CLOSE)
    furthest = max(abs(a - b) for a, b in zip(ours, theirs["value"], strict=True))
    assert furthest == pytest.approx(apart, rel=0.1)


def test_the_validation_variant_is_the_authors():
    """D25: a held-out minibatch per update, the same three each epoch, without the penalty."""
    config, found = setting("t2", 0.0, objective="validation")
    assert path(config, found, 6) == pytest.approx(THEIRS["validation"]["value"], **CLOSE)


def test_a_linear_schedule_of_penalties_switched_them_off():
    """D22: where it was asked for, earlier versions multiplied by zero and went on from zero."""
    theirs = THEIRS["schedule"]
    assert theirs["decay"] == [[0.0, 0.0]] * 9
    config, found = setting("t2", 0.0, penalty=0)
    assert path(config, found, 9) == pytest.approx(theirs["value"], **CLOSE)


def test_the_last_version_scales_penalties_if_asked_to():
    """D22: by the epoch's share; its stored settings do not ask, and ours have no such schedule."""
    decay = np.array(THEIRS["last"]["schedule"]["decay"])
    assert decay == pytest.approx(np.repeat([0, 1 / 3, 2 / 3], 3)[:, None] * [0.01, 0.001], rel=1e-12)
    without = THEIRS["schedule"]["value"]
    assert THEIRS["last"]["schedule"]["value"][0] == without[0]
    assert THEIRS["last"]["schedule"]["value"][-1] - without[-1] > 1e-3


@pytest.mark.parametrize("case", ["t2", "t5"])
def test_the_last_versions_optimiser_does_not_replay(case):
    """D28: its steps start where the unrolling ended; that rule gives its numbers, and ours are others."""
    theirs = THEIRS["last"][case]
    config, found = setting(case, 0.0, penalty=0.01)
    assert_same(by_their_rules(config, found, 0.0, 0.0, last=True), theirs)
    ours = path(config, found, 6)
    assert ours[0] == pytest.approx(theirs["value"][0], **CLOSE)
    assert abs(ours[-1] - theirs["value"][-1]) > 1e-4


@pytest.mark.parametrize("degree", [2, 5])
def test_losses_of_a_fixed_degree_are_the_authors(degree):
    """D24: MaxDeg held at the degree; the author's losses have the weight decay, our curves do not."""
    theirs, found = THEIRS[f"fixed_{degree}"], shown(4)
    model = Lines(found.degrees, soft, Model(), torch.zeros_like)
    outer = {"degree": torch.tensor([float(degree)], dtype=torch.float64)}
    state: State = {"w": noise(310, 1, 18) / 18**0.5}
    with_decay, plain = [], []
    for i in range(4 * ROLLOUTS):
        batch = (found.x[64 * i : 64 * i + 64], found.y[64 * i : 64 * i + 64])
        plain.append(float(model.squares(state, outer, batch)))
        state, loss = model.step()(state, outer, batch)
        with_decay.append(float(loss))
    assert with_decay == pytest.approx(theirs["losses"], **CLOSE)
    assert sketch(state["w"]) == pytest.approx(theirs["weights"], **CLOSE)
    assert 1e-6 < max(a - b for a, b in zip(with_decay, plain, strict=True)) < 1e-4
