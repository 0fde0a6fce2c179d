"""Image batches that are pickles, Python 2's included, as plain data; everything else is refused."""

import io
import pickle
import re
from typing import Any

import numpy as np

from harness.errors import HarnessError

PLAIN = re.compile(
    r"[<>=|]?[biufcSU]\d*"
)  # no structured or void types (their offsets could lie), no objects
NDARRAY = "numpy.ndarray"  # a word, not the class: a pickle can name it but never call it
BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,  # UnicodeDecodeError is one
    AttributeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)


def load(data: bytes, name: str, *, encoding: str = "ASCII") -> Any:
    """The plain data of a pickle; encoding="bytes" for those that Python 2 wrote."""
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding=encoding).load()
    except _Refused as refused:
        raise HarnessError(
            f"{name} asks for {refused}, which is not plain data: nothing of it was run; do not use this file"
        ) from None
    except BROKEN as error:
        raise HarnessError(
            f"{name} cannot be read as a pickle of plain data ({type(error).__name__}: {error}): get it again"
        ) from None


class _Refused(Exception):
    """The first thing in a pickle that is not plain data."""


class PickledArray(np.ndarray):
    """An array out of a pickle; its state goes through our checks before numpy sees it."""

    def __setstate__(self, state: tuple) -> None:
        version, shape, dtype, fortran, data = state
        if not isinstance(dtype, _Dtype):
            raise ValueError("an array without a dtype")
        super().__setstate__((version, shape, dtype.numpy(), fortran, data))


class _Dtype:
    """What a pickle may say of a dtype: kind, size and byte order."""

    def __init__(self, text: str | bytes, *_: Any) -> None:
        text = _text(text)
        if not PLAIN.fullmatch(text):
            raise _Refused(f"the array type {text!r}")
        self.text = text

    def __setstate__(self, state: tuple) -> None:
        # numpy's own dtype.__setstate__ is never called: it does nothing on its shared built-in types,
        # so that big-endian arrays would come back with other values.
        _, order, subarray, names, fields, *_ = state
        order = _text(order)
        if (subarray, names, fields) != (None, None, None) or order not in ("<", ">", "=", "|"):
            raise _Refused("a structured array type")
        self.text = order + self.text.lstrip("<>=|")

    def numpy(self) -> np.dtype:
        return np.dtype(self.text)


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Functions are made anew for each look-up: attributes that a pickle sets on one die with it.
        module = module.replace("numpy._core", "numpy.core")  # numpy 2 moved it; files of both ages are about
        match module, name:
            case "numpy", "ndarray":
                return NDARRAY
            case "numpy", "dtype":
                return lambda text, *rest: _Dtype(text)
            case "numpy.core.multiarray", "_reconstruct":
                return lambda kind, shape, code: _empty(kind, shape)
            case "numpy.core.multiarray", "scalar":
                return lambda dtype, data: _array(data, dtype)[0]
            case "numpy.core.numeric", "_frombuffer":
                return lambda data, dtype, shape, order: _array(data, dtype).reshape(shape, order=order)
            case "_codecs", "encode":
                return lambda text, codec: _latin1(text, codec)
            case (("builtins" | "__builtin__"), "bytes"):
                return lambda: b""  # how protocols 0 to 2 write no bytes at all
        raise _Refused(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused("an object outside the file")


def _empty(kind: Any, shape: tuple) -> PickledArray:
    if kind != NDARRAY or shape != (0,):
        raise _Refused("an array without contents")
    return PickledArray((0,), np.uint8)


def _array(data: bytes | bytearray | pickle.PickleBuffer, dtype: _Dtype) -> np.ndarray:
    if not isinstance(dtype, _Dtype):
        raise ValueError("an array without a dtype")
    return np.frombuffer(data, dtype.numpy())


def _latin1(text: str, codec: str) -> bytes:
    if _text(codec).replace("-", "") != "latin1":
        raise _Refused(f"the codec {codec!r}")
    return text.encode("latin1")


def _text(value: str | bytes) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
