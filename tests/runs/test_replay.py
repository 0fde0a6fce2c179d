"""Runs run again: what no hash covers shows in their numbers."""

import pytest
import tiny
from campaigns import harness
from sealed import edit_record

from harness.accepted.check import Checked, summary
from harness.bench import carried
from harness.runs import replay
from harness.runs.record import Run, read_record
from harness.spec.experiments import find_run

RUN = "mini/noise/strong/low/s1"


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def differences(layout) -> list[str]:
    with tiny.importable(layout.root):
        return replay.differences(RUN, layout, layout.root)


def test_a_run_comes_out_the_same(layout):
    assert differences(layout) == []
    assert not [p for p in layout.results.rglob("*") if "replay" in p.name]


def test_a_carrier_that_turns_a_sign_is_seen(layout, monkeypatch):
    """No code id covers it: `snakemake check` was green."""
    real = Run.metric
    monkeypatch.setattr(Run, "metric", lambda run, name, value, unit="": real(run, name, -value, unit))
    (told,) = differences(layout)
    value = read_record(layout.run_folder(RUN))["metrics"][0]["value"]
    assert told == f"metric mean was {value} and is {-value}"


def test_data_drawn_anew_is_seen_in_the_first_line_that_differs(layout, monkeypatch):
    real = Run.stream
    monkeypatch.setattr(Run, "stream", lambda run, name: real(run, name + " anew"))
    told = differences(layout)
    assert told[0].startswith("metric mean was") and told[1].startswith("values.csv, line 2: truth was")


def test_a_status_or_a_truth_is_seen(layout):
    edit_record(layout.run_folder(RUN), reseal=True, status="diverged", truths=[{"source": "a"}])
    assert differences(layout) == [
        "status was 'diverged' and is 'done'",
        "truths was [{'source': 'a'}] and is []",
    ]


def test_of_every_experiment_the_quickest_run_of_this_processor_is_chosen(layout):
    assert [spec.experiment for spec in replay.chosen(layout, layout.root)] == ["noise"]
    for path in (layout.results / "runs").rglob("run.json"):
        edit_record(path.parent, reseal=True, seconds=500.0)
    edit_record(layout.run_folder(RUN), reseal=True, seconds=3.0)
    assert [spec.id for spec in replay.chosen(layout, layout.root)] == [RUN]
    machine = {"processor": "another one", "cores": 2, "system": "Linux"}
    edit_record(layout.run_folder(RUN), reseal=True, machine=machine)
    assert replay.chosen(layout, layout.root) == []
    assert replay.passed_over([], layout, layout.root) == ["mini/noise"]
    assert replay.passed_over([find_run(RUN, "smoke", layout.root)], layout, layout.root) == []
    told = "\n".join(summary(Checked(), "smoke", 0, ["mini/noise"]))
    assert "not run again, as no short run was made on this processor: mini/noise" in told
    assert list(replay.replayed([], layout)) == []


def test_what_other_runs_of_an_experiment_ask_of_truths_is_asked_again_too(layout):
    """A store with other values for one data set was not seen where the quickest run asks of another."""
    other = "mini/noise/weak/high/s2"
    edit_record(layout.run_folder(other), reseal=True, truths=[{"dataset": "cifar100"}], seconds=9.0)
    edit_record(layout.run_folder(RUN), reseal=True, seconds=0.0)
    assert {spec.id for spec in replay.chosen(layout, layout.root)} == {RUN, other}


def test_the_command_is_red_where_a_run_comes_out_otherwise(tmp_path):
    root = tiny.checkout(tmp_path)
    tiny.run_all(root)
    tiny.make_all(root)
    assert harness(root, "accept", "--reason", "first numbers").returncode == 0
    green = harness(root, "check", "--replay")
    assert green.returncode == 0 and "to the last digit: 1 runs" in green.stdout, green.stderr
    tiny.edit(root, "harness/runs/record.py", "float(value), unit", "-float(value), unit")
    assert harness(root, "check").returncode == 0
    none = harness(root, "replay", "mini/noise/strong/low/s1", "--scale", "cpu")
    assert none.returncode == 1 and none.stdout.startswith("mini/noise/strong/low/s1: cannot be run again: ")
    red = harness(root, "check", "--replay")
    assert red.returncode == 1 and red.stdout == ""
    (line,) = red.stderr.splitlines()
    assert line.startswith("changed: mini/noise/") and ": run again, metric mean was " in line
    assert "Look closer: python -m harness replay mini/noise/" in line


def test_a_truth_of_a_carried_table_is_no_difference(layout, monkeypatch):
    """In a clone without the full tables every record of theirs came out otherwise."""
    full, table = ({"source": "nb201-table", "sha256": sha} for sha in ("ab" * 32, "cd" * 32))
    edit_record(layout.run_folder(RUN), reseal=True, truths=[full])
    real = replay.execute

    def execute(spec, apart, **how):
        real(spec, apart, **how)
        edit_record(apart.run_folder(RUN), reseal=True, truths=[table])

    monkeypatch.setattr(replay, "execute", execute)
    assert differences(layout) == [f"truths was {[full]!r} and is {[table]!r}"]
    monkeypatch.setitem(carried.SAME, table["sha256"], full["sha256"])
    assert differences(layout) == []
