"""The rooms of harness/: each imports only from rooms below it, also inside functions."""

import ast
from collections.abc import Iterator
from pathlib import Path

from harness.base.files import ROOT

# Rooms of one level do not import each other.
LEVELS = (
    ("base", "metrics"),
    ("code", "data", "drawing", "spaces", "spec"),
    ("bench", "published", "supernet"),
    ("runs",),
    ("numbers", "training", "vouch"),
    ("make", "rehearsal"),
    ("accepted", "campaign"),
    ("report",),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the harness by its dotted name."""
    found = {}
    for path in sorted((root / "harness").rglob("*.py")):
        words = path.relative_to(root).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the harness that a module imports anywhere in its text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known or node.module in known:
                    yield name if name in known else node.module


def room_of(module: str) -> str:
    """`cli` is also what `python -m harness` starts."""
    words = module.split(".")
    return "cli" if module == "harness.__main__" else words[1] if len(words) > 1 else ""


def upward(known: dict[str, Path]) -> set[tuple[str, str]]:
    """Module and room of every import that does not lead down."""
    found = set()
    for module, path in known.items():
        for other in map(room_of, imported(path, known)):
            mine = room_of(module)
            if other != mine and other and (not mine or LEVEL[other] >= LEVEL[mine]):
                found.add((module, other))
    return found


def test_every_module_is_in_a_room():
    known = modules()
    assert {room_of(module) for module in known} == {"", *LEVEL}
    flat = {m for m in known if m.count(".") == 1 and known[m].name != "__init__.py"}
    assert flat == {"harness.__main__"}


def test_a_room_imports_only_from_rooms_below_it():
    assert not upward(modules())


def test_an_import_up_or_sideways_is_seen(tmp_path):
    """Also inside a function, and of a whole room."""
    for path, text in {
        "harness/base/files.py": "def late():\n    from harness.runs.record import Run\n",
        "harness/data/images.py": "from harness import base, spec\nimport harness.bench\n",
        "harness/runs/record.py": "from harness.base import files\n",
        "harness/spec/__init__.py": "",
        "harness/bench/__init__.py": "",
        "harness/base/__init__.py": "",
        "harness/__init__.py": "import harness.base.files\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert upward(modules(tmp_path)) == {
        ("harness.base.files", "runs"),
        ("harness.data.images", "spec"),
        ("harness.data.images", "bench"),
        ("harness", "base"),
    }


def test_modules_import_each_other_in_no_circle():
    """But a space and its network, which is built of the encoding and which the encoding builds if asked."""
    known = modules()
    below = {
        module: {o for o in imported(path, known) if o != module and o != f"{module}_net"}
        for module, path in known.items()
    }
    while free := {module for module, others in below.items() if not others & below.keys()}:
        below = {module: others for module, others in below.items() if module not in free}
    assert not below
