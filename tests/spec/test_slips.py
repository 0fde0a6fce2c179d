"""Slips that once ended in a traceback, or were taken without a word: one sentence each, with its place."""

import re

import pytest
import tiny

from harness.base import yamlfile
from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.campaign import campaign
from harness.make.make import make
from harness.runs.execute import execute
from harness.runs.stale import data_of
from harness.spec import artefacts, experiments

EXPERIMENTS = "reproduce/mini/experiments.yaml"
TABLE = "tables/mini/table_1.yaml"
RUN = "mini/noise/strong/low/s0"


def test_aliases_that_multiply(tmp_path):
    """Nine lines that stand for ten to the nine keys."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    path = tiny.write(tmp_path, "some.yaml", "\n".join(lines) + "\n")
    with pytest.raises(HarnessError, match=r"some\.yaml, line \d: aliases multiply"):
        yamlfile.read(path)


def test_a_folder_in_a_files_place(tmp_path):
    (tmp_path / "some.yaml").mkdir()
    with pytest.raises(HarnessError, match=r"some\.yaml cannot be read \(Is a directory\)"):
        yamlfile.read(tmp_path / "some.yaml")


def test_of_many_names_the_first_are_told():
    told = yamlfile.nearest("zzz", [f"run-{i:03}" for i in range(200)])
    assert told.startswith("use one of run-000, run-001, ") and told.endswith("run-029 (and 170 more)")


# what a cell's YAML says that its runs cannot answer
CELLS = [
    (", reduce: spearman", ", reduce: lowest", "'lowest' is for a metric, not for a table"),
    (", reduce: spearman", ", reduce: quantile, q: 0.5, pairs: true", "pairs of runs are compared by spear"),
    (", reduce: spearman", ", reduce: top_k, k: 3, pairs: true", "compared by spearman, kendall, pearson"),
    ("table: values, ", "truth: {experiment: noise, table: values, of: truth, by: truth}, ", "no table None"),
    (
        "table: values, ",
        "table: values, truth: {experiment: noise, table: metrics, of: unit, by: name}, ",
        "no column 'name' to look its truth up by",
    ),
]


@pytest.mark.parametrize("old, new, told", CELLS)
def test_in_a_cell(tmp_path, old, new, told):
    root = tiny.project(tmp_path, EXPERIMENTS=tiny.EXPERIMENTS.replace("[0, 1, 2]", "[0, 1]"))
    tiny.edit(root, TABLE, old, new)
    layout = tiny.run_all(root)
    with pytest.raises(HarnessError) as caught:
        make(artefacts.find("mini/table_1", root), layout, root)
    assert str(caught.value).startswith("mini/table_1: low / correlation: ") and told in str(caught.value)


@pytest.mark.parametrize("printed", ["five", "0,5", "5.0 (x)"])
def test_a_printed_number_that_is_none_has_its_cell(tmp_path, printed):
    root = tiny.project(tmp_path)
    tiny.edit(root, TABLE, "| high | 5.0 (0.2)", f"| high | {printed}")
    layout = tiny.run_all(root)
    with pytest.raises(HarnessError, match="mini/table_1: high / strong: reported number '.*' is not one"):
        make(artefacts.find("mini/table_1", root), layout, root)


def test_a_module_that_is_no_experiment(tmp_path):
    root = tiny.project(tmp_path)
    tiny.write(root, "reproduce/mini/noise.py", '"""Nothing is run here."""\n')
    spec = experiments.find_run(RUN, "smoke", root)
    with tiny.importable(root), pytest.raises(HarnessError, match=r"reproduce\.mini\.noise has no Config"):
        execute(spec, Layout("smoke", root))


def test_a_data_set_that_is_no_name_is_told_by_its_run(tmp_path):
    """The plan is made before any config is built: it must not fail at a list."""
    root = tiny.project(tmp_path)
    tiny.edit(root, EXPERIMENTS, "{size: 30}", "{size: 30, dataset: [cifar10], source: [best]}")
    spec = experiments.find_run(RUN, "smoke", root)
    assert data_of(spec) == {}
    with tiny.importable(root), pytest.raises(HarnessError, match=f"{RUN}: Config has no field 'dataset'"):
        execute(spec, Layout("smoke", root))


FIGURE = tiny.TABLE.replace("mini/table_1", "mini/figure_1") + "figure: {x: row, y: mean}\n"
DRAWING = '''\
"""Figure 1."""


def draw(cells, figure):
    """The one row that it knows."""
    figure.subplots().plot(cells.set_index("row").loc["middle", "value"])
'''


def test_a_drawing_that_does_not_find_its_cells(tmp_path):
    root = tiny.project(tmp_path)
    tiny.write(root, "figures/mini/figure_1.yaml", FIGURE)
    drawing = tiny.write(root, "figures/mini/figure_1.py", DRAWING)
    layout = tiny.run_all(root)
    with pytest.raises(HarnessError) as caught:
        make(artefacts.find("mini/figure_1", root), layout, root)
    assert str(caught.value).startswith(f"{drawing}, line 6: cannot draw these cells (KeyError: 'middle')")
    tiny.forget()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"scale": "cpu", "scal": "cpu"}, "--config scal=… does not exist: did you mean 'scale'?"),
        ({"scale": "big"}, "scale 'big' does not exist"),
    ],
)
def test_a_slip_in_config(config, said):
    with pytest.raises(HarnessError, match=re.escape(said)):
        campaign.scale_of(config)
    assert campaign.scale_of({"scale": "paper"}) == "paper"
    with pytest.raises(HarnessError, match="scale None does not exist: use one of smoke, cpu, paper"):
        campaign.scale_of({})  # config/config.yaml without it, once a KeyError


def test_a_campaign_of_one_paper():
    names = ["icw", "sotl"]
    assert campaign.papers_of({"scale": "cpu"}, names) == names
    assert campaign.papers_of({"paper": "icw"}, names) == ["icw"]
    with pytest.raises(HarnessError, match=r"--config paper=icv does not exist: did you mean 'icw'\?"):
        campaign.papers_of({"paper": "icv"}, names)
    assert campaign.scale_of({"scale": "cpu", "paper": "icw"}) == "cpu"
