"""What is made again though Snakemake's notes and dates do not tell."""

import os
import shutil
import time

import pytest
import tiny

from harness.base.layout import Layout
from harness.campaign import remake
from harness.spec import artefacts, experiments

RUN = "mini/noise/strong/low/s0"
DAY = 86_400


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def outdated(layout: Layout) -> set[str]:
    runs = experiments.all_runs("smoke", layout.root)
    return {run.id for run in runs if remake.is_outdated(run, layout)}


def otherwise(layout: Layout) -> bool:
    return remake.is_made_otherwise(artefacts.find("mini/table_1", layout.root), layout)


def test_what_was_made_of_today_is_left_alone(layout):
    assert outdated(layout) == set() and not otherwise(layout)


def test_a_record_of_other_code_or_config_is_outdated(layout):
    tiny.edit(layout.root, "reproduce/mini/experiments.yaml", "high: {shift: 5.0}", "high: {shift: 4.0}")
    assert len(changed := outdated(layout)) == 6 and all("/high/" in run for run in changed)
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    assert len(outdated(layout)) == 12


def test_a_missing_record_is_left_to_snakemake(layout):
    shutil.rmtree(layout.run_folder(RUN))
    assert outdated(layout) == set() and not otherwise(layout)


def test_a_yaml_edited_under_its_old_date_makes_its_table_again(layout):
    """As rsync and tar leave it: `check` was red, and Snakemake said that there is nothing to be done."""
    path = layout.root / "tables/mini/table_1.yaml"
    before = path.stat()
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "title: Means", "title: Averages")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert otherwise(layout)
    tiny.make_all(layout.root)
    assert not otherwise(layout)


def test_files_of_a_clock_that_was_ahead_are_made_old(layout):
    """Three days ahead, and back: until then whatever was edited seemed older than what was made of it."""
    ahead, here = layout.run_folder(RUN) / "run.json", layout.run_folder(RUN) / "values.csv"
    os.utime(ahead, (time.time() + 3 * DAY,) * 2)
    before = here.stat().st_mtime_ns
    remake.set_back_the_future(layout)
    assert (ahead.stat().st_mtime, here.stat().st_mtime_ns) == (remake.OLD, before)
    assert outdated(layout) == set()
