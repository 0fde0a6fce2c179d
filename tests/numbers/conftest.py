"""What tests of claims share."""

import pytest
import tiny
from support import cells

from harness.numbers import claim_record, claims
from harness.numbers.judge import Verdict
from harness.spec import artefacts

HEAD, _, CLAIMS = tiny.TABLE.partition("claims:")


@pytest.fixture
def judged(tmp_path):
    """The verdicts of the claims whose tests are given as YAML."""

    def judge(tests: str, scale: str = "smoke", more: str = "", **values) -> Verdict:
        claim = f"claims:\n  - {{id: it, text: It holds., where: section 1, {more} tests: [{tests}]}}\n"
        artefact = artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=HEAD + claim))
        (found,) = claims.judge_claims(artefact, cells(**values), scale)
        assert (found.id, found.text, found.where) == ("it", "It holds.", "section 1")
        assert repr(claim_record.of_line(found.line())) == repr(found)  # as it is read back
        return Verdict(found.verdict, found.reason)

    yield judge
    tiny.forget()
