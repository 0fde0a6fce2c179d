"""NAS-Bench-101 from two compiled arrays files: rows are module hashes ascending."""

import zipfile
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.bench.identity import Column, Key, Say, Source, Table, accuracies
from harness.bench.nb101_tfrecord import CELLS, EPOCHS, REPEATS, SPACES, WHERE

METRICS = ("final_validation_accuracy", "final_test_accuracy", "final_training_time")
ONE = "one of the three repeats, which one is not recorded and differs from cell to cell"


def _columns() -> tuple[Column, ...]:
    made = []
    for split, images in WHERE.items():
        policy = f"{images}, end of the 108-epoch budget"
        repeats = [f"{policy}; repeat {k} in the order of the official file" for k in range(REPEATS)]
        made += accuracies("cifar10", 108, split, f"{policy}; mean of the three repeats", repeats)
    for epochs in EPOCHS:
        policy = f"{WHERE['val']}, end of the {epochs}-epoch budget; {ONE}; 30,001 cells"
        made.append(Column(Key("accuracy", "cifar10", epochs, "val", "one"), policy))
    policy = (
        "seconds of training for 108 epochs on the authors' hardware; mean of three repeats; 151,644 cells"
    )
    made.append(Column(Key("seconds", "cifar10", 108, "train", "mean"), policy))
    return tuple(made)


COLUMNS = _columns()


def convert(inputs: list[Path], folder: Path, say: Say) -> Table:
    from harness.spaces.graph_hash import fingerprints

    try:
        with np.load(inputs[0], allow_pickle=False) as cells, np.load(inputs[1], allow_pickle=False) as table:
            hashes, matrices, ops = cells["hash"], cells["adjacency"], cells["ops"]
            arrays = {name: table[name] for name in table.files}
            full, visited = arrays["full_rows"], arrays["vis_rows"]
            names = [str(name) for name in arrays["full_metric_names"]]
            metrics = [arrays["full_metrics_108"][:, :, names.index(name)].astype(float) for name in METRICS]
            mean, first, budgets = (
                arrays[k] for k in ("mean_test_108", "test_rep0_108", "vis_val_4_12_36_108")
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise HarnessError(
            f"{inputs[1]} and its neighbour are not the compiled arrays ({error}): fetch them again"
        ) from None
    if len(mean) != len(hashes) or not (hashes[1:] > hashes[:-1]).all():
        raise HarnessError(f"{inputs[0]} and {inputs[1].name} do not belong together: fetch both again")
    values = dict.fromkeys(column.key for column in COLUMNS)

    def put(key: Key, numbers: np.ndarray, rows: np.ndarray | slice) -> None:
        values[key] = np.full(len(hashes), np.nan)
        values[key][rows] = numbers

    def accuracy(epochs: int, split: str, trials: str | int) -> Key:
        return Key("accuracy", "cifar10", epochs, split, trials)

    validation, test, seconds = metrics
    for k in range(REPEATS):
        put(accuracy(108, "val", k), 100 * validation[:, k], full)
        put(accuracy(108, "test", k), 100 * test[:, k], full)
    put(accuracy(108, "test", 0), 100 * first, slice(None))  # held for every cell
    put(accuracy(108, "test", "mean"), 100 * mean, slice(None))
    put(accuracy(108, "val", "mean"), 100 * validation.mean(axis=1), full)
    for place, epochs in enumerate(EPOCHS):
        put(accuracy(epochs, "val", "one"), 100 * budgets[:, place], visited)
    put(Key("seconds", "cifar10", 108, "train", "mean"), seconds.mean(axis=1), full)
    version = f"compiled from the official tfrecord, {len(hashes)} cells"
    prints = fingerprints(matrices, ops)
    return Table(version, hashes, np.array(list(values.values())), {"fingerprint": prints})


SOURCE = Source(
    name="nb101-table",
    spaces=SPACES,
    holds="NAS-Bench-101 at 108 epochs: mean test and repeat 0 of all 423,624 cells, all repeats of 151,644",
    files=(
        ("benchmarks/nb101/nb101_archs_by_hash.npz", "benchmarks/nb101/nb101_table.npz"),
        ("nb101_archs_by_hash.npz", "nb101_table.npz"),
    ),
    get="put the two compiled files there; they are not published",
    columns=COLUMNS,
    cells=CELLS,
    convert=convert,
)
