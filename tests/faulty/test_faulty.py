"""A checker must be able to fail: records that must turn out otherwise than `agrees`."""

import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sealed import edit_record

from harness.base.layout import Layout
from harness.make.make import make, read_cells
from harness.report import build
from harness.spec import artefacts

PROJECT = Path(__file__).parent / "project"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    root = shutil.copytree(PROJECT, tmp_path_factory.mktemp("faulty") / "project")
    layout = Layout("smoke", root)
    make(artefacts.find("faulty/table_1", root), layout, root)
    return layout


def test_each_cell_turns_out_as_its_row_says(faulty):
    cells = read_cells(faulty.results / "tables/faulty/table_1.cells.csv")
    assert dict(zip(cells["row"], cells["verdict"], strict=True)) == {
        row: row.split(":")[0] for row in cells["row"]
    }
    assert (cells["reason"] != "").all()
    assert {"differs", "unclear", "not refuted", "paper issue", "agrees", "match"} == set(cells["verdict"])


def test_each_claim_turns_out_as_its_name_says(faulty):
    claims = pd.read_csv(faulty.results / "tables/faulty/table_1.claims.csv", dtype=str)
    for _, claim in claims.iterrows():
        assert claim["verdict"] == claim["id"].split("-")[0], claim["id"]
    assert (claims["verdict"] == "contradicts").sum() == 6


def test_a_number_that_is_none_reaches_the_report_as_such(faulty):
    assert build(faulty, faulty.root) == []
    text = faulty.report.read_text()
    assert ">undefined</button>" in text
    shown = re.sub("<style>.*?</style>|<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"\b(nan|infinity)\b", shown, re.I)


def test_an_endless_number_does_not_stop_the_report(tmp_path):
    layout = Layout("smoke", shutil.copytree(PROJECT, tmp_path / "project"))
    run = layout.run_folder("faulty/few/one/a/s0")
    edit_record(run, reseal=True, metrics=[{"name": "accuracy", "value": math.inf, "unit": ""}])
    make(artefacts.find("faulty/table_1", layout.root), layout, layout.root)
    assert build(layout, layout.root) == []
    (row,) = (line for line in layout.report.read_text().splitlines() if ">unclear: a single run <" in line)
    assert 'data-verdict="differs"' in row and ">undefined</button>" in row
