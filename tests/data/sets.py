"""Tiny image sets in the publishers' formats, written by the tests themselves."""

import gzip
import hashlib
import pickle
import struct
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from harness.data import all_sources, cli, images, manage
from harness.data.sources import File, Layout


def pixels(n, height=32, width=32, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, height, width, channels), np.uint8)


def planes(x):
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)).reshape(len(x), -1)


def idx_bytes(array):
    return (
        b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    )


def write_mnist(folder, x, y, split="train", zipped=True):
    folder.mkdir(parents=True, exist_ok=True)
    prefix = {"train": "train", "test": "t10k"}[split]
    for name, array in (("images-idx3", x[..., 0]), ("labels-idx1", y.astype(np.uint8))):
        data = idx_bytes(array)
        path = folder / f"{prefix}-{name}-ubyte{'.gz' if zipped else ''}"
        path.write_bytes(gzip.compress(data) if zipped else data)


def cifar_bin_bytes(x, y, coarse=None):
    columns = [c[:, None].astype(np.uint8) for c in (coarse, y) if c is not None]
    return np.concatenate([*columns, planes(x)], axis=1).tobytes()


def cifar_py_bytes(x, y, key=b"labels"):
    return pickle.dumps({b"data": planes(x), key: y.tolist(), b"filenames": [b"a.png"] * len(x)}, protocol=2)


def python2_batch_bytes(x, y):
    """The opcodes that Python 2 wrote for CIFAR's batches: byte strings, numpy.core.multiarray."""

    def long_string(data):
        return b"T" + struct.pack("<i", len(data)) + data

    rows = planes(x)
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntU\x01btR(I1\n(I%d\nI%d\nt"
        b"cnumpy\ndtype\n(U\x02u1I0\nI1\ntR(I3\nU\x01|NNNI-1\nI-1\nI0\ntbI00\n" % rows.shape
    )
    labels = b"(" + b"".join(b"I%d\n" % label for label in y) + b"l"
    return b"\x80\x02}(U\x04data" + array + long_string(rows.tobytes()) + b"tbU\x06labels" + labels + b"u."


def write_svhn(folder, x, y, split="train"):
    from scipy.io import savemat

    folder.mkdir(parents=True, exist_ok=True)
    labels = np.where(y == 0, 10, y).astype(np.uint8)[:, None]
    savemat(folder / f"{split}_32x32.mat", {"X": x.transpose(1, 2, 3, 0), "y": labels}, do_compression=True)


def imagenet16_bytes(x, labels):
    return pickle.dumps({"data": planes(x), "labels": list(labels), "mean": np.zeros(768)}, protocol=4)


X, Y = pixels(4), np.array([0, 1, 9, 1])


def known(name, data):
    """A file of a data card, with what its publisher would say of it."""
    return File(name, len(data), sha256=hashlib.sha256(data).hexdigest())


def small_cifar(monkeypatch, **ways):
    """The only set there is becomes a CIFAR-10 of one batch of four images, which both splits have."""
    batch = cifar_bin_bytes(X, Y)
    files = {"train": (known("data_batch_1.bin", batch),), "test": (known("test_batch.bin", batch),)}
    layout = Layout("cifar-bin", ("cifar-10-batches-bin",), files)
    made = replace(
        all_sources()["cifar10"],
        images={"train": 4, "test": 4},
        content={},
        layouts=(layout,),
        **({"publisher": (), "registry": ()} | ways),
    )
    cards = MappingProxyType({"cifar10": made})
    for place in (images, manage, cli):
        monkeypatch.setattr(place, "source", lambda name: cards[name])
    for place in (manage, cli):
        monkeypatch.setattr(place, "all_sources", lambda: cards)
    return batch
