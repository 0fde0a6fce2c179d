"""Modules of this project as syntax: which ones a module imports, and each as one text without its words."""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from harness.base.files import ROOT

PACKAGES = ("harness", "reproduce")

ALWAYS = ("harness.base.seeds",)  # every run draws from it, through the carrier harness.runs.record

# These only carry, show or judge what a run has computed; an edit there must not repeat a training.
CARRIERS = {
    "harness",
    "harness.runs.checkpoint",
    "harness.code.code_id",
    "harness.code.definitions",
    "harness.code.syntax",
    "harness.base.errors",
    "harness.base.files",
    "harness.bench.carried",
    "harness.runs.record",
    "harness.base.settings",
    "harness.base.yamlfile",
    "harness.base.layout",
    "harness.spec.experiments",
    "harness.make.fresh",
    "harness.runs.stale",
}

NOT_CODE = ("kind", "type_comment", "type_ignores")  # how a text is written: u"" is ""


@cache
def closure(module: str, root: Path = ROOT) -> frozenset[str]:
    """The module and all of the project's modules that it imports, also inside functions."""
    seen: set[str] = set()
    waiting = [module, *ALWAYS]
    while waiting:
        name = waiting.pop()
        if name in seen or name in CARRIERS or path_of(name, root) is None:
            continue
        seen.add(name)
        waiting += [*imported(path_of(name, root)), *_parents(name)]
    return frozenset(seen)


def path_of(name: str, root: Path) -> Path | None:
    base = root.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def imported(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in _statements(tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(n for n in found if n.split(".")[0] in PACKAGES))


def _parents(name: str) -> list[str]:
    """The packages around a module: importing it runs their __init__.py first."""
    words = name.split(".")
    return [".".join(words[:i]) for i in range(1, len(words))]


def syntax(node: object, without: Collection[ast.AST] = ()) -> str:
    """A tree as one text that is the same on every Python from 3.11 on, which `ast.dump` is not.

    Versions of Python add fields, and empty pieces to f-strings: what is empty is not written.
    `without`: nodes that are written as a dot.
    """
    if isinstance(node, list):
        return f"[{' '.join(syntax(each, without) for each in node)}]"
    if isinstance(node, ast.JoinedStr):
        pieces = [each for each in node.values if getattr(each, "value", None) != ""]
        return f"JoinedStr({syntax(pieces, without)})"
    if not isinstance(node, ast.AST):
        return ascii(node)  # what `repr` takes for printable grows with Unicode
    if node in without:
        return "."
    fields = ((name, getattr(node, name, None)) for name in node._fields if name not in NOT_CODE)
    told = (f"{name}={syntax(value, without)}" for name, value in fields if value is not None and value != [])
    return f"{type(node).__name__}({' '.join(told)})"


@cache
def tree(path: Path) -> ast.Module:
    """The module's syntax tree, which knows no comments and no layout, without its docstrings."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    for node in _statements(module):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                node.body = body[1:] or [ast.Pass()]
    return module


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """The module and every statement in it, at any depth: imports and docstrings stand in no expression."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())
