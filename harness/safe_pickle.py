"""Pickled records of plain numbers: containers, strings, numbers and numpy's single numbers, nothing else."""

import io
import pickle
import re
from collections import OrderedDict

import numpy as np

from harness.errors import HarnessError

NUMBER = re.compile(r"[biuf]\d{1,2}")
BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)


def load_plain(data: bytes, origin: str) -> object:
    """The plain data pickled in `data`; whatever else it names is refused before it is looked up."""
    try:
        return _Plain(io.BytesIO(data)).load()
    except HarnessError as refused:
        raise HarnessError(f"{origin} {refused}: nothing of it was run; do not use this file") from None
    except BROKEN as error:
        cause = f"{type(error).__name__}: {error}"
        raise HarnessError(f"{origin} is no readable pickle of plain data ({cause}): get it again") from None


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        # Functions are made anew for each lookup: attributes that a pickle sets on one die with it.
        match module.replace("numpy._core", "numpy.core"), name:
            case "collections", "OrderedDict":
                return lambda *pairs: OrderedDict(*pairs)
            case (("builtins" | "__builtin__"), "set"):
                return lambda *items: set(*items)
            case "numpy", "dtype":
                return lambda spec, *_: _Number(spec)
            case "numpy.core.multiarray", "scalar":
                return lambda number, raw: number.of(raw)
            case "_codecs", "encode":
                return lambda text, _codec: text.encode("latin1")  # how protocols 0 to 2 write bytes
        raise HarnessError(f"asks for {module}.{name}, which is not plain data")

    def persistent_load(self, pid: object) -> object:
        raise HarnessError("asks for an object outside the file")


class _Number:
    """A numpy number type. numpy's own dtype would ignore the byte order in a pickled state."""

    def __init__(self, spec: str) -> None:
        if not isinstance(spec, str) or not NUMBER.fullmatch(spec):
            raise HarnessError(f"asks for the type {spec!r}, which is not a number")
        self.dtype = np.dtype(spec)

    def __setstate__(self, state: tuple) -> None:
        _, order, subarray, names, fields, *_ = state
        if (subarray, names, fields) != (None, None, None) or order not in ("<", ">", "=", "|"):
            raise HarnessError("asks for a structured type, which is not a number")
        self.dtype = self.dtype.newbyteorder(order)

    def of(self, raw: bytes) -> np.generic:
        if len(raw) != self.dtype.itemsize:
            raise ValueError(f"{len(raw)} bytes for a {self.dtype}")
        return np.frombuffer(raw, self.dtype)[0]
