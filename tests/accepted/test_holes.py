"""One method has its runs at the larger scale, the other only at the smaller: an outcome with holes."""

import csv
import json
import shutil

import pytest
import tiny

from harness.accepted import claims_found, headline, outcomes, reproduced
from harness.accepted.accept import accept
from harness.accepted.check import check
from harness.accepted.remade import FROM_RECORDS, remake
from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.make.fresh import with_holes
from harness.make.make import make, render
from harness.numbers.cellfile import read_cells
from harness.report import build
from harness.runs.execute import execute
from harness.spec import artefacts, experiments

SCALES = """\
    scales:
      cpu:
        config: {size: 40}
        differs: [D1]
        seeds: [0, 1]
"""
EXPERIMENTS = tiny.EXPERIMENTS[: tiny.EXPERIMENTS.index("    scales:")] + SCALES
TABLE = (
    tiny.TABLE.replace("comparable_from: smoke", "comparable_from: paper")
    + """\
  - id: strong-is-weak
    text: Both methods have the same mean.
    where: section 2
    tests: [high | strong > low | weak]
  - id: weak-rises
    text: The weak method rises, too.
    where: section 3
    tests: [high | weak > low | weak]
"""
)
FIGURE = TABLE.replace("table_1", "figure_1").replace('"Table 1,', '"Figure 1,') + "figure: {x: x, y: y}\n"
DRAWING = '''\
"""Figure 1."""


def draw(cells, figure):
    if "scale" in cells and cells["value"][cells["scale"] != ""].notna().any():
        raise ValueError("two scales in one drawing")
    figure.subplots().plot(cells["value"])
'''


def run(root, method: str, seeds=(0, 1, 2), scale="paper"):
    with tiny.importable(root):
        for spec in experiments.all_runs(scale, root):
            if spec.method == method and spec.seed in seeds:
                execute(spec, Layout(scale, root))


def remade(root, scale="paper") -> Layout:
    layout = Layout(scale, root)
    for artefact in artefacts.artefacts(root):
        make(with_holes(artefact, layout, root), layout, root)
    return layout


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Accepted at scale cpu; of scale paper the strong method has run."""
    root = tiny.project(tmp_path_factory.mktemp("once"), EXPERIMENTS=EXPERIMENTS, TABLE=TABLE)
    tiny.run_all(root, "cpu")
    accept(table(root), tiny.make_all(root, "cpu"), "small first", root)
    run(root, "strong")
    return root


@pytest.fixture
def root(once, tmp_path):
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    yield tmp_path
    tiny.forget()


def table(root):
    return artefacts.find("mini/table_1", root)


def lines(layout: Layout, suffix: str, base: str = "results") -> list[dict[str, str]]:
    with (getattr(layout, base) / f"tables/mini/table_1{suffix}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_cell_is_of_the_largest_scale_at_which_it_was_run(root):
    layout = remade(root)
    small = {(c["row"], c["column"]): c for c in lines(Layout("cpu", root), ".cells.csv")}
    for cell in lines(layout, ".cells.csv"):
        before = small[cell["row"], cell["column"]]
        if cell["column"] == "weak":
            assert cell == before | {"runs": "", "scale": "cpu"} and cell["verdict"] == "not comparable"
        else:
            assert cell["scale"] == "" and cell["n"] == "3" and cell["value"] != before["value"]
            assert cell["verdict"] in ("agrees", "not refuted", "differs", "match", "")
            assert all("/strong/" in run for run in cell["runs"].split())


def test_a_smaller_scale_is_marked_and_the_caption_says_which(root):
    page = (remade(root).results / "tables/mini/table_1.md").read_text(encoding="utf-8")
    low = next(line for line in page.splitlines() if line.startswith("| low"))
    strong, weak, correlation = low.split("|")[2:5]
    assert "°" in weak and "°" not in strong + correlation
    assert "Scale paper, 6 runs (seeds 0 to 2), n = 3 per number" in page
    assert "° is of scale cpu (not the published set-up: D1), n = 2 per number." in page


def test_a_claim_is_judged_at_one_scale_and_never_across_two(root):
    claims = {line["id"]: line for line in lines(remade(root), ".claims.csv")}
    small = {line["id"]: line for line in lines(Layout("cpu", root), ".claims.csv")}
    assert claims["high-above-low"]["scale"] == "" and "runs" in claims["high-above-low"]
    assert claims["high-above-low"]["runs"].split("; ")[0] == "3"
    for mixed in ("strong-is-weak", "weak-rises"):
        assert claims[mixed] == small[mixed] | {"scale": "cpu"}
        assert claims[mixed]["runs"].split("; ")[0] == "2"


def test_what_has_a_part_of_its_runs_waits_for_the_others(root):
    """To look at each run as it comes would be many chances of a false alarm."""
    run(root, "weak", seeds=[0, 2])
    layout = remade(root)
    cells = {(c["row"], c["column"]): c for c in lines(layout, ".cells.csv")}
    low = cells["low", "weak"]
    assert (low["n"], low["verdict"]) == ("2", "unclear") and "scale" not in low  # there is no hole
    assert low["reason"] == "2 of 3 runs are there: judged when all are"
    claims = {line["id"]: line["scale"] for line in lines(layout, ".claims.csv")}
    assert claims == {"high-above-low": "", "strong-is-weak": "cpu", "weak-rises": "cpu"}


def test_with_all_runs_it_is_made_as_any_other_to_the_byte(root):
    run(root, "weak")
    layout = remade(root)
    with_holes_asked = {p: p.read_bytes() for p in layout.results.glob("tables/mini/*")}
    make(table(root), layout, root)
    assert with_holes_asked == {p: p.read_bytes() for p in layout.results.glob("tables/mini/*")}
    assert "scale" not in lines(layout, ".cells.csv")[0] and "scale" not in lines(layout, ".claims.csv")[0]


def test_without_any_run_it_is_refused_with_the_command_that_makes_one(root):
    layout = Layout("paper", root / "other")
    with pytest.raises(HarnessError, match="has none of its 12 runs at scale paper.* --scale paper`"):
        with_holes(table(root), layout, root)


def test_a_hole_that_no_smaller_scale_fills_says_so(root):
    for file in (root / "published/cpu/tables/mini").glob("*"):
        file.unlink()
    layout = remade(root)
    low = next(c for c in lines(layout, ".cells.csv") if (c["row"], c["column"]) == ("low", "weak"))
    assert (low["verdict"], low["reason"]) == ("not run", "none of its runs at scale paper is there yet")
    claims = {line["id"]: line["verdict"] for line in lines(layout, ".claims.csv")}
    assert claims["weak-rises"] == claims["strong-is-weak"] == "not run"


def test_it_is_accepted_and_says_what_is_lacking_and_what_filled_it(root):
    layout = remade(root)
    noted = json.loads(accept(table(root), layout, "the strong half", root).read_text())
    assert len(noted["runs"]) == 6 and all("/strong/" in run["run"] for run in noted["runs"])
    assert len(noted["holes"]["lacking"]) == 6 and all("/weak/" in run for run in noted["holes"]["lacking"])
    assert set(noted["holes"]["filled"]) == {
        f"published/cpu/tables/mini/table_1.{kind}.csv" for kind in ("cells", "claims")
    }
    assert check(layout, root).changes == [] and check(layout, root, here=False).changes == []
    assert [(one.how, one.wrong) for one in remake("paper", root, jobs=1)] == [(FROM_RECORDS, "")]


def test_counts_keep_the_published_set_up_and_smaller_ones_apart(root):
    accept(table(root), remade(root), "the strong half", root)
    found = outcomes.of_paper("mini", root)
    counts = headline.counts(found)
    assert counts[headline.PUBLISHED].total() == 2 and counts[headline.SMALLER] == {"not comparable": 2}
    published, smaller = (counts[name].total() for name in headline.SENTENCES)
    assert (published, smaller) == (1, 2)
    page = (root / "REPRODUCED.md").read_text(encoding="utf-8")
    assert "1 table or figure at scale paper, and what is lacking there at scale cpu, which differs" in page
    told = [line for line in page.splitlines() if "The weak method rises" in line]
    assert told and "At scale cpu." in told[0] and "At scale" not in page.split("The mean is higher")[1][:99]
    assert "Of 3 tested claims, 1 of them at" in reproduced.findings.told(
        experiments.paper("mini", root), found, root
    ).replace("[", "").replace("](REPRODUCED.md#mini)", "")
    assert "scale paper, numbers: " in (line := outcomes.lines(table(root), Layout("paper", root))[-1])
    assert "scale cpu, numbers: 2 not judged; claims: 2" in line
    (claim,) = claims_found.lines("weak rises", root)
    assert "scale cpu, 2 runs of each method" in claim and "hangs on D1" in claim


def test_the_command_beside_an_artefact_with_holes_keeps_them(root):
    """Without `holes=true` it would start every run that is lacking."""
    layout = remade(root)
    build(layout, root)
    command = "snakemake mini_table_1 --config scale=paper holes=true"
    assert f"<code>{command}</code>" in layout.report.read_text(encoding="utf-8")
    accept(table(root), layout, "the strong half", root)
    cells = layout.results / "tables/mini/table_1.cells.csv"
    cells.write_text(cells.read_text(encoding="utf-8") + " ", encoding="utf-8")
    looks = {change.look for change in check(layout, root).changes}
    assert any(look.endswith("make mini/table_1 --scale paper --holes") for look in looks)
    shutil.rmtree(layout.results / "tables")
    build(layout, root)
    assert f"<code>{command}</code>" in layout.report.read_text(encoding="utf-8")


def test_the_report_tells_of_each_scale(root):
    layout = remade(root)
    assert build(layout, root) == []
    page = layout.report.read_text(encoding="utf-8")
    assert (
        page.count("at scale cpu; judged from scale paper on") == 2 and "6 of its runs are not there" in page
    )
    assert page.count('<p class="why">At scale cpu: ') == 2
    for name in (headline.PUBLISHED, headline.SMALLER, *headline.SENTENCES):
        assert f"<li><b>{name}</b>" in page


def test_when_more_runs_have_come_check_asks_to_accept_it_again(root):
    accept(table(root), remade(root), "the strong half", root)
    run(root, "weak", seeds=[0])
    layout = remade(root)
    (change,) = check(layout, root).changes
    assert change.what == "was made here with or without mini/noise/weak/high/s0, and accepted the other way"
    assert check(layout, root, here=False).changes == []
    noted = json.loads(accept(table(root), layout, "and one more", root).read_text())
    assert len(noted["runs"]) == 8 and check(layout, root).changes == []


def test_a_smaller_outcome_that_was_accepted_anew_makes_it_out_of_date(root):
    accept(table(root), remade(root), "the strong half", root)
    cpu = Layout("cpu", root)
    tiny.edit(root, "tables/mini/table_1.yaml", "high | weak > low | weak", "low | weak > high | weak")
    make(table(root), cpu, root)
    accept(table(root), cpu, "another test", root)
    told = [change.what for change in check(Layout("paper", root), root, here=False).changes]
    assert "was accepted with holes that another outcome of a smaller scale filled" in told
    assert outcomes.accepted(table(root), root).old


def test_a_provenance_that_hides_a_hole_is_found(root):
    layout = remade(root)
    path = accept(table(root), layout, "the strong half", root)
    noted = json.loads(path.read_text())
    path.write_text(json.dumps(noted | {"holes": noted["holes"] | {"lacking": []}}))
    assert any("without mini/noise/weak" in change.what for change in check(layout, root, here=False).changes)


def test_a_smaller_number_that_passes_for_one_of_the_larger_scale_is_found(root):
    layout = remade(root)
    accept(table(root), layout, "the strong half", root)
    for suffix, ends in ((".cells.csv", ",cpu\n"), (".claims.csv", ",cpu\n")):
        path = layout.published / f"tables/mini/table_1{suffix}"
        path.write_text(path.read_text().replace(ends, ",\n"))
    told = {change.place: change.what for change in check(layout, root, here=False).changes}
    assert told["low / weak"] == "was of scale '' and is of 'cpu'"
    assert told["claim weak-rises"] == "said '' and says 'cpu'"


def test_a_figure_draws_one_scale(root):
    tiny.write(root, "figures/mini/figure_1.yaml", FIGURE)
    tiny.write(root, "figures/mini/figure_1.py", DRAWING)
    tiny.write(root, "figures/mini/colours.yaml", "x: blue\n")
    cpu = Layout("cpu", root)
    figure = artefacts.find("mini/figure_1", root)
    make(figure, cpu, root)
    accept(figure, cpu, "small first", root)
    layout = remade(root)
    drawn = render.of_own_scale(cells := read_cells(layout.results / "figures/mini/figure_1.cells.csv"))
    other = cells["column"] == "weak"
    assert drawn[other]["value"].isna().all() and (drawn[other]["n"] == 0).all()
    assert drawn[~other].equals(cells[~other]) and cells[other]["value"].notna().all()
    page = (layout.results / "figures/mini/figure_1.md").read_text(encoding="utf-8")
    assert "° is of scale cpu (not the published set-up: D1), n = 2 per number, and is not drawn." in page
