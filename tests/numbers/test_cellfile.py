"""cells.csv and claims.csv read back: the same twice over, and refused where they are damaged."""

import math

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.numbers import cellfile
from harness.numbers.cells import Filled, to_frame
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
