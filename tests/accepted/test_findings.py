"""What the README opens with: written sentences, whose numbers come from accepted claims alone."""

import csv

import pytest
import tiny

from harness.accepted import findings, reproduced
from harness.accepted.accept import accept
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import artefact_file
from harness.spec import artefacts, experiments

SENTENCES = """\
- claim: table_1 high-above-low
  holds: It is higher by {size:.1f} (± {half:.1f}) in CIFAR-10.
  fails: It is not higher, by {size:.1f}.
"""


@pytest.fixture
def layout(tmp_path):
    layout = tiny.made(tmp_path)
    accept(artefacts.find("mini/table_1", tmp_path), layout, "first numbers", tmp_path)
    (tmp_path / "reproduce/mini/found.yaml").write_text(SENTENCES)
    yield layout
    tiny.forget()


def told(layout) -> str:
    (fared,) = reproduced.read(layout.root)
    return findings.told(fared.paper, fared.found, layout.root)


def edit(layout, before: str, after: str) -> None:
    tiny.edit(layout.root, "reproduce/mini/found.yaml", before, after)


def judged(layout, verdict: str) -> None:
    path = artefact_file(layout.published, "mini/table_1", ".claims.csv")
    lines = list(csv.DictReader(path.open(newline="")))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows({**line, "verdict": verdict} for line in lines)


def test_the_readme_s_findings_are_today_s():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == reproduced.with_found(text, reproduced.read()), "run `python -m harness reproduced`"
    start, end = (text.index(marker) for marker in findings.MARKERS)
    paragraphs = text[start:end].splitlines()[2:-1]
    assert [paragraph[:4] for paragraph in paragraphs] == ["- **"] * len(experiments.paper_names())
    anchors = findings.re.findall(r"REPRODUCED\.md#([^)]*)\)", text[start:end])
    page = (ROOT / "REPRODUCED.md").read_text(encoding="utf-8")
    there = [f'<a id="{name}"></a>' in page or f"\n## {name}\n" in page for name in anchors]
    assert len(there) > 8 and all(there)


def test_numbers_come_from_the_claim_and_the_words_from_its_verdict(layout):
    ((claim,),) = [
        [c for c in o.claims if c.id == "high-above-low"] for o in reproduced.read(layout.root)[0].found
    ]
    value, half = claim.tests[0].value, (claim.tests[0].hi - claim.tests[0].lo) / 2
    link = "[Table 1](REPRODUCED.md#mini-table_1-high-above-low)"
    assert f"It is higher by {value:.1f} (± {half:.1f}) in CIFAR-10 ({link}, scale smoke so far)." in told(
        layout
    )
    reproduced.write(layout.root)
    page = (layout.root / "REPRODUCED.md").read_text()
    assert '<a id="mini-table_1-high-above-low"></a>' in page
    judged(layout, "contradicts")
    assert f"It is not higher, by {value:.1f} ({link}" in told(layout)
    judged(layout, "unclear")  # nothing was written for that
    assert "Whether this holds is undecided: “The mean is higher where it was set higher” (" in told(layout)
    judged(layout, "not run")
    assert "higher" not in told(layout)


@pytest.mark.parametrize(
    "typed", ["by 0.4", "by 12 %", "in three of four runs", "2 to {size:.1f}", "a third more"]
)
def test_a_number_typed_by_hand_is_refused(layout, typed):
    edit(layout, "by {size:.1f} (", f"{typed} (")
    with pytest.raises(
        HarnessError, match=r"found\.yaml, line 2: the number '.*' is typed by hand: write a field"
    ):
        told(layout)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "high-above-low",
            "high-above-lo",
            "line 1: there is no claim .*did you mean 'table_1 high-above-low'",
        ),
        ("holds", "hold", "unknown key 'hold' in 0: did you mean 'holds'"),
        ("{half:.1f}", "{halve:.1f}", "cannot be filled .*its fields are size, least, most, lo, hi, half"),
    ],
)
def test_a_mistake_is_one_sentence(layout, before, after, said):
    edit(layout, before, after)
    with pytest.raises(HarnessError, match=said):
        told(layout)


def test_a_readme_without_its_markers_is_one_sentence():
    with pytest.raises(HarnessError, match="README.md lacks the lines '<!-- found -->'"):
        findings.with_found("# no markers\n", [])


def test_the_readme_keeps_all_but_the_table(layout):
    readme = layout.root / "README.md"
    found = "\n".join(findings.MARKERS)
    readme.write_text(
        f"Above\n\n{found}\n{reproduced.MARKERS[0]}\nyesterday\n{reproduced.MARKERS[1]}\n\nBelow\n"
    )
    assert readme in reproduced.write(layout.root)
    text = readme.read_text()
    assert text.startswith("Above\n\n<!--") and text.endswith("-->\n\nBelow\n") and "yesterday" not in text
    assert "| `mini` | A tiny paper. Nobody, 2021 | " in text
    readme.write_text("no table")
    with pytest.raises(HarnessError, match="README.md lacks the lines"):
        reproduced.write(layout.root)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("CIFAR-10", "2.4 cases", "the number '2.4' is typed by hand"),
        ("{half:.1f}", "{halve:.1f}", "cannot be filled"),  # which hangs on what is accepted
    ],
)
def test_a_sentence_that_cannot_be_written_is_told_before_anything_is(layout, before, after, said):
    """Once the outcome was published, and the pages told of the one before."""
    edit(layout, before, after)
    (layout.root / "README.md").write_text("\n".join([*findings.MARKERS, *reproduced.MARKERS]))
    there = {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()}
    with pytest.raises(HarnessError, match=said):
        accept(artefacts.find("mini/table_1", layout.root), layout, "the same again", layout.root)
    assert {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()} == there


def test_the_first_acceptance_counts_for_its_own_sentence(tmp_path):
    """No claim of an artefact that was never accepted is known before."""
    layout = tiny.made(tmp_path)
    (tmp_path / "reproduce/mini/found.yaml").write_text(SENTENCES)
    readme = tmp_path / "README.md"
    readme.write_text("\n".join([*findings.MARKERS, *reproduced.MARKERS]))
    accept(artefacts.find("mini/table_1", tmp_path), layout, "first numbers", tmp_path)
    assert "It is higher by " in readme.read_text()
    tiny.forget()
