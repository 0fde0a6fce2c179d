"""A block of YAML → a frozen dataclass: wrong keys and types are refused, whole numbers become floats."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from harness.base.errors import HarnessError
from harness.base.settings import Signed, build


@dataclass(frozen=True)
class Part:
    """A nested block."""

    rate: float
    name: str = "none"


@dataclass(frozen=True)
class Config:
    """One field of every kind that configs have."""

    size: int
    rate: float = 0.1
    name: str = "x"
    flag: bool = False
    kind: Literal["a", "b", 3] = "a"
    part: Part | None = None
    ends: tuple[float, ...] = (0.0, 1.0)
    limit: float | None = None
    trials: str | int = "mean"
    words: tuple[str, ...] = field(default_factory=tuple)
    start: Signed = 0.0
    starts: tuple[Signed, ...] = ()


def made(**values) -> Config:
    return build(Config, {"size": 1, **values}, "some/run")


def test_defaults_and_conversions():
    assert made() == Config(1)
    assert made(rate=2).rate == 2.0 and type(made(rate=2).rate) is float
    assert type(made(limit=3).limit) is float and made(limit=None).limit is None
    assert made(ends=[1, 2.5]).ends == (1.0, 2.5)
    assert made(trials=0).trials == 0 and made(trials="mean").trials == "mean"
    assert made(part={"rate": 1}).part == Part(1.0)
    assert made(kind=3).kind == 3
    assert made(start=-1).start == -1.0 and made(starts=[-1, 2]).starts == (-1.0, 2.0)


@pytest.mark.parametrize(
    "values, told",
    [
        ({"sise": 2}, "Config has no field 'sise': did you mean 'size'?"),
        ({"size": "2"}, "size is '2': write a value of type int"),
        ({"size": 2.0}, "size is 2.0: write a value of type int"),
        ({"size": True}, "size is True: write a value of type int"),
        ({"size": None}, "size is None: write a value of type int"),
        ({"rate": "0.1"}, "rate is '0.1': write a value of type float"),
        ({"rate": True}, "rate is True: write a value of type float"),
        ({"size": -5}, "size is -5: write a number that is not below zero"),
        ({"rate": -0.1}, "rate is -0.1: write a number that is not below zero"),
        ({"ends": [0, -1]}, "ends[1] is -1.0: write a number that is not below zero"),
        ({"trials": -1}, "trials is -1: write a number that is not below zero"),
        ({"rate": float("nan")}, "rate is nan: write a finite number"),
        ({"start": float("inf")}, "start is inf: write a finite number"),
        ({"start": "low"}, "start is 'low': write a value of type float"),
        ({"flag": 1}, "flag is 1: write a value of type bool"),
        ({"flag": "yes"}, "flag is 'yes'"),
        ({"name": 3}, "name is 3: write a value of type str"),
        ({"kind": "c"}, "kind is 'c'"),
        ({"ends": 1.0}, "ends is 1.0: write a list"),
        ({"ends": [0.0, "1"]}, "ends[1] is '1': write a value of type float"),
        ({"words": "abc"}, "words is 'abc': write a list"),
        ({"part": 3}, "part is 3: write a block of keys"),
        ({"part": {}}, "part: Part needs 'rate'"),
        ({"part": {"rate": 1, "nam": "y"}}, "part: Part has no field 'nam': did you mean 'name'?"),
        ({"part": {"rate": "fast"}}, "part: rate is 'fast'"),
        ({"limit": "none"}, "limit is 'none'"),
        ({"trials": 0.5}, "trials is 0.5"),
        ({"trials": True}, "trials is True"),
    ],
)
def test_what_is_refused(values, told):
    with pytest.raises(HarnessError) as caught:
        made(**values)
    assert str(caught.value).startswith("some/run: ") and told in str(caught.value)


def test_a_required_field_must_be_there():
    with pytest.raises(HarnessError, match="some/run: Config needs 'size': set it in experiments.yaml"):
        build(Config, {}, "some/run")
