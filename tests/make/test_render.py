"""Markdown and LaTeX of a table: nothing but dashes is left out and named, printed numbers always stay."""

import math

import pandas as pd
import pytest

from harness.make.render import caption, latex, markdown
from harness.spec import artefacts


def cells(rows: list[str], columns: list[str], **changed: dict[tuple[str, str], object]) -> pd.DataFrame:
    """Cells without a number, but for what is changed."""
    empty = {"n": 0, "text": "", "value": math.nan, "spread": math.nan, "verdict": "not run", "reported": ""}
    lines = [{"row": r, "column": c, **empty} for r in rows for c in columns]
    for key, found in changed.items():
        for line in lines:
            line[key] = found.get((line["row"], line["column"]), line[key])
    return pd.DataFrame(lines)


@pytest.fixture
def table():
    return artefacts.find("sotl/table_3_1")


@pytest.mark.parametrize("render", [markdown, latex])
def test_rows_and_columns_without_a_number_are_named_instead(table, render):
    some = {("a", "x"): 1, ("b", "x"): 1}
    shown = render(table, cells(["a", "b", "c, d", "e"], ["x", "y"], n=some, value=some), "A caption.")
    assert "A caption. No number at this scale: rows c, d; e and column y." in shown
    assert shown.count("c, d") == 1 and "a" in shown and "b" in shown
    told = render(table, cells(list("abcdefghi"), ["x"], n={("a", "x"): 1}, value={("a", "x"): 1}), "")
    assert "No number at this scale: rows b; c; …; i (8)." in told.replace(r"\ldots{}", "…")


@pytest.mark.parametrize("kept", [{"text": {("a", "x"): "CIFAR"}}, {"reported": {("a", "x"): "3.5"}}])
def test_a_printed_number_or_a_setting_is_never_left_out(table, kept):
    shown = markdown(table, cells(["a", "b"], ["x"], **kept), "")
    assert next(iter(kept.values()))["a", "x"] in shown and "No number at this scale: row b." in shown


def test_a_table_of_which_nothing_was_run_stays_whole(table):
    shown = markdown(table, cells(["a", "b"], ["x"]), "A caption.")
    assert shown.startswith("|  | x |\n|---|---|\n| a | – – |\n| b | – – |\n\nA caption.\n")


@pytest.mark.parametrize(
    ("counts", "told"),
    [((1, 200), ", 1 to 200 architectures."), ((1, 1), ", 1 architecture."), ((0, 0), " per number.")],
)
def test_a_caption_tells_how_many_architectures_stand_behind_a_number(table, counts, told):
    runs = {("a", "x"): "p/e/m/s/s0", ("b", "x"): "p/e/m/s/s0 p/e/m/s/s1"}
    made = cells(["a", "b"], ["x"], n={("a", "x"): 1, ("b", "x"): 2})
    made = made.assign(architectures=counts, spread_kind="bootstrap", runs=runs.values())
    text = caption(table, "cpu", made, [])
    assert f", 2 runs (seeds 0 to 1), n = 1 to 2 per number{told.removeprefix(' per number')}" in text


def test_a_caption_tells_what_does_not_fit_in_the_paper():
    artefact = artefacts.find("sotl/table_4_6")
    made = cells(["a"], ["x"], n={("a", "x"): 1}).assign(architectures=0, spread_kind="", runs="p/e/m/s/s0")
    told = [one.told for one in artefact.data["consistency"] if one.wrong]
    text = caption(artefact, "paper", made, [])
    assert told and text.endswith(" ".join(f"Paper issue: {one}." for one in told))
