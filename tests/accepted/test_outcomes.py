"""What was made and accepted, counted: which kinds of numbers, which claims, how long a run took."""

import json
import math
from collections import Counter
from itertools import zip_longest

import pytest
import tiny

from harness.accepted import outcomes
from harness.accepted.accept import accept
from harness.base.layout import artefact_file
from harness.spec import artefacts


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def cell(n: int, value: float, kind: str = "", text: str = "") -> dict:
    return {"n": n, "value": value, "spread_kind": kind, "text": text, "reported": "1", "verdict": "match"}


CELLS = {
    "not run": cell(0, math.nan),
    "settings": cell(0, math.nan, text="SGD"),
    "counted or looked up": cell(1, 5.0, "exact"),
    "measured": cell(3, 5.0, "sample_sd", text="a drawing"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_what_stands_behind_a_number(kind):
    assert outcomes.kind_of(CELLS[kind]) == kind
    found = outcomes.Outcome(None, "smoke", list(CELLS.values()), [], "")
    assert outcomes.of_numbers([found]) == Counter({"match": 4})


def test_made_and_accepted_are_a_line_each(layout):
    artefact = artefacts.find("mini/table_1", layout.root)
    (line,) = outcomes.lines(artefact, layout)
    assert line == f"{outcomes._fared(outcomes.made(artefact, layout))}; made at scale smoke"
    assert line.startswith("numbers: ") and "; claims: 1 holds; " in line
    accept(artefact, layout, "first numbers", layout.root)
    made, accepted = outcomes.lines(artefact, layout)
    assert made == line
    assert accepted.endswith("; accepted at scale smoke, published/smoke/tables/mini/table_1.md")


def test_of_nothing_printed_and_no_claims_it_says_so():
    nothing = outcomes.Outcome(None, "smoke", [cell(1, 5.0) | {"reported": ""}], [], "")
    assert outcomes._fared(nothing) == "numbers: none is printed; claims: none"


@pytest.mark.parametrize(("taken", "usual"), [([30, 1, 2], 2), ([3, 0, 5], 4), ([0, 0, 0], 0)])
def test_a_run_usually_takes_the_median(layout, taken, usual):
    artefact = artefacts.find("mini/table_1", layout.root)
    accept(artefact, layout, "first numbers", layout.root)
    path = artefact_file(layout.published, "mini/table_1", ".provenance.json")
    noted = json.loads(path.read_text())
    noted["runs"] = [run | {"seconds": s} for run, s in zip_longest(noted["runs"], taken, fillvalue=0)]
    path.write_text(json.dumps(noted))
    found = outcomes.accepted(artefact, layout.root)
    assert found.seconds == usual


def test_what_is_not_in_the_paper_comes_last_and_else_in_its_order():
    names = [o.artefact.name for o in outcomes.of_paper("icw")]
    mine = [a for a in artefacts.artefacts() if a.name in names]
    assert names == [a.name for a in mine if a.in_paper] + [a.name for a in mine if not a.in_paper]
    assert 0 < sum(a.in_paper for a in mine) < len(mine)


def test_what_stands_on_older_code_is_marked(layout):
    """Of 843 runs at scale cpu 284 once did, and no page said so."""
    artefact = artefacts.find("mini/table_1", layout.root)
    accept(artefact, layout, "first numbers", layout.root)
    assert outcomes.accepted(artefact, layout.root).old == ""
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 0")
    tiny.forget()
    found = outcomes.accepted(artefacts.find("mini/table_1", layout.root), layout.root)
    assert found.old == "accepted from runs of older code"
