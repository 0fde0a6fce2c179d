"""docs/data.md says which outcomes of scale cpu can be repeated only where a certain source is."""

import json
import re

from harness import artefacts
from harness.bench.catalogue import SOURCES
from harness.files import ROOT

TIMES_ONLY = {"icw/table_1"}  # its configs name a truth, which a measurement of steps never asks


def test_the_page_names_every_artefact_that_asks_a_source_by_name():
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    rows = {row[1]: row[2] for row in re.finditer(r"^\| `(nb\w+-[\w-]+)` \| (.*?) \|", page, re.M)}
    asked: dict[str, set[str]] = {}
    for artefact in artefacts.artefacts():
        configs = json.dumps([run.config for run in artefact.runs("cpu")])
        for source in (s.name for s in SOURCES):
            if f'"{source}"' in configs and artefact.name not in TIMES_ONLY:
                asked.setdefault(source, set()).add(artefact.name)
    assert asked
    for source, names in asked.items():
        told = rows[source]
        for name in names:
            paper, _, place = name.partition("/")
            number = "deviations" if "deviations" in place else place.split("_", 1)[1].replace("_", ".")
            part = told.split(f"`{paper}`")[1].split(";")[0]
            assert re.search(rf"\b{re.escape(number)}\b", part), (
                f"{name} asks {source}: docs/data.md does not say so"
            )
