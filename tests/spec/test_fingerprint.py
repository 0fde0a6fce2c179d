"""What of an artefact's YAML decides its numbers and verdicts."""

import pytest
import tiny

from harness.spec import artefacts, fingerprint

YAML = "tables/mini/table_1.yaml"


@pytest.mark.parametrize(
    "old, new, same",
    [
        ("high | strong > low | strong", '{right: [low, strong], left: [high, strong], relation: ">"}', True),
        ("low | strong", "low | strong by 0", False),
        (
            "over: {a: [low, high, low], b: [strong, weak, strong]}",
            "over: {b: [strong, weak, strong], a: [low, high, low]}",
            False,
        ),
    ],
)
def test_the_hash_of_a_claim_is_that_of_what_is_judged(tmp_path, old, new, same):
    """Once the order of the words of `over`, which orders a trend, made no difference."""
    trend = "over: {a: [low, high, low], b: [strong, weak, strong]}, tests: ['rising({a} | {b})']"
    more = f"  - {{id: line, text: It rises., where: section 1, {trend}}}\n"
    tiny.project(tmp_path, TABLE=tiny.TABLE + more)
    before = fingerprint.of_claims(artefacts.find("mini/table_1", tmp_path), "smoke")
    tiny.edit(tmp_path, YAML, old, new)
    after = fingerprint.of_claims(artefacts.find("mini/table_1", tmp_path), "smoke")
    assert (before == after) == same
    tiny.forget()


def test_a_column_called_as_a_word_is_no_word(tmp_path):
    tiny.project(tmp_path, TABLE=tiny.TABLE.replace("method: strong, metric", "only: {format: pt}, metric"))
    before = fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path))
    tiny.edit(tmp_path, YAML, "format: pt", "format: onnx")
    assert fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path)) != before
    tiny.edit(tmp_path, YAML, 'format: ".2f"', 'format: ".3f"')
    tiny.edit(tmp_path, YAML, "format: onnx", "format: pt")
    assert fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path)) == before
    tiny.forget()
