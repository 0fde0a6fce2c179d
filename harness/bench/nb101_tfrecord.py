"""NAS-Bench-101 from the official tfrecord, read without TensorFlow.

A record is JSON: [module hash, epochs, adjacency, ops, base64 of a ModelMetrics message]; it is one of three
repeats of one cell and budget. ModelMetrics.evaluation_data (field 1) is repeated: start, halfway, end.
"""

import base64
import binascii
import json
import struct
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.bench import tfrecord
from harness.bench.identity import Column, Key, Say, Source, Table, accuracies

SPACES = ("nb101", "nb1shot1-1", "nb1shot1-2", "nb1shot1-3")
CELLS = 423_624
EPOCHS = (4, 12, 36, 108)
REPEATS = 3
OPS = {"input": 0, "output": 1, "conv3x3-bn-relu": 2, "conv1x1-bn-relu": 3, "maxpool3x3": 4}
EPOCH_FIELD, SECONDS_FIELD, VAL_FIELD, TEST_FIELD = 1, 2, 4, 5  # of EvaluationData
WHERE = {"val": "10k images held out of the training set", "test": "the test set"}


def fields(message: bytes) -> Iterator[tuple[int, float | int | bytes]]:
    """Field number and value of a protobuf message; doubles are decoded, messages and strings stay bytes."""
    position, end = 0, len(message)
    while position < end:
        tag, position = _varint(message, position)
        wire = tag & 7
        if wire == 0:
            value, position = _varint(message, position)
        elif wire == 1:
            (value,) = struct.unpack_from("<d", message, position)
            position += 8
        elif wire == 2:
            length, position = _varint(message, position)
            value = message[position : position + length]
            position += length
        elif wire == 5:
            (value,) = struct.unpack_from("<f", message, position)
            position += 4
        else:
            raise ValueError(f"wire type {wire}")
        if position > end:
            raise ValueError("a field runs past the end")
        yield tag >> 3, value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = message[position]
        result |= (byte & 127) << shift
        position += 1
        if byte < 128:
            return result, position
        shift += 7


def final_evaluation(message: bytes, epochs: int) -> tuple[float, float, float]:
    """Validation accuracy, test accuracy (both 0..1) and training seconds at the end of the budget."""
    evaluations = [value for number, value in fields(message) if number == 1]
    if len(evaluations) != 3 or not isinstance(evaluations[2], bytes):
        raise ValueError(f"{len(evaluations)} evaluations where 3 are due")
    end = dict(fields(evaluations[2]))
    if abs(end[EPOCH_FIELD] - epochs) > 0.5:
        raise ValueError(f"the last evaluation is of epoch {end[EPOCH_FIELD]}, not {epochs}")
    return end[VAL_FIELD], end[TEST_FIELD], end[SECONDS_FIELD]


def _columns() -> tuple[Column, ...]:
    made = []
    for epochs in EPOCHS:
        for split, images in WHERE.items():
            policy = f"{images}, end of the {epochs}-epoch budget"
            repeats = [f"{policy}; repeat {k} in the order of the file" for k in range(REPEATS)]
            made += accuracies("cifar10", epochs, split, f"{policy}; mean of the repeats", repeats)
        policy = f"seconds of training for {epochs} epochs on the authors' hardware; mean of the repeats"
        made.append(Column(Key("seconds", "cifar10", epochs, "train", "mean"), policy))
    return tuple(made)


COLUMNS = _columns()


def convert(inputs: list[Path], folder: Path, say: Say) -> Table:
    from harness.spaces.graph_hash import fingerprints

    path = inputs[0]
    place: dict[str, int] = {}
    cells: list[tuple[str, str]] = []
    seen = (
        bytearray()
    )  # repeats of each cell and budget; five million records are too many for Python objects
    keys, results = array("q"), array("d")  # cell, budget, repeat; validation, test, seconds
    number = 0
    for batch in tfrecord.read(path):
        for payload in batch:
            try:
                name, epochs, adjacency, ops, metrics = json.loads(payload)
                budget = EPOCHS.index(epochs)
                final = final_evaluation(base64.b64decode(metrics.replace("\n", ""), validate=True), epochs)
                if not len(bytes.fromhex(name)) == 16 or len(adjacency) != (ops.count(",") + 1) ** 2:
                    raise ValueError("hash or adjacency of a wrong length")
            except (
                ValueError,
                KeyError,
                IndexError,
                TypeError,
                AttributeError,
                struct.error,
                binascii.Error,
            ) as error:
                raise HarnessError(f"{path}: record {number} is no NAS-Bench-101 row ({error!r})") from None
            cell = place.setdefault(name, len(place))
            if cell == len(cells):
                cells.append((adjacency, ops))
                seen += bytes(len(EPOCHS))
            repeat = seen[cell * len(EPOCHS) + budget]
            if repeat == REPEATS:
                raise HarnessError(f"{path}: record {number} is a fourth repeat of {name} at {epochs} epochs")
            seen[cell * len(EPOCHS) + budget] += 1
            keys.extend((cell, budget, repeat))
            results.extend(final)
            number += 1
        if number % (250 * tfrecord.BATCH) == 0:
            say(f"{number} records")
    hashes = np.array(list(place), dtype="S32")
    order = np.argsort(hashes)
    at = np.frombuffer(keys, np.int64).reshape(-1, 3)
    data = np.full((len(cells), len(EPOCHS), REPEATS, 3), np.nan)
    data[at[:, 0], at[:, 1], at[:, 2]] = np.frombuffer(results).reshape(-1, 3)
    matrices, codes = _graphs(path, cells)
    prints = fingerprints(matrices[order], codes[order])
    values = _values(data[order])
    version = f"official tfrecord, {len(cells)} cells, {number} records"
    return Table(version, hashes[order], values, {"fingerprint": prints})


def _values(data: np.ndarray) -> np.ndarray:
    held = np.isfinite(data)
    total = np.where(held, data, 0).sum(axis=2)
    with np.errstate(invalid="ignore"):
        mean = total / held.sum(axis=2)
    rows = []
    for column in COLUMNS:
        budget = EPOCHS.index(column.key.epochs)
        field = 2 if column.key.what == "seconds" else list(WHERE).index(column.key.split)
        trials = column.key.trials
        one = mean[:, budget, field] if trials == "mean" else data[:, budget, trials, field]
        rows.append(one if field == 2 else 100 * one)
    return np.array(rows)


def _graphs(path: Path, cells: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    matrices = np.zeros((len(cells), 7, 7), np.uint8)
    codes = np.full((len(cells), 7), 255, np.uint8)
    for row, (adjacency, ops) in enumerate(cells):
        names = ops.split(",")
        size = len(names)
        if size > 7 or not set(names) <= set(OPS) or set(adjacency) - set("01"):
            raise HarnessError(
                f"{path}: a cell {adjacency} {ops} is not one of NAS-Bench-101: fetch the file again"
            )
        matrices[row, :size, :size] = np.frombuffer(adjacency.encode(), np.uint8).reshape(size, size) - ord(
            "0"
        )
        codes[row, :size] = [OPS[name] for name in names]
    return matrices, codes


SOURCE = Source(
    name="nb101-tfrecord",
    spaces=SPACES,
    holds="NAS-Bench-101 as published: validation and test of 3 repeats at 4, 12, 36, 108 epochs, seconds",
    files=(
        ("benchmarks/nb101/nasbench_full.tfrecord",),
        ("nasbench_full.tfrecord",),
        ("benchmarks/nb101/nasbench_only108.tfrecord",),
        ("nasbench_only108.tfrecord",),
    ),
    get="download nasbench_full.tfrecord (github.com/google-research/nasbench links it) there",
    columns=COLUMNS,
    cells=CELLS,
    convert=convert,
)
