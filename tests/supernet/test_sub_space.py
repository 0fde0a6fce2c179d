"""Sub-spaces of NAS-Bench-201: their architectures, and uniform draws of them."""

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.spaces import nb201
from harness.supernet import nb201_net
from harness.supernet.sampling import drawing
from harness.supernet.sub_space import SubSpace


@pytest.mark.parametrize(("ops", "size"), [("01234", 5**6), ("1234", 4**6), ("23", 2**6)])
def test_all_its_architectures(ops, size):
    archs = SubSpace(ops).enumerate()
    assert len(set(archs)) == len(archs) == size
    assert {digit for arch in archs for digit in nb201.digits(arch)} == set(ops)
    whole = [arch for arch in nb201.SPACE.enumerate() if set(nb201.digits(arch)) <= set(ops)]
    assert archs == whole


def test_a_choice_is_its_six_digits():
    assert SubSpace("23").choice(nb201.from_digits("232322")) == "232322"
    with pytest.raises(HarnessError, match="beyond 23"):
        SubSpace("23").choice(nb201.from_digits("232321"))


@pytest.mark.parametrize("ops", ["01234", "1234", "23"])
def test_draws_are_uniform_over_each_edge_and_independent(ops):
    rng, n, space = np.random.default_rng(0), 10_000, SubSpace(ops)
    rows = np.array([[int(d) for d in space.uniform(rng)] for _ in range(n)])
    share = 1 / len(ops)
    bound = 4 * np.sqrt(share * (1 - share) / n)
    for edge in range(6):
        for op in range(5):
            expected = share if str(op) in ops else 0.0
            assert abs((rows[:, edge] == op).mean() - expected) <= bound
    for edge in range(1, 6):
        same = (rows[:, edge] == rows[:, edge - 1]).mean()
        assert abs(same - share) <= bound


def test_the_full_space_draws_as_the_baseline_does():
    ours, theirs = (np.random.default_rng(1) for _ in range(2))
    assert [SubSpace("01234").uniform(ours) for _ in range(20)] == [
        nb201_net.uniform(theirs) for _ in range(20)
    ]


def test_one_architecture_for_all_cells():
    ((path,),) = [drawing(SubSpace("23"), "shared", 1, 6)(np.random.default_rng(0))]
    assert len(path) == 6 and len(set(path)) == 1


@pytest.mark.parametrize("ops", ["", "25", "22", "a"])
def test_what_is_no_sub_space_is_refused(ops):
    with pytest.raises(HarnessError):
        SubSpace(ops)
