"""What a paper prints, held against itself: by the printed numbers alone, rounding taken into account."""

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.spec import artefacts, consistency

PRINTED = """\
printed: |
  |      | strong      | weak  |
  | low  | 0.78 (0.06) | 24%   |
  | high | 1 923       | 2.5K  |
"""
OTHER = """
artefact: mini/table_2
where: "Table 2, section 2"
title: The same once more
cells: {experiment: noise, metric: mean}
rows: [{name: low (0.1), setting: low}]
columns: [{name: strong, method: strong}]
printed: |
  |           | strong      |
  | low (0.1) | 0.78 (0.03) |
"""
SETTINGS = "reported: {runs: 3, spread: unknown}\n"


@pytest.fixture
def read(tmp_path):
    """What does not fit of some lines, each as its readings."""

    def found(*lines):
        head = tiny.TABLE.partition("reported:")[0]
        block = "consistency: |\n" + "".join(f"  {line}\n" for line in lines)
        tiny.project(tmp_path, TABLE=head + SETTINGS + PRINTED + block)
        tiny.write(tmp_path, "tables/mini/table_2.yaml", OTHER)
        return artefacts.find("mini/table_1", tmp_path).data["consistency"]

    yield found
    tiny.forget()


@pytest.mark.parametrize(
    "line",
    [
        "low | strong = 78%",
        "low | strong = 0.8",  # 0.75 to 0.85 is printed so
        "low | strong == 0.78",
        "high | strong = 1.9K",
        "high | strong < high | weak",
        "high | strong minus 1 923 = 0",
        "sum(low; high | strong) = 1923.8",
        "mean(low; high | strong) = 962",
        "max(low; high | strong) = high | strong",
        "min(low | strong; weak) = low | weak",
        "low | strong times 2 minus 1.56 = 0",
        "high | weak over high | strong minus 1 = 30%",
        "spread(low | strong) = 0.06",
        "low | strong = table_2: low (0.1) | strong",
        "low | strong minus table_2: low (0.1) | strong = 0",
        "least(low | strong) = 0.72",  # of three numbers of mean 0.78 and deviation 0.06
        "{r: low; high} | strong > low | {c: weak}",
    ],
)
def test_what_fits(read, line):
    (one,) = read(f"{line}  # section 1")
    assert one.wrong == ()


@pytest.mark.parametrize(
    "line, told",
    [
        ("low | strong = 0.7", "0.78 against 0.7"),
        ("low | strong == 0.8", "0.78 against 0.8"),
        ("high | strong > high | weak", "1,923 against 2,500"),
        ("sum(low; high | strong) == 1923", "1,923.8 against 1,923"),
        ("max(low; high | strong) = high | weak", "1,923 against 2,500"),
        ("min(low | strong; weak) = low | strong", "0.24 against 0.78"),
        ("mean(low; high | strong) < 960", "961.89 against 960"),
        ("high | weak over high | strong minus 1 = 20%", "0.30005 against 0.2"),
        ("low | strong == table_2: low (0.1) | strong", "0.78 against 0.78"),  # another spread
        ("spread(low | strong) < spread(table_2: low (0.1) | strong)", "0.06 against 0.03"),
        ("least(low | strong) = 0.65", "against 0.65"),
        ("least(low | strong) = 0.77", "against 0.77"),
    ],
)
def test_what_does_not_fit_is_told_with_both_sides(read, line, told):
    (one,) = read(f"{line}  # section 1: they differ")
    assert one.told.startswith(f"they differ (section 1): {line}: ") and one.told.endswith(told)


def test_lines_of_one_sentence_are_one_statement_and_others_are_not(read):
    lines = [f"low | strong = {n}  # section 1: it is said so" for n in (2, 3)]
    both, third = read(*lines, "low | strong = 0.78  # section 1")
    assert len(both.wrong) == 2 and third.wrong == ()


def test_of_many_readings_the_first_are_told(read):
    (one,) = read("{r: low; high} | strong = {n: 7; 8; 9}  # section 1: no")
    assert len(one.wrong) == 6 and one.told.endswith(" and 3 more")


@pytest.mark.parametrize(
    "line, told",
    [
        ("low | strong = 0.78", "a statement ends with its place in the paper"),
        ("low | strong = 0.78  # here", "a statement ends with its place in the paper"),
        ("low | strong  # section 1", "is no statement: write"),
        ("low = 0.78  # section 1", "is no statement: write"),
        ("low | strong ~ 0.78  # section 1", "'strong ~ 0.78' is not printed"),
        ("lo | strong = 0.78  # section 1", "'lo' is not printed: "),
        ("low | correlation = 0.78  # section 1", "'correlation' is not printed"),
        ("sum(low; hih | strong) = 0.78  # section 1", "'hih' is not printed: "),
        ("{r: low} | strong = {q} | strong  # section 1", "{q} has no values"),
        ("least(low | weak) = 0.78  # section 1", "least(…) is of one cell that is printed with its spread"),
        ("low | strong over 0 = 1  # section 1", "nothing is divided by 0"),
        ("{t: table_1; table_3}: low | strong = 1  # section 1", "artefact 'table_3' does not exist"),
        ("low | strong = 1e999  # section 1", "is no statement"),
        ("table_3: low | strong = 1  # section 1", "artefact 'table_3' does not exist in this paper"),
    ],
)
def test_a_mistake_in_a_line_is_one_sentence(read, line, told):
    with pytest.raises(HarnessError) as error:
        read("", line)
    lines = (str(error.value)).splitlines()
    assert len(lines) == 1 and "table_1.yaml, line 22: " in lines[0] and told in lines[0]


def test_what_is_no_number_is_told(read, monkeypatch):
    monkeypatch.setitem(globals(), "PRINTED", PRINTED.replace("24%  ", "Exact"))
    with pytest.raises(HarnessError, match="low | weak is 'Exact', which is no number"):
        read("low | weak = 1  # section 1")


EVERY = [(a.name, one) for a in artefacts.artefacts() for one in a.data["consistency"]]


def test_the_papers_sums_and_sentences_were_looked_at():
    assert {name.split("/")[0] for name, _ in EVERY} >= {"icw", "ldn", "nsa", "sotl"}


@pytest.mark.parametrize("name, one", [pair for pair in EVERY if pair[1].wrong], ids=lambda p: str(p)[:40])
def test_what_does_not_fit_is_said_in_words(name, one):
    assert one.words, f"{name}: {one.told}"


def test_a_place_is_one_of_the_paper_or_a_deviation():
    for place in (
        "section 4.2.1, Table 4.1",
        "appendix F",
        "Figure 4.3a",
        "Eq. 5 and D2",
        "D30",
        "Algorithm 3",
    ):
        assert consistency.is_place(place), place
    for place in ("here", "the text", "a table", "section", "DARTS", "not in the paper"):
        assert not consistency.is_place(place), place


@pytest.mark.parametrize("old, new", [("where: section 1", "where: here"), ('"Table 1, section 1"', "here")])
def test_a_where_that_names_no_place_is_refused(tmp_path, old, new):
    tiny.project(tmp_path, TABLE=tiny.TABLE.replace(old, new))
    with pytest.raises(
        HarnessError, match=r"line \d+: where 'here' names no place in the paper: write its page"
    ):
        artefacts.find("mini/table_1", tmp_path)
    tiny.forget()
