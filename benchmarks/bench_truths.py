"""How fast truths answer, beside nats-bench's own API: `python benchmarks/bench_truths.py`.

Needs NAS_DATA with the NATS-Bench records and the compiled tables; what is missing is left out of the table.
Stores are converted first (not timed). Each start is a fresh process; import of numpy is not counted.
"""

import contextlib
import importlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.bench import catalogue, curve, truth, truths
from harness.bench.nats import FOLDER

QUERY = "('nb201', {arch!r}, 'cifar10', 200, 'val', 'mean', source={source!r})"
FRESH = """
import time, numpy
def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024
before, start = resident(), time.perf_counter()
{statement}
print(time.perf_counter() - start, resident() - before)
"""


def fresh(statement: str, repeats: int = 5) -> tuple[float, float]:
    """Best seconds and growth of resident memory in MB of a statement, each time in a new process."""
    runs = []
    for _ in range(repeats):
        command = [sys.executable, "-c", FRESH.format(statement=statement)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        runs.append(tuple(float(number) for number in done.stdout.split()[-2:]))
    return min(runs)


def timed(call: Callable[[], object], least: float = 0.3) -> float:
    """Seconds per call, over at least `least` seconds."""
    call()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < least:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def row(what: str, value: str, note: str = "") -> None:
    print(f"{what:58} {value:>12}  {note}")


def nb201(source: str) -> None:
    try:
        found = truth("nb201", 0, "cifar10", 200, "val", "mean", source=source)
    except HarnessError as error:
        row(f"{source}", "left out", str(error))
        return
    arch = found.architecture
    call = "from harness.bench import truth; truth" + QUERY.format(arch=arch, source=source)
    row(
        f"{source}: import, open, first query (new process)",
        f"{1e3 * fresh(call)[0]:.1f} ms",
        "target < 50 ms",
    )
    warm = f"import harness.bench, harness.bench.lookup; start = time.perf_counter(); {call}"
    row(f"{source}: open, first query (modules imported)", f"{1e3 * fresh(warm)[0]:.1f} ms", "target < 50 ms")
    row(
        f"{source}: one more query",
        f"{1e6 * timed(lambda: truth('nb201', arch, 'cifar10', 200, 'val', 'mean', source=source)):.0f} us",
    )


def million(source: str) -> None:
    names = truth_names(source)
    rows = np.random.default_rng(0).integers(len(names), size=1_000_000)
    archs = [names[i] for i in rows.tolist()]
    for kind, asked in (("strings", archs), ("string array", np.array(archs)), ("row numbers", rows)):
        start = time.perf_counter()
        truths("nb201", asked, "cifar10", 200, "val", "mean", source=source)
        row(f"{source}: 10^6 queries by {kind}", f"{time.perf_counter() - start:.3f} s", "target < 1 s")


def truth_names(source: str) -> list[str]:
    found = catalogue.find(catalogue.named(source))
    if found is None:
        raise HarnessError(f"{source} is not here")
    store = catalogue.open_store(catalogue.named(source), found[1])
    return [name.decode() for name in store.array("names").tolist()]


def beside_nats_bench() -> None:
    """The same three cells, four runs, two schedules, through the package and through the store."""
    found = catalogue.find(catalogue.named("nb201-nats"))
    if found is None:
        row("nats-bench's own API", "left out", f"no {FOLDER}")
        return
    theirs = importlib.import_module("nats_bench")
    folder = str(found[1][0])
    cells = [int(path.name[:6]) for path in sorted(found[1][0].glob("0*.pickle.pbz2"))][:3]
    statement = (
        f"import nats_bench; api = nats_bench.create({folder!r}, 'tss', fast_mode=True, verbose=False); "
        f"api.get_more_info({cells[0]}, 'cifar10-valid', hp='200', is_random=False)"
    )
    arch = theirs.create(folder, "tss", fast_mode=True, verbose=False).arch(cells[0])
    call = "from harness.bench import truth; truth" + QUERY.format(arch=arch, source="nb201-nats")
    one, other = fresh(statement)[0], fresh(call)[0]
    row("nats-bench: import, create, first record (new process)", f"{1e3 * one:.1f} ms")
    row(
        "nb201-nats: import, open, first query (new process)",
        f"{1e3 * other:.1f} ms",
        f"{one / other:.1f} times the speed",
    )
    api = theirs.create(folder, "tss", fast_mode=True, verbose=False)
    archs = [api.arch(cell) for cell in cells]

    def package() -> list[float]:
        infos = [api.get_more_info(cell, "cifar10-valid", hp="200", is_random=False) for cell in cells]
        return [info["valid-accuracy"] for info in infos]

    def store() -> np.ndarray:
        return truths("nb201", archs, "cifar10", 200, "val", "mean", source="nb201-nats").values

    np.testing.assert_array_equal(package(), store())
    one, other = timed(package), timed(store)
    row("nats-bench: 3 cells, records loaded", f"{1e6 * one:.0f} us")
    row("nb201-nats: 3 cells", f"{1e6 * other:.0f} us", f"{one / other:.1f} times the speed")
    many = archs * 1000
    other = timed(lambda: truths("nb201", many, "cifar10", 200, "val", "mean", source="nb201-nats"))
    row(
        "nb201-nats: 3,000 cells in one query",
        f"{1e6 * other:.0f} us",
        f"{1000 * one / other:,.0f} times the speed per cell",
    )
    one = timed(
        lambda: list(api.query_by_index(cells[0], "cifar10-valid", hp="200")[777].train_losses.values())
    )
    other = timed(lambda: curve("nb201", archs[0], "cifar10", 200, "val", 0, "train_loss"))
    row("curve of 200 epochs: nats-bench / nb201-nats", f"{1e6 * one:.0f} / {1e6 * other:.0f} us")


def nb101() -> None:
    try:
        truth("nb101", 0, "cifar10", 108, "test", "mean", source="nb101-table")
    except HarnessError as error:
        row("nb101-table", "left out", str(error))
        return
    ask = "from harness.bench import truth, truths; {}('nb101', {}, 'cifar10', 108, 'test', 'mean')"
    seconds, growth = fresh(ask.format("truth", "0"))
    row(
        "nb101-table: import, open, first query (new process)",
        f"{1e3 * seconds:.1f} ms",
        f"target < 500 ms; +{growth:.0f} MB",
    )
    seconds, growth = fresh(ask.format("truths", "numpy.arange(423624)"))
    row(
        "nb101-table: the same and all 423,624 values",
        f"{1e3 * seconds:.1f} ms",
        f"target < 200 MB; +{growth:.0f} MB",
    )
    from harness import spaces

    archs = spaces.get("nb101").sample(10_000, np.random.default_rng(0))
    taken = timed(lambda: truths("nb101", archs, "cifar10", 108, "test", "mean", source="nb101-table"))
    row(
        "nb101-table: 10,000 cell strings, no md5",
        f"{1e3 * taken:.0f} ms",
        f"{taken / 1e4 * 1e6:.0f} us per cell",
    )


def nb301() -> None:
    from harness.spaces import darts

    archs = darts.SPACE.sample(500, np.random.default_rng(0))
    try:
        taken = timed(lambda: truths("darts", archs, "cifar10", 98, "val", "mean", source="nb301-onnx"))
    except HarnessError as error:
        row("nb301-onnx", "left out", str(error))
        return
    row("nb301-onnx: batch size 1, one thread", f"{len(archs) / taken:,.0f} /s", "parsing included")


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}, {os.cpu_count()} cores")
    with contextlib.redirect_stderr(io.StringIO()):  # "converting … once" of the first calls
        for source in ("nb201-table", "nb201-pypi"):
            nb201(source)
        try:
            million("nb201-table")
        except HarnessError as error:
            row("10^6 queries", "left out", str(error))
        beside_nats_bench()
        nb101()
        nb301()


if __name__ == "__main__":
    main()
