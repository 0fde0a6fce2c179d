"""What `plan` says that missing runs ask and nobody brings."""

import pytest

from harness.base.layout import Layout
from harness.runs import missing_data
from harness.spec import experiments


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    """A clone where nobody has any data."""
    monkeypatch.delenv("NAS_DATA", raising=False)
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))


def told(paper, scale, tmp_path):
    runs = experiments.paper(paper).runs(scale)
    lines = missing_data.lines(runs, Layout(scale, tmp_path))
    return {line.split(" is not here, asked by ")[0]: line for line in lines}


@pytest.mark.parametrize(
    ("paper", "names"),
    [
        ("icw", {"cifar10"}),
        ("sotl", {"cifar10", "mnist", "nb301-onnx", "nb301-reference"}),
        ("ldn", {"mnist", "fashion-mnist", "svhn"}),
    ],
)
def test_scale_cpu_needs_images_and_surrogates_alone(tmp_path, paper, names):
    """Once icw and sotl needed benchmark tables that nobody else had; docs/data.md says what is left."""
    assert told(paper, "cpu", tmp_path).keys() == names
    assert not (tmp_path / "cache").exists()  # a look writes nothing


@pytest.mark.parametrize("paper", ["icw", "sotl", "ldn"])
def test_jobs_of_scale_smoke_bring_all_that_it_needs(tmp_path, paper):
    """The digits are inside a package that is installed."""
    runs = experiments.paper(paper).runs("smoke")
    assert {found for run in runs for found, _ in missing_data._lacks(run)} <= {"digits"}
    assert missing_data.lines(runs, Layout("smoke", tmp_path)) == []


def test_a_line_says_how_many_runs_and_what_to_do(tmp_path):
    lines = told("sotl", "cpu", tmp_path)
    assert lines["mnist"].startswith("mnist is not here, asked by 161 of the missing runs: python -m harness")
    assert "asked by 2 of the missing runs: put the predictions" in lines["nb301-reference"]
    assert lines["nb301-reference"].endswith("(benchmarks/nb301/reference_500_cells.json below NAS_DATA)")


def test_a_table_is_lacking_where_the_project_does_not_carry_it(tmp_path, nothing_carried):
    assert "nb201-table" in told("icw", "cpu", tmp_path)


def test_runs_that_are_there_ask_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(missing_data, "is_there", lambda run, layout: True)
    assert told("sotl", "cpu", tmp_path) == {}
