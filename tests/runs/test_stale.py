"""What a run depends on besides its code and config: the truths and images that it reads now."""

import pytest
import tiny

from harness.bench import catalogue
from harness.bench.carried import SAME
from harness.bench.wheel import WHEEL
from harness.code.code_id import code_id
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
        ("source: best, dataset: cifar10", {"one:f": "1", "another:f": "1"}),
        ("truth_source: nb201-table, dataset: cifar10", {"nb201-table:f": "1", "cifar10:g": "2"}),
        ("dataset: mnist", {"mnist:g": "2"}),
        ("truth_source: nb101-table", {"nb101-table:f": "1"}),
    ],
)
def test_a_run_depends_on_the_truth_and_the_images_that_it_reads(tmp_path, monkeypatch, config, data):
    """Super-networks call their benchmark truth_source: another truth must train or rank them again."""
    root = tiny.project(tmp_path)
    tiny.edit(root, "reproduce/mini/experiments.yaml", "{size: 30}", f"{{size: 30, {config}}}")
    monkeypatch.setattr(catalogue, "stamp", lambda name: f"{name}:f=1")
    monkeypatch.setattr(images, "stamp", lambda name: "g=2")
    monkeypatch.setattr(stale, "asked_first", lambda space: ["one", "another"])
    spec = find_run("mini/noise/strong/low/s0", "smoke", root)
    assert stale.data_of(spec) == data


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
    registry = stale.data_of(spec)
    assert [*registry] == [f"nb201-pypi:{WHEEL}"]
    shelf(table)
    compiled = stale.data_of(spec)
    assert [*compiled] == ["nb201-table:nb201.csv.gz"]
    shelf(wheel, "another")
    shelf("benchmarks/nb101/nb101_table.npz", "of another space")
    assert stale.data_of(spec) == compiled
    shelf(table, "another")
    assert stale.data_of(spec) != compiled
    shelf("benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple/meta", "a folder may hold a part")
    assert {name.partition(":")[0] for name in stale.data_of(spec)} == {"nb201-nats", "nb201-table"}


DATA = {"cifar10:train": "5", "nb201-table:f": "1"}
SPEC = find_run("sotl/one_shot_nb201/spos/cifar10/s0", "cpu")
NOTED = {"config": SPEC.config, "threads": 1, "code": code_id(SPEC.module), "data": DATA}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ""),
        ({"config": dict(reversed(SPEC.config.items()))}, ""),  # once it was run for hours again
        ({"config": SPEC.config | {"dataset": "mnist"}}, "its config has changed"),
        ({"threads": 2}, "it ran with 2 threads instead of 1"),
        ({"code": "0" * 16}, "its code has changed"),
        ({"data": DATA | {"cifar10:train": "6"}}, "its data has changed (cifar10:train)"),
        ({"data": {"nb201-nats:all": "7"}}, ""),  # of another form, which gives the same
        ({"data": {}}, ""),
    ],
)
def test_one_function_says_whether_a_record_is_the_run_that_is_asked_for(monkeypatch, changed, told):
    monkeypatch.setattr(stale, "data_of", lambda spec: DATA)
    assert stale.why_other(SPEC, NOTED | changed) == told
    assert stale.why_other(SPEC, {key: NOTED[key] for key in NOTED if key != "data"}) == ""  # an older record


def test_a_carried_table_is_the_data_of_the_full_one(monkeypatch):
    for sha, full in SAME.items():
        monkeypatch.setattr(catalogue, "stamp", lambda name, sha=sha: f"{name}:f={sha[:16]}")
        assert set(stale.data_of(SPEC).values()) >= {full[:16]}
