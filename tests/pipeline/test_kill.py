"""Whole campaigns of Snakemake in a copy of the project: killed, tampered with, doubled, repeated.

The two targets need neither NAS_DATA nor a network.
"""

import json
import random
import shutil
import time
from pathlib import Path

import pytest
from campaigns import copy, free, kill, records, start, wait
from sealed import edit_record

from harness.base.files import ROOT

TARGETS = ("sotl_table_3_1", "icw_table_3")
PAPERS = ("sotl", "icw")  # of these two targets; other papers' folders are left out
SIZE = "icw/supernet_size/plain/nb201/s0"
SKIP = "icw/supernet_size/skip_linear/nb201/s0"
SPACES = "sotl/spaces/encodings/nb201/s0"


def campaign(root: Path) -> tuple[int, str]:
    """Exit code and everything that was printed."""
    process = start(root, *TARGETS)
    said, _ = process.communicate(timeout=240)
    return process.returncode, said


def written(root: Path) -> dict[str, int]:
    """When each record was written: a run that was done again has another time."""
    return {name: path.stat().st_mtime_ns for name, path in records(root).items()}


def artefacts(root: Path) -> dict[str, bytes]:
    tables = root / "results" / "smoke" / "tables"
    return {p.relative_to(tables).as_posix(): p.read_bytes() for p in sorted(tables.rglob("*.*"))}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """What git would check out."""
    others = {p.name for p in ROOT.glob("reproduce/*") if (p / "experiments.yaml").exists()} - set(PAPERS)
    return copy(tmp_path_factory.mktemp("campaign") / "fresh", without=others)


@pytest.fixture(scope="module")
def done(fresh):
    """The same after an undisturbed campaign."""
    root = fresh.parent / "done"
    shutil.copytree(fresh, root)
    code, said = campaign(root)
    assert code == 0, said
    assert len(records(root)) == 12 and "icw/table_3.cells.csv" in artefacts(root)
    return root


@pytest.fixture
def tree(done, tmp_path):
    return shutil.copytree(done, tmp_path / "tree")


def test_killed_three_times_the_same_command_gives_the_same_tables(fresh, done, tmp_path):
    root = shutil.copytree(fresh, tmp_path / "tree")
    moments = random.Random(20)
    killed = 0
    for enough in sorted(moments.sample(range(12), 3)):
        process = start(root, *TARGETS)
        wait(lambda enough=enough: len(records(root)) >= enough and (root / "results").exists(), process)
        time.sleep(moments.uniform(0, 0.6))
        killed += process.poll() is None
        kill(process)
    assert killed == 3, "the campaign was too quick to be killed"
    code, said = campaign(root)
    assert code == 0, said
    assert artefacts(root) == artefacts(done)
    assert records(root).keys() == records(done).keys()
    leftovers = [p.name for p in (root / "results").rglob(".*") if p.name != ".campaign"]
    assert campaign(root)[1].count("Nothing to be done") == 1
    for name, path in records(root).items():
        ours, theirs = (json.loads(p.read_text()) for p in (path, records(done)[name]))
        for key in ("config", "code", "metrics", "tables", "status"):
            assert ours[key] == theirs[key], f"{name}: {key}"
    assert len(leftovers) <= 3, f"a kill leaves at most the file that was being written: {leftovers}"


def test_broken_records_are_named_and_run_again(tree):
    """One edited by hand, one cut short, one whose table was edited."""
    before, tables, there = written(tree), artefacts(tree), records(tree)
    edit_record(there[SPACES].parent, metrics=[{"name": "architectures", "value": 15626.0, "unit": ""}])
    there[SIZE].write_text(there[SIZE].read_text()[:400])
    parts = there[SKIP].parent / "parts.csv"
    parts.write_text(parts.read_text().replace("16896", "16895"))
    code, said = campaign(tree)
    assert code == 0, said
    refused = [line for line in said.splitlines() if line.startswith("refused: ")]
    assert sorted(
        line.split("/runs/")[1].removesuffix(": `snakemake` runs it again") for line in refused
    ) == [
        f"{SIZE}/run.json is cut short or not JSON",
        f"{SKIP}/parts.csv is missing or was changed after its run",
        f"{SPACES}/run.json was changed after its run ended",
    ]
    after = written(tree)
    assert {name for name in after if after[name] != before[name]} == {SIZE, SKIP, SPACES}
    assert artefacts(tree) == tables and "16895" not in parts.read_text()


def test_a_second_campaign_in_the_same_folder_is_refused(fresh, tmp_path):
    root = shutil.copytree(fresh, tmp_path / "tree")
    first = start(root, *TARGETS)
    try:
        wait(lambda: len(records(root)) > 0, first)
        code, said = campaign(root)
    finally:
        kill(first)
    assert code != 0
    (sentence,) = [line for line in said.splitlines() if "another campaign" in line]
    assert f"another campaign (process {first.pid}) works in " in sentence
    assert "wait for it, stop it, or use another checkout" in sentence
    assert "Traceback" not in said
    with (root / "results/smoke/.campaign").open() as file:  # the lock went with the process that held it
        wait(lambda: free(file), first)
        assert free(file)


def test_only_an_edit_that_changes_code_runs_again_and_only_its_runs(tree):
    before, tables = written(tree), artefacts(tree)
    module = tree / "reproduce" / "icw" / "supernet_size.py"
    text = module.read_text()
    module.write_text(
        f"# a comment\n{text}\n\n# and another\n".replace('"""Tables 3 and 4', '"""The Tables 3 and 4')
    )
    code, said = campaign(tree)
    assert code == 0 and "Nothing to be done" in said
    assert written(tree) == before and artefacts(tree) == tables

    assert "part.eval()" in text
    module.write_text(text.replace("part.eval()", "part.train(False)"))
    code, said = campaign(tree)
    assert code == 0, said
    after = written(tree)
    again = {name for name in after if after[name] != before[name]}
    assert again == {name for name in after if name.startswith("icw/supernet_size/")} and len(again) == 2
    assert artefacts(tree) == tables
