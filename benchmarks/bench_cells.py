"""How long an artefact of many cells and long tables takes: `python benchmarks/bench_cells.py`.

A made-up experiment: 4 methods × 5 seeds leave 404,000 rows, of which 600 cells are made. Some cells are also
made the plain way (whole columns compared as text, each resample ranked by itself), which must give the same.
So is Kendall's tau of more and more architectures, up to where sorting is quicker than all pairs.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.base.layout import Layout
from harness.make import make
from harness.metrics import resampled
from harness.metrics.ranking import kendall, spearman
from harness.numbers import cells, rows
from harness.numbers.stats import DRAWS, Estimate, of_units
from harness.runs.record import Run, write_record
from harness.spec import artefacts
from harness.spec.experiments import RunSpec, all_runs

STEPS, ARCHITECTURES = 101, 100
EXPERIMENTS = """\
paper: bench
title: A paper of a benchmark
authors: nobody
year: 2021
experiments:
  one_shot:
    where: nowhere
    methods: {a: {}, b: {}, c: {}, d: {}}
    settings: {s: {}}
    seeds: [0, 1, 2, 3, 4]
"""
TABLE = f"""\
artefact: bench/table_1
where: nowhere
title: A table of a benchmark
cells:
  {{experiment: one_shot, setting: s, table: training, of: sotl, against: truth, paired_by: [arch, truth]}}
rows:
  - {{name: "{{step}}", each: {{step: {list(range(0, 100, 2))}}}, only: {{step: "{{step}}"}}}}
columns:
  - name: "{{m}} {{f}}"
    each: {{m: [a, b, c, d], f: [low, high]}}
    method: "{{m}}"
    only: {{finetune: "{{f}}"}}
    reduce: spearman
  - name: "{{m}} top 10"
    each: {{m: [a, b, c, d]}}
    method: "{{m}}"
    only: {{finetune: low}}
    reduce: top_k
    k: 0.1
"""


def leave(spec: RunSpec, layout: Layout) -> None:
    """The record of a run with one row per way of fine-tuning, step and architecture."""
    run = Run(spec, layout.run_folder(spec.id))
    shape = (2, STEPS, ARCHITECTURES)
    truth = np.random.default_rng(0).normal(90, 2, ARCHITECTURES)
    scores = [truth + run.stream(str(i)).normal(0, 2, shape) for i in range(9)]
    names = ("sotl", "tlmini", "sog", "sogn", "sogn_l1", "sogn_double", "sog_author", "loss", "params")
    index = np.indices(shape).reshape(3, -1)
    columns: dict[str, Any] = {
        "finetune": np.array(["low", "high"])[index[0]],
        "step": index[1],
        "arch": index[2],
    }
    columns |= {name: score.ravel() for name, score in zip(names, scores, strict=True)}
    run.table("training", columns | {"truth": truth[index[2]]})
    run.metric("diverged", 0)
    write_record(run, code="", commit="", device="cpu", threads=1, allocator="", started="", seconds=0)


def plain(frame: Any, runs: list[RunSpec], only: dict[str, Any]) -> Estimate:
    """A cell as it is defined, without anything kept from the cells before it."""
    frame = frame[frame["run"].isin([run.id for run in runs])]
    for column, value in only.items():
        frame = frame[frame[column].astype(str) == str(value)]
    parts = [part for _, part in frame.groupby("run", sort=True)]
    return of_units(spearman, [(part["sotl"].to_numpy(), part["truth"].to_numpy()) for part in parts])


def kendall_at_once() -> None:
    """Each number of architectures in one go: the plain way first, then all resamples at once."""
    rng = np.random.default_rng(0)
    for n in (64, 150, 500, resampled.PAIRS):
        runs, taken = [(rng.normal(size=n), rng.normal(size=n))], []
        resampled.drawn(n, DRAWS, 0)  # the same for every cell
        for many in (None, resampled.kendall):
            start = time.perf_counter()
            taken.append((of_units(kendall, runs, many=many).se_units, time.perf_counter() - start))
        (known, slow), (found, quick) = taken
        np.testing.assert_allclose(found, known, rtol=1e-9)
        what = f"ratio, Kendall's tau of {n} architectures"
        print(f"{what:46} {slow / quick:8.1f}")


def timed(what: str, call: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = call()
    print(f"{what:46} {time.perf_counter() - start:8.2f} s", flush=True)
    return result


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in (("reproduce", EXPERIMENTS), ("tables", TABLE)):
            file = root / path / "bench" / ("experiments.yaml" if path == "reproduce" else "table_1.yaml")
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        layout = Layout("smoke", root)
        for spec in all_runs("smoke", root):
            leave(spec, layout)
        artefact = artefacts.find("bench/table_1", root)
        runs = artefact.runs("smoke", root)
        stacked, _ = timed(f"reading {len(runs)} records", lambda: rows.collect(runs, layout))
        named = f"{len(stacked['training']):,} rows"
        stacked, _ = timed(
            f"reading what cells choose of {named}", lambda: rows.collect(runs, layout, artefact.cells)
        )
        timed(
            f"writing {len(stacked['training']):,} rows",
            lambda: rows.write(stacked, layout.rows(artefact.name)),
        )
        start = time.perf_counter()
        filled = timed(f"{len(artefact.cells)} cells", lambda: cells.fill(artefact, stacked, "smoke", root))
        each = (time.perf_counter() - start) / len(filled)
        start, several = time.perf_counter(), filled[:8]
        for cell, one in zip(artefact.cells, several, strict=False):
            known = plain(
                stacked["training"], artefacts.runs_of(cell, "bench", "smoke", root), cell.select["only"]
            )
            np.testing.assert_allclose(
                [one.estimate.value, one.estimate.se_units], [known.value, known.se_units], rtol=1e-9
            )
        slow = (time.perf_counter() - start) / len(several)
        print(f"{'a cell, plainly':46} {slow * 1e3:8.1f} ms\n{'a cell':46} {each * 1e3:8.1f} ms")
        print(f"{'ratio':46} {slow / each:8.0f}")
        kendall_at_once()
        timed("the whole artefact, records to files", lambda: make.make(artefact, layout, root))


if __name__ == "__main__":
    main()
