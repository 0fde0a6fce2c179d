"""Mutants of a module: one arithmetic step each changed in its syntax tree, named by what it was and is.

What is changed: signs, operators, off by one, mean for max, the seed left out, comparisons turned, constants,
`ddof`, `axis`, conditions negated, orders reversed, digits that a number is told to. Not changed: words, the
sentences of errors, annotations, decorators.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from refusals import refusing

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
OPERATORS |= {ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
COMPARISONS = {ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt)}
COMPARISONS |= {ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,)}
COMPARISONS |= {ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
NAMES = {"mean": "max", "max": "min", "min": "max", "sum": "max", "median": "max", "any": "all", "all": "any"}
NAMES |= {"ceil": "floor", "floor": "ceil", "greater": "less", "less": "greater", "maximum": "minimum"}
NAMES |= {"std": "var", "nanstd": "nanvar", "log10": "log2", "argmax": "argmin"}
IDENTITY = (
    "sqrt",
    "abs",
    "cumsum",
    "hypot",
    "round",
    "fromkeys",
)  # a call of these becomes its first argument
ORDERS = ("sort", "argsort", "sorted")  # the result of these is reversed
TOO_SHORT = (ast.Constant, ast.Slice, ast.Name, ast.Attribute, ast.FormattedValue, ast.UnaryOp)
WORDS = {"left": "right", "right": "left", "stable": "quicksort"}


@dataclass
class Mutant:
    """One change, and where it stands."""

    name: str  # `function: before → after`, with a number behind the second of the same name
    function: int  # the line where the function around it begins, 0 outside of all
    line: int
    tree: ast.Module
    holder: ast.AST | list
    field: str | int
    new: ast.AST
    refuses: bool = False  # it can only change whether something is refused, and in which words

    def undone(self) -> "Mutant":
        """The module as it is."""
        holder, field = self.holder, self.field
        old = holder[field] if isinstance(field, int) else getattr(holder, field)
        return replace(self, name="", new=old)

    def code(self, path: str) -> CodeType:
        """The module with this change."""
        with _changed(self.holder, self.field, self.new):
            return compile(ast.fix_missing_locations(self.tree), path, "exec")


def mutants(source: str) -> list[Mutant]:
    """All of a module, in the order of its text."""
    tree = ast.parse(source)
    found, seen = [], Counter()
    for_refusals = refusing(tree)
    for holder, field, old, new, around, function in _places(tree, [], ("module", 0)):
        before = ast.unparse(around)
        with _changed(holder, field, new):
            after = ast.unparse(new if around is old else around)
        if after == before:
            continue
        name = f"{function[0]}: {_short(before)} → {_short(after)}"
        seen[name] += 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        line = getattr(old, "lineno", 0)
        found.append(Mutant(name, function[1], line, tree, holder, field, new, id(old) in for_refusals))
    return found


@contextmanager
def _changed(holder: ast.AST | list, field: str | int, new: ast.AST) -> Iterator[None]:
    def put(value: ast.AST) -> ast.AST:
        if isinstance(field, int):
            old, holder[field] = holder[field], value
        else:
            old = getattr(holder, field)
            setattr(holder, field, value)
        return old

    old = put(new)
    try:
        yield
    finally:
        put(old)


def _short(text: str) -> str:
    return " ".join(text.split())


Place = tuple[ast.AST | list, str | int, ast.AST, ast.AST, ast.AST, tuple[str, int]]


def _places(node: ast.AST, above: list[ast.AST], function: tuple[str, int]) -> Iterator[Place]:
    """Where something can be changed: holder and field, old, new, the expression around it, its function."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        name = node.name if function[0] == "module" else f"{function[0]}.{node.name}"
        function = (name, first if isinstance(node, ast.FunctionDef) else function[1])
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        several = value if isinstance(value, list) else [value]
        for i, child in enumerate(several):
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.ImportFrom | ast.Import):
                continue
            holder, key = (value, i) if isinstance(value, list) else (node, field)
            path = [*above, node]
            for new in _instead(child, node, field):
                yield holder, key, child, new, _around(child, path), function
            yield from _places(child, path, function)


def _around(node: ast.AST, path: list[ast.AST]) -> ast.AST:
    """What a reader recognises it by: of a constant the expression that it is in."""
    for outer in [node, *reversed(path)]:
        if hasattr(outer, "body") and not isinstance(outer, ast.IfExp | ast.Lambda):
            return node  # not all that a block holds
        digits = isinstance(outer, ast.JoinedStr) and not any(
            isinstance(v, ast.FormattedValue) for v in outer.values
        )
        if isinstance(outer, ast.expr | ast.stmt) and not digits and not isinstance(outer, TOO_SHORT):
            return outer
    return node


def _instead(node: ast.AST, parent: ast.AST, field: str) -> Iterator[ast.AST]:
    if field in ("test", "ifs") and _can_be_negated(node):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.BinOp | ast.AugAssign):
        yield from _of_operator(node, parent)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, parent)
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(getattr(node, "ctx", None), ast.Load):
        name = node.id if isinstance(node, ast.Name) else node.attr
        called = isinstance(parent, ast.Call | ast.Attribute) and field in ("func", "value")
        if name in NAMES and called:
            yield _renamed(node, NAMES[name])


def _can_be_negated(node: ast.AST) -> bool:
    """Not where turning its comparison, or leaving out its `not`, is the same."""
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1 or type(node.ops[0]) not in (
            ast.Eq,
            ast.NotEq,
            ast.Is,
            ast.IsNot,
            ast.In,
            ast.NotIn,
        )
    return not (isinstance(node, ast.UnaryOp) or getattr(node, "id", "") == "TYPE_CHECKING")


def _of_operator(node: ast.BinOp | ast.AugAssign, parent: ast.AST) -> Iterator[ast.AST]:
    other = OPERATORS.get(type(node.op))
    if isinstance(node, ast.AugAssign):
        words = ast.List | ast.ListComp | ast.JoinedStr | ast.IfExp | ast.BinOp
        if other and not (isinstance(node.op, ast.Add) and isinstance(node.value, words)):
            yield ast.AugAssign(node.target, other(), node.value)
        return
    sides = [node.right, node.left]
    while isinstance(sides[-1], ast.BinOp):  # `folder / "name" / file` is no division
        sides += [sides[-1].right, sides[-1].left]
    joined = any(isinstance(side, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple) for side in sides)
    joined |= any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
    types = isinstance(node.op, ast.BitOr) and not isinstance(
        parent, ast.Assign | ast.Return | ast.BinOp | ast.Dict
    )
    if other and not (joined and isinstance(node.op, ast.Add | ast.Mod | ast.Div)) and not types:
        yield ast.BinOp(node.left, other(), node.right)


def _of_call(node: ast.Call) -> Iterator[ast.AST]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name == "default_rng":
        yield ast.Call(node.func, [], [])
    if name in IDENTITY and node.args:
        yield node.args[0]
    if name in ORDERS and node.args:
        yield ast.Subscript(node, ast.Slice(step=ast.UnaryOp(ast.USub(), ast.Constant(1))), ast.Load())
    if name == "sort_values":
        yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword("ascending", ast.Constant(False))])


def _of_constant(node: ast.Constant, parent: ast.AST) -> Iterator[ast.AST]:
    value, named = node.value, getattr(parent, "arg", "")
    if isinstance(value, bool) and named != "strict":  # whose other value changes nothing that may happen
        yield ast.Constant(not value)
    elif isinstance(value, int) and not isinstance(value, bool):
        others = (1 - value,) if named == "axis" else (value + 1, value - 1) if value > 0 else (value + 1,)
        yield from map(ast.Constant, others)
    elif isinstance(value, float):
        yield ast.Constant(value * 0.9 if value else 1.0)
    elif isinstance(value, str) and isinstance(parent, ast.keyword) and value in WORDS:
        yield ast.Constant(WORDS[value])
    elif (
        isinstance(value, str)
        and isinstance(parent, ast.JoinedStr)
        and re.fullmatch(r"[+,]*\.?\d*[gf%]", value)
    ):
        more = re.sub(r"\d+", lambda digits: str(int(digits[0]) + 1), value)
        yield ast.Constant(more)


def _renamed(node: ast.Name | ast.Attribute, name: str) -> ast.AST:
    return (
        ast.Name(name, node.ctx) if isinstance(node, ast.Name) else ast.Attribute(node.value, name, node.ctx)
    )


def put_in(mutant: Mutant, module: str) -> None:
    """A loaded module's functions and constants become those of the mutant, whoever has imported them."""
    old = import_module(module)
    new = ModuleType(module)
    new.__file__ = old.__file__
    sys.modules[module] = new  # where dataclasses look for it
    exec(mutant.code(old.__file__), vars(new))
    sys.modules[module] = old
    for name, value in list(vars(old).items()):
        there = vars(new).get(name)
        if getattr(value, "__module__", "") == module:
            _turn(value, there)
        elif (
            isinstance(value, int | float | str | tuple | dict | set) and value != there and name[:2] != "__"
        ):
            for other in [m for n, m in sys.modules.items() if n.startswith(("harness", module))]:
                if vars(other).get(name) is value:
                    setattr(other, name, there)


def _turn(old: Any, new: Any) -> None:
    """A function or class, in place."""
    if isinstance(old, type):
        for name, value in list(vars(old).items()):
            there = vars(new).get(name)
            if isinstance(value, FunctionType | property):
                _turn(getattr(value, "fget", value), getattr(there, "fget", there))
            elif isinstance(value, int | float | str) and value != there and name[:2] != "__":
                setattr(old, name, there)
        return
    if hasattr(old, "cache_clear"):
        old.cache_clear()
        old, new = old.__wrapped__, new.__wrapped__
    if isinstance(old, FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = (
            new.__code__,
            new.__defaults__,
            new.__kwdefaults__,
        )
