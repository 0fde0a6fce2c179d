"""What `vouch` lets pass and what it refuses: sabotage of a tiny project in a git repository of its own."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.code import ledger
from harness.code.code_id import code_id
from harness.runs.record import read_record
from harness.runs.stale import why_stale
from harness.vouch.vouch import vouch

UNTRIED = "changed statements did not run in these: reproduce/mini/"
NAME = "reproduce.mini.noise"
NOISE, PARTS, OTHERS = (f"reproduce/mini/{name}.py" for name in ("noise", "parts", "others"))
EXPERIMENTS = tiny.EXPERIMENTS.replace("[0, 1, 2]", "[0]").replace("size: 60", "size: 60, power: 2")
MODULE = tiny.MODULE.replace("    shift: float\n", "    shift: float\n    power: int = 1\n").replace(
    "    prediction = config.effect * truth + run.stream",
    """\
    prediction = scaled(truth, config.effect, 0.0)
    if config.size > LIMIT:
        prediction = prediction + 1.0
    prediction = prediction + Noise(0.5).strength * run.stream""",
)
MODULE = MODULE.replace(
    "from harness.runs.record import Run\n",
    """\
from harness.base.errors import HarnessError
from harness.runs.record import Run
from reproduce.mini.others import checked
from reproduce.mini.parts import Noise, scaled

LIMIT = 1000
""",
)
MODULE = MODULE.replace("    truth = run", "    checked(config.power)\n    truth = run", 1)
FILES = {
    PARTS: '''\
"""Parts of the experiment."""

from dataclasses import dataclass

FACTOR = 2.0


@dataclass(frozen=True)
class Noise:
    """How strong it is."""

    strength: float
    kind: str = "normal"

    def doubled(self, times: int) -> float:
        return self.strength * times


def scaled(values, effect, offset=3.0):
    """In proportion."""
    total = effect * values * FACTOR
    return total + offset if offset else total


def unused():
    return 7
''',
    OTHERS: '''\
"""Other parts."""

FACTOR = 5.0


def checked(power):
    """A power that there is."""
    if power < 1:
        raise ValueError(f"no power: {power}")
    return [each * FACTOR for each in range(power) if each > 5]
''',
}


def git(root: Path, *words: str) -> str:
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """The project at its first commit."""
    root = tiny.checkout(tmp_path_factory.mktemp("base"), EXPERIMENTS=EXPERIMENTS, MODULE=MODULE)
    for path, text in FILES.items():
        tiny.write(root, path, text)
    (root / ".gitignore").write_text("__pycache__/\n/results/\n/.snakemake/\n")
    git(root, "init", "-q")
    commit(root)
    return root


@pytest.fixture
def root(base) -> Iterator[Path]:
    before = git(base, "rev-parse", "HEAD")
    yield base
    git(base, "reset", "-q", "--hard", before)
    git(base, "clean", "-qfdx", "published", "results")
    tiny.forget()


def commit(root: Path, *edits: tuple[str, str, str]) -> str:
    for path, old, new in edits:
        tiny.edit(root, path, old, new)
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "a change")
    return git(root, "rev-parse", "HEAD")


def outcome(root: Path, *edits: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    before = git(root, "rev-parse", "HEAD")
    commit(root, *edits)
    return list(vouch(before, root=root))


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        (PARTS, "FACTOR = 2.0", "FACTOR = 3.0", "numbers of one side only: 2.0, 3.0"),
        (PARTS, "effect * values", "effect + values", "tables: values.csv: "),
        (NOISE, "truth.mean()", "truth.sum()", "metrics: "),
        (NOISE, "LIMIT = 1000", "LIMIT = 2000", "numbers of one side only: 1000, 2000"),
        (NOISE, "power: int = 1", "power: int = 2", "Config: its attributes changed"),
        (PARTS, "offset=3.0", "offset=2.0", "scaled: its default of offset changed"),
        (PARTS, 'kind: str = "normal"', 'kind: str = "flat"', "Noise: its attributes changed"),
        (PARTS, "def doubled(self, times", "def doubled(self, often, times", "doubled: its parameters"),
        (PARTS, "return self.strength * times", "return times * self.strength", UNTRIED),
        (NOISE, "prediction + 1.0", "prediction - 1.0", UNTRIED),
        (NOISE, "size > LIMIT", "size >= LIMIT", UNTRIED),
        (PARTS, "total + offset if", "total - offset if", UNTRIED),
        (OTHERS, "each * FACTOR", "each / FACTOR", UNTRIED),
        (PARTS, "FACTOR = 2.0", "FACTOR = 2.0\nprint(FACTOR)", "does something else when it is imported"),
        (PARTS, "@dataclass(frozen=True)", "@dataclass", "Noise: its bases changed"),
        (NOISE, "scaled(truth, ", "scaled(truth[1:], ", "numbers of one side only: 1"),
    ],
)
def test_what_may_move_a_number_is_refused(root, path, old, new, why):
    """Also a default that every run overrides, a branch that none takes and a bound that none comes to."""
    ((module, word, told),) = outcome(root, (path, old, new))
    assert (module, word) == (NAME, "refused") and why in told
    assert ledger.entries(root) == []


FROM_OTHERS = [
    (NOISE, "import Noise, scaled", "import Noise"),
    (NOISE, "import checked", "import checked, scaled"),
]
MOVED = FILES[PARTS][FILES[PARTS].index("def scaled") : FILES[PARTS].index("def unused")]


@pytest.mark.parametrize(
    "edits",
    [
        [(PARTS, "total", "result")],
        [(PARTS, MOVED, ""), (PARTS, "FACTOR = 2.0\n", ""),
         (OTHERS, "FACTOR = 5.0\n", "FACTOR = 5.0\nTWO = 2.0\n"),
         (OTHERS, "def checked", MOVED.replace("FACTOR", "TWO") + "def checked"),
         *FROM_OTHERS],
        [(OTHERS, 'f"no power: {power}"', '"there is no such power"')],
        [(NOISE, "scaled(truth, config.effect, 0.0)", "scaled(truth, effect=config.effect, offset=0.0)")],
    ],
    ids=["local name", "other file", "words of an error", "by name"],
)  # fmt: skip
def test_a_refactoring_that_moves_no_number_is_vouched_for(root, edits):
    before = code_id(NAME, root)
    ((module, word, told),) = outcome(root, *edits)
    assert (module, word) == (NAME, "vouched"), told
    tried = any("offset=0.0" in new or "TWO" in new for _, _, new in edits)  # other calls, other names
    assert told.startswith("4 runs equal, " if tried else "the same in all that it can come to")
    (entry,) = ledger.entries(root)
    assert entry.code == before != entry.counts_as == code_id(NAME, root) and entry.module == NAME
    assert list(vouch("HEAD~1", root=root)) == []  # it is known by now


def test_a_function_moved_to_where_a_name_means_something_else_is_refused(root):
    """Its text is the same, and its branch that no run takes would now use another constant."""
    lines = MOVED.replace("total + offset if", "total + FACTOR if").replace("* FACTOR", "")
    commit(root, (PARTS, MOVED, lines))
    ((_, word, told),) = outcome(
        root, (PARTS, lines, ""), (OTHERS, "def checked", lines + "def checked"), *FROM_OTHERS
    )
    assert word == "refused" and UNTRIED in told


def test_another_function_of_the_same_name_is_another(root):
    """It gives the same wherever it is tried; its own branch that no run takes does not."""
    twin = MOVED.replace("total + offset if", "total - offset if")
    twin = twin.replace("effect * values * FACTOR", "effect * values + effect * values")
    commit(root, (OTHERS, "def checked", twin + "def checked"))
    ((_, word, told),) = outcome(root, *FROM_OTHERS)
    assert word == "refused" and UNTRIED in told


def test_comments_and_docstrings_need_no_entry(root):
    assert outcome(root, (PARTS, '"""In proportion."""', '"""By a factor."""  # as ever')) == []


def test_records_count_along_a_chain_and_not_back(root):
    layout = Layout("smoke", root)
    tiny.run_all(root)
    codes = [code_id(NAME, root)]
    spec = next(iter(tiny.experiments.all_runs("smoke", root)))
    record = read_record(layout.run_folder(spec.id))
    for old, new in (("total", "result"), ("result", "outcome")):
        commit(root, (PARTS, old, new))
        assert why_stale(spec, record, layout) == "its code has changed"
        assert [word for _, word, _ in vouch("HEAD~1", root=root)] == ["vouched"]
        codes.append(code_id(NAME, root))
        assert why_stale(spec, record, layout) == ""
    assert len({*codes}) == 3 and len(ledger.entries(root)) == 2
    assert ledger.counts(NAME, codes[0], codes[2], root)
    assert not ledger.counts(NAME, codes[2], codes[0], root)
    assert not ledger.counts("reproduce.mini.other", codes[0], codes[2], root)


@pytest.mark.parametrize("hand", ["0123456789abcdef", ""])
def test_a_ledger_that_was_edited_by_hand_is_told(root, hand):
    outcome(root, (PARTS, "total", "result"))
    path = ledger.path_of(root)
    path.write_text(path.read_text().replace(code_id(NAME, root), hand))
    with pytest.raises(HarnessError, match="vouched.csv, entry 1 was not written by .*: bring it back with"):
        ledger.counts(NAME, "a", "b", root)


def test_a_commit_that_does_not_exist_is_one_sentence(root):
    with pytest.raises(HarnessError, match="git knows no commit 'nowhere'"):
        list(vouch("nowhere", root=root))
