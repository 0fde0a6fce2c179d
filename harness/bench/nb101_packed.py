"""NAS-Bench-101's mean test accuracies in a megabyte, and back into the files that nb101-table reads.

Cells are in the order in which the benchmark generated them, which `all_fingerprints` makes from nothing. A
mean is that of three accuracies on 9,984 images, each rounded to a float32. So three small whole numbers give
it back to the last bit: `images`, how many of 29,952 were right; `rest`, how far the rounded sum is from that
(in 2^-27); `last`, how many float64s the compiled table's mean lies beside a third of the sum, because it was
text in between.
"""

import io
import zipfile
from hashlib import md5

import numpy as np

from harness.base.errors import HarnessError
from harness.bench.identity import Key
from harness.bench.nb101_table import METRICS
from harness.bench.nb101_tfrecord import EPOCHS, REPEATS
from harness.spaces.graph_hash import CONV3X3, all_fingerprints, cells

KEY = Key("accuracy", "cifar10", 108, "test", "mean")
IMAGES = 9984
ULP = 2.0**-27
_LABEL_BITS, _EDGE_BITS = 8, 21  # of a fingerprint


def pack(percent: np.ndarray) -> bytes:
    """Of the percentages of all cells, in the order of `all_fingerprints`."""
    images = np.rint(percent / 100 * REPEATS * IMAGES)
    exact = np.rint(images / IMAGES / ULP)
    rest = np.rint(percent / 100 * REPEATS / ULP) - exact
    third = (exact + rest) * ULP / REPEATS
    last = np.full(len(percent), 99)
    for steps in sorted(range(-9, 10), key=abs, reverse=True):  # the fewest steps are tried last, and win
        last[100 * _beside(third, steps) == percent] = steps
    if (last == 99).any() or abs(rest).max() > 127 or images.max() > REPEATS * IMAGES:
        row = int(np.argmax((last == 99) | (abs(rest) > 127)))
        raise HarnessError(f"cell {row}: {percent[row]!r} is no mean of three accuracies on {IMAGES} images")
    arrays = {"images": images.astype("<u2"), "rest": rest.astype("i1"), "last": last.astype("i1")}
    return _npz(arrays, zipfile.ZIP_DEFLATED)


def means(packed: bytes) -> np.ndarray:
    """Mean test accuracies, 0 to 1, in the order of `all_fingerprints`."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        images, rest, last = (arrays[name].astype(float) for name in ("images", "rest", "last"))
    return _beside((np.rint(images / IMAGES / ULP) + rest) * ULP / REPEATS, last.astype(np.int64))


def _beside(values: np.ndarray, steps: np.ndarray | int) -> np.ndarray:
    """The float64s so many steps above."""
    return (values.view(np.int64) + steps).view(float)


def files_of(packed: bytes) -> tuple[bytes, bytes]:
    """Cells and table as nb101-table reads them, by module hash; what is not carried is not in them."""
    prints, mean = all_fingerprints(), means(packed)
    if len(mean) != len(prints):
        raise HarnessError(f"there are {len(mean)} numbers for {len(prints)} cells")
    hashes = np.array(module_hashes(prints), dtype="S32")
    order = np.argsort(hashes)
    adjacency, ops = cells(prints[order])
    nothing = np.empty(0, np.int64)
    table = {
        "mean_test_108": mean[order],
        "test_rep0_108": np.full(len(mean), np.nan, np.float32),
        "full_rows": nothing,
        "full_metric_names": np.array(METRICS),
        "full_metrics_108": np.empty((0, REPEATS, len(METRICS)), np.float32),
        "vis_rows": nothing,
        "vis_val_4_12_36_108": np.empty((0, len(EPOCHS))),
    }
    named = {"hash": hashes[order], "adjacency": adjacency, "ops": ops}
    return _npz(named, zipfile.ZIP_STORED), _npz(table, zipfile.ZIP_STORED)


def _npz(arrays: dict[str, np.ndarray], compression: int) -> bytes:
    """The same bytes for the same arrays, whenever they are written."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")  # of 1980
            archive.writestr(info, member.getvalue(), compression, 9)
    return data.getvalue()


def module_hashes(prints: np.ndarray) -> list[str]:
    """`graph_hash.module_hash` of ascending fingerprints: what cells of one wiring share is found once."""
    found, wiring = [], -1
    matrices, codes = cells(prints)
    for key, matrix, ops in zip(
        (prints >> np.uint64(_LABEL_BITS)).tolist(), matrices, codes.tolist(), strict=True
    ):
        if key != wiring:
            wiring, size = key, key >> _EDGE_BITS
            around = [
                (np.flatnonzero(matrix[:, v]).tolist(), np.flatnonzero(matrix[v]).tolist())
                for v in range(size)
            ]
        labels = [-1, *(code - CONV3X3 for code in ops[1 : size - 1]), -2]
        names = [
            _md5(str((len(out), len(come), label))) for (come, out), label in zip(around, labels, strict=True)
        ]
        for _ in range(size):
            joined = [
                ("".join(sorted([names[w] for w in come])), "".join(sorted([names[w] for w in out])))
                for come, out in around
            ]
            names = [_md5(f"{come}|{out}|{name}") for (come, out), name in zip(joined, names, strict=True)]
        found.append(_md5(str(sorted(names))))
    return found


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()
