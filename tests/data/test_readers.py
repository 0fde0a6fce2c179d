"""Every format against images that the test wrote, and every kind of damage as one sentence."""

import gzip
import io
import os
import pickle

import numpy as np
import pytest
from support import calling

from harness.base.errors import HarnessError
from harness.data import readers

from .sets import (
    cifar_bin_bytes,
    cifar_py_bytes,
    idx_bytes,
    imagenet16_bytes,
    pixels,
    python2_batch_bytes,
    write_svhn,
)

X, Y = pixels(6), np.array([0, 9, 3, 3, 1, 7])


def same(got, x=X, y=Y):
    np.testing.assert_array_equal(got[0], x)
    np.testing.assert_array_equal(got[1], y)
    assert got[0].dtype == np.uint8 and got[1].dtype == np.int64
    assert got[0].flags.c_contiguous


def test_idx_with_and_without_gzip():
    for data in (idx_bytes(X[..., 0]), gzip.compress(idx_bytes(X[..., 0]))):
        np.testing.assert_array_equal(readers.idx(data, "x"), X[..., 0])
    same(readers.idx_pair(X[..., 0].copy(), Y.astype(np.uint8), "x"), X[..., :1])


def test_cifar_bin_with_one_and_two_label_bytes():
    same(readers.cifar_bin(cifar_bin_bytes(X, Y), "x", 1))
    same(readers.cifar_bin(cifar_bin_bytes(X, Y, coarse=np.full(6, 19)), "x", 2))


def test_cifar_py_of_python_3_and_of_python_2():
    same(readers.cifar_py(cifar_py_bytes(X, Y), "x"))
    same(readers.cifar_py(cifar_py_bytes(X, Y, b"fine_labels"), "x"))
    same(readers.cifar_py(python2_batch_bytes(X, Y), "x"))


def test_imagenet16_keeps_the_first_120_classes_and_counts_from_0():
    x = pixels(5, 16, 16)
    same(readers.imagenet16(imagenet16_bytes(x, [1, 121, 120, 1000, 2]), "x"), x[[0, 2, 4]], [0, 119, 1])


def test_svhn_reads_10_as_0(tmp_path):
    write_svhn(tmp_path, X, Y)
    same(readers.svhn_mat((tmp_path / "train_32x32.mat").read_bytes(), "x"))


def test_digits():
    lines = "\n".join(",".join(map(str, [*range(64), digit])) for digit in (4, 2))
    x, y = readers.digits_csv(gzip.compress(lines.encode()), "x")
    assert x.shape == (2, 8, 8, 1) and x[1, 1, 2, 0] == 10 and y.tolist() == [4, 2]


def test_png_rows_give_the_batch_back():
    from PIL import Image

    png = io.BytesIO()
    Image.fromarray(X.reshape(6, 32 * 32, 3)).save(png, "PNG")
    assert readers.png_rows(png.getvalue(), Y, "x") == cifar_bin_bytes(X, Y)
    with pytest.raises(HarnessError, match="not 5 rows"):
        readers.png_rows(png.getvalue(), Y[:5], "x")
    with pytest.raises(HarnessError, match="cannot be read as a PNG"):
        readers.png_rows(png.getvalue()[:2000], Y, "x")
    with pytest.raises(HarnessError, match="cannot be read as a PNG"):
        readers.png_rows(b"GIF89a", Y, "x")


@pytest.mark.parametrize("read", [readers.cifar_py, readers.imagenet16])
def test_a_hostile_batch_does_not_run(read, tmp_path):
    mark = tmp_path / "ran"
    with pytest.raises(HarnessError, match="data_batch_1 asks for .*system"):
        read(pickle.dumps({b"data": calling(os.system, f"touch {mark}"), b"labels": [1]}), "data_batch_1")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (readers.idx, b""),
        (readers.idx, b"<html>sign in</html>"),
        (readers.idx, idx_bytes(X[..., 0])[:-1]),
        (readers.idx, b"\x00\x00\x08\x03" + b"\xff" * 12),
        (readers.idx, gzip.compress(idx_bytes(X[..., 0]))[:-9]),
        (lambda d, n: readers.cifar_bin(d, n, 1), b""),
        (lambda d, n: readers.cifar_bin(d, n, 1), cifar_bin_bytes(X, Y)[:-1]),
        (readers.cifar_py, b""),
        (readers.cifar_py, pickle.dumps([1])),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((2, 3072), np.uint8)})),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((2, 3072)), "labels": [1, 2]})),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((2, 3072), np.uint8), "labels": [1]})),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": 1})),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((2, 3072), np.uint8), "labels": [1, [2]]})),
        (readers.cifar_py, pickle.dumps({"data": np.zeros((2, 3000), np.uint8), "labels": [1, 2]})),
        (readers.svhn_mat, b""),
        (readers.svhn_mat, b"MATLAB 5.0 MAT-file" + bytes(200)),
        (readers.digits_csv, b"1,2,3\n"),
        (readers.digits_csv, b"a,b\n"),
    ],
)
def test_damage_is_one_sentence_that_names_the_file(read, data):
    with pytest.raises(HarnessError, match="^the_file") as caught:
        read(data, "the_file")
    assert "\n" not in str(caught.value)


def test_as_many_labels_as_images():
    with pytest.raises(HarnessError, match="6 images and 5 labels"):
        readers.idx_pair(X[..., 0], Y[:5].astype(np.uint8), "x")
