"""Campaigns of Snakemake on a small paper: killed, tampered with, doubled, repeated."""

import json
import random
import shutil
import time
from pathlib import Path

import pytest
import tiny
from campaigns import free, kill, records, start, told, wait
from sealed import edit_record

HEAD, NOISE = tiny.EXPERIMENTS.split("  noise:\n")
CALM = NOISE.replace("high: {shift: 5.0}", "high: {shift: 1.0}").replace("section 1", "section 2")
EXPERIMENTS = f"{HEAD}  noise:\n{NOISE}  calm:\n{CALM}".replace("seeds: [0, 1, 2]", "seeds: [0, 1]")
TABLE = tiny.TABLE.replace("columns:\n", "  - {name: calm, experiment: calm, setting: high}\ncolumns:\n")
# So that there is time to be killed in: with two jobs at once a campaign takes more than a second.
MODULE = tiny.MODULE.replace("    truth = run", "    import time\n    time.sleep(0.25)\n    truth = run", 1)
TARGET = ("mini_table_1", "--cores", "2")
SIZE, SKIP, SPACES = (f"mini/noise/{name}/s0" for name in ("strong/low", "weak/low", "strong/high"))


def written(root: Path) -> dict[str, int]:
    """When each record was written: a run that was done again has another time."""
    return {name: path.stat().st_mtime_ns for name, path in records(root).items()}


def artefacts(root: Path) -> dict[str, bytes]:
    tables = root / "results" / "smoke" / "tables"
    return {p.relative_to(tables).as_posix(): p.read_bytes() for p in sorted(tables.rglob("*.*"))}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign") / "fresh"
    root = tiny.checkout(folder, EXPERIMENTS=EXPERIMENTS, TABLE=TABLE, MODULE=MODULE)
    tiny.write(root, "reproduce/mini/calm.py", MODULE)
    return root


@pytest.fixture(scope="module")
def done(fresh):
    """The same after an undisturbed campaign."""
    root = shutil.copytree(fresh, fresh.parent / "done")
    told(root, *TARGET)
    assert len(records(root)) == 12 and "mini/table_1.cells.csv" in artefacts(root)
    return root


@pytest.fixture
def tree(done, tmp_path):
    return shutil.copytree(done, tmp_path / "tree")


def test_killed_three_times_the_same_command_gives_the_same_tables(fresh, done, tmp_path):
    root = shutil.copytree(fresh, tmp_path / "tree")
    moments = random.Random(20)
    killed = 0
    for enough in sorted(moments.sample(range(9), 3)):
        process = start(root, *TARGET, NAS_WARM="off")
        wait(lambda enough=enough: len(records(root)) >= enough and (root / "results").exists(), process)
        time.sleep(moments.uniform(0, 0.3))
        killed += process.poll() is None
        kill(process)
    assert killed == 3, "the campaign was too quick to be killed"
    told(root, *TARGET)
    assert artefacts(root) == artefacts(done)
    assert records(root).keys() == records(done).keys()
    leftovers = [p.name for p in (root / "results").rglob(".*") if p.name != ".campaign"]
    assert told(root, *TARGET).count("Nothing to be done") == 1
    for name, path in records(root).items():
        ours, theirs = (json.loads(p.read_text()) for p in (path, records(done)[name]))
        for key in ("config", "code", "metrics", "tables", "status"):
            assert ours[key] == theirs[key], f"{name}: {key}"
    assert len(leftovers) <= 3, f"a kill leaves at most the file that was being written: {leftovers}"


def test_broken_records_are_named_and_run_again(tree):
    """One edited by hand, one cut short, one whose table was edited."""
    before, tables, there = written(tree), artefacts(tree), records(tree)
    edit_record(there[SPACES].parent, metrics=[{"name": "mean", "value": 15626.0, "unit": ""}])
    there[SIZE].write_text(there[SIZE].read_text()[:400])
    values = there[SKIP].parent / "values.csv"
    whole = values.read_text()
    values.write_text(whole.replace("1", "2", 1))
    refused = [line for line in told(tree, *TARGET).splitlines() if line.startswith("refused: ")]
    assert sorted(
        line.split("/runs/")[1].removesuffix(": `snakemake` runs it again") for line in refused
    ) == [
        f"{SPACES}/run.json was changed after its run ended",
        f"{SIZE}/run.json is cut short or not JSON",
        f"{SKIP}/values.csv is missing or was changed after its run",
    ]
    after = written(tree)
    assert {name for name in after if after[name] != before[name]} == {SIZE, SKIP, SPACES}
    assert artefacts(tree) == tables and values.read_text() == whole


def test_a_second_campaign_in_the_same_folder_is_refused(fresh, tmp_path):
    root = shutil.copytree(fresh, tmp_path / "tree")
    first = start(root, *TARGET, NAS_WARM="off")
    try:
        wait(lambda: (root / "results/smoke/.campaign").exists(), first)
        said = told(root, *TARGET, code=1)
    finally:
        kill(first)
    (sentence,) = [line for line in said.splitlines() if "another campaign" in line]
    assert f"another campaign (process {first.pid}) works in " in sentence
    assert "wait for it, stop it, or use another checkout" in sentence
    assert "Traceback" not in said
    with (root / "results/smoke/.campaign").open() as file:  # the lock went with the process that held it
        wait(lambda: free(file), first)
        assert free(file)


def test_only_an_edit_that_changes_code_runs_again_and_only_its_runs(tree):
    before, tables = written(tree), artefacts(tree)
    module = tree / "reproduce/mini/calm.py"
    text = module.read_text()
    module.write_text(f"# a comment\n{text}\n\n# and another\n".replace('"""A truth', '"""The truth'))
    assert "Nothing to be done" in told(tree, *TARGET)
    assert written(tree) == before and artefacts(tree) == tables

    assert "config.effect * truth" in text
    module.write_text(text.replace("config.effect * truth", "truth * config.effect"))
    told(tree, *TARGET)
    after = written(tree)
    again = {name for name in after if after[name] != before[name]}
    assert again == {name for name in after if name.startswith("mini/calm/")} and len(again) == 4
    assert artefacts(tree) == tables
