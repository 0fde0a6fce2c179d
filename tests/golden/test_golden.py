"""Rows → cells → verdicts → renderings of checked-in records, byte for byte (see regenerate.py)."""

import re
import shutil
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from gold import EXPECTED, TRUTH, build, compared
from sealed import edit_record

from harness.base.layout import Layout
from harness.drawing import style
from harness.make import make
from harness.make.render import _TEX, latex, markdown
from harness.make.render import number as printed
from harness.report import read
from harness.report.runs import behind
from harness.spec import artefacts

NAMES = sorted(p.relative_to(EXPECTED).as_posix() for p in EXPECTED.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    return build(tmp_path_factory.mktemp("golden"), limits=True)


@pytest.fixture(scope="module")
def made(layout):
    return compared(layout.results)


def test_the_expected_files_are_there():
    suffixes = {Path(name).name.split(".", 1)[1] for name in NAMES}
    assert suffixes == {"cells.csv", "claims.csv", "csv", "md", "tex", "html", "svg"}


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_expected_file(made, name):
    expected = (EXPECTED / name).read_bytes()
    if name.endswith(".svg"):
        drawn_by = re.search(rb"Matplotlib v([\d.]+)", expected)[1].decode()
        if drawn_by != matplotlib.__version__:
            pytest.skip(f"drawn by matplotlib {drawn_by}, this is {matplotlib.__version__}")
    assert made[name] == expected, f"{name} changed: python tests/golden/regenerate.py, then read the diff"


def test_nothing_is_made_that_nobody_expects(made):
    assert sorted(made) == NAMES


def test_every_kind_of_cell_and_verdict_is_among_them(layout):
    cells = make.read_cells(layout.results / "tables/gold/table_1.cells.csv")
    words = {"match", "agrees", "differs", "not run", "out of reach", "paper issue", ""}
    assert set(cells["verdict"]) == words
    assert {"sample_sd", "bootstrap", "exact", ""} == set(cells["spread_kind"])
    claims = pd.read_csv(layout.results / "tables/gold/table_1.claims.csv")
    assert set(claims["verdict"]) == {"agrees", "contradicts", "unclear", "not run", "not comparable"}
    assert ("counted", "b") not in set(zip(cells["row"], cells["column"], strict=True))  # a blank


def test_equal_cells_give_equal_pictures(layout, tmp_path):
    cells = make.read_cells(layout.results / "figures/gold/figure_1.cells.csv")
    figure = artefacts.find("gold/figure_1", layout.root)
    pictures = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        style.save(make._drawing(figure), cells, tmp_path / folder / "picture")
        pictures.append({p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()})
    assert pictures[0] == pictures[1]
    assert set(pictures[0]) == {"picture.png", "picture.svg", "picture.pdf"}
    for suffix in ("png", "svg", "pdf"):
        kept = (layout.results / f"figures/gold/figure_1.{suffix}").read_bytes()
        assert kept == pictures[0][f"picture.{suffix}"], f"the {suffix} is not drawn from cells.csv alone"
    cells.loc[1, "value"] += 0.1
    style.save(make._drawing(figure), cells, tmp_path / "picture")
    assert (tmp_path / "picture.svg").read_bytes() != pictures[0]["picture.svg"]


def test_the_report_and_the_table_print_the_same_numbers(layout, made):
    """Both read cells.csv: a number that lies between two roundings reads the same everywhere."""
    table = artefacts.find("gold/table_1", layout.root)
    path = layout.results / "tables/gold/table_1.cells.csv"
    whole = path.read_text()
    assert make._digits(0.13499999999999) == "0.135"
    path.write_text(whole.replace(",70.875,", ",0.135,", 1))
    cells = make.read_cells(path)
    shown = read.read_papers(layout, layout.root)[0].sections[0]
    path.write_text(whole)
    assert "0.14" in markdown(table, cells, "") and "0.14" in latex(table, cells, "")
    assert shown.numbers[0].text.startswith("0.14 ") and "<td>0.14 " in shown.table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (14_839_700.0, "14839700"),
        (12_345_678_901.0, "12345678901"),  # a count keeps all its digits
        (0.1 + 0.2, "0.3"),
        (1.08e18, "1.08e+18"),
        (999_999_999_999_999.0, "999999999999999"),
        (1e15, "1e+15"),
        (-2e15, "-2e+15"),
        (-3.0, "-3"),
        (float("inf"), "inf"),
    ],
)
def test_digits_of_cells_csv(value, text):
    assert make._digits(value) == text


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (782938.0, "", "782,938"),
        (0.12345, "", "0.123"),
        (0.12345, ".1f", "0.1"),
        (15625.0, ",.0f", "15,625"),
        (1.08e18, "", "1.08e+18"),
        (1e15, "", "1e+15"),  # one more than is told in full
        (-2e15, "", "-2e+15"),
        (float("nan"), ".2f", "undefined"),
        (-2817113735000000.0, ".3f", "-2.8e+15"),  # a loss that exploded, once told to three decimals
        (3.2e-8, ".4f", "3.2e-08"),
        (0.0, ".4f", "0.0000"),
        (-0.013, "+.1f", "-0.0"),  # nothing beside others of its column, and no 0.013 either
    ],
)
def test_numbers_as_printed(value, spec, text):
    assert printed(value, spec) == text


def test_a_truth_that_several_runs_asked_is_named_once(layout, tmp_path):
    figure = artefacts.find("gold/figure_1", layout.root)
    cells = make.read_cells(layout.results / "figures/gold/figure_1.cells.csv")
    runs = figure.runs("smoke", layout.root)
    records = [{"run": run.id, "config": run.config, "truths": [TRUTH]} for run in runs]
    make.render_all(figure, "smoke", cells, records * 2, tmp_path)
    page = (tmp_path / "figures/gold/figure_1.md").read_text(encoding="utf-8")
    assert page.count(make.truth_name(TRUTH)) == 1


def test_the_report_names_a_truth_once_and_tells_hours_to_millionths(layout, tmp_path):
    root = shutil.copytree(layout.root, tmp_path / "project")
    layout = Layout("smoke", root)
    for run in artefacts.find("gold/table_1", root).runs("smoke", root):
        edit_record(layout.run_folder(run.id), reseal=True, truths=[TRUTH], seconds=1.0)
    papers = read.read_papers(layout, root)
    assert papers[0].sections[0].truths == [make.truth_line(TRUTH)]
    assert behind(papers, "smoke")["runs"][0]["hours"] == 0.000278


def test_latex_escapes_whatever_has_a_meaning_there(made):
    text = made["tables/gold/table_1.tex"].decode()
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 10
    for row in rows:
        bare = re.sub(r"\\[&%#_${}]", "", row)
        assert len(re.findall("&", bare)) == 2, f"columns of {row}"
        assert not re.search(r"[%#]|(?<!\\)_", bare), row
    caption = text[text.index(r"\caption{") :].splitlines()[0]
    assert caption.isascii() and caption.count(r"\{") == 1 and r"\textless{}b\textgreater{}" in caption
    for name in artefacts.paths():  # what the project's own artefacts print, LaTeX can set
        data = artefacts.load(name).data
        words = [data["where"], data["title"], data.get("caption", "")]
        words += [str(line["name"]) for key in ("rows", "columns") for line in data[key]]
        words += [str(t) for r in data.get("reported", {}).get("numbers", {}).values() for t in r.values()]
        unset = {ch for word in words for ch in word if not ch.isascii() and ch not in _TEX}
        assert not unset, f"{name}: LaTeX has no {unset}: add them to harness.make.render"


def test_a_format_of_a_row_is_heeded(made):
    assert "| counted | 782,938 [782,938] = |" in made["tables/gold/table_1.md"].decode()
