"""How a claim is written, and what it stands for; rows and columns in groups."""

import pytest
import tiny

from harness.spec import artefacts
from harness.spec.expand import expanded
from harness.spec.sentences import plain, read

NAMES = {
    "rows": ["T = 2", "T = 10", "low", "high"],
    "columns": ["loss of k = 0", "loss of k = 3", "a > b", "c"],
}
LOW, HIGH = ["low", "c"], ["high", "c"]
FORMS = {
    "low | c > high | c": {"left": LOW, "relation": ">", "right": HIGH},
    "low | c < 1e18": {"left": LOW, "relation": "<", "right": 1e18},
    "low | c > high | c by -0.1": {"left": LOW, "relation": ">", "right": HIGH, "margin": -0.1},
    "low | c = 0.5 ± .05": {"left": LOW, "relation": "=", "right": 0.5, "margin": 0.05},
    "low | c minus high | c > -2": {"left": {"gap": [LOW, HIGH]}, "relation": ">", "right": -2.0},
    "mean(low; high | c) = low | c": {"left": {"mean": [LOW, HIGH]}, "relation": "=", "right": LOW},
    "low | c > mean(low; high | c)": {"left": LOW, "relation": ">", "right": {"mean": [LOW, HIGH]}},
    "spread(low | c) < spread(high | c)": {"of": "spread", "left": LOW, "relation": "<", "right": HIGH},
    "rising(low; high; T = 2 | c)": {"trend": "rising", "over": [LOW, HIGH, ["T = 2", "c"]]},
    "falling({x} | c minus low | c)": {"trend": "falling", "over": {"gap": [["{x}", "c"], LOW]}},
    "T = 2 | c = T = 10 | c ± 3": {
        "left": ["T = 2", "c"],
        "relation": "=",
        "right": ["T = 10", "c"],
        "margin": 3,
    },
    "low | loss of k = 0 > low | loss of k = 3": {
        "left": ["low", "loss of k = 0"],
        "relation": ">",
        "right": ["low", "loss of k = 3"],
    },
    "low | a > b > high | a > b": {"left": ["low", "a > b"], "relation": ">", "right": ["high", "a > b"]},
    "{x} | a > b < 3": {"left": ["{x}", "a > b"], "relation": "<", "right": 3.0},
}


@pytest.mark.parametrize("test", FORMS)
def test_a_line_is_read_as_it_reads(test):
    assert read(test, NAMES, {"x": ["low", "high"]}) == FORMS[test]


@pytest.mark.parametrize(
    "test",
    [
        "low | c",
        "low > high",
        "3 > low | c",
        "low | c ≥ 3",
        "low | c > spread(high | c)",
        "low | c > high | c | c",
        "rising(3)",
        "low; high | c > 3",
        "",
    ],
)
def test_what_is_no_test_is_none(test):
    assert read(test, NAMES, {}) is None


def wrong(at, what):
    return AssertionError(f"{at}: {what}")


CLAIM = {
    "id": "up-{set}",
    "text": "it rises.",
    "where": "section 1",
    "tests": ["{set} | {k} > low | c", "low | c > 0"],
}


def test_words_of_the_id_stand_before_the_sentence_and_others_range_in_their_tests():
    found = plain(
        {**CLAIM, "over": {"set": ["high"], "k": [1, 2]}, "ours": True, "here": "by any"}, NAMES, wrong
    )
    assert found["text"] == "(ours) {set}: it rises (here, by any)."
    assert found["each"] == {"set": ["high"]} and found["over"] == {"set": ["high"], "k": [1, 2]}
    assert [test.get("each") for test in found["tests"]] == [{"k": [1, 2]}, None]
    assert (found["ours"], found["here"], found["settings"]) == (True, "by any", "{set}")


def test_settings_may_be_told_in_other_words_or_not_at_all():
    over = {"over": {"set": ["high"], "k": [1, 2]}}
    assert plain({**CLAIM, **over, "settings": "all"}, NAMES, wrong)["text"] == "all: it rises."
    assert plain({**CLAIM, **over, "settings": ""}, NAMES, wrong)["text"] == "it rises."


GROUPS = {
    "rows": [
        {
            "each": {"set": {"A": {"setting": "a"}, "B": {"setting": "b"}}},
            "only": {"step": 1},
            "rows": [
                {"name": "{set} one", "only": {"part": "{set}"}},
                {"x": [0, 10, "...", 30], "name": "{set} {x}", "k": "{x}"},
            ],
        },
        {"name": "last", "columns": ["some"]},
    ],
    "columns": [
        {"group": "some", "format": ".2f", "columns": [{"name": "p"}, {"name": "q", "format": ".1f"}]},
        {"name": "r"},
    ],
}


def test_a_group_shares_its_keys_and_each_line_decides(tmp_path):
    data, _ = expanded(GROUPS, {(): 1}, tmp_path)
    names = [row["name"] for row in data["rows"]]
    assert names == [f"{s} {what}" for s in "AB" for what in ("one", 0, 10, 20, 30)] + ["last"]
    assert data["rows"][0] == {"name": "A one", "setting": "a", "only": {"step": 1, "part": "A"}}
    assert data["rows"][7]["k"] == 10 and data["rows"][7]["setting"] == "b"
    assert [column["format"] for column in data["columns"][:2]] == [".2f", ".1f"]
    assert data["rows"][-1]["columns"] == ["p", "q"] and "group" not in data["columns"][0]


def test_claims_in_a_group_share_its_place_and_scale_and_a_claim_decides(tmp_path):
    claims = """claims:
  - where: section 1
    from: cpu
    claims:
      - {id: a, text: A., tests: [low | strong > 0]}
      - {id: b, text: B., at: smoke, where: section 2, tests: [low | strong > 0]}
"""
    root = tiny.project(tmp_path, TABLE=tiny.TABLE[: tiny.TABLE.index("claims:")] + claims)
    one, other = artefacts.find("mini/table_1", root).data["claims"]
    assert (one["where"], one["from"]) == ("section 1", "cpu")
    assert (other["where"], other["at"]) == ("section 2", "smoke") and "from" not in other
    tiny.forget()
