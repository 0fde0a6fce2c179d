"""The publishers' own file formats, each as bytes → uint8 images NHWC and int64 labels."""

import gzip
import io
import zlib

import numpy as np

from harness.base.errors import HarnessError
from harness.base.safe_pickle import load_plain

Pair = tuple[np.ndarray, np.ndarray]
CHANNELS, SIDE = 3, 32
IMAGENET16_CLASSES = 120


def idx(data: bytes, name: str) -> np.ndarray:
    """An idx array of unsigned bytes, gzipped or not (MNIST's format)."""
    data = gunzip(data, name)
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise HarnessError(f"{name} is not an idx file of unsigned bytes: get it again")
    start = 4 + 4 * data[3]
    shape = tuple(int(n) for n in np.frombuffer(data[4:start], ">u4"))
    if len(shape) != data[3] or len(data) - start != int(np.prod(shape, dtype=object)):
        raise HarnessError(
            f"{name} holds {len(data) - start} bytes where its header says {shape}: get it again"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def idx_pair(images: np.ndarray, labels: np.ndarray, name: str) -> Pair:
    """The two arrays of a split as images of one channel and labels."""
    if images.ndim != 3 or labels.ndim != 1:
        raise HarnessError(f"{name} does not hold images and labels under their names: get it again")
    return _checked(images[..., None], labels, name)


def cifar_bin(data: bytes, name: str, label_bytes: int) -> Pair:
    """A .bin batch: per image its label bytes (the fine label last), then three planes."""
    record = label_bytes + CHANNELS * SIDE * SIDE
    if not data or len(data) % record:
        raise HarnessError(f"{name} has {len(data)} bytes, not a multiple of {record}: get it again")
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    return _checked(_from_planes(rows[:, label_bytes:], name), rows[:, label_bytes - 1], name)


def cifar_py(data: bytes, name: str) -> Pair:
    """A pickled batch of CIFAR-10 or CIFAR-100 (fine labels)."""
    rows, y = _batch(data, name, ("labels", "fine_labels"))
    return _checked(_from_planes(rows, name), y, name)


def imagenet16(data: bytes, name: str) -> Pair:
    """A pickled batch of downsampled ImageNet, its labels 1..120 → 0..119, other classes left out."""
    rows, y = _batch(data, name, ("labels",))
    first = (y >= 1) & (y <= IMAGENET16_CLASSES)
    return _checked(_from_planes(rows[first], name), y[first] - 1, name)


def svhn_mat(data: bytes, name: str) -> Pair:
    """A MATLAB file of cropped digits; the publishers write 10 for the digit 0."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(io.BytesIO(data), variable_names=["X", "y"])
        x, y = content["X"], content["y"].reshape(-1)
        if x.ndim != 4 or x.dtype != np.uint8:
            raise ValueError(f"X is {x.dtype} {x.shape}")
    # A damaged file fails inside scipy in any of these ways.
    except (MatReadError, KeyError, ValueError, TypeError, NotImplementedError, OSError, zlib.error) as error:
        raise HarnessError(f"{name} cannot be read as SVHN's .mat ({error}): get it again") from None
    y = y.astype(np.int64)
    return _checked(np.ascontiguousarray(x.transpose(3, 0, 1, 2)), np.where(y == 10, 0, y), name)


def digits_csv(data: bytes, name: str) -> Pair:
    """scikit-learn's digits.csv.gz: 64 grey levels 0..16 and the digit in each line."""
    try:
        rows = np.loadtxt(io.BytesIO(gunzip(data, name)), delimiter=",", dtype=np.uint8, ndmin=2)
        return _checked(rows[:, :64].reshape(-1, 8, 8, 1), rows[:, 64], name)
    except (ValueError, IndexError) as error:
        raise HarnessError(f"{name} cannot be read as the table of digits ({error}): get it again") from None


def png_rows(data: bytes, labels: np.ndarray, name: str) -> bytes:
    """A PNG with one image per row of pixels, turned back into the .bin batch that it was made from."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as png:
            rows = np.asarray(png)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise HarnessError(f"{name} cannot be read as a PNG ({error}): get it again") from None
    if rows.shape != (len(labels), SIDE * SIDE, CHANNELS):
        raise HarnessError(f"{name} is {rows.shape}, not {len(labels)} rows of {SIDE * SIDE} RGB pixels")
    planes = rows.transpose(0, 2, 1).reshape(len(labels), -1)
    return np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1).tobytes()


def gunzip(data: bytes, name: str) -> bytes:
    """The content of a .gz; other bytes as they are."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise HarnessError(f"{name} is a damaged .gz ({error}): get it again") from None


def _batch(data: bytes, name: str, label_keys: tuple[str, ...]) -> Pair:
    batch = load_plain(data, name, encoding="bytes")
    if not isinstance(batch, dict):
        raise HarnessError(f"{name} is not a batch of images (a dictionary): get it again")
    batch = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in batch.items()}
    label_key = next((k for k in label_keys if k in batch), None)
    try:
        x, y = np.asarray(batch.get("data")), np.asarray(batch.get(label_key), np.int64)
    except (TypeError, ValueError, OverflowError):
        x = y = np.zeros(0)
    if x.ndim != 2 or x.dtype != np.uint8 or y.shape != (len(x),):
        raise HarnessError(
            f"{name} is not a batch of images (data and as many {' or '.join(label_keys)}): get it again"
        )
    return x, y


def _from_planes(rows: np.ndarray, name: str) -> np.ndarray:
    side = round((rows.shape[1] / CHANNELS) ** 0.5)
    if side * side * CHANNELS != rows.shape[1]:
        raise HarnessError(
            f"{name} has {rows.shape[1]} numbers per image, not three square planes: another set"
        )
    return np.ascontiguousarray(rows.reshape(-1, CHANNELS, side, side).transpose(0, 2, 3, 1))


def _checked(x: np.ndarray, y: np.ndarray, name: str) -> Pair:
    if len(x) != len(y):
        raise HarnessError(f"{name} has {len(x)} images and {len(y)} labels: get it again")
    return x, y.astype(np.int64)
