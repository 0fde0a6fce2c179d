"""Values of a YAML block → a frozen dataclass: unknown keys and wrong types are refused by name."""

import dataclasses
import math
import types
import typing
from typing import Any, TypeVar

from harness.base.errors import HarnessError
from harness.base.yamlfile import nearest

T = TypeVar("T")
Signed = typing.Annotated[float, "signed"]  # for a field whose value may lie below zero


def build(cls: type[T], values: dict[str, Any], where: str) -> T:
    """An instance of a config dataclass; `where` names the run for the reader of an error."""
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    chosen = {}
    for key, value in values.items():
        if key not in fields:
            raise HarnessError(f"{where}: {cls.__name__} has no field {key!r}: {nearest(key, fields)}")
        chosen[key] = _fit(value, hints[key], f"{where}: {key}")
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and name not in chosen:
            raise HarnessError(f"{where}: {cls.__name__} needs {name!r}: set it in experiments.yaml")
    return cls(**chosen)


def _fit(value: Any, hint: Any, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _number(value, args[0], where)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        for inner in (a for a in args if a is not type(None)):
            if type(value) is inner:
                return _fit(value, inner, where)
        return _fit(value, next(a for a in args if a is not type(None)), where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise HarnessError(f"{where} is {value!r}: write a list")
        return tuple(_fit(v, args[0], f"{where}[{i}]") for i, v in enumerate(value))
    if origin is typing.Literal:
        if value not in args:
            raise HarnessError(f"{where} is {value!r}: {nearest(value, args)}")
        return value
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise HarnessError(f"{where} is {value!r}: write a block of keys")
        return build(hint, value, where)
    value = _number(value, hint, where)
    if not isinstance(value, bool | str) and value < 0:
        raise HarnessError(f"{where} is {value!r}: write a number that is not below zero")
    return value


def _number(value: Any, hint: Any, where: str) -> Any:
    """Of a plain type, and finite."""
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, bool) is not (hint is bool) or not isinstance(value, hint):
        raise HarnessError(f"{where} is {value!r}: write a value of type {hint.__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise HarnessError(f"{where} is {value!r}: write a finite number")
    return value
