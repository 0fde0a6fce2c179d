"""Values of a YAML block → a frozen dataclass: unknown keys and wrong types are refused by name."""

import dataclasses
import types
import typing
from typing import Any, TypeVar

from harness.errors import HarnessError
from harness.yamlfile import nearest

T = TypeVar("T")


def build(cls: type[T], values: dict[str, Any], where: str) -> T:
    """An instance of a config dataclass; `where` names the run for the reader of an error."""
    hints = typing.get_type_hints(cls)
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
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        for inner in (a for a in args if a is not type(None)):
            if type(value) is inner:
                return value
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
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) is not (hint is bool) or not isinstance(value, hint):
        raise HarnessError(f"{where} is {value!r}: write a value of type {hint.__name__}")
    return value
