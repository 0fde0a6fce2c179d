"""Slips that once ended in a traceback, or were taken without a word: one sentence each, with its place."""

import pytest
import tiny

from harness import artefacts, experiments, yamlfile
from harness.errors import HarnessError
from harness.execute import execute
from harness.fresh import inputs_of
from harness.layout import Layout
from harness.make import make

EXPERIMENTS = "reproduce/mini/experiments.yaml"
TABLE = "tables/mini/table_1.yaml"
RUN = "mini/noise/strong/low/s0"

# what is written instead of what, the line of it, and what the user is told
IN_EXPERIMENTS = [
    ("effect: 2.0", "effect: .nan", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 1e999", 8, "config.effect is no finite number"),
    ("effect: 2.0", f"effect: 1{'0' * 400}", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 2021-01-02", 8, "config.effect is a date: quote it if it is text"),
    ("effect: 2.0", "effect: !!set {a, b}", 8, "config.effect is a set"),
    ("effect: 2.0", "1: 2.0", 8, "noise.config.1: 1 is not of type 'string'"),
    ("strong: {}", "1: {}", 10, "noise.methods.1: 1 is not of type 'string'"),
    ("strong: {}", '"strong\\n": {}', 10, "does not match"),
    ("strong: {}", f"{'x' * 300}: {{}}", 10, "too long"),
    ("  noise:\n", "  ../noise:\n", 6, "'../noise' does not match"),
    ("seeds: [0, 1, 2]", f"seeds: [{10**30}]", 15, "maximum"),
    ("    seeds:", "    needs: [CIFAR 10]\n    seeds:", 15, "does not match"),
    ("    seeds:", "    module: ../../x\n    seeds:", 15, "does not match"),
]


@pytest.mark.parametrize("old, new, line, told", IN_EXPERIMENTS)
def test_in_experiments(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, EXPERIMENTS, old, new)
    with pytest.raises(HarnessError) as caught:
        experiments.paper("mini", root)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value) and "\n" not in str(caught.value)


TWICE = tiny.TABLE[tiny.TABLE.index("  - id: high-above-low") :]
TREND = 'tests: [{trend: rising, each: {row: [low, high]}, over: ["{row}", strong]}]'
IN_AN_ARTEFACT = [
    ('format: ".2f"', 'format: ".2fE"', 6, "format '.2fE' prints no number"),
    ('format: ".2f"', 'format: "999999999f"', 6, "prints no number"),
    ("{name: low, setting: low}", "{name: low, setting: low, format: d}", 9, "format 'd' prints no number"),
    (
        "{name: low, setting: low}",
        "{name: low, setting: low, blank: [stong]}",
        9,
        "blank column 'stong' does not exist: did you mean 'strong'?",
    ),
    ("cells: {experiment: noise}\n", "", 18, "low / strong is printed and is of no experiment: add"),
    (TWICE, TWICE * 2, 26, "a claim's id 'high-above-low' is empty or stands twice"),
    ("id: high-above-low", "id: '{}'", 22, "a claim's id '' is empty or stands twice"),
    (
        'tests: [{left: [high, strong], relation: ">", right: [low, strong]}]',
        TREND,
        25,
        "a trend needs three points",
    ),
    ('"0.0 (0.2)", weak', ".inf, weak", 19, "reported.numbers.low.strong is no finite number"),
]


@pytest.mark.parametrize("old, new, line, told", IN_AN_ARTEFACT)
def test_in_an_artefact(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, TABLE, old, new)
    with pytest.raises(HarnessError) as caught:
        artefacts.artefacts(root)
    assert str(caught.value).startswith(f"{path}, line {line}: "), str(caught.value)
    assert told in str(caught.value) and "\n" not in str(caught.value)


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
    tiny.edit(root, TABLE, 'high: {strong: "5.0 (0.2)"', f'high: {{strong: "{printed}"')
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
    assert inputs_of(spec) == "threads=1 data="
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
