"""The mutants of `benchmarks/mutation.py`: what is changed, under which name, and that a test sees it."""

import importlib.util
import sys
from types import ModuleType

import pytest

from harness.base.files import ROOT

BENCHMARKS = ROOT / "benchmarks"
SOURCE = '''
"""A module."""
from functools import cache
import numpy as np

LEVEL: float = 0.5

class Pair:
    size: int = 2

    @property
    def half(self) -> float:
        return self.size / 2

@cache
def far(values, seed=0):
    rng = np.random.default_rng(seed)
    if len(values) < LEVEL:
        raise ValueError(1 + 1)
    return sorted(values, key=abs), np.std(values, ddof=1), f"{rng.normal():.3g}"
'''


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_with_neighbours(name: str) -> ModuleType:
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return load(name)
    finally:
        sys.path[:] = before


mutants = load_with_neighbours("mutants")


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "mutated.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("mutated")
    del sys.modules["mutated"]


def test_each_step_is_changed_and_named_by_what_it_was_and_is():
    assert [mutant.name for mutant in mutants.mutants(SOURCE)] == [
        "module: LEVEL: float = 0.5 → LEVEL: float = 0.45",
        "Pair: size: int = 2 → size: int = 3",
        "Pair: size: int = 2 → size: int = 1",
        "Pair.half: self.size / 2 → self.size * 2",
        "Pair.half: self.size / 2 → self.size / 3",
        "Pair.half: self.size / 2 → self.size / 1",
        "far: 0 → 1",
        "far: np.random.default_rng(seed) → np.random.default_rng()",
        "far: len(values) < LEVEL → not len(values) < LEVEL",
        "far: len(values) < LEVEL → len(values) <= LEVEL",
        "far: len(values) < LEVEL → len(values) > LEVEL",
        "far: sorted(values, key=abs) → sorted(values, key=abs)[::-1]",
        "far: np.std(values, ddof=1) → np.var(values, ddof=1)",
        "far: np.std(values, ddof=1) → np.std(values, ddof=2)",
        "far: np.std(values, ddof=1) → np.std(values, ddof=0)",
        "far: f'{rng.normal():.3g}' → f'{rng.normal():.4g}'",
    ]


def test_names_do_not_move_with_lines_and_tell_equal_steps_apart():
    one = [mutant.name for mutant in mutants.mutants("def f(a):\n    return a + 1, a + 1\n")]
    assert one == [m.name for m in mutants.mutants("# more\n\n\ndef f(a):\n    return a + 1, a + 1\n")]
    assert len(set(one)) == len(one) == 6 and "f: a + 1 → a - 1 #2" in one


def test_a_mutant_is_put_into_what_others_have_imported(module):
    far, pair = module.far, module.Pair()
    before = far((3.0, 4.0, 6.0)), pair.half
    for mutant in mutants.mutants(SOURCE):
        mutants.put_in(mutant, "mutated")
        limit = mutant.name.startswith("module")
        turned = mutant.name.endswith(("not len(values) < LEVEL", "> LEVEL"))
        if turned:
            with pytest.raises(ValueError):
                far((3.0, 4.0, 6.0))
        else:
            changed = (far((3.0, 4.0, 6.0)), pair.half) != before
            assert changed or limit or "<=" in mutant.name, mutant.name
        assert (module.LEVEL == 0.45) == limit


def test_the_modules_and_tests_that_are_named_are_there():
    mutation = load_with_neighbours("mutation")
    assert all((ROOT / "harness" / f"{module}.py").is_file() for module in mutation.MODULES)
    assert all((ROOT / "tests" / name).exists() for name in mutation.TESTS.split())


def test_the_listed_survivors_are_mutants_of_today():
    mutation = load_with_neighbours("mutation")
    there = {
        f"{module} {mutant.name}"
        for module in mutation.MODULES
        for mutant in mutants.mutants((ROOT / "harness" / f"{module}.py").read_text(encoding="utf-8"))
    }
    assert mutation.listed() and mutation.listed() <= there


def test_what_only_refuses_is_told_apart_and_what_makes_numbers_is_not():
    source = """
MOST = 3
LEAST = 1

def share(values, k):
    near = k + 1
    if k > MOST:
        raise ValueError(f"{near} of {k * 2}")
    _require(k - 1)
    return k / LEAST if k > 0 else k

def _require(k):
    if k < 5:
        said = k % 3
        raise ValueError(said)
"""
    names = {mutant.name: mutant.refuses for mutant in mutants.mutants(source)}
    kept = {name.split(": ", 1)[1] for name, refuses in names.items() if not refuses}
    assert kept == {
        "LEAST = 1 → LEAST = 2",
        "LEAST = 1 → LEAST = 0",
        "k / LEAST → k * LEAST",
        "k > 0 → not k > 0",
        "k > 0 → k >= 0",
        "k > 0 → k < 0",
        "k > 0 → k > 1",
    }
    assert {"module: MOST = 3 → MOST = 4", "share: k + 1 → k - 1", "_require: k % 3 → k * 3"} <= names.keys()
