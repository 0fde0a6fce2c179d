"""What every source of truths does, from small files in its publisher's form."""

import ast
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bench.made import ARCHS, nb101_row, nb201_rows, tfrecord, write_nats, write_nb201_csv, write_wheel

from harness.base.errors import HarnessError
from harness.base.files import ROOT, cache_dir
from harness.bench import catalogue, seconds, sources, truth, truths, wheel
from harness.spaces import darts, nb101

GENOTYPES = darts.SPACE.sample(3, np.random.default_rng(0))
CELLS = ["1:", "111:conv3x3-bn-relu", "101:maxpool3x3"]


def nats(path: Path, _patch: pytest.MonkeyPatch) -> None:
    write_nats(path, [0, 1, 2])


def table(path: Path, _patch: pytest.MonkeyPatch) -> None:
    write_nb201_csv(path, nb201_rows(3))


def package(_path: Path, patch: pytest.MonkeyPatch) -> None:
    known = write_wheel(cache_dir() / "downloads" / wheel.WHEEL, 3)
    mine = replace(wheel.SOURCE, convert=partial(wheel.convert, pickles=known))
    patch.setattr(catalogue, "SOURCES", tuple(mine if s.name == mine.name else s for s in sources()))


def records(path: Path, _patch: pytest.MonkeyPatch) -> None:
    rows = []
    for place, arch in enumerate(CELLS):
        matrix, ops = nb101.decode(arch)
        bits, name = "".join(str(bit) for row in matrix for bit in row), nb101.SPACE.canonical(arch)
        numbers = 0.8 + place / 100, 0.9 - place / 100, 1000.0
        rows += [
            nb101_row(name, e, bits, ",".join(ops), *numbers) for _ in range(3) for e in (4, 12, 36, 108)
        ]
    path.write_bytes(tfrecord(rows))


def listed(path: Path, _patch: pytest.MonkeyPatch) -> None:
    def pairs(cell: tuple) -> list:
        return [(source, darts.OPS.index(op)) for op, source in cell]

    read = [darts.parse(arch) for arch in GENOTYPES]
    texts = [str([pairs(genotype.normal), pairs(genotype.reduce)]) for genotype in read]
    cells = {text: {"val_accuracy": 90.0 + place} for place, text in enumerate(texts)}
    path.write_text(json.dumps({"nasbench301": {"cifar10": cells}}))


# How three architectures of a source are written, which those are, and one that it does not hold.
MADE: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], None], list[str], str]] = {
    "nb201-nats": (nats, ARCHS[:3], ARCHS[9]),
    "nb201-table": (table, ARCHS[:3], ARCHS[9]),
    "nb201-pypi": (package, ARCHS[:3], ARCHS[9]),
    "nb101-tfrecord": (records, CELLS, "110101:conv1x1-bn-relu,conv3x3-bn-relu"),
    "nb301-reference": (listed, GENOTYPES, darts.SPACE.sample(9, np.random.default_rng(1))[8]),
}
# Those of which no small file can be made here, and the test that asks a whole one.
WHOLE = {
    "nb101-table": "test_nb101.py",  # of 423,624 cells, whose names take half a minute
    "nb301-onnx": "test_nb301.py",  # a network that others trained
    "nb301-ensemble": "test_nb301.py",  # of a package that is not asked for
}


@pytest.fixture(params=MADE)
def asked(request, tmp_path, monkeypatch, nothing_carried):
    """A source that is here with three architectures; a function that asks it, and its first quantity."""
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))
    write, archs, other = MADE[request.param]
    (source,) = (one for one in sources() if one.name == request.param)
    path = tmp_path / source.files[0][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, monkeypatch)
    key = next(c.key for c in source.columns if c.key.what == "accuracy" and c.key.trials == "mean")

    def ask(which, dataset: str = key.dataset):
        how = source.spaces[0], which, dataset, key.epochs, key.split, "mean"
        return (truth if isinstance(which, str) else truths)(*how, source=source.name)

    return source, ask, archs, other


def test_every_source_is_known_and_asked_somewhere():
    found = set()
    for file in (ROOT / "harness" / "bench").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Source":
                found |= {k.value.value for k in node.keywords if k.arg == "name"}
    assert found == {source.name for source in sources()}, "list it in harness.bench.catalogue.SOURCES"
    assert found == {*MADE, *WHOLE}, "write into MADE how a small file of it is written"
    for name, file in WHOLE.items():
        assert name in (ROOT / "tests" / "bench" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_each_quantity_is_told_once_in_words(source):
    """Accuracies are percent and times seconds: nothing else is held."""
    assert (
        source.holds and source.get and len({column.key for column in source.columns}) == len(source.columns)
    )
    for column in source.columns:
        assert column.key.what in ("accuracy", "seconds") and len(column.policy.split()) > 3


def test_alone_and_together_it_gives_the_same_percents_twice(asked):
    _, ask, archs, _ = asked
    first, again, alone = ask(archs), ask(archs), [ask(arch) for arch in archs]
    assert first.values.tolist() == again.values.tolist() == [one.value for one in alone]
    assert first.identity == again.identity == alone[0].identity and first.identity.policy
    assert ((first.values > 1) & (first.values <= 100)).all() and len(set(first.values)) == 3
    assert ask(archs[::-1]).values.tolist() == first.values.tolist()[::-1] and len(ask([])) == 0


def test_times_are_seconds(asked):
    source, _, archs, _ = asked
    for key in {column.key for column in source.columns if column.key.what == "seconds"}:
        values = seconds(source.spaces[0], archs, key.dataset, key.epochs, source=source.name).values
        assert (values > 0).all()


def test_what_it_does_not_hold_is_one_sentence_that_names_it(asked):
    source, ask, archs, other = asked
    with pytest.raises(HarnessError, match=r"does not hold|and not|has no ") as refused:
        ask([*archs, other])
    assert source.name in str(refused.value) and "\n" not in str(refused.value)
    for wrong in ("no architecture", ""):
        with pytest.raises(HarnessError) as refused:
            ask([wrong])
        assert "\n" not in str(refused.value)
    with pytest.raises(HarnessError, match="does not hold .*no-such-set") as refused:
        ask(archs, "no-such-set")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_where_it_is_not_there_one_sentence_says_how_to_get_it(source, nothing, nothing_carried):
    key = source.columns[0].key
    with pytest.raises(HarnessError, match=f"^{source.name} is not here") as refused:
        how = key.dataset, key.epochs, key.split, key.trials
        truths(source.spaces[0], [], *how, source=source.name)
    assert source.get in str(refused.value) and "\n" not in str(refused.value)
