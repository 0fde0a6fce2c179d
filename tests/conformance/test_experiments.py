"""What every experiment of every paper does, whatever it measures; it is found by its file.

Each is run in small, by the blocks of tests/reproduce/<paper>.yaml. In front of a run stands what another
process would not share: other states of the global generators.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
from conformance.experiments import (
    Killed,
    blocks,
    cases,
    checkpoints,
    every_case,
    make,
    modules,
    noted,
    tiny_runs,
)

from harness.base.errors import HarnessError
from harness.data import source
from harness.runs.fetch import TRUTHS
from harness.spec.experiments import paper_names

CASES = pytest.mark.parametrize("case", every_case())
MOST = 50  # checkpoints of a tiny run
FIRST: dict[str, dict] = {}


def another_process(number: int) -> None:
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


@pytest.fixture
def first(case, folders, tmp_path) -> dict:
    """The first run of a case: what it left, and what it asked for."""
    if case.name not in FIRST:
        another_process(1)
        with noted() as names:
            FIRST[case.name] = {"left": case.run(tmp_path / "first"), "asked": set(names)}
    return FIRST[case.name]


def test_every_experiment_has_a_tiny_run():
    assert len(modules()) >= 20
    assert all(cases(module) for module in modules())
    written = {f"reproduce.{name}.{short}" for name in paper_names() for short in tiny_runs(name)}
    assert written == set(modules()), "a tiny run of a module that is not there"
    used = {
        run.module for block in blocks() for scale in ("smoke", "cpu", "paper") for run in block.runs(scale)
    }
    assert used == set(modules()), "a module without a block in experiments.yaml, or a block without a module"


def test_a_new_experiment_is_found_and_asked_for_its_tiny_run(tmp_path):
    root = tiny.project(tmp_path)
    assert modules(root) == ["reproduce.mini.noise"]
    with pytest.raises(
        AssertionError, match=r"noise has no tiny run: write `noise: .* into tests/reproduce/mini"
    ):
        cases("reproduce.mini.noise", root)
    tiny.write(
        root, "tests/reproduce/mini.yaml", "noise: {small: {like: cpu/noise/strong/low, config: {size: 4}}}"
    )
    (case,) = cases("reproduce.mini.noise", root)
    assert (case.spec.id, case.spec.config) == (
        "mini/noise/strong/low/s0",
        {"size": 4, "effect": 2.0, "shift": 0.0},
    )
    tiny.forget()


@CASES
def test_one_seed_is_one_record(case, first, tmp_path):
    """However many checkpoints it writes; of what writes any, two at least."""
    another_process(2)
    with checkpoints(killing=False) as states:
        assert case.run(tmp_path / "again") == first["left"]
    assert len(states) <= MOST, f"{len(states)} checkpoints: make the tiny run smaller"
    assert len(states) > 1 or "checkpoint" not in first["asked"], "no second checkpoint: make it longer"
    first["checkpoints"] = states


@CASES
def test_another_seed_is_another_record_unless_nothing_is_drawn(case, first, tmp_path):
    """What draws nothing says so by its list of one seed, and asks for no random stream."""
    mine = [b for b in blocks() if any(run.module == case.spec.module for run in b.runs("paper"))]
    listed = [
        b.seeds(scale, m) for b in mine for scale in ("smoke", "cpu", "paper") for m in b.data["methods"]
    ]
    draws = any(len(seeds) > 1 for seeds in listed) or bool(first["asked"] - {"checkpoint"})
    assert (case.run(tmp_path, seed=case.spec.seed + 1) != first["left"]) is draws


@CASES
def test_killed_at_each_checkpoint_it_goes_on_to_the_same_bits(case, first, tmp_path):
    """Its last run leaves what an unbroken one does; each checkpoint is that of a run that was not killed."""
    if "checkpoints" not in first:
        test_one_seed_is_one_record(case, first, tmp_path)
    expected = first["checkpoints"]
    with checkpoints(killing=True) as kept:
        for number in range(len(expected)):
            another_process(number)
            with pytest.raises(Killed):
                case.run(tmp_path / "killed")
            assert kept[number] == expected[number], f"checkpoint {number + 1} of {len(expected)}"
            assert not list(tmp_path.glob("killed/**/run.json"))
        another_process(0)
        assert case.run(tmp_path / "killed") == first["left"]


@CASES
@pytest.mark.parametrize("nested", [False, True])
def test_an_unknown_key_is_refused_in_one_sentence_before_anything_is_read(case, nothing, tmp_path, nested):
    """Also in a block of keys, and with the key that it resembles."""
    config = {**case.spec.config}
    inner = [key for key, value in config.items() if isinstance(value, dict) and value]
    if nested and not inner:
        return
    wrong = min(config[inner[0]] if nested else config, key=len) + "x"
    if nested:
        config[inner[0]] = {**config[inner[0]], wrong: 1}
    else:
        config[wrong] = 1
    with pytest.raises(HarnessError, match=f"has no field '{wrong}': did you mean") as refused:
        make(replace(case.spec, config=config), tmp_path)
    assert str(refused.value).startswith(case.spec.id) and "\n" not in str(refused.value)


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block.paper}.{block.name}")
def test_at_smoke_it_runs_without_nas_data_or_says_why_not(block, nothing, tmp_path):
    """What a smoke run reads, a registry carries and its `needs` name; what is left out has its reason."""
    runs = {(run.method, run.setting): run for run in block.runs("smoke")}
    for method in block.data["methods"]:
        for setting in block.data["settings"]:
            gone = block.absence("smoke", method, setting)
            assert (method, setting) in runs or len(gone.reason.split()) > 3
    for run in list(runs.values())[:1]:
        for need in run.needs:
            assert need in TRUTHS or source(need).registry, f"no registry carries {need}"
        if run.needs:
            with pytest.raises(HarnessError, match="|".join(run.needs)) as refused:
                make(run, tmp_path)
            assert "\n" not in str(refused.value)


@CASES
def test_without_needs_it_runs_with_nothing_there(case, first, nothing, tmp_path):
    """A module of which no smoke run needs anything."""
    runs = [run for block in blocks() for run in block.runs("smoke") if run.module == case.spec.module]
    if runs and not any(run.needs for run in runs):
        assert case.run(tmp_path) == first["left"]
