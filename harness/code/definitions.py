"""What an experiment's code is made of: the definitions that it can come to, and one hash of them.

A definition counts by its syntax and by what the names in it stand for, wherever it stands and whatever else
is in its file: a function that nothing of an experiment names is not its code, and a module that moves is the
same code. A name stands for every definition that it may mean, so more is reached than is ever run: whatever
has the same word behind a dot, or in a text that `getattr` may take. What does more at an import than bind a
name, or calls something of ours there, counts in any case.
"""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from harness.code.syntax import ALWAYS, PACKAGES, syntax, tree
from harness.code.trees import DEFINITIONS, binds, dotted_names, is_text, loose_attributes

Place = tuple[str, str]  # a module and a name in it
Names = tuple[str, ...]  # of a dotted name; of an import the module, then what is taken of it

# Decorators of these only wrap; one of another origin may note its function where nobody names it.
WRAPPING = ("functools", "dataclasses", "contextlib", "typing", "torch")


@dataclass
class Module:
    """One file: what its names are bound to, and its statements that are no definitions."""

    imports: dict[str, list[Names]] = field(default_factory=lambda: defaultdict(list))
    things: dict[str, list[ast.stmt]] = field(default_factory=lambda: defaultdict(list))
    loose: list[ast.stmt] = field(default_factory=list)

    @classmethod
    def of(cls, tree: ast.Module) -> "Module":
        new = cls()
        for node in ast.walk(tree):  # imports inside functions too: more meanings than there are do no harm
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                source = (alias.name,) if alias.asname else (alias.name.split(".")[0],)
                if isinstance(node, ast.ImportFrom):
                    source = (node.module or "", alias.name)
                new.imports[alias.asname or source[-1]].append(source)
        for stmt in tree.body:
            names = [stmt.name] if isinstance(stmt, DEFINITIONS) else sorted(binds(stmt))
            if isinstance(stmt, ast.Import | ast.ImportFrom) or is_text(stmt) or names == ["__all__"]:
                continue
            for name in names:
                new.things[name].append(stmt)
            if not isinstance(stmt, (*DEFINITIONS, ast.Pass)):
                new.loose.append(stmt)
        return new


@cache
def module_at(path: Path) -> Module:
    return Module.of(tree(path))


@cache
def _names(node: ast.AST) -> tuple[Names, ...]:
    return tuple(dict.fromkeys(dotted_names(node, ())))


@cache
def _words(node: ast.AST) -> frozenset[str]:
    texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return frozenset(texts | {n.attr for n in loose_attributes(node)})


@cache
def _syntax(node: ast.AST) -> str:
    """Without its imports of ours: the names that they bind are looked up."""
    ours = [
        n
        for n in ast.walk(node)
        if (isinstance(n, ast.ImportFrom) and _is_ours(n.module or ""))
        or (isinstance(n, ast.Import) and all(_is_ours(alias.name) for alias in n.names))
    ]
    return syntax(node, ours)


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in PACKAGES


class Code:
    """Modules that belong together, and what the names in them stand for."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.modules = modules
        self.by_name: dict[str, list[Place]] = defaultdict(list)
        for module, one in modules.items():
            for name in one.things:
                self.by_name[name].append((module, name))

    def stmts(self, place: Place) -> list[ast.stmt]:
        return self.modules[place[0]].things[place[1]]

    def source(self, what: Names, name: Names) -> tuple[str, Names]:
        """The module that an import leads to, and what of the dotted name is left to look for in it."""
        module, *names = (*what, *name[1:])
        while names and f"{module}.{names[0]}" in self.modules:
            module, names = f"{module}.{names[0]}", names[1:]
        return module, tuple(names)

    def places(self, module: str, name: Names, seen: frozenset[Place] = frozenset()) -> set[Place]:
        """The definitions that a dotted name of this module may stand for."""
        place = (module, name[0])
        if place in seen or module not in self.modules:
            return set()
        one = self.modules[module]
        found = {place} if name[0] in one.things else set()
        for what in one.imports.get(name[0], ()):
            module, names = self.source(what, name)
            if names:
                found |= self.places(module, names, seen | {place})
        return found

    def is_foreign(self, module: str, name: str) -> bool:
        """Imported, and from no package of ours: `subprocess.run` is nobody's `run`."""
        imports = self.modules[module].imports.get(name, [])
        return bool(imports) and not any(_is_ours(what[0]) for what in imports)

    def mentioned(self, module: str, node: ast.AST) -> Iterator[Place]:
        """By its name, or with the same word behind a dot or in a text that `getattr` may take."""
        words = set(_words(node))
        for name in _names(node):
            places = self.places(module, name)
            yield from places
            if not places and not self.is_foreign(module, name[0]):
                words |= {*name[2 if name[0] == "self" else 1 :]}  # no attribute of `self` is a module's
        for word in words:
            yield from self.by_name.get(word, ())

    def reached(self, experiment: str) -> set[Place]:
        """What it can come to: from its `run` and `Config`, and from what importing its modules does."""
        waiting = set(self.roots(experiment))
        for module, one in self.modules.items():
            waiting |= {place for stmt in self.effects(module) for place in self.mentioned(module, stmt)}
            always = module in ALWAYS
            waiting |= {(module, name) for name in one.things if always or self._is_noted(module, name)}
        found: set[Place] = set()
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting |= {p for stmt in self.stmts(place) for p in self.mentioned(place[0], stmt)}
        return found

    def roots(self, experiment: str) -> list[Place]:
        """`run` and `Config`; of a module that is no experiment all that stands in it."""
        named = [place for name in ("run", "Config") for place in sorted(self.places(experiment, (name,)))]
        return named or [(experiment, name) for name in sorted(self.modules.get(experiment, Module()).things)]

    def effects(self, module: str) -> list[ast.stmt]:
        """What an import of it does beside binding names, as far as that can be seen."""
        return [
            stmt for stmt in self.modules[module].loose if not binds(stmt) or self._calls_ours(module, stmt)
        ]

    def _calls_ours(self, module: str, stmt: ast.stmt) -> bool:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Call):
                names = _names(node.func)
                if len(names) != 1 or self.places(module, names[0]):
                    return True
        return False

    def _is_noted(self, module: str, name: str) -> bool:
        """Found by Python itself, or by a decorator that may note it."""
        for stmt in self.modules[module].things[name]:
            for each in getattr(stmt, "decorator_list", ()):
                origin = self.modules[module].imports.get(next(iter(_names(each)), ("",))[0], [("",)])
                if any(what[0].split(".")[0] not in WRAPPING for what in origin):
                    return True
        return name.startswith("__") and name.endswith("__")

    def identity(self, experiment: str) -> str:
        """Sixteen hex digits of all that it can come to."""
        reached = self.reached(experiment)
        told = {place: self._told(place[0], self.stmts(place)) for place in reached}
        colours, classes = dict.fromkeys(reached, ""), 0
        while True:  # each round a definition also counts by what a step further is named
            colours = {place: _coloured(*told[place], colours) for place in reached}
            if len(found := set(colours.values())) == classes:
                break
            classes = len(found)
        loose = [
            _coloured(*self._told(m, stmts), colours) for m in self.modules if (stmts := self.effects(m))
        ]
        roots = [colours[place] for place in self.roots(experiment)]
        return _hash(" ".join([*roots, *sorted(found), *sorted(loose)]))

    def _told(self, module: str, stmts: Collection[ast.stmt]) -> tuple[str, list[tuple[str, list[Place]]]]:
        """Its syntax with what its foreign names stand for, and by name the definitions of ours."""
        ours, foreign = [], []
        for name in sorted({name for stmt in stmts for name in _names(stmt)}):
            if places := sorted(self.places(module, name)):
                ours.append((".".join(name), places))
            else:
                imports = self.modules[module].imports.get(name[0], ())
                foreign += [f"{'.'.join(name)}={self._origin(what)}" for what in imports]
        return f"{' '.join(map(_syntax, stmts))} {' '.join(foreign)}", ours

    def _origin(self, what: Names) -> str:
        """Of what is ours and no code of experiments the name alone: its file may move."""
        return what[-1].rpartition(".")[2] if _is_ours(what[0]) else ".".join(what)


def _coloured(text: str, names: list[tuple[str, list[Place]]], colours: Mapping[Place, str]) -> str:
    means = (
        f"{name}={' '.join(sorted(colours.get(place, '') for place in places))}" for name, places in names
    )
    return _hash(f"{text} where {' '.join(means)}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
