"""Numbers that the paper does not print: small, whole, and counted like all others."""

import re
from collections import Counter

from report.made import built, embedded, made
from report.sample import point, write_results

from harness.report.numbers import blocks, number


def test_what_the_paper_does_not_print_stands_in_a_grid(tmp_path):
    page, tree = made(tmp_path)
    (folded,) = re.findall(r'<details class="unprinted" open>.*?</section>', page, re.S)
    assert "6 numbers that the paper does not print; 4 more without a value" in folded
    heads = re.findall(r'<th scope="(col|row)">(.*?)</th>', folded)
    assert heads == [("col", "SoGN"), ("col", "top 10"), *(("row", f"L1, epoch {k}") for k in (1, 2, 3))]
    assert folded.count("0.30 (0.02)<i>0.20 to 0.40</i></td>") == 6
    assert "Ours: n = 3 per number, below it the 95 % interval." in folded
    assert "4 numbers: fewer epochs are trained at this scale" in folded
    assert "L1, epoch 10, L1, epoch 11 · SoGN, top 10" in folded


def test_every_number_is_counted_once(tmp_path):
    page, tree = made(tmp_path)
    items = [
        a for _, a in tree.tags if "item" in (a.get("class") or "").split() and "claim" not in a["class"]
    ]
    counted = Counter()
    for a in items:
        counted[a.get("data-verdict", "")] += int(a.get("data-count", 1))
    claims, artefacts = 3, 3  # which have their runs, too
    assert sum(counted.values()) == len(embedded(page)["numbers"]) - claims - artefacts == 37
    assert counted["not run"] == 4 and counted[""] == 7  # one of them is a row, for its reason


def test_a_point_of_a_curve_takes_few_bytes(tmp_path):
    """Ten thousand of them may stand on a page that stays light."""

    many = [point(f"epoch {k}", f"estimator {j}") for k in range(1000) for j in range(10)]
    page, tree, _ = built(write_results(tmp_path, points=many))
    assert len(page.encode()) < 1_300_000
    assert '<details class="unprinted">' in page  # folded


def test_rows_with_other_columns_are_a_block_of_their_own(tmp_path):
    rows = {"d=0": ["q", "DDN"], "d=1": ["DDN"], "D=5": ["LDN", "depth"], "D=6": ["LDN", "depth"]}
    points = [point(row, column) for row, columns in rows.items() for column in columns]
    numbers = [number(one, "1", "", place) for place, one in enumerate(points)]
    assert [(columns, list(lines)) for columns, lines in blocks(numbers)] == [
        (["q", "DDN"], ["d=0", "d=1"]),
        (["LDN", "depth"], ["D=5", "D=6"]),
    ]
    page, _ = made(tmp_path, points=points)
    line = (
        '<tr><th scope="row">d=1</th><td></td><td class="item" data-number=21>0.30 (0.02)<i>0.20 to 0.40</i>'
    )
    assert line in page
