"""The way in: names, errors, drawing without repeats, and no heavy import."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chisquare

from harness.base.errors import HarnessError
from harness.spaces import get
from harness.spaces.common import draw, unknown

OURS = ("nb201", "darts", "fairnas")


def test_an_unknown_space_names_the_nearest() -> None:
    with pytest.raises(HarnessError, match=r"unknown search space 'nb21': did you mean 'nb201'\?"):
        get("nb21")
    assert "did you mean" not in str(unknown("op", "zzzz", ["aaa"]))


def test_importing_the_spaces_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom harness.spaces import get\n"
        f"for name in {OURS}:\n    space = get(name)\n"
        "print([m for m in ('torch', 'pandas', 'sklearn', 'onnxruntime', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_draws_are_distinct_sequences_of_equal_chance() -> None:
    rng = np.random.default_rng(7)
    counts = np.zeros((5, 5))
    for _ in range(4000):
        first, second = draw(2, 5, rng)
        counts[first, second] += 1
    assert counts.diagonal().sum() == 0
    assert chisquare(counts[~np.eye(5, dtype=bool)]).pvalue > 1e-4


def test_draws_of_a_large_space_are_distinct_and_spread() -> None:
    size = 1_000_003
    drawn = draw(200_000, size, np.random.default_rng(3))  # about 20,000 repeats must be replaced
    assert len(drawn) == len(set(drawn)) == 200_000
    assert min(drawn) >= 0 and max(drawn) < size
    assert chisquare(np.histogram(drawn, bins=100, range=(0, size))[0]).pvalue > 1e-4
    assert drawn == draw(200_000, size, np.random.default_rng(3))


@pytest.mark.parametrize("n", [-1, 6])
def test_too_many_or_too_few_are_refused(n: int) -> None:
    assert sorted(draw(5, 5, np.random.default_rng(0))) == [0, 1, 2, 3, 4]
    with pytest.raises(HarnessError, match=f"cannot draw {n} distinct"):
        draw(n, 5, np.random.default_rng(0))
