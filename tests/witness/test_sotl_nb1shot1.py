"""NAS-Bench-1Shot1's super-networks against the thesis author's code, as it ran (sections 3.2.1 and 3.4)."""

from collections import Counter
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from torch import nn
from witness.formula import numbers, sketch
from witness.sotl_search import answers, filled, flat, near, norms, trained

from harness.spaces import nb101
from harness.spaces.nb1shot1 import space
from harness.supernet.nb1shot1_net import Skeleton, SuperNetwork, uniform
from harness.supernet.sampling import whole
from harness.supernet.training import Method

THEIRS = numbers("sotl_nb1shot1")["spaces"]
CELLS = [(number, i) for number in THEIRS for i in range(3)]
METHODS = {"spos": Method(), "multipath": Method(paths=4), "reptile": Method(inner_steps=4)}
RUNS = [("1", "spos"), ("2", "spos"), ("3", "spos"), ("2", "multipath"), ("2", "reptile")]


def text(theirs: dict[str, Any]) -> str:
    """Our name of the author's matrix (without the dummy vertex) and operations."""
    matrix = np.array(theirs["matrix"])
    parents = [np.flatnonzero(matrix[:, vertex]).astype(str) for vertex in range(1, len(matrix))]
    return ";".join(map(",".join, parents)) + "|" + ",".join(theirs["ops"])


def network(number: str) -> nn.Module:
    return filled(SuperNetwork(int(number), Skeleton()))


@pytest.mark.parametrize("number", THEIRS)
def test_as_many_parameters(number: str) -> None:
    assert sum(p.numel() for p in network(number).parameters()) == THEIRS[number]["parameters"]


@pytest.mark.parametrize(("number", "which"), CELLS)
def test_logits_gradients_and_statistics_of_an_architecture(number: str, which: int) -> None:
    theirs = THEIRS[number]["architectures"][which]
    net = network(number)
    ours = answers(net, whole(text(theirs), net.cells), lambda _: None)
    for key in ("training", "loss", "gradient", "evaluation"):
        near(ours[key], theirs[key])
    # D36: theirs also moves the norms of what is multiplied by zero.
    assert all(ours <= theirs for ours, theirs in zip(ours["moved"], theirs["moved"], strict=True))
    assert sum(ours["moved"]) < sum(theirs["moved"])


@pytest.mark.parametrize(("number", "name"), RUNS)
def test_steps_of_the_author_s_search(number: str, name: str) -> None:
    theirs, net = THEIRS[number][name], network(number)
    losses = trained(net, theirs, METHODS[name], text, again=True)
    near(losses, np.reshape(theirs["losses"], (len(losses), -1)).mean(axis=1))
    near(sketch(flat(list(net.parameters()))), theirs["weights"])
    same = 0
    for norm, (moves, mean, variance) in zip(norms(net), theirs["statistics"], strict=True):
        assert norm.num_batches_tracked <= moves
        if norm.num_batches_tracked == moves:
            same += moves > 0
            near(norm.running_mean.sum(), mean)
            near(norm.running_var.sum(), variance)
    assert same >= 29  # the others moved more often there (D36)


def test_the_pass_of_a_held_out_batch_moves_statistics_and_nothing_else() -> None:
    """D31: without it the weights are the author's all the same, the statistics are not."""
    theirs, net = THEIRS["1"]["spos"], network("1")
    trained(net, theirs, Method(), text, again=False)
    near(sketch(flat(list(net.parameters()))), theirs["weights"])
    _, mean, _ = theirs["statistics"][0]  # of the stem
    assert abs(norms(net)[0].running_mean.sum().item() / mean - 1) > 0.1
    # It is in training mode, without a gradient, on the last path; Reptile and Metaprox have none.
    assert theirs["trained"] == [True, False] * 5
    assert THEIRS["2"]["multipath"]["trained"] == [True, True, True, True, False] * 2
    assert all(THEIRS["2"]["reptile"]["trained"])


def test_reptile_draws_anew_at_every_step_with_nesterov() -> None:
    """D32: so the version that was stored last."""
    theirs = THEIRS["2"]["reptile"]
    assert len({text(path) for path in theirs["paths"]}) == 8
    assert all(nesterov for _, nesterov in theirs["rates"])


@pytest.mark.parametrize(("number", "which"), CELLS)
def test_the_benchmark_is_asked_for_the_same_cell(number: str, which: int) -> None:
    theirs = THEIRS[number]["architectures"][which]
    ours = space(int(number)).to_nb101(text(theirs))
    assert list(nb101.decode(ours)) == [theirs["asked"]["matrix"], theirs["asked"]["ops"]]


@pytest.mark.parametrize("number", THEIRS)
def test_the_same_wirings_are_drawn_all_equally_often(number: str) -> None:
    """Theirs by their own count; ours by the chi-square of as many draws, within four deviations."""
    theirs, here = THEIRS[number]["sampling"], space(int(number))
    matrices = here.to_nb101_arrays()[0][:: 3**here.blocks]
    kept = [*range(here.blocks + 1), 6]  # without the dummy
    upper = np.triu_indices(len(kept), 1)
    wirings = sorted("".join(map(str, matrix[np.ix_(kept, kept)][upper])) for matrix in matrices)
    assert (len(wirings), sha256("\n".join(wirings).encode()).hexdigest()) == (
        theirs["wirings"],
        theirs["sha256"],
    )
    rng, each = np.random.default_rng(int(number)), 5
    seen = Counter(uniform(rng, int(number)).split("|")[0] for _ in range(each * len(wirings)))
    counts = np.array([*seen.values(), *[0] * (len(wirings) - len(seen))])
    ours = float(((counts - each) ** 2).sum() / each)
    for chi_square in (ours, theirs["chi_square"]):
        assert abs(chi_square - (len(wirings) - 1)) < 4 * (2 * len(wirings)) ** 0.5
