"""What a run depends on besides its code and config: the truths and images that it reads now."""

import pytest
import tiny

from harness.bench import catalogue
from harness.bench.wheel import WHEEL
from harness.data import images
from harness.runs import stale
from harness.spec.experiments import find_run


def test_a_changed_truth_is_another_input(tmp_path, monkeypatch):
    file = tmp_path / "benchmarks" / "nb201" / "nb201.csv.gz"
    tiny.write(tmp_path, "benchmarks/nb201/nb201.csv.gz", "one")
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    stamps = []
    for text in ("one", "two", "one"):
        file.write_text(text)
        catalogue.stamp.cache_clear()
        stamps.append(catalogue.stamp("nb201-table"))
    catalogue.stamp.cache_clear()
    assert stamps[0] == stamps[2] != stamps[1] and "nb201.csv.gz=" in stamps[0]


@pytest.mark.parametrize(
    ("config", "data"),
    [
        ("source: best, dataset: cifar10", "truth of one truth of another"),
        ("truth_source: nb201-table, dataset: cifar10", "truth of nb201-table images of cifar10"),
        ("dataset: mnist", "images of mnist"),
        ("truth_source: nb101-table", "truth of nb101-table"),
    ],
)
def test_a_run_depends_on_the_truth_and_the_images_that_it_reads(tmp_path, monkeypatch, config, data):
    """Super-networks call their benchmark truth_source: another truth must train or rank them again."""
    root = tiny.project(tmp_path)
    tiny.edit(root, "reproduce/mini/experiments.yaml", "{size: 30}", f"{{size: 30, {config}}}")
    monkeypatch.setattr(catalogue, "stamp", lambda name: f"truth of {name}")
    monkeypatch.setattr(images, "stamp", lambda name: f"images of {name}")
    monkeypatch.setattr(stale, "asked_first", lambda space: ["one", "another"])
    spec = find_run("mini/noise/strong/low/s0", "smoke", root)
    assert stale.inputs_of(spec) == f"threads=1 data={data}"


@pytest.fixture
def shelf(tmp_path, monkeypatch, nothing_carried):
    """Puts a file of a truth's source where it is looked for."""
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))

    def put(name: str, text: str = "here") -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        catalogue.stamp.cache_clear()

    yield put
    catalogue.stamp.cache_clear()


def test_a_registry_copy_beside_a_compiled_table_makes_no_run_anew(shelf):
    """Once fetching it for a smoke campaign made hours of runs at another scale count as stale."""
    spec = find_run("sotl/one_shot_nb201/spos/cifar10/s0", "cpu")
    assert spec.config["truth_source"] == "best"
    wheel, table = f"cache/downloads/{WHEEL}", "benchmarks/nb201/nb201.csv.gz"
    shelf(wheel)
    registry = stale.inputs_of(spec)
    assert f"nb201-pypi:{WHEEL}=" in registry
    shelf(table)
    compiled = stale.inputs_of(spec)
    assert "nb201-table:nb201.csv.gz=" in compiled and "nb201-pypi" not in compiled
    shelf(wheel, "another")
    shelf("benchmarks/nb101/nb101_table.npz", "of another space")
    assert stale.inputs_of(spec) == compiled
    shelf(table, "another")
    assert stale.inputs_of(spec) != compiled
    shelf("benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple/meta", "a folder may hold a part")
    assert "nb201-nats:" in stale.inputs_of(spec) and "nb201-table:" in stale.inputs_of(spec)
