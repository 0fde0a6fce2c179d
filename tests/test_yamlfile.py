"""Mistakes in YAML files: told with file, line and the nearest valid key; nothing else ever comes out."""

import datetime
import re

import pytest
import tiny
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness import artefacts, experiments, yamlfile
from harness.errors import HarnessError

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


# what is written instead of what, the line of it, and what the user is told
EXPERIMENT_MISTAKES = [
    ("year: 2021", "yaer: 2021", 4, "unknown key 'yaer' in the file: did you mean 'year'?"),
    ("year: 2021\n", "", 1, "the file lacks the key 'year'"),
    ("year: 2021", "year: MMXXI", 4, "year: 'MMXXI' is not of type 'integer'"),
    ("paper: mini", "paper: Mini", 1, "paper: 'Mini' does not match"),
    ("    methods:", "    method:", 9, "unknown key 'method' in experiments.noise: did you mean 'methods'?"),
    ("    seeds: [0, 1, 2]\n", "", 6, "experiments.noise lacks the key 'seeds'"),
    ("seeds: [0, 1, 2]", "seeds: [0, -1]", 15, "experiments.noise.seeds.1"),
    ("seeds: [0, 1, 2]", "seeds: [0, 0]", 15, "non-unique"),
    ("seeds: [0, 1, 2]", "seeds: []", 15, "experiments.noise.seeds"),
    ("strong: {}", "strong: 3", 10, "experiments.noise.methods.strong"),
    ("strong: {}", "Strong: {}", 10, "'Strong' does not match"),
    (
        "      smoke:",
        "      smok:",
        19,
        "unknown key 'smok' in experiments.noise.scales: did you mean 'smoke'?",
    ),
    (
        "        skip:",
        "        skp:",
        18,
        "unknown key 'skp' in experiments.noise.scales.cpu: did you mean 'skip'?",
    ),
    (
        "this method takes longer than anybody would wait",
        "later",
        18,
        "experiments.noise.scales.cpu.skip.weak",
    ),
    (
        "skip: {weak:",
        "skip: {week:",
        18,
        "'week', which is no method or setting of noise: did you mean 'weak'?",
    ),
    (
        "    seeds:",
        "    resources: {gpus: 1}\n    seeds:",
        15,
        "unknown key 'gpus' in experiments.noise.resources",
    ),
    ("paper: mini", "paper: maxi", 1, "paper is 'maxi', not 'mini'"),
    ("effect: 2.0", "effect: .nan", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 1e999", 8, "config.effect is no finite number"),
    ("effect: 2.0", f"effect: 1{'0' * 400}", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 2021-01-02", 8, "config.effect is a date: quote it if it is text"),
    ("effect: 2.0", "effect: !!set {a, b}", 8, "config.effect is a set"),
    ("effect: 2.0", "1: 2.0", 8, "noise.config.1: 1 is not of type 'string'"),
    ("strong: {}", "1: {}", 10, "noise.methods.1: 1 is not of type 'string'"),
    ("strong: {}", '"strong\\n": {}', 10, "does not match"),
    ("strong: {}", f"{'x' * 300}: {{}}", 10, "too long"),
    ("  noise:\n", "  ../noise:\n", 6, "'../noise' does not match"),
    ("seeds: [0, 1, 2]", f"seeds: [{10**30}]", 15, "maximum"),
    ("    seeds:", "    needs: [CIFAR 10]\n    seeds:", 15, "does not match"),
    ("    seeds:", "    module: ../../x\n    seeds:", 15, "does not match"),
]


@pytest.mark.parametrize("old, new, line, told", EXPERIMENT_MISTAKES)
def test_mistakes_in_experiments(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, EXPERIMENTS, old, new)
    with pytest.raises(HarnessError) as caught:
        experiments.paper("mini", root)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value) and "\n" not in str(caught.value)


TWICE = tiny.TABLE[tiny.TABLE.index("  - id: high-above-low") :]
TREND = 'tests: [{trend: rising, each: {row: [low, high]}, over: ["{row}", strong]}]'
ARTEFACT_MISTAKES = [
    ("title:", "titel:", 3, "unknown key 'titel' in the file: did you mean 'title'?"),
    ("title: Means and correlations\n", "", 1, "the file lacks the key 'title'"),
    (
        "comparable_from: smoke",
        "comparable_from: smoky",
        4,
        "'smoky', which does not exist: did you mean 'smoke'?",
    ),
    (
        "{name: low, setting",
        "{name: low, seting",
        9,
        "unknown key 'seting' in rows.0: did you mean 'setting'?",
    ),
    (
        "cells: {experiment",
        "cells: {experimant",
        7,
        "unknown key 'experimant' in cells: did you mean 'experiment'?",
    ),
    (
        "reduce: spearman",
        "reduce: speerman",
        14,
        "'speerman', which does not exist: did you mean 'spearman'?",
    ),
    ("spread: sample_sd", "spread: sample_std", 17, "did you mean 'sample_sd'?"),
    ("  runs: 3", "  rums: 3", 16, "unknown key 'rums' in reported: did you mean 'runs'?"),
    ("where: section 1\n    tests", "wo: section 1\n    tests", 24, "unknown key 'wo' in claims.0"),
    ("    where: section 1\n    tests", "    tests", 22, "claims.0 lacks the key 'where'"),
    ('relation: ">"', 'relation: ">="', 25, "which does not exist"),
    ('relation: ">"', 'relatoin: ">"', 25, "did you mean 'relation'?"),
    ("[low, strong]}", "[low]}", 25, "claims.0.tests.0.right: ['low'] is too short"),
    ("deviations: [D1]", "deviations: [E1]", 5, "deviations.0"),
    # names that no schema can know
    ("deviations: [D1]", "deviations: [D2]", 5, "deviation 'D2' does not exist: did you mean 'D1'?"),
    ("artefact: mini/table_1", "artefact: mini/table_2", 1, "artefact must be 'mini/table_1'"),
    ("experiment: noise", "experiment: nose", 7, "experiment 'nose' does not exist: did you mean 'noise'?"),
    ("setting: low}", "setting: lo}", 9, "setting 'lo' does not exist: did you mean 'low'?"),
    ("method: weak", "method: week", 13, "method 'week' does not exist: did you mean 'weak'?"),
    (
        "    high: {strong",
        "    hihg: {strong",
        20,
        "reported row 'hihg' does not exist: did you mean 'high'?",
    ),
    ("    high: {strong", "    high: {strnog", 20, "reported column 'strnog' does not exist"),
    ("[high, strong]", "[hgh, strong]", 25, "row 'hgh' does not exist: did you mean 'high'?"),
    ("[high, strong]", "[high, strog]", 25, "column 'strog' does not exist: did you mean 'strong'?"),
    ('format: ".2f"', 'format: ".2fE"', 6, "format '.2fE' prints no number"),
    ('format: ".2f"', 'format: "999999999f"', 6, "prints no number"),
    ("{name: low, setting: low}", "{name: low, setting: low, format: d}", 9, "format 'd' prints no number"),
    (
        "{name: low, setting: low}",
        "{name: low, setting: low, blank: [stong]}",
        9,
        "blank column 'stong' does not exist: did you mean 'strong'?",
    ),
    ("cells: {experiment: noise}\n", "", 18, "low / strong is printed and is of no experiment: add"),
    (TWICE, TWICE * 2, 26, "a claim's id 'high-above-low' is empty or stands twice"),
    ("id: high-above-low", "id: '{}'", 22, "a claim's id '' is empty or stands twice"),
    (
        'tests: [{left: [high, strong], relation: ">", right: [low, strong]}]',
        TREND,
        25,
        "a trend needs three points",
    ),
    ('"0.0 (0.2)", weak', ".inf, weak", 19, "reported.numbers.low.strong is no finite number"),
]


@pytest.mark.parametrize("old, new, line, told", ARTEFACT_MISTAKES)
def test_mistakes_in_an_artefact(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, TABLE, old, new)
    with pytest.raises(HarnessError) as caught:
        artefacts.artefacts(root)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value) and "\n" not in str(caught.value)


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
