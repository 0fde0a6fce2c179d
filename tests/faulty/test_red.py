"""Trees that were accepted and then spoilt: each must be red, told by its cell and a command to look on."""

import shutil
from collections.abc import Iterator

import numpy as np
import pytest
import tiny
from campaigns import harness
from faulty.falsified import FALSIFIED
from faulty.falsified_resealed import RESEALED
from faulty.falsify import RANKING
from faulty.spoilt import PLAIN, SPOILT
from gold import NUMBERS, accepted, remake
from sealed import edit_record

from harness.accepted.check import compare
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.bench import carried
from harness.numbers import cells
from harness.numbers.reductions import Statistic
from harness.runs.record import read_record, refuse_broken


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return accepted(tmp_path_factory.mktemp("good"))


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    """What a cell's statistic gives of the very same numbers: most of these changes touch few of them."""
    known: dict[tuple, float] = {}
    plain = cells.statistic

    def statistic(select: dict, where: str) -> Statistic:
        (one, many), name = plain(select, where), repr(select)

        def of(*arrays: np.ndarray) -> float:
            asked = name, *(array.astype(float).tobytes() for array in arrays)
            if asked not in known:
                known[asked] = one(*arrays)
            return known[asked]

        return of, many

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "statistic", statistic)
        yield


@pytest.fixture
def tree(good, tmp_path):
    layout = Layout("smoke", shutil.copytree(good.root, tmp_path / "project"))
    yield layout
    tiny.forget()


def test_an_untouched_tree_is_green(tree):
    assert compare(tree, tree.root) == []
    remake(tree)
    assert compare(tree, tree.root) == []


def require(told: str, sentences: list[str]) -> None:
    """Each sentence stands in one line of what was told; … stands for whatever is between."""
    for sentence in sentences:
        parts = [part.strip() for part in sentence.split("…")]
        assert any(all(part in line for part in parts) for line in told.splitlines()), f"{sentence}\n{told}"


@pytest.mark.parametrize("spoilt", SPOILT)
def test_red(tree, spoilt):
    change, sentences = SPOILT[spoilt]
    change(tree)
    told = list(map(str, compare(tree, tree.root)))
    assert len(set(told)) == len(told)
    require("\n".join(told), sentences)


@pytest.mark.parametrize("falsified", [*FALSIFIED, *RESEALED])
def test_a_falsified_outcome_is_red(tree, falsified):
    """What somebody did to this project who wanted another outcome to stand there."""
    change, sentences = (FALSIFIED | RESEALED)[falsified]
    change(tree)
    tiny.forget()
    require("\n".join(map(str, compare(tree, tree.root))), sentences)


def test_a_truth_of_a_carried_table_is_that_of_the_full_files(tree, monkeypatch):
    """Nothing that was accepted from the full table is called changed because a clone has the carried one."""
    (truth,) = read_record(tree.run_folder(RANKING))["truths"]
    edit_record(tree.run_folder(RANKING), reseal=True, truths=[{**truth, "sha256": "cd" * 32}])
    remake(tree)
    assert "has other truths than when it was accepted" in "\n".join(map(str, compare(tree, tree.root)))
    monkeypatch.setitem(carried.SAME, "cd" * 32, truth["sha256"])
    assert compare(tree, tree.root) == []


def test_missing_run(tree):
    """A record that is gone is no smaller table: the artefact is not made at all."""
    (tree.run_folder(PLAIN[1]) / "run.json").unlink()
    with pytest.raises(HarnessError, match=r"plain/a/s1/run\.json is not there: run it with"):
        remake(tree)


def test_hand_edited_record(tree):
    folder = tree.run_folder(PLAIN[1])
    edit_record(folder, metrics=[{"name": "accuracy", "value": 71.2, "unit": ""}])
    with pytest.raises(HarnessError, match=r"plain/a/s1/run\.json was changed after its run ended"):
        remake(tree)
    assert len(refuse_broken([folder])) == 1 and not (folder / "run.json").exists()


def test_hand_edited_table_of_a_record(tree):
    folder = tree.run_folder("gold/ranking/params/a/s0")
    with (folder / "architectures.csv").open("a") as file:
        file.write("20,99\n")
    with pytest.raises(HarnessError, match=r"architectures\.csv is missing or was changed after its run"):
        remake(tree)


# One of each kind of line; all of them stand in `test_red`, without the seconds that a process takes.
SABOTAGES = (
    "changed accepted verdict",
    "hand-edited record",
    "vanished artefact",
    "half of the accepted cells",
)


@pytest.fixture
def checkout(tree):
    """The same with a harness of its own, for commands that are started there."""
    for name in ("harness", "config"):
        shutil.copytree(ROOT / name, tree.root / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    return tree


def test_the_command_is_green_whatever_the_threads_and_the_order_of_sets(checkout):
    for threads, seed in (("1", "1"), ("2", "12345")):
        green = harness(checkout.root, "check", OMP_NUM_THREADS=threads, PYTHONHASHSEED=seed)
        assert (green.returncode, green.stderr) == (0, "")
        first, *rest = green.stdout.splitlines()
        assert first == "check: every accepted number and verdict of scale smoke still stands"
        numbers = f"{NUMBERS} follow from kept records, 0 rest on their digests alone"
        assert rest[0] == f"of them {numbers}, {NUMBERS} were compared with runs made here"
        assert rest[1].startswith("of the pictures 1 are as equal cells are drawn here, 0 rest on")
        assert rest[2].startswith("not looked at: whether runs come out the same")


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_the_command_finds_a_sabotage(checkout, sabotage):
    """Exit code 1; a line per artefact, what changed there first; of named artefacts a line per place."""
    change, sentences = SPOILT[sabotage]
    change(checkout)
    red = harness(checkout.root, "check")
    assert red.returncode == 1 and red.stdout == ""
    assert "Traceback" not in red.stderr
    named = [line.split()[1] for line in red.stderr.splitlines()]
    assert named and len(named) == len(set(named))
    for line in red.stderr.splitlines():
        assert (
            line.startswith(("changed: gold/", "changed: reproduce/gold/")) and ". Look closer: " in line
        ), line
    require(harness(checkout.root, "check", "gold").stderr + red.stderr, sentences)


def test_where_another_artefact_than_the_named_one_changed_the_command_says_so(checkout):
    """Once it was red without a word."""
    SPOILT["changed accepted verdict"][0](checkout)
    red = harness(checkout.root, "check", "gold/figure_1", "--published")
    look = "python -m harness check --scale smoke --published"
    assert (red.returncode, red.stderr) == (1, f"changed: none of these, but others. Look closer: {look}\n")
