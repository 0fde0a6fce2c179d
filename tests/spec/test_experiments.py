"""experiments.yaml → runs: overrides by name and their precedence, what a scale leaves out, unknown names."""

import importlib

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import SCALES
from harness.base.settings import build
from harness.spec import experiments

YAML = "reproduce/mini/experiments.yaml"
LAYERS = """\
paper: mini
title: A tiny paper
authors: nobody
year: 2021
experiments:
  one:
    where: section 1
    module: noise
    needs: [far]
    config: {a: config, b: config, c: config, d: config, e: config, f: config, deep: {x: 1, y: 2}}
    methods:
      m: {b: method, c: method, d: method, e: method, f: method}
      other: {}
    settings:
      s: {c: setting, d: setting, e: setting, f: setting}
      t:
    seeds: [0, 1]
    resources: {threads: 2, gpu: 1}
    scales:
      smoke:
        config: {d: scale, e: scale, f: scale, deep: {x: 3}}
        methods:
          m: {e: scale-method, f: scale-method}
        settings:
          s: {f: scale-setting}
        seeds: [7]
        needs: [near]
      cpu:
        skip: {t: it takes a whole night on two cores}
        out_of_reach: {other: forty GPU days at least}
"""


@pytest.fixture
def root(tmp_path):
    tiny.project(tmp_path, EXPERIMENTS=LAYERS)
    (tmp_path / "tables/mini/table_1.yaml").unlink()
    return tmp_path


def test_precedence_of_a_config(root):
    run = experiments.find_run("mini/one/m/s/s7", "smoke", root)
    assert run.config == {
        "a": "config",
        "b": "method",
        "c": "setting",
        "d": "scale",
        "e": "scale-method",
        "f": "scale-setting",
        "deep": {"x": 3},  # a block is replaced whole: what a scale changes stands there completely
    }
    other = experiments.find_run("mini/one/other/t/s7", "smoke", root)
    assert other.config["b"] == "config" and other.config["f"] == "scale"


def test_a_scale_without_a_block_runs_the_published_set_up(root):
    run = experiments.find_run("mini/one/m/s/s1", "paper", root)
    assert [run.config[k] for k in "abcdef"] == ["config", "method", *["setting"] * 4]
    assert run.config["deep"] == {"x": 1, "y": 2}
    assert run.needs == ("far",) and run.module == "reproduce.mini.noise"
    assert run.resources == {"threads": 2, "gpu": 1, "mem_mb": 2000}


def test_names_and_number_of_runs(root):
    ids = [run.id for run in experiments.all_runs("paper", root)]
    assert ids[:3] == ["mini/one/m/s/s0", "mini/one/m/s/s1", "mini/one/m/t/s0"]
    assert len(ids) == len(set(ids)) == 8
    assert [run.id for run in experiments.all_runs("smoke", root)] == [
        f"mini/one/{m}/{s}/s7" for m in ("m", "other") for s in ("s", "t")
    ]
    assert {run.needs for run in experiments.all_runs("smoke", root)} == {("near",)}


def test_what_a_scale_leaves_out_has_its_reason(root):
    assert [run.id for run in experiments.all_runs("cpu", root)] == ["mini/one/m/s/s0", "mini/one/m/s/s1"]
    one = experiments.paper("mini", root).experiments["one"]
    skipped = one.absence("cpu", "m", "t")
    assert (skipped.verdict, skipped.reason) == ("not run", "it takes a whole night on two cores")
    far = one.absence("cpu", "other", "t")  # both apply: what no money buys weighs more
    assert (far.verdict, far.reason) == ("out of reach", "forty GPU days at least")
    assert one.absence("cpu", "m", "s") is None
    assert one.absence("smoke", "other", "t") is None


@pytest.mark.parametrize(
    "ask, told",
    [
        (lambda r: experiments.paper("mimi", r), "paper 'mimi' does not exist: did you mean 'mini'?"),
        (
            lambda r: experiments.find_run("mini/one/m/s/s9", "paper", r),
            "'mini/one/m/s/s9' does not exist at scale paper: did you mean 'mini/one/m/s/s",
        ),
        (lambda r: experiments.find_run("mini/one/m/s/s0", "smoke", r), "at scale smoke: did you mean"),
        (
            lambda r: experiments.all_runs("smke", r),
            "scale 'smke' does not exist: use one of smoke, cpu, paper",
        ),
    ],
)
def test_unknown_names_get_a_line(root, ask, told):
    with pytest.raises(HarnessError) as caught:
        ask(root)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["two words", "a/b", "x;y", "Big"])
def test_the_name_of_an_experiment_is_a_folder_and_a_word_of_a_command(tmp_path, name):
    text = tiny.EXPERIMENTS.replace("  noise:", f'  "{name}":')
    root = tiny.project(tmp_path, EXPERIMENTS=text)
    with pytest.raises(HarnessError, match=f"line 6: experiments.{name}: .* does not match"):
        experiments.paper("mini", root)


@pytest.mark.parametrize("key", ["skip", "out_of_reach", "methods", "settings"])
def test_a_scale_cannot_change_what_is_not_there(root, key):
    value = "{}" if key in ("methods", "settings") else "a reason of some length"
    text = LAYERS.split("      cpu:")[0] + f"      cpu:\n        {key}: {{mm: {value}}}\n"
    path = tiny.write(root, YAML, text)
    line = len(text.splitlines())
    with pytest.raises(HarnessError, match=f"{path}, line {line}: {key} names 'mm'.* did you mean 'm'?"):
        experiments.paper("mini", root)


REAL = {(run.module, run.id, scale): run for scale in SCALES for run in experiments.all_runs(scale)}


@pytest.mark.parametrize("module", sorted({run.module for run in REAL.values()}))
def test_every_run_of_every_paper_builds_its_config(module):
    config = importlib.import_module(module).Config
    for (of, name, scale), run in REAL.items():
        if of == module:
            build(config, run.config, f"{name} at scale {scale}")


def test_every_experiment_has_its_module_and_every_module_its_experiment():
    for name in experiments.paper_names():
        used = {e.data.get("module", e.name) for e in experiments.paper(name).experiments.values()}
        folder = ROOT / "reproduce" / name
        assert used == {p.stem for p in folder.glob("*.py") if "\ndef run(run: Run" in p.read_text()}


def test_every_need_can_be_fetched():
    from harness.data import all_sources
    from harness.runs.fetch import TRUTHS

    needs = {need for run in REAL.values() for need in run.needs}
    assert needs and needs <= {*TRUTHS, *all_sources()}


def test_a_method_can_have_seeds_of_its_own(tmp_path):
    text = LAYERS.replace("    seeds: [0, 1]\n", "    seeds: {m: [0, 1, 2], others: [4]}\n", 1)
    tiny.project(tmp_path, EXPERIMENTS=text)
    (tmp_path / "tables/mini/table_1.yaml").unlink()
    found = {(run.method, run.seed) for run in experiments.all_runs("paper", tmp_path)}
    assert found == {("m", 0), ("m", 1), ("m", 2), ("other", 4)}
    assert {run.seed for run in experiments.all_runs("smoke", tmp_path)} == {7}


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ("{mm: [0], others: [1]}", "seeds names 'mm', which is no method of one: did you mean 'm'"),
        ("{m: [0]}", "others"),
    ],
)
def test_seeds_of_an_unknown_method_or_without_the_others_are_refused(tmp_path, seeds, said):
    tiny.project(tmp_path, EXPERIMENTS=LAYERS.replace("seeds: [0, 1]", f"seeds: {seeds}", 1))
    (tmp_path / "tables/mini/table_1.yaml").unlink()
    with pytest.raises(HarnessError) as error:
        experiments.all_runs("paper", tmp_path)
    assert said in str(error.value) and "line" in str(error.value)
