"""Records that do not count today are kept for the day when they do again."""

import os

import pytest
import tiny

from harness.base.layout import Layout
from harness.code import ledger
from harness.code.code_id import code_id
from harness.runs import earlier
from harness.runs.execute import execute
from harness.runs.record import read_record
from harness.runs.stale import is_there
from harness.spec import experiments

RUN = "mini/noise/strong/low/s0"
CODE = "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1"


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def specs(layout: Layout) -> list[experiments.RunSpec]:
    return experiments.all_runs("smoke", layout.root)


def tidied(layout: Layout) -> dict[str, str]:
    """The digests of the records that stand in their places afterwards."""
    tiny.forget()
    earlier.tidy(specs(layout), layout)
    folders = {spec.id: layout.run_folder(spec.id) for spec in specs(layout)}
    return {run: read_record(f)["digest"] for run, f in folders.items() if (f / "run.json").is_file()}


def test_who_goes_back_to_earlier_code_finds_its_records(layout):
    """Once the runs of the later code had taken their place, and all were run again."""
    path, old, new = CODE
    first = tidied(layout)
    assert len(first) == 12
    tiny.edit(layout.root, path, old, new)
    assert tidied(layout) == {}
    tiny.run_all(layout.root)
    second = tidied(layout)
    assert len(second) == 12 and not set(first.values()) & set(second.values())
    for back, forth, expected in ((new, old, first), (old, new, second), (new, old, first)):
        tiny.edit(layout.root, path, back, forth)
        assert tidied(layout) == expected
        assert all(is_there(spec, layout, tables=True) for spec in specs(layout))


def test_a_record_that_is_vouched_for_later_comes_back(layout):
    first, module = tidied(layout), "reproduce.mini.noise"
    before = code_id(module, layout.root)
    tiny.edit(layout.root, *CODE)
    assert tidied(layout) == {}
    after = code_id(module, layout.root)
    entry = ledger.Entry(module, before, after, "a", "b", "today", "3", "2", "by hand, in a test")
    ledger.append([entry], layout.root)
    assert tidied(layout) == first


def test_a_run_by_hand_sets_the_older_record_aside_too(layout):
    first = tidied(layout)
    tiny.edit(layout.root, *CODE)
    tiny.forget()
    with tiny.importable(layout.root):
        execute(experiments.find_run(RUN, "smoke", layout.root), layout)
    assert read_record(layout.run_folder(RUN))["digest"] != first[RUN]
    tiny.edit(layout.root, CODE[0], CODE[2], CODE[1])
    assert tidied(layout) == first


def test_a_damaged_earlier_record_is_not_brought_back(layout):
    first = tidied(layout)
    tiny.edit(layout.root, *CODE)
    assert tidied(layout) == {}
    (shelved,) = (layout.results / "earlier" / RUN).iterdir()
    (shelved / "run.json").write_text("{}")
    tiny.edit(layout.root, CODE[0], CODE[2], CODE[1])
    assert tidied(layout) == {run: digest for run, digest in first.items() if run != RUN}


def test_what_is_made_of_a_record_that_came_back_is_older_than_it(layout):
    """Snakemake goes by dates between a record and its table."""
    os.utime(layout.run_folder(RUN) / "run.json", (1, 1))
    tiny.edit(layout.root, *CODE)
    tidied(layout)
    tiny.edit(layout.root, CODE[0], CODE[2], CODE[1])
    tidied(layout)
    table = layout.results / "tables/mini/table_1.cells.csv"
    assert (layout.run_folder(RUN) / "run.json").stat().st_mtime >= table.stat().st_mtime


def test_only_the_latest_of_many_are_kept(layout):
    text = CODE[1]
    for number in range(earlier.KEPT + 2):
        tiny.edit(layout.root, CODE[0], text, text := f"truth.mean() + {number}")
        tidied(layout)
        tiny.run_all(layout.root)
    tiny.edit(layout.root, CODE[0], text, "truth.mean() - 1")
    tidied(layout)
    assert len([*(layout.results / "earlier" / RUN).iterdir()]) == earlier.KEPT


def test_broken_records_are_told(tmp_path, capsys):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    runs = experiments.all_runs("smoke", root)
    earlier.tidy(runs, layout)
    assert capsys.readouterr().err == ""
    path = layout.run_folder(runs[4].id) / "run.json"
    path.write_text(path.read_text()[:-40])
    earlier.tidy(runs, layout)
    told = capsys.readouterr().err
    assert told.startswith(f"refused: {path} is cut short") and told.count("\n") == 1
    assert not path.exists() and path.with_name("run.json.refused").exists()
