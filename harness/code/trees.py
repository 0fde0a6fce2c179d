"""Small questions to a piece of a syntax tree."""

import ast
import copy
from collections.abc import Collection, Iterator

from harness.code.syntax import syntax

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


def is_text(node: ast.AST) -> bool:
    """A docstring, or dots."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def binds(stmt: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a meaning to."""
    found = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    found |= {n.name for n in ast.walk(stmt) if isinstance(n, DEFINITIONS)}
    imports = (n for n in ast.walk(stmt) if isinstance(n, ast.Import | ast.ImportFrom))
    return found | {alias.asname or alias.name for node in imports for alias in node.names}


def literals(nodes: Collection[ast.AST]) -> Iterator[str]:
    """Every number that is written there."""
    for node in nodes:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, complex):
            yield repr(node.value)


def block_of(node: ast.AST, block: str) -> list[ast.AST]:
    """The statements, handlers or cases of this block."""
    found = getattr(node, block, None)
    return found if isinstance(found, list) else []


def first_run(node: ast.AST) -> ast.stmt:
    """The statement that runs when it runs: of a function or a case its first one."""
    if isinstance(node, ast.stmt) and not isinstance(node, FUNCTIONS):
        return node
    return next((stmt for stmt in node.body if not is_text(stmt)), node.body[0])


def dotted_names(node: ast.AST, without: Collection[ast.AST]) -> Iterator[tuple[str, ...]]:
    """Every dotted name: `np.linalg.norm`, and `path` of `path(x).name`."""
    chain, inner = [], node
    while isinstance(inner, ast.Attribute):
        chain.append(inner.attr)
        inner = inner.value
    if node in without:
        return
    if isinstance(inner, ast.Name):
        yield (inner.id, *reversed(chain))
    else:
        for child in ast.iter_child_nodes(node):
            yield from dotted_names(child, without)


def loose_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """`name` of `path(x).name`: behind something that is no name."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and not isinstance(each.value, ast.Name | ast.Attribute):
            yield each


def with_numbered_locals(top: ast.stmt, known: Collection[str]) -> ast.stmt:
    """A copy of a definition; `known`: the names that its module gives a meaning to, which stay."""
    top = copy.deepcopy(top)
    nodes = [*ast.walk(top)]
    kept = {*known, *(n.arg for n in nodes if isinstance(n, ast.arg))}
    for node in nodes:  # names that are bound otherwise than by an assignment, or seen from elsewhere
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                kept.update(names)
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                kept.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                kept.update((alias.asname or alias.name).split(".")[0] for alias in names)
            case ast.ClassDef():
                kept.update(
                    name for stmt in node.body for name in binds(stmt) if not isinstance(stmt, FUNCTIONS)
                )
        if isinstance(node, DEFINITIONS):
            kept.add(node.name)
            node.body = [stmt for stmt in node.body if not is_text(stmt)]
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    numbers = {name: f"#{i}" for i, name in enumerate(dict.fromkeys(n for n in stored if n not in kept))}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in numbers:
            node.id = numbers[node.id]
    return top


def parameters(node: ast.AST) -> str:
    """Their names, kinds and defaults, without annotations."""
    bare = copy.deepcopy(node.args)
    for each in ast.walk(bare):
        if isinstance(each, ast.arg):
            each.annotation = None
    return syntax(bare)


def defaults(node: ast.AST) -> dict[str, ast.expr]:
    """Of a function or a lambda, by parameter."""
    args = node.args
    placed = [*args.posonlyargs, *args.args]
    pairs = [*zip(placed[len(placed) - len(args.defaults) :], args.defaults, strict=True)]
    pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return {arg.arg: value for arg, value in pairs if value is not None}
