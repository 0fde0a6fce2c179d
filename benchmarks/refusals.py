"""What of a module only decides whether something is refused, and in which words."""

import ast
from collections import Counter
from collections.abc import Iterator


def refusing(tree: ast.Module) -> set[int]:
    """The nodes of it, by `id`.

    Each is in a `raise`, in an `if` that ends in one, or in a function that raises and returns nothing, or
    it is a constant, a function or a local name that nothing else asks for.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)):
            parts = [node] if isinstance(node, ast.Raise) else [node.test, *node.body]
            found |= {id(n) for part in parts for n in ast.walk(part)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        inner = {id(n) for f in functions if f is not node for n in ast.walk(f)} & {id(n) for n in _in(node)}
        own = [n for n in _in(node) if id(n) not in inner]
        answers = any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in own)
        if not answers and any(isinstance(n, ast.Raise) for n in own):
            found |= {id(n) for n in _in(node)}
            calls = [n for n in ast.walk(tree) if getattr(getattr(n, "func", None), "id", "") == node.name]
            found |= {id(n) for call in calls for n in ast.walk(call)}
    for scope in (*functions, *functions, tree):  # twice: what a name is made of may be a name's
        for name, made in _named(scope):
            asked = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name]
            asked = [n for n in asked if isinstance(n.ctx, ast.Load)]
            if asked and all(id(n) in found for n in asked):
                found |= {id(n) for n in ast.walk(made)}
    return found


def _in(node: ast.FunctionDef) -> list[ast.AST]:
    return [n for part in node.body for n in ast.walk(part)]


def _named(scope: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A scope's names that are made once: by an assignment, or private ones of a module by a function."""
    every = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    times = Counter(n.id for n in every)
    for node in scope.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and times[target.id] == 1:
            yield target.id, node
        elif isinstance(node, ast.FunctionDef) and isinstance(scope, ast.Module) and node.name[0] == "_":
            yield node.name, node
