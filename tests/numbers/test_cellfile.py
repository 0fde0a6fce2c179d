"""cells.csv and claims.csv read back: the same twice over, and refused where they are damaged."""

import math
from dataclasses import replace

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.numbers import cellfile
from harness.numbers.cells import Filled, to_frame
from harness.numbers.claim_record import Claim, Part
from harness.numbers.claims import to_frame as to_table
from harness.numbers.judge import Verdict
from harness.numbers.stats import exact, of_runs

CELLS = [
    Filled(
        "a, b", "c", of_runs([1.0, 2.5, 3.0]), "", "2.0 (0.1)", Verdict("agrees", 'a "reason"'), ("r/s0",)
    ),
    Filled("a, b", "d", exact(7), "", None, Verdict(""), ("r/s0", "r/s1")),
    Filled("none", "c", None, "", "-", Verdict("not run", "nobody would wait"), ()),
    Filled("none", "d", None, "NaN", "nan", Verdict("match"), ()),
]
CLAIMS = "id,text,where,verdict,reason\none,It is so.,section 1,agrees,\n"


@pytest.fixture
def path(tmp_path):
    return tiny.write(tmp_path, "x.cells.csv", to_frame(CELLS).to_csv(index=False))


def test_records_and_the_frame_hold_the_same(path):
    of_frame = cellfile.read_cells(path).to_dict("records")
    assert [line["row"] for line in of_frame] == [cell.row for cell in CELLS]
    for one, other in zip(cellfile.cells(path), of_frame, strict=True):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert value == other[key] or (math.isnan(value) and math.isnan(other[key])), key


def test_claims_are_there_or_none(tmp_path):
    (claim,) = cellfile.claims(tiny.write(tmp_path, "x.claims.csv", CLAIMS))
    assert claim["id"] == "one" and claim["reason"] == ""
    assert cellfile.claims(tmp_path / "y.claims.csv") == []


def test_a_provenance_names_the_processor_of_every_run(tmp_path):
    run = '"run": "a/b/c/d/s0", "config": {}, "status": "done", "truths": []'
    machines = [f'{{{run}, "machine": {{"processor": "{name}"}}}}' for name in ("one", "")]
    path = tiny.write(tmp_path, "x.provenance.json", f'{{"runs": [{machines[0]}]}}')
    assert len(cellfile.provenance(path)["runs"]) == 1
    tiny.write(tmp_path, "x.provenance.json", f'{{"runs": [{", ".join(machines)}]}}')
    with pytest.raises(HarnessError, match="no provenance: check it out again"):
        cellfile.provenance(path)


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("\nnone,c,", "\n<<<<<<< HEAD\nnone,c,", "record 4 has more or fewer fields"),  # git's conflict
        ("\nnone,c,", "\nnone,c,1,2,3,", "record 4 has more or fewer fields"),
        ("row,column,value", "row,column,number", "there is no column 'value'"),
        ('a, b",d,7.0', 'a, b",d,seven', "could not convert string to float: 'seven'"),
    ],
)
def test_a_damaged_file_is_named(path, old, new, how):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    for read in (cellfile.cells, cellfile.read_cells):  # the frame once took what pandas made of it
        with pytest.raises(HarnessError, match=how) as refused:
            read(path)
        told = str(refused.value)
        assert told.startswith(str(path)) and "restore it from git or make it again" in told


def test_a_damaged_list_of_claims_is_named(tmp_path):
    path = tiny.write(tmp_path, "x.claims.csv", CLAIMS.replace("id,", "name,"))
    with pytest.raises(HarnessError, match="there is no column 'id'"):
        cellfile.claims(path)


PARTS = (
    Part("a; b", ">", 0.1 + 0.2, -1.7, 2.3, 0.0, 2.5, 3, 100, "unclear"),
    Part("", "=", -1e-17, -math.inf, math.inf, 0.5, math.nan, 1, 0, "unclear", True),
)


def written(tmp_path, *claims: Claim):
    return tiny.write(tmp_path, "x.claims.csv", to_table(list(claims)).to_csv(index=False))


def of(parts: tuple[Part, ...]) -> Claim:
    told = {"quantifier": "usually", "settings": 2, "hold": 1, "needed_runs": 7, "would_be": "agrees"}
    return Claim("one", "It is so.", "here", "unclear", "why", parts, **told)


def test_the_numbers_of_a_claim_s_parts_come_back_as_they_were(tmp_path):
    waits = Claim("later", "It is so.", "here", "not comparable", "judged from scale cpu on")
    read = cellfile.judged(written(tmp_path, of(PARTS), waits))
    assert repr(read) == repr([of((replace(PARTS[0], part="a, b"), PARTS[1])), waits])
    assert cellfile.judged(tmp_path / "y.claims.csv") == []


OLD = """\
id,text,where,verdict,reason,parts,part,relation,value,half,asked,seeds,runs,architectures
it,It is so.,here,unclear,why,2,a; b,>; spread <,0.5; 0.4,1.0; 0.3,0.2; 0.5,0; 3,3; 5,0; 0
"""


def test_claims_that_were_accepted_before_a_sentence_was_one_claim_are_read(tmp_path):
    (claim,) = cellfile.judged(tiny.write(tmp_path, "x.claims.csv", OLD))
    first, second = claim.parts
    assert (first.part, first.value, first.lo, first.hi, first.asked) == ("a", 0.5, -0.5, 1.5, 0.2)
    assert (second.lo, second.hi, second.runs) == (0.2, 0.8, 5)
    assert (claim.verdict, claim.settings, claim.quantifier) == ("unclear", 0, "")


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("0.30000000000000004; -1e-17", "0.30000000000000004", "zip"),
        ("; -1e-17", "; none", "could not convert string to float: 'none'"),
        ("3; 1,", "3; 1.5,", "invalid literal for int"),
        ("False; True", "False; yes", "yes"),
    ],
)
def test_damaged_numbers_of_a_claim_are_named(tmp_path, old, new, how):
    path = written(tmp_path, of(PARTS))
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(cellfile.Damaged, match=how):
        cellfile.claims(path)
