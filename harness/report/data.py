"""The runs behind the numbers as JSON inside the page."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from harness.report.read import Cell, Paper

_SHARED = ("code", "commit", "host", "device", "threads", "status")  # the same for most runs: kept once


def cells(papers: list[Paper]) -> Iterator[Cell]:
    """All cells in the order of the page; a cell's number in it is its place here."""
    for paper in papers:
        for artefact in paper.artefacts:
            yield from artefact.cells


def embed(papers: list[Paper]) -> str:
    """Runs, what they share, their configs and the runs of each number, safe inside a script element."""
    known = {name: run for paper in papers for name, run in paper.runs.items()}
    place = {name: index for index, name in enumerate(known)}
    configs, shared = Distinct(), Distinct()
    runs = []
    for name, run in known.items():
        record = asdict(run)
        common = {key: record.pop(key) for key in _SHARED}
        runs.append({"id": name} | record | {"config": configs.add(run.config), "shared": shared.add(common)})
    numbers = [[place[run] for run in cell.runs] for cell in cells(papers)]
    page = {"runs": runs, "shared": shared.items(), "configs": configs.items(), "numbers": numbers}
    text = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # `</script>` and `<!--` in a string would end or bend the element
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class Distinct:
    """Equal objects once, in the order of their first coming; `add` gives an object's place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def add(self, item: dict) -> int:
        return self._places.setdefault(json.dumps(item, ensure_ascii=False), len(self._places))

    def items(self) -> list[dict]:
        return [json.loads(text) for text in self._places]
