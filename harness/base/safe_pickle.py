"""Pickles as plain data: containers, strings, numbers and numpy arrays of those; everything else is refused.

Why rebuilding numpy's values is safe: a pickle can reach nothing of numpy but the five names in `find_class`,
and behind each stands a function of this module. It cannot call the array class; an array begins empty, and
what then fills it are bytes whose type comes from the closed list PLAIN (no objects, so no bytes become
pointers; no structures, whose offsets could lie) and whose length numpy compares with the shape. Buffers are
copied, so that nothing holds the memory of an array that a later instruction refills.
"""

import io
import pickle
import re
import sys
from collections import OrderedDict
from typing import Any

import numpy as np

from harness.base.errors import HarnessError

PLAIN = re.compile(r"[<>=|]?[biufcSU][1-9]\d{0,8}")
ORDERS = ("<", ">", "=", "|")
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


def load_plain(data: bytes, origin: str, *, encoding: str = "ASCII") -> Any:
    """The plain data pickled in `data`; `origin` names it in errors, encoding="bytes" is for Python 2's."""
    try:
        return _Plain(io.BytesIO(data), encoding=encoding).load()
    except _Refused as refused:
        raise HarnessError(
            f"{origin} asks for {refused}, which is not plain data: nothing of it was run, do not use it"
        ) from None
    except BROKEN as error:
        cause = f"{type(error).__name__}: {error}"
        raise HarnessError(f"{origin} is no readable pickle of plain data ({cause}): get it again") from None


class _Refused(Exception):
    """The first thing in a pickle that is not plain data."""


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Functions are made anew for each look-up: attributes that a pickle sets on one die with it.
        module = module.replace("numpy._core", "numpy.core")  # numpy 2 moved it; files of both ages are about
        match module.replace("__builtin__", "builtins"), name:
            case "collections", "OrderedDict":
                return lambda *pairs: OrderedDict(*pairs)
            case "builtins", "set":
                return lambda *items: set(*items)
            case "builtins", "frozenset":  # protocols from 4 on have an opcode for it and never ask
                return lambda *items: frozenset(*items)
            case "builtins", "bytes":
                return lambda: b""  # how protocols 0 to 2 write no bytes at all
            case "_codecs", "encode":
                return lambda text, codec: _latin1(text, codec)  # how they write all others
            case "numpy", "ndarray":
                return NDARRAY
            case "numpy", "dtype":
                return lambda spec, *_: _Dtype(spec)
            case "numpy.core.multiarray", "_reconstruct":
                return lambda kind, shape, _code: _empty(kind, shape)
            case "numpy.core.multiarray", "scalar":
                return lambda dtype, raw: _values(dtype, raw).reshape(())[()]
            case "numpy.core.numeric", "_frombuffer":
                return lambda raw, dtype, shape, order: _values(dtype, raw).reshape(shape, order=order)
        raise _Refused(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused("an object outside the file")


class PickledArray(np.ndarray):
    """An array out of a pickle; its state is checked before numpy sees it."""

    def __setstate__(self, state: tuple) -> None:
        version, shape, dtype, fortran, raw = state
        kind, contents = _contents(dtype, raw)
        super().__setstate__((version, shape, kind, fortran, contents))


class _Dtype:
    """What a pickle may say of a dtype: kind, size and byte order."""

    def __init__(self, spec: str | bytes) -> None:
        self.spec = _text(spec)
        if not PLAIN.fullmatch(self.spec):
            raise _Refused(f"the array type {self.spec!r}")

    def __setstate__(self, state: tuple) -> None:
        # Never numpy's own dtype.__setstate__: on the shared built-in types it does nothing, and
        # big-endian arrays would come back with other values, silently.
        _, order, subarray, names, fields, *_ = state
        order = _text(order)
        if (subarray, names, fields) != (None, None, None) or order not in ORDERS:
            raise _Refused("a structured array type")
        self.spec = order + self.spec.lstrip("".join(ORDERS))


def _empty(kind: Any, shape: tuple) -> PickledArray:
    if kind != NDARRAY or shape != (0,):
        raise _Refused("an array without contents")
    return PickledArray((0,), np.uint8)


def _values(dtype: Any, raw: Any) -> np.ndarray:
    kind, contents = _contents(dtype, raw)
    return np.frombuffer(contents, kind)


def _contents(dtype: Any, raw: Any) -> tuple[np.dtype, bytes]:
    if not isinstance(dtype, _Dtype) or not isinstance(raw, bytes | bytearray):
        raise ValueError("an array whose dtype is none or whose contents are no bytes")
    kind, contents = np.dtype(dtype.spec), bytes(raw)
    if kind.kind == "U" and (np.frombuffer(contents, f"{kind.byteorder}u4") > sys.maxunicode).any():
        raise ValueError(
            "characters that do not exist"
        )  # numpy would take them, and fail when asked for them
    return kind, contents


def _latin1(text: str, codec: str | bytes) -> bytes:
    if _text(codec).replace("-", "") != "latin1":
        raise _Refused(f"the codec {codec!r}")
    return text.encode("latin1")


def _text(value: str | bytes) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
