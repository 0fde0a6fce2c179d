"""What changes the identity of a run's code, and what does not."""

import pytest
import tiny

from harness.base.files import ROOT
from harness.code.code_id import closure, code_id
from harness.code.syntax import CARRIERS
from harness.spec import experiments

MODULE = "reproduce.p.experiment"
BASES = """\
from functools import cache

TABLE = {"one": 1}
TABLE["two"] = 2
KNOWN = []


def note(function):
    KNOWN.append(function)
    return function


@note
def noted():
    return 1


@cache
def kept():
    return 1


def by_text():
    return 1


def by_dot():
    return 1


class Base:
    size = 1

    def grow(self, by=1):
        return self.size + by


class Unused:
    pass


def _count():
    return 2


COUNT = _count()
"""

SOURCES = {
    "harness/__init__.py": '"""House."""\n',
    "harness/runs/record.py": "class Run:\n    pass\n",
    "harness/base/errors.py": "class HarnessError(Exception):\n    pass\n",
    "harness/near.py": "import harness.deep.inner\n\n\ndef near():\n    return harness.deep.inner.inner()\n",
    "harness/late.py": "SIZE = 3\n\n\ndef late():\n    return SIZE\n\n\ndef later():\n    return 1\n",
    "harness/bases.py": BASES,
    "harness/lateral/__init__.py": "def hidden():\n    return 1\n",
    "harness/lateral/module.py": "def lateral():\n    return 1\n",
    "harness/deep/__init__.py": '"""Deep."""\n\nSCALE = 1\n',
    "harness/deep/inner.py": "def inner():\n    return 1\n",
    "harness/unrelated.py": "def unrelated():\n    return 1\n",
    "reproduce/__init__.py": '"""Papers."""\n',
    "reproduce/p/__init__.py": '"""A paper."""\n',
    "reproduce/p/other.py": "def run():\n    return 1\n",
    "reproduce/p/experiment.py": '''\
"""An experiment."""

import json

import numpy as np

from harness import near
from harness.bases import Base
from harness.runs.record import Run


class Config:
    """Its set-up."""

    size = 1


class Grown(Base):
    pass


def run(run: Run) -> None:
    """What it does."""
    from harness.lateral import module

    if run:
        import harness.late

        harness.late.late()
    for each in run:
        each().by_dot(getattr(each, "by_text"), Grown())
    return near.near() + module.lateral()
''',
}


@pytest.fixture
def root(tmp_path):
    for path, text in SOURCES.items():
        tiny.write(tmp_path, path, text)
    return tmp_path


def changed(root, path, old, new) -> bool:
    before = code_id(MODULE, root)
    tiny.edit(root, path, old, new)
    return code_id(MODULE, root) != before


EXPERIMENT = "reproduce/p/experiment.py"


@pytest.mark.parametrize(
    "path, old, new",
    [
        (EXPERIMENT, "class Config:", "# a comment\nclass Config:  # and another"),
        (EXPERIMENT, '"""An experiment."""', '"""An experiment, told at\n\ngreater length."""'),
        (EXPERIMENT, '"""What it does."""', '"""Something else."""'),
        (EXPERIMENT, '    """Its set-up."""\n\n', ""),
        (
            EXPERIMENT,
            "near.near() + module.lateral()",
            "(\n        near.near()\n        + module.lateral()\n    )",
        ),
        (EXPERIMENT, "\n\n\n", "\n\n"),
        ("harness/near.py", "def near():", 'def near():\n    """Now with a docstring."""'),
        ("harness/deep/__init__.py", "Deep.", "Very deep."),
        ("harness/runs/record.py", "pass", "field = 1"),  # a carrier
        ("harness/base/errors.py", "pass", "code = 2"),
        ("harness/__init__.py", "House.", "House.\n\nWith a garden."),
        ("harness/unrelated.py", "return 1", "return 2"),
        ("reproduce/p/other.py", "return 1", "return 2"),
        # What stands in a module that it imports, and is named by nothing of it.
        ("harness/late.py", "def later():\n    return 1", "def later():\n    return 2"),
        ("harness/late.py", "def later", "def latest():\n    return 1\n\n\ndef later"),
        ("harness/bases.py", "class Unused:\n    pass", ""),
        ("harness/bases.py", "@cache\ndef kept():\n    return 1", "@cache\ndef kept():\n    return 2"),
        ("harness/lateral/__init__.py", "return 1", "return 2"),
        ("harness/deep/__init__.py", "SCALE = 1", "SCALE = 2"),
        ("reproduce/p/__init__.py", '"""A paper."""', "SEED = 3"),
        (EXPERIMENT, "import numpy as np", "import numpy as np\nfrom harness import unrelated"),
    ],
)
def test_what_cannot_change_a_number_keeps_it(root, path, old, new):
    assert not changed(root, path, old, new)


@pytest.mark.parametrize(
    "path, old, new",
    [
        (EXPERIMENT, "size = 1", "size = 2"),
        (EXPERIMENT, "near.near() +", "near.near() -"),
        (EXPERIMENT, "if run:", "if not run:"),
        ("harness/near.py", "inner.inner()", "inner.inner() + 1"),
        ("harness/late.py", "return SIZE", "return SIZE + 1"),  # imported inside a function, inside an if
        ("harness/late.py", "SIZE = 3", "SIZE = 4"),
        ("harness/lateral/module.py", "return 1", "return 2"),
        ("harness/deep/inner.py", "return 1", "return 2"),  # only the imported module imports it
        ("harness/deep/__init__.py", "SCALE = 1", "SCALE = [1]\nSCALE.append(2)"),
        ("reproduce/__init__.py", '"""Papers."""', 'print("papers")'),
        ("harness/bases.py", "= 2\nKNOWN", "= 3\nKNOWN"),
        ("harness/bases.py", "def noted():\n    return 1", "def noted():\n    return 2"),
        ("harness/bases.py", "KNOWN.append", "KNOWN.remove"),
        ("harness/bases.py", "def by_text():\n    return 1", "def by_text():\n    return 2"),
        ("harness/bases.py", "def by_dot():\n    return 1", "def by_dot():\n    return 2"),
        ("harness/bases.py", "    size = 1", "    size = 2"),
        ("harness/bases.py", "by=1", "by=2"),
        ("harness/bases.py", "    return 2\n\n\nCOUNT", "    return 3\n\n\nCOUNT"),
        (EXPERIMENT, "from harness.bases import Base", "from harness.bases import Unused as Base"),
        (
            EXPERIMENT,
            "from harness.runs.record import Run",
            "from harness.base.errors import HarnessError as Run",
        ),
    ],
)
def test_what_can_change_a_number_changes_it(root, path, old, new):
    assert changed(root, path, old, new)


def test_a_module_that_moves_is_the_same_code(root):
    """Into another folder, under another name, or a definition of it into another file."""
    before = code_id(MODULE, root)
    tiny.write(root, "harness/rooms/__init__.py", "")
    for path, old, new in (
        ("harness/late.py", "def later():\n    return 1\n", "def later():\n    return 1\n"),
        (EXPERIMENT, "harness.late.late()", "harness.rooms.tardy.late()"),
        (EXPERIMENT, "import harness.late\n", "import harness.rooms.tardy\n"),
    ):
        tiny.edit(root, path, old, new)
    (root / "harness/late.py").rename(root / "harness/rooms/tardy.py")
    tiny.forget()
    assert code_id(MODULE, root) != before  # the dotted name is another one: it stands in the code
    tiny.edit(root, EXPERIMENT, "harness.rooms.tardy.late()", "late()")
    tiny.edit(root, EXPERIMENT, "import harness.rooms.tardy\n", "from harness.rooms.tardy import late\n")
    tiny.forget()
    moved = code_id(MODULE, root)
    (root / "harness/rooms/tardy.py").rename(root / "harness/slow.py")
    tiny.edit(root, EXPERIMENT, "from harness.rooms.tardy import", "from harness.slow import")
    tiny.forget()
    assert code_id(MODULE, root) == moved
    tiny.write(root, "harness/sizes.py", "SIZE = 3\n")
    tiny.edit(root, "harness/slow.py", "SIZE = 3\n", "from harness.sizes import SIZE\n")
    tiny.forget()
    assert code_id(MODULE, root) == moved
    tiny.edit(root, "harness/sizes.py", "SIZE = 3\n", "SIZE = 4\n")
    tiny.forget()
    assert code_id(MODULE, root) != moved


def test_two_definitions_that_change_places_are_other_code(root):
    tiny.write(root, "harness/twin.py", "def inner():\n    return 7\n")
    tiny.edit(root, "harness/near.py", "import harness.deep.inner", "import harness.deep.inner, harness.twin")
    tiny.edit(root, "harness/near.py", "harness.deep.inner.inner()", "one() - two()")
    imports = "from harness.deep.inner import inner as one\nfrom harness.twin import inner as two\n"
    tiny.edit(root, "harness/near.py", "import harness.deep.inner, harness.twin\n", imports)
    tiny.forget()
    turned = imports.replace("one", "three").replace("two", "one").replace("three", "two")
    assert changed(root, "harness/near.py", imports, turned)


def test_a_circle_of_imports_ends(root):
    tiny.write(root, "harness/late.py", "import harness.near\nimport reproduce.p.experiment\n")
    tiny.edit(root, "harness/near.py", "import harness.deep.inner", "import harness.deep.inner, harness.late")
    assert {"harness.late", "harness.near", MODULE} <= closure(MODULE, root)


def test_it_is_the_same_everywhere(root, tmp_path_factory):
    """Neither the folder nor the time counts, so that a record says the same on two machines."""
    other = tmp_path_factory.mktemp("elsewhere")
    for path, text in SOURCES.items():
        tiny.write(other, path, text)
    assert code_id(MODULE, root) == code_id(MODULE, other)
    assert len(code_id(MODULE, root)) == 16 and int(code_id(MODULE, root), 16)


def test_the_real_closures_reach_what_the_runs_import():
    query = closure("reproduce.sotl.query_search")
    assert {"harness.bench", "harness.spaces.nb201", "reproduce.sotl"} <= query
    assert "harness.supernet.nb201_net" in closure("reproduce.icw.supernet_size")  # inside a function
    assert "harness.training.optimisers" in closure("reproduce.icw.training_setup")
    for run in experiments.all_runs("smoke"):
        reached = closure(run.module)
        assert run.module in reached and not reached & CARRIERS
        shown = {
            "harness.report",
            "harness.make.render",
            "harness.numbers.cells",
            "harness.cli.commands",
            "harness.accepted.check",
        }
        assert not reached & shown, f"{run.module}: an edit of the report would repeat its runs"


def test_the_carriers_are_modules_of_the_house():
    for name in CARRIERS - {"harness"}:
        assert ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file(), name


def test_every_run_of_a_record_is_found_by_it(tmp_path):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    from harness.runs.record import read_record

    codes = {read_record(layout.run_folder(r.id))["code"] for r in experiments.all_runs("smoke", root)}
    assert codes == {code_id("reproduce.mini.noise", root)}
    tiny.edit(root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    assert codes != {code_id("reproduce.mini.noise", root)}
