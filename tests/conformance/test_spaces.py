"""What every search space does, whatever its cells are; it is found by its file."""

import ast
import re
from collections.abc import Callable

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.spaces import NAMES, Space, get, nb101, nb201

EVERY = pytest.mark.parametrize("space", [*map(get, NAMES)], ids=NAMES)
QUESTIONS = {"sample", "canonical", "validate"}


def of(space: Space, seed: int, n: int = 20) -> list[str]:
    return space.sample(n, np.random.default_rng(seed))


def behind_nothing(arch: str) -> list[str]:
    """Node 1 leads nowhere, whatever leads to it."""
    row = [int(digit) for digit in nb201.digits(arch)]
    row[2] = row[4] = 0
    return [nb201.from_digits("".join(map(str, [op, *row[1:]]))) for op in (2, 3)]


def with_a_loose_vertex(arch: str) -> list[str]:
    matrix, ops = nb101.decode(arch)
    if len(ops) > 6:
        return [arch, f" {arch} ".strip()]
    wider = [[*row[:-1], 0, row[-1]] for row in matrix]
    wider.insert(-1, [0] * len(wider[0]))
    return [arch, nb101.encode(wider, [*ops[:-1], nb101.OPS[0], ops[-1]])]


def in_another_order(arch: str) -> list[str]:
    """The two edges into a node change places in the text."""
    return [arch, re.sub(r"(normal=\[)(\(.*?\)), (\(.*?\))", r"\1\3, \2", arch)]


def parents_in_another_order(arch: str) -> list[str]:
    parents, ops = arch.split("|")
    turned = ";".join(",".join(reversed(one.split(","))) for one in parents.split(";"))
    return [arch, f"{turned}|{ops}"]


# Architectures that are one function, made of any: what that can be, only a space's author knows.
EQUAL: dict[str, Callable[[str], list[str]]] = {
    "nb201": behind_nothing,
    "nb101": with_a_loose_vertex,
    "nb1shot1": parents_in_another_order,
    "darts": in_another_order,
    "fairnas": lambda arch: [arch, "-".join(arch.split("-"))],  # a chain is equal to none but itself
}


def test_every_file_with_a_space_is_named():
    found = set()
    for file in (ROOT / "harness" / "spaces").glob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            methods = {each.name for each in getattr(node, "body", []) if isinstance(each, ast.FunctionDef)}
            if isinstance(node, ast.ClassDef) and methods >= QUESTIONS and file.stem != "__init__":
                found.add(f"harness.spaces.{file.stem}.{node.name}")
    named = {f"{type(get(name)).__module__}.{type(get(name)).__name__}" for name in NAMES}
    assert found == named, "name it in harness.spaces.NAMES and get"


@EVERY
def test_it_answers_the_whole_protocol(space):
    assert isinstance(space, Space) and space.name in NAMES and isinstance(space.size, int)
    archs, dataset = of(space, 0, 3), space.datasets[0]
    many = space.params_of(archs, dataset)
    assert many.dtype == np.int64 and many.tolist() == [space.params(arch, dataset) for arch in archs]
    assert (many > 0).all() and space.flops(archs[0], dataset) > 0
    assert space.params_of([], dataset).shape == (0,)


@EVERY
def test_an_unknown_dataset_is_refused_by_name(space):
    near = space.datasets[0][:-1]
    for question in (space.params, space.flops, space.build):
        with pytest.raises(HarnessError, match=f"nknown dataset of .*'{near}': did you mean") as refused:
            question(of(space, 0, 1)[0], near)
        assert "\n" not in str(refused.value)


@EVERY
def test_a_sample_follows_from_its_stream_alone(space):
    np.random.seed(1)
    first = of(space, 3)
    np.random.seed(2)
    assert of(space, 3) == first != of(space, 4) and len(set(first)) == len(first)


@EVERY
def test_a_sample_reads_back_as_itself(space):
    for arch in of(space, 5):
        assert space.validate(arch) == arch and space.canonical(arch) == space.canonical(space.validate(arch))
    assert len({space.canonical(arch) for arch in of(space, 6)}) > 10


@EVERY
def test_equal_architectures_have_one_name(space):
    kind = type(space).__module__.rpartition(".")[2]
    assert kind in EQUAL, f"write into EQUAL how an architecture of {kind} becomes an equal one"
    made = [EQUAL[kind](arch) for arch in of(space, 7)]
    assert all(len({space.canonical(space.validate(form)) for form in forms}) == 1 for forms in made)
    assert kind == "fairnas" or any(len(set(forms)) > 1 for forms in made)


@EVERY
@pytest.mark.parametrize("wrong", ["conv_9x9", "", "9"])
def test_an_unknown_operation_is_refused_in_one_sentence(space, wrong):
    """In place of the first; of a chain of numbers, the first number."""
    arch = of(space, 8, 1)[0]
    spoilt = re.sub(
        r"[a-z]+_?[a-z]*_?[0-9]+x[0-9]+(-[a-z]+)*|skip_connect|none|^\d+(?=-\d)", wrong, arch, count=1
    )
    assert spoilt != arch
    for question in (space.validate, space.canonical, lambda one: space.params(one, space.datasets[0])):
        with pytest.raises(HarnessError) as refused:
            question(spoilt)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 400
