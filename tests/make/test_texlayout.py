"""Wide tables of LaTeX: what stands side by side fits on a page, and LaTeX itself says so."""

import shutil
import subprocess

import pandas as pd
import pytest

from harness.make.render import latex
from harness.make.texlayout import PAGE, groups, wrapped
from harness.spec import artefacts

PAPER = r"\documentclass[10pt]{article}\usepackage{booktabs}\usepackage[a4paper,margin=2cm]{geometry}"


def test_columns_that_fit_stay_together_and_all_are_there():
    columns = [["head", "94.02 (0.31) [93.84 (0.25)]"]] * 7
    found = groups(["a name of twenty letters"], columns)
    assert [k for group in found for k in group] == list(range(7))
    assert len(found) == 3 and len(found[0]) == (PAGE - 24) // 28
    assert groups(["name"], [["a", "1"], ["b", "2"]]) == [[0, 1]]
    assert groups(["name"], [["a", "x" * 5 * PAGE], ["b", "2"]]) == [[0], [1]]


def test_long_texts_are_wrapped_between_words_only():
    assert wrapped("short", 10, "l") == "short"
    text = wrapped(r"a \& b of $\tau$ and [c]", 8, "r", "b")
    assert text == r"\begin{tabular}[b]{@{}r@{}}a \& b of \\{} $\tau$ and \\{} [c]\end{tabular}"


def test_latex_sets_a_wide_table_within_the_page(tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("needs pdflatex: apt-get install texlive-latex-recommended")
    table = artefacts.find("sotl/table_3_1")
    columns = [f"column {k} of a table with many" for k in range(9)]
    lines = [
        {
            "row": "NASBench-201",
            "column": c,
            "n": 0,
            "text": "CIFAR10/100, ImageNet16-120",
            "verdict": "match",
        }
        | {"reported": "[CIFAR10/100, ImageNet16-120]", "spread": float("nan"), "value": float("nan")}
        for c in columns
    ]
    text = latex(table, pd.DataFrame(lines), "A caption.")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 1 == text.count(r"\caption")
    (tmp_path / "paper.tex").write_text(PAPER + "\\begin{document}\n" + text + "\\end{document}\n")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
