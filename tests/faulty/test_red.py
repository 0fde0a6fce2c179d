"""Trees that were accepted and then spoilt: each must be red, told by its cell and a command to look on."""

import math
import shutil
import subprocess
import sys

import pytest
import tiny
from gold import accepted, remake
from sealed import edit_record

from harness import artefacts
from harness.check import compare
from harness.errors import HarnessError
from harness.files import ROOT, sha256_of
from harness.layout import Layout
from harness.make import make
from harness.record import refuse_broken

TABLE = "tables/gold/table_1.yaml"
ACCEPTED = "published/smoke/tables/gold/table_1.cells.csv"
FIND = "Look closer: python -m harness find gold/table_1 --scale smoke"
PLAIN = [f"gold/accuracy/plain/a/s{seed}" for seed in range(3)]


def replace(layout: Layout, path: str, old: str, new: str) -> None:
    tiny.edit(layout.root, path, old, new)


def respec(old: str, new: str, path: str = TABLE):
    """The paper's YAML is edited and everything is made again."""

    def change(layout: Layout) -> None:
        replace(layout, path, old, new)
        remake(layout)

    return change


def tamper(old: str, new: str):
    """The accepted file is edited, nothing is made."""
    return lambda layout: replace(layout, ACCEPTED, old, new)


def reran(*values: float):
    """The runs of plain / a came out otherwise."""

    def change(layout: Layout) -> None:
        for run, value in zip(PLAIN, values, strict=True):
            metrics = [{"name": "accuracy", "value": value, "unit": ""}]
            metrics += [{"name": "count", "value": 782_938, "unit": ""}]
            edit_record(layout.run_folder(run), reseal=True, metrics=metrics)
        remake(layout)

    return change


def one_run_less(layout: Layout) -> None:
    replace(layout, "reproduce/gold/experiments.yaml", "seeds: [0, 1, 2]", "seeds: [0, 1]")
    remake(layout)


def swapped_labels(layout: Layout) -> None:
    text = (layout.root / TABLE).read_text()
    rows = '{name: plain, metric: accuracy}\n  - {name: "better_than & printed #1 (100%)", method: fancy'
    other = rows.replace("{name: plain,", "{name: plain, method: fancy,")
    assert rows in text
    replace(layout, TABLE, rows, other.removesuffix("fancy") + "plain")
    remake(layout)


def gone(*paths: str):
    def change(layout: Layout) -> None:
        for path in paths:
            (layout.root / path).unlink()
        tiny.forget()

    return change


def fewer_architectures(layout: Layout) -> None:
    """Three architectures less: the correlation stays inside its interval."""
    folder = layout.run_folder("gold/ranking/params/a/s0")
    lines = (folder / "architectures.csv").read_text().splitlines()
    (folder / "architectures.csv").write_text("\n".join(lines[:-3]) + "\n")
    edit_record(folder, True, tables={"architectures.csv": sha256_of(folder / "architectures.csv")})
    make(artefacts.find("gold/table_1", layout.root), layout, layout.root)


SPOILT = {  # name: (what is done to the accepted tree, what check must say)
    "changed accepted verdict": (
        tamper("agrees,", "match,"),
        [f"gold/table_1: plain / a: verdict was 'match' and is 'agrees' (-0.325 … {FIND}"],
    ),
    "changed reported number": (
        respec("71.2 (0.9)", "71.1 (0.9)"),
        [f"gold/table_1: plain / a: the paper's number was '71.2 (0.9)' and is '71.1 (0.9)'. {FIND}"],
    ),
    "reported number withdrawn": (
        respec('counted: {a: "782,938"}', "counted: {}"),
        ["counted / a: the paper's number was '782,938' and is ''", "counted / a: verdict was 'match'"],
    ),
    "better than reported": (
        reran(80.5, 81.25, 80.875),
        [f"plain / a: verdict was 'agrees' and is 'differs' (+9.6 … {FIND}", "plain / a: value was 70.875"],
    ),
    "worse than reported": (
        reran(60.5, 61.25, 60.875),
        ["plain / a: verdict was 'agrees' and is 'differs' (-10", "claim b-beats-a: verdict was 'contra"],
    ),
    "moved beyond both intervals, the verdict as before": (
        reran(71.95, 71.96, 71.97),
        [f"plain / a: value was 70.875 and is 71.96. {FIND}"],
    ),
    "a metric that is no number": (
        reran(70.5, math.nan, 71),
        ["plain / a: verdict was 'agrees' and is 'differs' (our value is not a number)", "and is nan"],
    ),
    "a metric beyond all bounds": (
        reran(70.5, math.inf, 71),
        ["plain / a: verdict was 'agrees' and is 'differs' (our value is not a number)", "and is inf"],
    ),
    "a run less than was accepted": (
        one_run_less,
        [f"plain / a: is no longer made of gold/accuracy/plain/a/s2. {FIND}", "was made of 3 runs"],
    ),
    "swapped method label": (
        swapped_labels,
        [
            f"plain / a: is no longer made of gold/accuracy/plain/a/s0 and 2 more. {FIND}",
            "plain / a: is newly made of gold/accuracy/fancy/a/s0 and 2 more",
            "better_than & printed #1 (100%) / a: value was 83.5 and is 70.875",
        ],
    ),
    "vanished artefact": (
        gone("results/smoke/tables/gold/table_1.cells.csv"),
        ["gold/table_1: has no cells … Look closer: snakemake gold_table_1 --config scale=smoke"],
    ),
    "vanished claim": (
        respec("claims:\n  - id: fancy-wins\n", "claims:\n  - id: fancy-loses\n"),
        [
            f"claim fancy-wins: verdict was 'agrees' and is 'absent'. {FIND}",
            "claim fancy-loses: verdict was 'ab",
        ],
    ),
    "vanished claims file": (
        gone("results/smoke/tables/gold/table_1.claims.csv"),
        ["claim fancy-wins: verdict was 'agrees' and is 'absent'"],
    ),
    "claim that says something else": (
        respec("Setting b is better.", "Setting b is worse."),
        ["claim b-beats-a: said 'Setting b is better.' and says 'Setting b is worse.'"],
    ),
    "claim turned around": (
        respec('relation: ">", right: [plain, a]}]', 'relation: "<", right: [plain, a]}]'),
        ["claim fancy-wins: verdict was 'agrees' and is 'contradicts' (by -12.6", "claim b-beats-a"],
    ),
    "new cell": (
        respec(
            "  - {name: plain, metric", "  - {name: plain again, metric: accuracy}\n  - {name: plain, metric"
        ),
        [f"plain again / a: is new and was never accepted. {FIND}", "plain again / b: is new"],
    ),
    "vanished cell": (
        respec("blank: [b]\n    architectures: 40", "blank: [a, b]\n    architectures: 40"),
        ["correlation / a: is gone. Look closer: snakemake gold_table_1 --config scale=smoke"],
    ),
    "edited exact value": (
        tamper("counted,a,782938,", "counted,a,782939,"),
        [f"counted / a: value was 782939 and is 782938. {FIND}"],
    ),
    "edited exact value of a figure": (
        lambda layout: replace(
            layout,
            "published/smoke/figures/gold/figure_1.cells.csv",
            "10,oracle,0.6666666667",
            "10,oracle,0.6666",
        ),
        ["gold/figure_1: 10 / oracle: value was 0.6666 and is 0.6666666667"],
    ),
    "changed setting": (
        tamper("setting,a,,0.0003", "setting,a,,0.003"),
        ["setting / a: was '0.003' and is '0.0003'"],
    ),
    "excused by an issue": (
        respec(
            'name: "other setting",',
            'name: "other setting", paper_issue: "D1: it says so", gives: "step & decay_1 <10%>",',
        ),
        ["other setting / a: verdict was 'differs' and is 'paper issue' (D1: it says so"],
    ),
    "no longer run": (
        respec(
            "slow: this method has no data",
            "fancy: too tired today\n          slow: this method has no data",
            "reproduce/gold/experiments.yaml",
        ),
        ["better_than & printed #1 (100%) / a: verdict was 'differs' and is 'not run' (too tired today)"],
    ),
    "fewer architectures": (
        fewer_architectures,
        ["correlation / a: was made of 40 architectures and is made of 37"],
    ),
    "accepted but deleted": (
        gone(TABLE),
        ["gold/table_1: was accepted and is no artefact … git rm published/smoke/tables/gold/table_1.*"],
    ),
    "accepted for another scale only": (
        gone(ACCEPTED),
        ["gold/table_1: was never accepted … python -m harness accept gold/table_1 --scale smoke"],
    ),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return accepted(tmp_path_factory.mktemp("good"))


@pytest.fixture
def tree(good, tmp_path):
    layout = Layout("smoke", shutil.copytree(good.root, tmp_path / "project"))
    yield layout
    tiny.forget()


def test_an_untouched_tree_is_green(tree):
    assert compare(tree, tree.root) == []
    remake(tree)
    assert compare(tree, tree.root) == []


@pytest.mark.parametrize("spoilt", SPOILT)
def test_red(tree, spoilt):
    change, sentences = SPOILT[spoilt]
    change(tree)
    told = [str(c) for c in compare(tree, tree.root)]
    for sentence in sentences:
        parts = [part.strip() for part in sentence.split("…")]
        assert any(all(part in line for part in parts) for line in told), "\n".join([sentence, *told])


def test_missing_run(tree):
    """A record that is gone is no smaller table: the artefact is not made at all."""
    (tree.run_folder(PLAIN[1]) / "run.json").unlink()
    with pytest.raises(HarnessError, match=r"plain/a/s1/run\.json is not there: run it with"):
        remake(tree)


def test_hand_edited_record(tree):
    folder = tree.run_folder(PLAIN[1])
    edit_record(folder, metrics=[{"name": "accuracy", "value": 71.2, "unit": ""}])
    with pytest.raises(HarnessError, match=r"plain/a/s1/run\.json was changed after its run ended"):
        remake(tree)
    assert len(refuse_broken([folder])) == 1 and not (folder / "run.json").exists()


def test_hand_edited_table_of_a_record(tree):
    folder = tree.run_folder("gold/ranking/params/a/s0")
    with (folder / "architectures.csv").open("a") as file:
        file.write("20,99\n")
    with pytest.raises(HarnessError, match=r"architectures\.csv is missing or was changed after its run"):
        remake(tree)


def test_the_command_says_it_and_fails(tree):
    """`python -m harness check` in a checkout of its own: green, then red with exit code 1."""
    for name in ("harness", "config"):
        shutil.copytree(ROOT / name, tree.root / name, ignore=shutil.ignore_patterns("__pycache__"))

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "harness", "check"], cwd=tree.root, capture_output=True, text=True
        )

    green = check()
    assert (green.returncode, green.stderr) == (0, "")
    assert green.stdout == "check: every accepted number and verdict of scale smoke still stands\n"
    tamper("counted,a,782938,", "counted,a,782939,")(tree)
    red = check()
    assert red.returncode == 1 and red.stdout == ""
    assert red.stderr == f"changed: gold/table_1: counted / a: value was 782939 and is 782938. {FIND}\n"
