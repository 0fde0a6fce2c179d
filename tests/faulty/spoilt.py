"""What spoils an accepted tree, and what the check must say of it."""

import math
from collections.abc import Callable
from contextlib import suppress

import tiny
from sealed import edit_record

from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.base.layout import Layout
from harness.make.make import make
from harness.spec import artefacts

TABLE = "tables/gold/table_1.yaml"
ACCEPTED = "published/smoke/tables/gold/table_1.cells.csv"
FIND = "Look closer: python -m harness find gold/table_1 --scale smoke"
REMAKE = "Look closer: snakemake gold_table_1 --config scale=smoke"
RESULTS = "results/smoke"
PLAIN = [f"gold/accuracy/plain/a/s{seed}" for seed in range(3)]
Change = Callable[[Layout], None]


def make_table(layout: Layout) -> None:
    """The one table that these changes are told of; a drawing takes ten times as long."""
    tiny.forget()
    make(artefacts.find("gold/table_1", layout.root), layout, layout.root)


def replace(layout: Layout, path: str, old: str, new: str) -> None:
    tiny.edit(layout.root, path, old, new)


def respec(old: str, new: str, path: str = TABLE) -> Change:
    """The paper's YAML is edited and everything is made again."""

    def change(layout: Layout) -> None:
        replace(layout, path, old, new)
        make_table(layout)

    return change


def tamper(old: str, new: str) -> Change:
    """The accepted file is edited, nothing is made."""
    return lambda layout: replace(layout, ACCEPTED, old, new)


def reran(*values: float) -> Change:
    """The runs of plain / a came out otherwise."""

    def change(layout: Layout) -> None:
        for run, value in zip(PLAIN, values, strict=True):
            metrics = [{"name": "accuracy", "value": value, "unit": ""}]
            metrics += [{"name": "count", "value": 782_938, "unit": ""}]
            edit_record(layout.run_folder(run), reseal=True, metrics=metrics)
        make_table_if_possible(layout)

    return change


def make_table_if_possible(layout: Layout) -> None:
    """Where records are refused, check must tell of it."""
    with suppress(HarnessError):
        make_table(layout)


def one_run_less(layout: Layout) -> None:
    replace(layout, "reproduce/gold/experiments.yaml", "seeds: [0, 1, 2]", "seeds: [0, 1]")
    make_table(layout)


def swapped_labels(layout: Layout) -> None:
    text = (layout.root / TABLE).read_text()
    rows = '{name: plain, metric: accuracy}\n  - {name: "better_than & printed #1 (100%)", method: fancy'
    other = rows.replace("{name: plain,", "{name: plain, method: fancy,")
    assert rows in text
    replace(layout, TABLE, rows, other.removesuffix("fancy") + "plain")
    make_table(layout)


def gone(*paths: str) -> Change:
    def change(layout: Layout) -> None:
        for path in paths:
            (layout.root / path).unlink()
        tiny.forget()

    return change


def by_hand(layout: Layout) -> None:
    """A better number is written into a finished record."""
    edit_record(layout.run_folder(PLAIN[1]), metrics=[{"name": "accuracy", "value": 99.0, "unit": ""}])


def table_by_hand(layout: Layout) -> None:
    with (layout.run_folder("gold/ranking/params/a/s0") / "architectures.csv").open("a") as file:
        file.write("20,99\n")


def half(path: str) -> Change:
    """The second half of a file was never written."""

    def change(layout: Layout) -> None:
        whole = (layout.root / path).read_bytes()
        (layout.root / path).write_bytes(whole[: len(whole) // 2])

    return change


def fewer_architectures(layout: Layout) -> None:
    """Three architectures less: the correlation stays inside its interval."""
    folder = layout.run_folder("gold/ranking/params/a/s0")
    lines = (folder / "architectures.csv").read_text().splitlines()
    (folder / "architectures.csv").write_text("\n".join(lines[:-3]) + "\n")
    edit_record(folder, True, tables={"architectures.csv": sha256_of(folder / "architectures.csv")})
    make_table(layout)


SPOILT: dict[str, tuple[Change, list[str]]] = {  # what is done to the accepted tree, what check must say
    "changed accepted verdict": (
        tamper("agrees,", "match,"),
        [f"gold/table_1: plain / a: verdict was 'match' and is 'agrees' (-0.325 … {FIND}"],
    ),
    "changed reported number": (
        respec("71.2 (0.9)", "71.1 (0.9)"),
        [f"gold/table_1: plain / a: the paper's number was '71.2 (0.9)' and is '71.1 (0.9)'. {FIND}"],
    ),
    "reported number withdrawn": (
        respec("| 782,938      |", "|              |"),
        ["counted / a: the paper's number was '782,938' and is ''", "counted / a: … verdict was 'match'"],
    ),
    "better than reported": (
        reran(80.5, 81.25, 80.875),
        [f"plain / a: verdict was 'agrees' and is 'differs' (+9.6 … {FIND}", "plain / a: … value was 70.875"],
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
        [f"gold/table_1: {PLAIN[1]} left what is no number in metric accuracy"],
    ),
    "a metric beyond all bounds": (
        reran(70.5, math.inf, 71),
        [f"gold/table_1: {PLAIN[1]} left what is no number in metric accuracy"],
    ),
    "a run less than was accepted": (
        one_run_less,
        [f"plain / a: … is no longer made of gold/accuracy/plain/a/s2 … {FIND}", "was made of 3 runs"],
    ),
    "swapped method label": (
        swapped_labels,
        [
            f"plain / a: … is no longer made of gold/accuracy/plain/a/s0 and 2 more … {FIND}",
            "plain / a: … is newly made of gold/accuracy/fancy/a/s0 and 2 more",
            "better_than & printed #1 (100%) / a: … value was 83.5 and is 70.875",
        ],
    ),
    "missing run": (
        gone(f"{RESULTS}/runs/{PLAIN[1]}/run.json"),
        [f"{PLAIN[1]}/run.json is not there … {REMAKE}"],
    ),
    "hand-edited record": (by_hand, [f"{PLAIN[1]}/run.json was changed after its run ended … {REMAKE}"]),
    "hand-edited table of a record": (
        table_by_hand,
        [f"architectures.csv is missing or was changed after its run … {REMAKE}"],
    ),
    "half of the accepted cells": (
        half(ACCEPTED),
        [f"gold/table_1: {ACCEPTED} is cut short or was damaged … Look closer: git checkout -- {ACCEPTED}"],
    ),
    "half of the accepted claims": (
        half(ACCEPTED.replace("cells", "claims")),
        ["table_1.claims.csv is cut short or was damaged … Look closer: git checkout -- published/smoke/tab"],
    ),
    "half of the accepted provenance": (
        half(ACCEPTED.replace("cells.csv", "provenance.json")),
        ["table_1.provenance.json is cut short or was damaged … Look closer: git checkout -- published/smo"],
    ),
    "half of our cells": (
        half(f"{RESULTS}/tables/gold/table_1.cells.csv"),
        ["table_1.cells.csv is cut short … Look closer: python -m harness make gold/table_1 --scale smoke"],
    ),
    "vanished artefact": (
        gone("results/smoke/tables/gold/table_1.cells.csv"),
        ["gold/table_1: has no cells … Look closer: snakemake gold_table_1 --config scale=smoke"],
    ),
    "vanished claim": (
        respec("- id: fancy-wins\n", "- id: fancy-loses\n"),
        [
            f"claim fancy-wins: verdict was 'agrees' and is 'absent'. {FIND}",
            "claim fancy-loses: verdict was 'ab",
        ],
    ),
    "vanished claims file": (
        gone("results/smoke/tables/gold/table_1.claims.csv"),
        ["results/smoke/tables/gold/table_1.claims.csv is not what its records give"],
    ),
    "claim that says something else": (
        respec("Setting b is better.", "Setting b is worse."),
        ["claim b-beats-a: said 'Setting b is better.' and says 'Setting b is worse.'"],
    ),
    "claim turned around": (
        respec(" > plain | a", " < plain | a"),
        ["claim fancy-wins: verdict was 'agrees' and is 'contradicts' (by -12.6", "claim b-beats-a"],
    ),
    "new cell": (
        respec(
            "  - {name: plain, metric", "  - {name: plain again, metric: accuracy}\n  - {name: plain, metric"
        ),
        [f"plain again / a: is new and was never accepted. {FIND}", "plain again / b: is new"],
    ),
    "vanished cell": (
        respec("method: fancy, metric: accuracy", "method: fancy, metric: accuracy, columns: [a]"),
        ["better_than & printed #1 (100%) / b: is gone. Look closer: snakemake"],
    ),
    "edited exact value": (
        tamper("counted,a,782938,", "counted,a,782939,"),
        [f"counted / a: value was 782939 and is 782938. {FIND}", f"{ACCEPTED} was edited"],
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
        ["correlation / a: … was made of 40 architectures and is made of 37"],
    ),
    "accepted but deleted": (
        gone(TABLE),
        [
            "gold/table_1: was accepted and is no artefact … python -m harness withdraw gold/table_1",
            f"gold/table_1: {TABLE} is missing since it was accepted at scale smoke",
        ],
    ),
    "accepted for another scale only": (
        gone(ACCEPTED),
        ["gold/table_1: was never accepted … python -m harness accept gold/table_1 --scale smoke"],
    ),
}
