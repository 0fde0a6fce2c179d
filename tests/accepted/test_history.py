"""published/<scale>/history.csv: a verdict or a test that changes after it was accepted leaves a line."""

import pytest
import tiny

from harness.accepted import claims_found, history
from harness.accepted.accept import accept
from harness.accepted.check import compare
from harness.base.errors import HarnessError
from harness.spec import artefacts


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def accepted_again(layout, old="", new="", reason="looked at it") -> list[history.Change]:
    if old:
        tiny.edit(layout.root, "tables/mini/table_1.yaml", old, new)
        tiny.make_all(layout.root)
    accept(artefacts.find("mini/table_1", layout.root), layout, reason, layout.root)
    return history.read(layout)


def test_what_is_accepted_first_has_no_history(layout):
    assert accepted_again(layout) == [] and accepted_again(layout) == []
    assert not history.path_of(layout).exists()


def test_a_turned_test_turns_the_verdict_and_both_are_told(layout):
    accepted_again(layout)
    (change,) = accepted_again(layout, 'relation: ">"', 'relation: "<"', "the paper says it falls")
    assert (change.before, change.after) == ("agrees", "contradicts")
    assert change.changed == "test" and change.reason == "the paper says it falls"
    assert compare(layout, layout.root) == []  # the file is one of those that were accepted
    told = list(claims_found.lines(change.claim, layout.root))
    assert told[0].startswith("contradicts") and "agrees → contradicts (other test)" in told[1]
    assert len(accepted_again(layout, 'relation: "<"', 'relation: ">"')) == 2


def test_a_margin_that_changes_no_verdict_is_told_too(layout):
    accepted_again(layout)
    (change,) = accepted_again(layout, 'relation: ">",', 'relation: ">", margin: 0.001,')
    assert change.before == change.after == "agrees" and "still agrees (other test)" in change.sentence


def test_other_words_leave_no_line(layout):
    accepted_again(layout)
    assert accepted_again(layout, "title: ", "title: The same, ") == []


def test_a_line_cut_short_is_told(layout):
    accepted_again(layout)
    accepted_again(layout, 'relation: ">"', 'relation: "<"')
    path = history.path_of(layout)
    path.write_text(path.read_text()[:-30].rsplit(",", 1)[0] + "\n")
    with pytest.raises(HarnessError, match=r"history.csv is not as it was written \(line 2"):
        history.read(layout)


def test_claim_finds_by_words_in_any_order_also_what_nobody_accepted(layout):
    (line,) = claims_found.lines("HIGHER mean", layout.root)
    assert line.startswith("never accepted") and "mini/table_1" in line
    accepted_again(layout)
    (line,) = claims_found.lines("mean higher", layout.root)
    assert line.startswith("agrees") and "scale smoke" in line and "±" in line


def test_claim_without_a_hit_says_so(layout):
    with pytest.raises(HarnessError, match="no claim has the words 'purple cows'"):
        list(claims_found.lines("purple cows", layout.root))
