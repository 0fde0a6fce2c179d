"""Image files that were mutated or made to harm: read, or refused in one sentence that names the file.

`CASES=1000 pytest tests/data/test_hostile_images.py` tries more of them.
"""

import gzip
import os
import random
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from harness import bounded, files
from harness.data import readers, registry, splits
from harness.errors import HarnessError

from .sets import cifar_bin_bytes, cifar_py_bytes, idx_bytes, imagenet16_bytes, pixels, write_svhn

CASES = int(os.environ.get("CASES", "150"))
X, Y = pixels(6), np.array([0, 9, 3, 3, 1, 7])


def mutated(whole: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, mostly of the header, sometimes cut or doubled."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        end = min(len(data), chance.choice((16, 200, len(data))))
        data[chance.randrange(end)] = chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))
    if chance.random() < 0.2:
        at = chance.randrange(len(data))
        data = data[:at] if chance.random() < 0.5 else data[:at] + data[at // 2 :]
    return bytes(data)


def digits_gz() -> bytes:
    return gzip.compress("\n".join(",".join(map(str, [*range(64), digit])) for digit in (4, 2)).encode())


def svhn(tmp_path: Path) -> bytes:
    write_svhn(tmp_path, X, Y)
    return (tmp_path / "train_32x32.mat").read_bytes()


READERS = {
    "idx": (readers.idx, lambda _: idx_bytes(X[..., 0])),
    "idx.gz": (readers.idx, lambda _: gzip.compress(idx_bytes(X[..., 0]))),
    "bin": (lambda data, name: readers.cifar_bin(data, name, 1), lambda _: cifar_bin_bytes(X, Y)),
    "py": (readers.cifar_py, lambda _: cifar_py_bytes(X, Y)),
    "imagenet16": (readers.imagenet16, lambda _: imagenet16_bytes(pixels(5, 16, 16), [1, 121, 120, 1000, 2])),
    "mat": (readers.svhn_mat, svhn),
    "digits": (readers.digits_csv, lambda _: digits_gz()),
}


def told(error: HarnessError, name: str) -> None:
    assert str(error).startswith(name) and "\n" not in str(error) and len(str(error)) < 600, error


@pytest.mark.parametrize("kind", READERS)
def test_mutated_image_files_are_read_or_told(kind, tmp_path):
    """Of 900, 34 .mat (IndexError) and 11 idx (ValueError) once ended in a traceback."""
    read, make = READERS[kind]
    whole, chance, refused = make(tmp_path), random.Random(2021), 0
    for _ in range(CASES):
        try:
            read(mutated(whole, chance), "the_file")
        except HarnessError as error:
            told(error, "the_file")
            refused += 1
    assert refused


@pytest.mark.parametrize("shape", [(0, 2**32 - 1, 2**32 - 1), (0, *[2**31] * 254)])
def test_an_idx_header_of_a_shape_that_no_array_has(shape):
    header = b"\x00\x00\x08" + struct.pack(f">B{len(shape)}I", len(shape), *shape)
    with pytest.raises(HarnessError, match="^the_file (has no header of|is not) an idx file") as caught:
        readers.idx(header, "the_file")
    told(caught.value, "the_file")


def test_a_gzip_bomb_is_refused_at_the_limit(monkeypatch):
    monkeypatch.setattr(files.read_within, "__defaults__", (1 << 20,))
    bomb = gzip.compress(bytes(2 << 20))
    for read in (readers.idx, readers.digits_csv):
        with pytest.raises(HarnessError, match="^the_file unpacks to more than 1 MB: remove it"):
            read(bomb, "the_file")


def test_a_mat_bomb_is_refused_at_the_limit(monkeypatch):
    """A variable whose few bytes say, and unpack to, gigabytes."""
    monkeypatch.setattr(bounded, "LARGEST", 1 << 20)
    content = zlib.compress(struct.pack("<II", 14, 2 << 20) + bytes(2 << 20))
    bomb = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(content)) + content
    with pytest.raises(HarnessError, match="^the_file unpacks to more than 1 MB: remove it"):
        readers.svhn_mat(bomb, "the_file")


def test_a_bomb_in_an_archive_is_refused_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files.read_within, "__defaults__", (1 << 20,))
    inside = tmp_path / "train.bin"
    inside.write_bytes(bytes(2 << 20))
    with zipfile.ZipFile(tmp_path / "bomb.whl", "w", zipfile.ZIP_DEFLATED) as box:
        box.write(inside, "train.bin")
    with tarfile.open(tmp_path / "bomb.tgz", "w:gz") as box:
        box.add(inside, "train.bin")
    for name in ("bomb.whl", "bomb.tgz"):
        with pytest.raises(HarnessError, match=f"^{name}: train.bin unpacks to more than 1 MB"):
            registry.members(tmp_path / name, ["train.bin"])


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", "7", '{"train": 3}', '{"train": [1e999]}', '{"train": [99999999999999999999]}', "[" * 10**5],
)
def test_a_split_of_another_shape_is_told(text, tmp_path):
    path = tmp_path / "split.json"
    path.write_text(text)
    with pytest.raises(HarnessError, match="is not a division") as caught:
        splits.read(path)
    told(caught.value, str(path))
