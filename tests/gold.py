"""The paper `gold`: a checked-in project with sealed records, and the files that must come of them."""

import shutil
from pathlib import Path

import tiny
from sealed import seal

from harness.accepted.accept import accept
from harness.base.layout import Layout
from harness.make.make import make
from harness.report import collect
from harness.spec import artefacts

PROJECT = Path(__file__).parent / "golden" / "project"
EXPECTED = Path(__file__).parent / "golden" / "expected"
NUMBERS = 75  # cells and claims of its artefacts together
# A checked-in picture is compared as SVG; PNG and PDF hold the drawing library's own compression.
COMPARED = (".csv", ".md", ".tex", ".html", ".svg", ".json")

ACCURACY = {  # method, setting: one accuracy per seed
    ("plain", "a"): (70.5, 71.25, 70.875),
    ("plain", "b"): (64.0, 65.0, 66.0),
    ("fancy", "a"): (83.0, 84.0, 83.5),
    ("fancy", "b"): (1.0, 2.0, 3.0),
}
TRUTH = {
    "source": "a-table",
    "version": "1",
    "file": "table.csv",
    "sha256": "ab" * 32,
    "space": "nb201",
    "dataset": "cifar10",
    "epochs": 200,
    "split": "test",
    "trials": "mean",
    "policy": "mean of the seeds",
}


def write_records(root: Path) -> None:
    """The records of a finished campaign of the project below `root`."""
    layout = Layout("smoke", root)
    for (method, setting), values in ACCURACY.items():
        for seed, value in enumerate(values):
            metrics = {"accuracy": value, "count": 782_938 if method == "plain" else 12}
            seal(layout, f"gold/accuracy/{method}/{setting}/s{seed}", metrics)
    shuffled = [(7 * i) % 40 for i in range(40)]
    table = {
        "prediction": [i // 2 for i in range(40)],
        "truth": [90 + i / 10 + j / 20 for i, j in enumerate(shuffled)],
    }
    seal(layout, "gold/ranking/params/a/s0", tables={"architectures": table}, truths=[TRUTH])
    for method, noise in (("near", 3), ("far", 11)):
        for seed in range(4):
            drawn = [(i * i + 5 * seed * i + seed) % 13 for i in range(12)]
            scores = {
                "name": [f"n{i}" for i in range(12)],
                "prediction": [i + noise * d // 4 for i, d in enumerate(drawn)],
                "params": [d % 5 for d in drawn],
                "truth": [80 + i / 2 + (i * 7) % 4 for i in range(12)],
            }
            guesses = {key: scores[key] for key in ("name", "prediction")}
            metrics = {
                "loss": (seed + 1) * (noise + 2 * seed) / 8,
                "accuracy": 60 + 2 * seed + (seed - 1) ** 2 / noise,
            }
            seal(layout, f"gold/scores/{method}/a/s{seed}", metrics, {"scores": scores, "guesses": guesses})
    for seed in range(2):
        values = {
            "name": [f"n{i}" for i in range(11, -1, -1)],
            "t": [(5 * i + 3 * seed) % 17 for i in range(12)],
        }
        seal(layout, f"gold/alone/training/a/s{seed}", tables={"values": values})
    setup = {"key": ["rate", "name"], "value": ["0.0003", "step & decay_1 <10%>"]}
    seal(layout, "gold/setup/training/a/s0", tables={"setup": setup})


def build(folder: Path) -> Layout:
    """Rows, cells, renderings and verdicts of the checked-in records, made below `folder`."""
    layout = Layout("smoke", shutil.copytree(PROJECT, folder / "project"))
    remake(layout)
    collect.write("gold", layout, layout.root)
    return layout


def remake(layout: Layout) -> None:
    """Make every artefact again, from its YAML and records as they now are."""
    tiny.forget()
    for artefact in artefacts.artefacts(layout.root):
        make(artefact, layout, layout.root)


def accepted(folder: Path) -> Layout:
    """The project with everything made and accepted."""
    return accept_all(build(folder))


def accept_all(layout: Layout) -> Layout:
    """What stands in results/."""
    for artefact in artefacts.artefacts(layout.root):
        accept(artefact, layout, "a first look at it", layout.root)
    return layout


def compared(results: Path) -> dict[str, bytes]:
    """Everything that a campaign has made of the records, by name below results/smoke."""
    paths = (p for p in sorted(results.rglob("*")) if p.suffix in COMPARED)
    names = {p.relative_to(results).as_posix(): p for p in paths}
    left_out = "runs/", "check/made/"  # what was given; notes that change with every edit of code
    return {name: p.read_bytes() for name, p in names.items() if not name.startswith(left_out)}
