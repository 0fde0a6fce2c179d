"""Mistakes in YAML files: told with file, line and the nearest valid key; nothing else ever comes out."""

import datetime
import re

import pytest
import tiny
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.base import yamlfile
from harness.base.errors import HarnessError
from harness.spec import experiments

EXPERIMENTS = "reproduce/mini/experiments.yaml"
TABLE = "tables/mini/table_1.yaml"


def read(tmp_path, text):
    path = tmp_path / "some.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return yamlfile.read_with_lines(path)


def refusal(tmp_path, text) -> str:
    with pytest.raises(HarnessError) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "some.yaml") in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "text, value",
    [
        ("3e-4", 3e-4),
        ("1e5", 1e5),
        ("-2E+3", -2000.0),
        ("1.5e3", 1500.0),
        ("0.1", 0.1),
        (".5", 0.5),
        ("7", 7),
        ("1_000", 1000),
        ("e5", "e5"),
        ("3e", "3e"),
        ("1e5x", "1e5x"),
        ("v1.0", "v1.0"),
        ('"3e-4"', "3e-4"),
        ("2021-01-02", datetime.date(2021, 1, 2)),
    ],
)
def test_numbers_are_read_as_people_write_them(tmp_path, text, value):
    data, _ = read(tmp_path, f"a: {text}\n")
    assert data["a"] == value and type(data["a"]) is type(value)


def test_lines_of_keys_and_items(tmp_path):
    _, lines = read(tmp_path, "a:\n  b: 1\n  c:\n    - x\n    - {d: 2}\n0: {1: z}\n")
    assert lines[("a",)] == 1
    assert lines[("a", "b")] == 2
    assert lines[("a", "c", 1)] == lines[("a", "c", 1, "d")] == 5
    assert yamlfile.line_of(lines, ("a", "c", 1, "e", "f")) == 5  # the innermost thing that is there
    assert yamlfile.line_of(lines, (0, 1)) == 6  # a key that YAML reads as a number
    assert yamlfile.line_of(lines, ("nowhere",)) == 1


def test_merged_keys_may_repeat_what_they_override(tmp_path):
    data, _ = read(tmp_path, "base: &b {x: 1, y: 2}\nmine:\n  <<: *b\n  y: 3\n")
    assert data["mine"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    "text, line, what",
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' stands twice"),
        ("a:\n  x: 1\n  'x': 2\n", 3, "'x' stands twice"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: 1\nb: *nobody\n", 2, "nobody"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: 1\n? [x, y]\n: 2\n", 2, "a key must be plain text"),
        ("a: 1\nb: 2021-13-45\n", 2, "'2021-13-45' is no timestamp"),
        ("a: 1\nb: !!int x\n", 2, "'x' is no int"),
        ("a: 1\nb: !!bool maybe\n", 2, "'maybe' is no bool"),
        ("a: !!python/object/apply:os.system [echo]\n", 1, "not valid YAML"),
        (f"a: 1\nb: {'9' * 5000}\n", 2, "is no int"),
        ("a: 1\nb: 2\nc: \x07\n", 3, "not allowed"),
    ],
)
def test_a_mistake_has_its_line(tmp_path, text, line, what):
    told = refusal(tmp_path, text)
    assert f"line {line}:" in told and what in told


def test_what_is_no_text(tmp_path):
    assert "not UTF-8" in refusal(tmp_path, "título: 1".encode("latin-1"))
    with pytest.raises(HarnessError, match="does not exist"):
        yamlfile.read(tmp_path / "none.yaml")
    assert read(tmp_path, "")[0] is None


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, "&a [*a]", "x: " + "{y: " * 3000 + "}" * 3000])
def test_nested_too_deeply(tmp_path, text):
    assert "nested too deeply" in refusal(tmp_path, text)


WORDS = ["a", "b: ", "\n", "  ", "- ", "[", "]", "{", "}", ", ", ": ", "? ", "&x ", "*x", "!!int ", "!!set "]
WORDS += ["'", '"', "#", "|\n", ">-\n", "<<: ", "---\n", "%YAML", "2021-99-01", "0b_", "1:60.5", "=", "~"]
WORDS += [
    "!!timestamp ",
    "!!bool ",
    "!!float ",
    "!!binary ",
    "1e5",
    "\t",
    "\x00",
    "\x85",
    "é",
    "\ud7ff",
    "...",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("a: 2021-13-45")
@example("? [a]\n: b")
@example("a: \x00")
@example("a: !!timestamp x")
@example("1" + ":0" * 300 + ".0")
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=25).map("".join)))
def test_any_text_is_data_or_one_sentence(tmp_path, text):
    path = tmp_path / "fuzz.yaml"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    for schema in (None, "experiments", "artefact"):
        try:
            yamlfile.read(path, schema)
        except HarnessError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text\n", "3\n"])
def test_a_file_that_is_no_block_of_keys(tmp_path, text):
    root = tiny.project(tmp_path)
    tiny.write(root, EXPERIMENTS, text)
    with pytest.raises(HarnessError, match="line 1: the file: .* is not of type 'object'"):
        experiments.paper("mini", root)


def test_of_several_mistakes_the_outermost_is_told_first(tmp_path):
    root = tiny.project(tmp_path)
    tiny.edit(root, EXPERIMENTS, "seeds: [0, 1, 2]", "seeds: [0, -1]")
    tiny.edit(root, EXPERIMENTS, "year: 2021", "yaer: 2021")
    with pytest.raises(HarnessError, match="line 4: unknown key 'yaer'"):
        experiments.paper("mini", root)


def test_nearest():
    assert yamlfile.nearest("wieght", ["weight", "bias"]) == "did you mean 'weight'?"
    assert yamlfile.nearest("xyz", ["weight", "bias"]) == "use one of bias, weight"
    assert re.search("use one of 1, 2$", yamlfile.nearest(5, [2, 1]))
