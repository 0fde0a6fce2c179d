"""YAML that was made to harm: files that grow without end are refused, texts stay texts wherever they are."""

import csv
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import tiny

from harness import report
from harness.base.errors import HarnessError
from harness.make.make import make
from harness.spec import artefacts, experiments

TABLE, EXPERIMENTS = tiny.FILES["TABLE"], tiny.FILES["EXPERIMENTS"]
MANY = "{" + ", ".join(f"w{i}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" for i in range(12)) + "}"
WORDS = "".join(f"{{w{i}}}" for i in range(12))


def laughs(link: str) -> str:
    """Each line stands for nine of the line before."""
    lines = [f"a{i}: &a{i} {link.format(', '.join([f'*a{i - 1}'] * 9))}" for i in range(1, 12)]
    return "\n".join(["a0: &a0 {x: 1}", *lines, ""])


def names(of: str, n: int) -> str:
    return "\n".join(f"  - {{name: {of}{i}, {of}: low}}" for i in range(n))


BOMBS = {
    "aliases": (TABLE, tiny.TABLE + laughs("[{}]"), "aliases multiply"),
    "merged keys": (TABLE, tiny.TABLE + laughs("{{<<: [{}]}}"), "aliases multiply"),
    "of experiments": (EXPERIMENTS, tiny.EXPERIMENTS + laughs("[{}]"), "aliases multiply"),
    "a long text": (TABLE, tiny.TABLE + "#" * (2 << 20), "too many for one of this project's files"),
    "each of a row": (
        TABLE,
        tiny.TABLE.replace("{name: low,", f'{{name: "{WORDS}", each: {MANY},'),
        "line 9: each makes 1,000,000,000,000 of this",
    ),
    "each of a claim": (
        TABLE,
        tiny.TABLE.replace("id: high-above-low", f'id: "{WORDS}"\n    over: {MANY}'),
        "line 22: over makes 1,000,000,000,000 of this",
    ),
    "each of a test": (
        TABLE,
        tiny.TABLE.replace("    tests: [high", f"    over: {MANY}\n    tests: ['{WORDS}', high"),
        "line 24: over makes 1,000,000,000,000 of this",
    ),
    "rows and columns": (
        TABLE,
        tiny.TABLE.replace("rows:\n", f"rows:\n{names('setting', 400)}\n").replace(
            "columns:\n", f"columns:\n{names('method', 400)}\n"
        ),
        "cells are more than 100,000",
    ),
    "seeds": (
        EXPERIMENTS,
        tiny.EXPERIMENTS.replace("[0, 1, 2]", f"[{', '.join(map(str, range(5000)))}]"),
        "is too long",
    ),
    "a format": (TABLE, tiny.TABLE.replace('".2f"', '"0>1000000000.2f"'), "prints no number"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_file_that_grows_without_end_is_refused_at_once(tmp_path, bomb):
    root = tiny.project(tmp_path)
    path, text, said = BOMBS[bomb]
    tiny.write(root, path, text)
    begun = time.process_time()
    with pytest.raises(HarnessError, match=said) as caught:
        experiments.paper("mini", root)
        artefacts.load(root / TABLE, root)
    assert time.process_time() - begun < 20
    assert str(caught.value).startswith(str(root / path)) and "\n" not in str(caught.value)
    tiny.forget()


@pytest.mark.parametrize("bad", [r"a\nb", r"a\tb", r"\x07", r"\e[2J", r"\u202e", r"\u2028"])
@pytest.mark.parametrize("key", ["title: Means and", "name: low", "text: The mean"])
def test_a_text_of_several_lines_or_with_invisible_signs_is_refused(tmp_path, key, bad):
    """In a table's row it would break the row, in a sentence of the harness the sentence."""
    root = tiny.project(tmp_path)
    word, begin = key.split(": ", 1)
    spoilt = f'{word}: "{bad}"'
    line = next(line for line in tiny.TABLE.splitlines() if key in line)
    rest = line.split(key, 1)
    tail = rest[1] if word == "name" else ""
    tiny.edit(root, TABLE, line, f"{rest[0]}{spoilt}{tail}")
    with pytest.raises(HarnessError, match="does not match") as caught:
        artefacts.load(root / TABLE, root)
    assert "\n" not in str(caught.value)
    tiny.forget()


@pytest.mark.parametrize("bad", [r"a\tb", r"\x07", r"\e[2J", r"\u202e", r"\u2028"])
def test_an_invisible_sign_in_a_printed_table_is_refused(tmp_path, bad):
    root = tiny.project(tmp_path)
    written = re.search(r"printed: \|\n(  \|.*\n)+", tiny.TABLE)[0]
    table = tiny.TABLE.replace(written, f'printed: "| | strong |\\n| low | {bad} |"\n')
    tiny.write(root, TABLE, table)
    with pytest.raises(HarnessError, match="line 16: printed: .* does not match"):
        artefacts.load(root / TABLE, root)
    tiny.forget()


TEXTS = [
    r"\input{/etc/passwd}",
    r"\write18{touch gone} \csname x\endcsname",
    r"& % $ # _ { } ~ ^ \ ^^5cinput{x} $$",
    "[5cm] in brackets",
    "*starred",
    "</table><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><b onclick=alert(1)>",
    "=1+1",
    "+1-1",
    "@SUM(A1)",
    "a|b",
]


def quoted(text: str) -> str:
    """In YAML's single quotes."""
    return "'" + text.replace("'", "''") + "'"


def hostile(root: Path, text: str) -> None:
    """The text in every place of the YAML and the notes that a reader sees."""
    table = tiny.TABLE.replace("name: low", f"name: {quoted(text)}")
    table = table.replace("| low ", "| " + text.replace("|", r"\|"))
    table = table.replace("[high | strong > low |", f"[{quoted(f'high | strong > {text} | strong')}]  #")
    for key, behind in {"title": "", "where": ", section 1", "text": ""}.items():
        line = f"{key}: {quoted(text + behind)}"
        table = re.sub(rf"\b{key}: .*", lambda _, line=line: line, table)
    table += f"    why: {quoted(text + ' and more')}\ncaption: {quoted(text)}\nunit: {quoted(text)}\n"
    tiny.write(root, TABLE, table)
    for key in ("title", "authors", "where"):
        old = re.search(rf"\b{key}: .*", tiny.EXPERIMENTS)[0]
        tiny.edit(root, EXPERIMENTS, old, f"{key}: {quoted(text)}")
    tiny.edit(root, tiny.FILES["NOTES"], "They mean nothing.", text)
    tiny.edit(root, tiny.FILES["NOTES"], "are drawn at random", text)


class Page(HTMLParser):
    """The elements that a browser would see, and what would run."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.handlers = 0, []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, value in attrs if name.startswith("on")]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A project with its runs done."""
    root = tiny.project(tmp_path_factory.mktemp("ran"))
    yield tiny.run_all(root)
    tiny.forget()


def pages(layout) -> tuple[Page, dict[str, str]]:
    root = layout.root
    make(artefacts.load(root / TABLE, root), layout, root)
    report.build(layout, root)
    page = Page()
    page.feed(layout.report.read_text(encoding="utf-8"))
    base = layout.results / "tables" / "mini" / "table_1"
    return page, {
        kind: base.with_suffix(f".{kind}").read_text(encoding="utf-8") for kind in ("md", "tex", "html")
    }


def table_of(layout) -> list[dict[str, str]]:
    with (layout.results / "tables/mini/table_1.cells.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


SIGNS = {
    *"&%#_${}",
    "textbackslash",
    "textasciitilde",
    "textasciicircum",
    "textbar",
    "textless",
    "textgreater",
}


def commands(tex: str) -> set[str]:
    return set(re.findall(r"\\([a-zA-Z]+|.)", tex, re.S))


@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_text_stays_a_text(ran, text):
    tiny.project(ran.root)
    plain, before = pages(ran)
    numbers = [line["value"] for line in table_of(ran)]
    hostile(ran.root, text)
    page, shown = pages(ran)
    assert (page.scripts, page.handlers) == (plain.scripts, [])
    made = Page()
    made.feed(shown["html"])
    assert (made.scripts, made.handlers) == (0, [])
    assert not re.search("(?<!\\\\)<[a-zA-Z/!?]", shown["md"])
    tex = shown["tex"]
    assert commands(tex) <= commands(before["tex"]) | SIGNS
    assert "^^" not in tex and not re.search(r"\\\\\s*[\[*]", tex)
    lines = table_of(ran)
    assert lines[0]["row"] == text and [line["value"] for line in lines] == numbers
    tiny.forget()
