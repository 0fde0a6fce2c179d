"""The paper `gold`: a checked-in project with sealed records, and the files that must come of them."""

import atexit
import json
import math
import shutil
import tempfile
from functools import cache
from pathlib import Path

import tiny
from sealed import edit_record, seal

from harness.accepted import outcomes
from harness.accepted.accept import accept
from harness.base.layout import Layout
from harness.make.make import make
from harness.spec import artefacts

PROJECT = Path(__file__).parent / "golden" / "project"
EXPECTED = Path(__file__).parent / "golden" / "expected"
NUMBERS = 79  # cells and claims of its artefacts together, but for
LIMITS = "table_3", "table_4"  # which take seconds to make, and are made where all are compared
# A checked-in picture is compared as SVG; PNG and PDF hold the drawing library's own compression.
COMPARED = (".csv", ".md", ".tex", ".html", ".svg", ".json")

ACCURACY = {  # method, setting: one accuracy per seed
    ("plain", "a"): (70.5, 71.25, 70.875),
    ("plain", "b"): (64.0, 65.0, 66.0),
    ("fancy", "a"): (83.0, 84.0, 83.5),
    ("fancy", "b"): (1.0, 2.0, 3.0),
}
ODD = {"one": 1, "pair": 2, "three": 3, "six": 6}  # methods of the experiment `odd`, and how many seeds
FORMS = {  # what each of them counted, beside which table_3 prints all forms of numbers
    "half": (0.125, 2.5, 14_850_000, 1550),
    "more": (0.1251, -2.4, 14_850_001, 1551),
    "size": (3162, 3163, 0, 15_625),
    "tiny": (0.0001, 0.00009, 1e9, 999_999_999),
    "huge": (1e15, 999_999_999_999_999, -1e15, 1234.5),
    "exact": (7, 10, 3, 13),
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
            strays = {"name": ["n7", "of no truth"], "prediction": [seed, seed]}
            metrics = {
                "loss": (seed + 1) * (noise + 2 * seed) / 8,
                "accuracy": 60 + 2 * seed + (seed - 1) ** 2 / noise,
            }
            seal(
                layout,
                f"gold/scores/{method}/a/s{seed}",
                metrics,
                {"scores": scores, "guesses": guesses, "strays": strays},
            )
    for seed in range(2):
        values = {
            "name": [f"n{i}" for i in range(11, -1, -1)],
            "t": [(5 * i + 3 * seed) % 17 for i in range(12)],
        }
        seal(layout, f"gold/alone/training/a/s{seed}", tables={"values": values})
    setup = {
        "key": ["rate", "name", "activation", "not asked for"],
        "value": ["0.0003", "step & decay_1 <10%>", "None", "9"],
    }
    seal(layout, "gold/setup/training/a/s0", tables={"setup": setup})
    for i, (method, seeds) in enumerate(ODD.items()):
        counted = {name: values[i] for name, values in FORMS.items()}
        for seed in range(seeds):
            metrics = {
                "accuracy": 60 + (0, 2, 1, 4, 3, 2.5)[seed] + i / 8,
                "restless": 50 + 7 * (0, 2, 1, 4, 3, 2.5)[seed] + i + seed % 2,
                "still": 62.0 + i,
                "vast": 1e6 * (0, 2, 1, 4, 3, 2.5)[seed],
                "lost": math.nan if seed == 1 else 1.5 + seed,
                "whole": float(i != 1 and (i, seed) != (3, 2)),
            }
            folder = seal(
                layout, f"gold/odd/{method}/a/s{seed}", metrics | counted, {"shapes": _shapes(i, seed)}
            )
            if seed == 1:  # what is lost once stays lost
                left = json.loads((folder / "run.json").read_text())["metrics"]
                edit_record(folder, reseal=True, metrics=[*left, {"name": "lost", "value": 3.0, "unit": ""}])
    whole = {
        "guess": [(37 * i) % 101 + i / 7 for i in range(240)],
        "truth": [(i * i) % 97 + i / 5 for i in range(240)],
    }
    for seed in range(2):
        guess = [g + (seed * i) % 23 for i, g in enumerate(whole["guess"])]
        seal(layout, f"gold/space/guessed/a/s{seed}", tables={"every": whole | {"guess": guess}})


def _shapes(i: int, seed: int) -> dict[str, list]:
    """Twelve architectures with ties, gaps, infinity and texts in their columns."""
    guess = [(5 * n + 3 * seed * n + i * n * n) % 9 for n in range(12)]
    return {
        "name": [f"n{n}" for n in range(12)],
        "label": [f"a drawing of n{n}, seed {seed}" for n in range(12)],
        "width": [(0.5, 1.0, 2.0)[n % 3] for n in range(12)],
        "level": [n // 4 for n in range(12)],
        "guess": guess,
        "other": [(7 * g + n) % 5 for n, g in enumerate(guess)],
        "constant": [3] * 12,
        "infinite": ["-inf" if n == 4 else g for n, g in enumerate(guess)],
        "holes": ["nan" if n == 7 else g for n, g in enumerate(guess)],
        "same": [g**2 for g in guess],
        "flag": [bool(g % 2) for g in guess],
        "truth": [80 + (n * n) % 7 + n / 8 for n in range(12)],
        "tied": [80 + (n * n) % 7 for n in range(12)],
    }


def build(folder: Path, limits: bool = False) -> Layout:
    """Rows, cells and renderings of the checked-in records, made below `folder`, and how each fares."""
    layout = Layout("smoke", shutil.copytree(PROJECT, folder / "project"))
    layout.rows("gold/table_1").mkdir(parents=True)
    (layout.rows("gold/table_1") / "earlier.csv").write_text("a table that no run leaves any more\n")
    for name in () if limits else LIMITS:
        (layout.root / f"tables/gold/{name}.yaml").unlink()
    remake(layout)
    told = [line for a in artefacts.artefacts(layout.root) for line in outcomes.lines(a, layout)]
    (layout.results / "check/outcomes.md").write_text("\n\n".join([*told, ""]), encoding="utf-8")
    return layout


def remake(layout: Layout) -> None:
    """Make every artefact again, from its YAML and records as they now are."""
    tiny.forget()
    for artefact in artefacts.artefacts(layout.root):
        make(artefact, layout, layout.root)


def accepted(folder: Path) -> Layout:
    """The project with everything made and accepted: a copy of what is made once."""
    return Layout("smoke", shutil.copytree(_accepted(), folder / "project"))


@cache
def _accepted() -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return accept_all(build(folder)).root


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
