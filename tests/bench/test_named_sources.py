"""docs/data.md says which outcomes of scale cpu can be repeated only where a certain source is."""

import json
import re
from collections import defaultdict

from harness.base.files import ROOT
from harness.bench.catalogue import SOURCES
from harness.spec import artefacts

TIMES_ONLY = {"icw/table_1"}  # its configs name a truth, which a measurement of steps never asks


def test_the_page_names_every_artefact_that_asks_a_source_by_name_and_no_other():
    asked = defaultdict(set)
    for artefact in artefacts.artefacts():
        configs = json.dumps([run.config for run in artefact.runs("cpu")])
        for source in (s.name for s in SOURCES):
            if f'"{source}"' in configs and artefact.name not in TIMES_ONLY:
                asked[source].add(artefact.name)
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    rows = re.finditer(r"^\| `(nb\w+-[\w-]+)` \| (`[a-z]+` (?:Fig|Tab|the tab).*?) \|", page, re.M)
    assert asked == {row[1]: {*names(row[2])} for row in rows}


def names(told):
    """`sotl` Table 4.6, Figures 4.4, 4.5; `icw` the table of deviations → sotl/table_4_6, …"""
    for part in told.split("; "):
        paper = re.match(r"`([a-z]+)` ", part)[1]
        for word in re.findall(r"Table|Figure|\d[\d.]*|table of [a-z ]+", part):
            if word in ("Table", "Figure"):
                kind = word.lower()
            elif word.startswith("table of "):
                yield f"{paper}/table_{'_'.join(word.split()[2:])}"
            else:
                yield f"{paper}/{kind}_{word.rstrip('.').replace('.', '_')}"
