"""What was made from something else than what is there now is neither accepted nor checked."""

import pytest
import tiny
from sealed import edit_record

from harness import artefacts, fresh, render
from harness.accept import accept
from harness.bench import catalogue
from harness.bench.wheel import WHEEL
from harness.check import compare
from harness.code_id import code_id, drawing_id
from harness.data import images
from harness.errors import HarnessError
from harness.experiments import find_run

AGAIN = "make it again with `snakemake mini_table_1 --config scale=smoke`"


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def refusal(layout) -> str:
    tiny.forget()
    with pytest.raises(HarnessError) as refused:
        accept(artefacts.find("mini/table_1", layout.root), layout, "it is right", layout.root)
    assert AGAIN in str(refused.value)
    changes = [c for c in compare(layout, layout.root) if c.artefact == "mini/table_1"]
    assert changes
    return str(refused.value)


def accepted(layout):
    for artefact in artefacts.artefacts(layout.root):
        accept(artefact, layout, "the first outcome", layout.root)
    assert not compare(layout, layout.root)


def test_an_edited_yaml(layout):
    accepted(layout)
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "title: ", "title: Other ")
    assert "was made before its YAML changed" in refusal(layout)
    told = "\n".join(map(str, compare(layout, layout.root)))
    assert "was made before its YAML changed" in told and "table_1.yaml was edited since it was" in told


def test_an_artefact_that_was_made_in_part(layout, monkeypatch):
    """Its cells are new and its HTML is old: only what was made whole is noted as made."""

    def broken(*_args):
        raise RuntimeError("broken")

    accepted(layout)
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "title: ", "title: Other ")
    monkeypatch.setattr(render, "html_table", broken)
    with pytest.raises(RuntimeError, match="broken"):
        tiny.make_all(layout.root)
    assert "was made before its YAML changed" in refusal(layout)


def test_an_artefact_that_was_made_in_part_of_the_same_yaml(layout, monkeypatch):
    """New cells beside old claims: the note of the whole one must not speak for them."""
    accepted(layout)
    monkeypatch.setattr(render, "html_table", lambda *_args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tiny.make_all(layout.root)
    assert "was made before its YAML changed" in refusal(layout)


def test_edited_code_that_makes_artefacts(layout, monkeypatch):
    """Cells made by an older rule of verdicts were once accepted as made by today's."""
    accepted(layout)
    monkeypatch.setattr(
        fresh, "code_id", lambda module, *root: "0" if module == "harness.make" else code_id(module, *root)
    )
    assert "was made before its code changed" in refusal(layout)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("takes longer than anybody would wait", "is for scale paper"),
        ("      cpu:\n", "      cpu:\n        differs: [D1]\n"),
    ],
)
def test_an_edited_reason_why_nothing_was_run(tmp_path, old, new):
    """Cells without a number, and captions, tell what experiments.yaml says: an edit changed neither."""
    root = tiny.project(tmp_path)
    tiny.run_all(root, "cpu")
    layout = tiny.make_all(root, "cpu")
    accept(artefacts.find("mini/table_1", root), layout, "the first outcome", root)
    tiny.edit(root, "reproduce/mini/experiments.yaml", old, new)
    with pytest.raises(HarnessError, match="mini/table_1 was made before its experiments changed"):
        accept(artefacts.find("mini/table_1", root), layout, "another outcome", root)
    tiny.forget()


def test_an_edited_module_that_a_drawing_imports(tmp_path):
    """Ten figures import a module that draws for several; they were not drawn again after an edit there."""
    drawing = tiny.write(tmp_path, "figures/mini/figure_1.py", "from harness.curves import lines\n")
    tiny.write(tmp_path, "harness/curves.py", "lines = 1\n")
    before = drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "harness/curves.py", "lines = 2  # thicker\n")
    after = drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "harness/curves.py", "lines = 2\n")
    assert before != after == drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "figures/mini/figure_1.py", "from harness.curves import lines as thick\n")
    assert drawing_id(drawing, tmp_path) != after
    tiny.forget()


def test_an_edited_module(layout):
    accepted(layout)
    module = next((layout.root / "reproduce" / "mini").glob("noise.py"))
    module.write_text(module.read_text() + "\n\nMORE = 1\n")
    assert "its code has changed since" in refusal(layout)
    spec = artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0]
    assert not fresh.is_there(spec, layout)


def test_an_edited_config(layout):
    accepted(layout)
    spec = artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0]
    assert fresh.is_there(spec, layout)
    other = type(spec)(**{**vars(spec), "config": {**spec.config, "more": 1}})
    assert not fresh.is_there(other, layout)


def test_records_that_were_made_anew(layout):
    accepted(layout)
    folder = layout.run_folder(artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0].id)
    edit_record(folder, reseal=True, seconds=99.0)
    assert "was made before its records changed" in refusal(layout)


def test_random_streams_are_part_of_every_code_id(tmp_path):
    root = tiny.project(tmp_path)
    before = code_id("reproduce.mini.noise", root)
    (root / "harness").mkdir(exist_ok=True)
    (root / "harness" / "seeds.py").write_text("KEY = 2\n")
    tiny.forget()
    assert code_id("reproduce.mini.noise", root) != before


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
    monkeypatch.setattr(fresh, "asked_first", lambda space: ["one", "another"])
    spec = find_run("mini/noise/strong/low/s0", "smoke", root)
    assert fresh.inputs_of(spec) == f"threads=1 data={data}"


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
    registry = fresh.inputs_of(spec)
    assert f"nb201-pypi:{WHEEL}=" in registry
    shelf(table)
    compiled = fresh.inputs_of(spec)
    assert "nb201-table:nb201.csv.gz=" in compiled and "nb201-pypi" not in compiled
    shelf(wheel, "another")
    shelf("benchmarks/nb101/nb101_table.npz", "of another space")
    assert fresh.inputs_of(spec) == compiled
    shelf(table, "another")
    assert fresh.inputs_of(spec) != compiled
    shelf("benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple/meta", "a folder may hold a part")
    assert "nb201-nats:" in fresh.inputs_of(spec) and "nb201-table:" in fresh.inputs_of(spec)
