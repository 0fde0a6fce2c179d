"""What a run leaves: streams, tables, the seal, and what is refused by name."""

import json
import os

import numpy as np
import pytest
import tiny
from sealed import edit_record

from harness.base.errors import HarnessError
from harness.base.files import write_atomic
from harness.base.layout import Layout
from harness.runs import record
from harness.runs.record import Run, read_record, refuse_broken
from harness.spec import experiments

NAME = "mini/noise/strong/low/s0"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tiny.project(tmp_path_factory.mktemp("project"))
    return root, tiny.run_all(root)


@pytest.fixture
def folder(made, tmp_path):
    """A copy of one finished run's folder."""
    source = made[1].run_folder(NAME)
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def a_run(folder, seed=0) -> Run:
    spec = experiments.RunSpec(
        "mini", "noise", "strong", "low", seed, "smoke", {}, {}, "reproduce.mini.noise"
    )
    return Run(spec, folder)


def test_a_record_says_what_a_reader_asks(made):
    root, layout = made
    found = read_record(layout.run_folder(NAME))
    assert found["run"] == NAME and found["scale"] == "smoke" and found["seed"] == 0
    assert found["config"] == {"size": 30, "effect": 2.0, "shift": 0.0}
    assert found["status"] == "done" and found["threads"] == 1 and found["device"] == "cpu"
    assert {"processor", "cores", "system", "python", "numpy", "torch", "blas"} <= found["machine"].keys()
    assert 0 <= found["seconds"] < 5 and found["started"] <= found["ended"]
    assert [m["name"] for m in found["metrics"]] == ["mean"] and list(found["tables"]) == ["values.csv"]
    assert not (layout.run_folder(NAME) / "progress.json").exists()


@pytest.mark.parametrize("key", record.KINDS)
def test_a_sealed_record_of_another_shape_is_refused(folder, key):
    """Once whoever read it first ended in a TypeError or a KeyError."""
    for value in ([[1]], {"a": [1]}, None):
        if not isinstance(value, record.KINDS[key]) or key in ("metrics", "truths"):
            edit_record(folder, reseal=True, **{key: value})
            with pytest.raises(
                HarnessError, match=f"run.json has no '{key}' as runs write it: .* runs it again"
            ):
                read_record(folder)


def test_the_same_run_again_gives_the_same_numbers(made, tmp_path):
    again = tiny.run_all(tiny.project(tmp_path))
    for name in (NAME, "mini/noise/weak/high/s2"):
        one, other = (read_record(layout.run_folder(name)) for layout in (made[1], again))
        assert one["metrics"] == other["metrics"] and one["tables"] == other["tables"]
    assert read_record(again.run_folder(NAME))["tables"] != one["tables"]


def test_the_table_holds_what_the_metric_says(made):
    lines = (made[1].run_folder(NAME) / "values.csv").read_text().splitlines()
    assert lines[0] == "truth,prediction" and len(lines) == 31
    mean = np.mean([float(line.split(",")[0]) for line in lines[1:]])
    assert read_record(made[1].run_folder(NAME))["metrics"][0]["value"] == pytest.approx(mean, abs=1e-15)


def test_cut_short_anywhere(folder):
    whole = (folder / "run.json").read_bytes()
    assert len(whole) > 500
    for end in [*range(0, len(whole) - 1, 50), len(whole) - 2]:
        (folder / "run.json").write_bytes(whole[:end])
        with pytest.raises(HarnessError, match="run.json is (cut short|no record)"):
            read_record(folder)
    (folder / "run.json").write_bytes(whole)
    read_record(folder)


def test_one_character_edited_anywhere(folder):
    """Refused by name, or without any effect (a blank of the layout, an escape that reads the same)."""
    path = folder / "run.json"
    whole = path.read_text()
    truly = json.loads(whole)
    refused = 0
    for place in range(0, len(whole), 7):
        for other in '7x" ':
            if other == whole[place]:
                continue
            path.write_text(whole[:place] + other + whole[place + 1 :])
            try:
                assert read_record(folder, tables=False) == truly, f"character {place} → {other!r}"
            except HarnessError as error:
                assert str(path) in str(error)
                refused += 1
    assert refused > len(whole) / 7 * 2


@pytest.mark.parametrize(
    "edit",
    [
        lambda r: r["metrics"][0].update(value=99.0),
        lambda r: r["config"].update(size=31),
        lambda r: r.update(seconds=r["seconds"] + 1),
        lambda r: r.update(seed=1),
        lambda r: r.update(added="by hand"),
        lambda r: r.pop("commit"),
        lambda r: r.pop("digest"),
        lambda r: r.update(digest="0" * 64),
        lambda r: r["tables"].clear(),
    ],
)
def test_a_field_edited_by_hand(folder, edit):
    content = json.loads((folder / "run.json").read_text())
    edit(content)
    (folder / "run.json").write_text(json.dumps(content))
    with pytest.raises(HarnessError, match="run.json was changed after its run ended"):
        read_record(folder)


@pytest.mark.parametrize("text", ["[]", "null", "3", '{"format": 2}', '{"format": "1"}', "{}"])
def test_what_is_no_record(folder, text):
    (folder / "run.json").write_text(text)
    with pytest.raises(HarnessError, match="run.json is no record of format 1"):
        read_record(folder)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"", b"[" * 100_000])
def test_what_is_no_json(folder, data):
    (folder / "run.json").write_bytes(data)
    with pytest.raises(HarnessError, match="run.json is cut short or not JSON"):
        read_record(folder)


def test_a_record_that_is_not_there(tmp_path):
    with pytest.raises(HarnessError, match="run.json is not there"):
        read_record(tmp_path)


@pytest.mark.parametrize("harm", ["edit", "cut", "remove", "folder"])
def test_a_table_beside_it(folder, harm):
    table = folder / "values.csv"
    text = table.read_text()
    table.unlink()
    if harm == "edit":
        table.write_text(text.replace("1", "2", 1))
    elif harm == "cut":
        table.write_text(text[:-1])
    elif harm == "folder":
        table.mkdir()
    with pytest.raises(HarnessError, match="values.csv is missing or was changed"):
        read_record(folder)
    assert read_record(folder, tables=False)["run"] == NAME


def test_broken_records_are_set_aside_and_kept(made, tmp_path):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    folders = [layout.run_folder(run.id) for run in experiments.all_runs("smoke", root)]
    assert refuse_broken(folders) == []
    (folders[1] / "run.json").write_text("half a rec")
    (folders[2] / "values.csv").unlink()
    (folders[3] / "run.json").unlink()
    told = refuse_broken([*folders, Layout("smoke", root).run_folder("mini/noise/never/run/s0")])
    assert len(told) == 2
    assert str(folders[1] / "run.json") in told[0] and str(folders[2] / "values.csv") in told[1]
    assert (folders[1] / "run.json.refused").read_text() == "half a rec"
    assert json.loads((folders[2] / "run.json.refused").read_text())["status"] == "done"
    assert [(f / "run.json").exists() for f in folders[:4]] == [True, False, False, False]
    assert refuse_broken(folders) == []
    tiny.run_all(root)
    assert [read_record(f)["status"] for f in folders] == ["done"] * len(folders)


def test_streams_are_pinned(tmp_path):
    """These two numbers may never change: all that was ever sampled hangs on them."""
    run = a_run(tmp_path)
    assert run.stream("architectures").integers(1 << 62) == 1069590159733105235
    assert run.stream("noise").random() == 0.8250220355452736


def test_streams_are_independent(tmp_path):
    run = a_run(tmp_path)
    first = run.stream("a").random(8)
    run.stream("b").random(1000)
    assert (run.stream("a").random(8) == first).all()
    others = [run.stream("b"), a_run(tmp_path, seed=1).stream("a"), run.stream("a/"), run.stream("")]
    for other in others:
        assert not (other.random(8) == first).any()
    many = np.stack([a_run(tmp_path, seed).stream("a").normal(size=400) for seed in range(40)])
    correlations = np.corrcoef(many)[np.triu_indices(40, 1)]
    assert np.abs(correlations).max() < 0.25 and abs(correlations.mean()) < 0.01


def test_tables(tmp_path):
    run = a_run(tmp_path)
    run.table("t", {"n": np.arange(3), "x": [0.1, 1e-17, float("nan")], "text": ["a,b", 'c"', "é"]})
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == '0,0.1,"a,b"'
    assert list(run.tables) == ["t.csv"] and len(run.tables["t.csv"]) == 64
    for ragged in ({"a": [1, 2], "b": [1]}, {"a": np.arange(3), "b": np.arange(4)}):
        with pytest.raises(ValueError, match="table 'u' has columns of different lengths"):
            run.table("u", ragged)
    assert not (tmp_path / "u.csv").exists() and list(run.tables) == ["t.csv"]


def test_each_truth_once(tmp_path):
    run = a_run(tmp_path)
    for source in ("x", "y", "x"):
        run.truth({"source": source})
    assert run.truths == [{"source": "x"}, {"source": "y"}]


@pytest.mark.parametrize("broken", ["fsync", "replace", "chmod"])
def test_an_atomic_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch, broken):
    path = tmp_path / "file.txt"
    write_atomic(path, "before")

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, "after")
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_an_interrupted_write_too(tmp_path, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "deep" / "file.txt", b"after")
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_atomic_write_obeys_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_run_that_fails_leaves_no_record(tmp_path):
    root = tiny.project(tmp_path)
    tiny.edit(
        root, "reproduce/mini/noise.py", "    run.metric", "    raise RuntimeError('broken')\n    run.metric"
    )
    with pytest.raises(RuntimeError, match="broken"):
        tiny.run_all(root)
    assert not list(Layout("smoke", root).results.rglob("run.json"))


def test_a_module_that_is_not_there_is_told(tmp_path):
    root = tiny.project(tmp_path)
    (root / "reproduce/mini/noise.py").unlink()
    with pytest.raises(HarnessError, match="experiment 'noise' of mini has no module reproduce.mini.noise"):
        tiny.run_all(root)


def test_a_missing_import_of_a_module_is_not_hidden(tmp_path):
    root = tiny.project(tmp_path)
    tiny.edit(root, "reproduce/mini/noise.py", "from harness", "import no_such_package\nfrom harness")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        tiny.run_all(root)


def test_the_kind_of_machine_names_no_host():
    import platform

    assert platform.node() not in json.dumps(record.machine()) or not platform.node()
