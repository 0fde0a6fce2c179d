"""The code of an experiment in pieces that can be compared: what it does, and what its names stand for."""

import ast
import copy
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.code.definitions import Code, Module, Place
from harness.code.syntax import path_of, syntax
from harness.code.trees import (
    BLOCKS,
    DEFINITIONS,
    FUNCTIONS,
    block_of,
    defaults,
    dotted_names,
    first_run,
    is_text,
    literals,
    parameters,
    with_numbered_locals,
)
from harness.vouch.trial import arms, numbers


@dataclass(frozen=True)
class Unit:
    """A statement without those inside it, or an arm of its expressions."""

    text: str
    where: str  # for a reader
    needs: frozenset[
        tuple[str, int]
    ]  # what ran where it was tried: itself, its arms, the blocks it decides on
    literals: frozenset[str]
    hidden: bool  # has a lambda's default, which nobody sees being used


class State(Code):
    """The modules of one checkout; `moved`: where definitions stood in the other."""

    def __init__(self, root: Path, modules: Collection[str]) -> None:
        files = {name: path for name in modules if (path := path_of(name, root))}
        self.files = {name: path.relative_to(root).as_posix() for name, path in files.items()}
        trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
        super().__init__({name: Module.of(tree) for name, tree in trees.items()})
        self.numbers = {name: numbers(tree) for name, tree in trees.items()}
        self.moved: dict[Place, Place] = {}
        self.known: dict[tuple[str, ...], str] = {}
        self.loose = {name: one.loose for name, one in self.modules.items()}
        self.defined: dict[Place, list[ast.stmt]] = {}
        for module, one in self.modules.items():
            for name, stmts in one.things.items():
                if found := [stmt for stmt in stmts if isinstance(stmt, DEFINITIONS)]:
                    self.defined[module, name] = found

    def bound(self, module: str, name: str) -> list[ast.stmt | tuple[str, ...]]:
        """What gives this name of a module its meaning."""
        one = self.modules.get(module, Module())
        return [*one.imports.get(name, ()), *one.things.get(name, ())]

    def home(self, place: Place) -> Place:
        return self.moved.get(place, place)

    def meaning(self, module: str, name: tuple[str, ...]) -> str:
        """What a dotted name stands for, in words that are equal where it stands for the same."""
        place = (module, *name)
        if place not in self.known:
            self.known[place] = name[0]  # for those that it stands on and that stand on it
            found = [self._meaning(module, name, what) for what in self.bound(module, name[0])]
            self.known[place] = " or ".join(dict.fromkeys(found)) or name[0]
        return self.known[place]

    def _meaning(self, module: str, name: tuple[str, ...], what: ast.stmt | tuple[str, ...]) -> str:
        if isinstance(what, tuple):
            module, names = self.source(what, name)
            inside = names and self.bound(module, names[0])
            return self.meaning(module, names) if inside else ".".join([module, *names[:1]])
        if isinstance(what, DEFINITIONS):
            shape = parameters(what) if isinstance(what, FUNCTIONS) else ""
            return ".".join(self.home((module, name[0]))) + shape
        return hashlib.sha256(self.told(module, what).encode()).hexdigest()[:16]

    def told(self, module: str, node: ast.AST, without: Collection[ast.AST] = ()) -> str:
        """Its syntax and what each name in it means here."""
        means = {".".join(n): self.meaning(module, n) for n in dotted_names(node, without)}
        return f"{syntax(node, without)} where {sorted(means.items())}"

    def units(self, place: Place) -> list[Unit]:
        """What a function or a class does, statement by statement, in their order."""
        return [unit for top in self.defined.get(place, ()) for unit in self._inside(place[0], top, 0)]

    def _inside(self, module: str, node: ast.AST, depth: int) -> Iterator[Unit]:
        for block in BLOCKS:
            for child in block_of(node, block):
                attribute = isinstance(node, ast.ClassDef) and not isinstance(child, DEFINITIONS)
                if not is_text(child) and not attribute:
                    yield from self._pieces(module, child, f"{depth} {block}")
                    yield from self._inside(module, child, depth + 1)

    def _pieces(self, module: str, node: ast.AST, depth: str) -> Iterator[Unit]:
        head = copy.copy(node)
        for block in BLOCKS:
            if block_of(node, block):
                setattr(head, block, [])
        if isinstance(node, DEFINITIONS):  # its decorators, parameters and defaults: see `facts`
            head = ast.Name(node.name, ast.Load())
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            head = ast.Raise(
                node.exc.func, None
            )  # a run that ends with an error leaves no record of its words
        cut = [arm for each in ast.walk(head) for arm in arms(each)]
        runs = [first_run(node), *cut]
        if isinstance(node, ast.If | ast.For | ast.While):
            blocks = [block_of(node, block) for block in ("body", "orelse")]
            runs += [block[0] for block in blocks if block and not isinstance(block[-1], ast.Raise)]
        for part, needs in ((head, runs), *((arm, [arm]) for arm in cut)):
            inside = {*cut} - {part}
            whole = [*ast.walk(part)]
            yield Unit(
                f"{depth} {self.told(module, part, inside)}",
                f"{self.files[module]}, line {first_run(node).lineno}",
                frozenset((self.files[module], self.numbers[module][each]) for each in needs),
                frozenset(literals(whole)),
                any(isinstance(each, ast.Lambda) and defaults(each) for each in whole),
            )

    def facts(self, place: Place) -> dict[tuple[str, str], str]:
        """What of a definition, and of those inside it, runs without a trace; by whose it is and what."""
        found: dict[tuple[str, str], str] = {}

        def told(nodes: list[ast.AST]) -> str:
            return " ".join(self.told(place[0], each) for each in nodes)

        def look(node: ast.AST, name: str) -> None:
            if isinstance(node, FUNCTIONS):
                found[name, "decorators"] = told(node.decorator_list)
                if "." in name:
                    found[name, "parameters"] = parameters(node)
                for parameter, value in defaults(node).items():
                    found[name, f"default of {parameter}"] = told([value])
            elif isinstance(node, ast.ClassDef):
                own = [c for c in node.body if not isinstance(c, DEFINITIONS) and not is_text(c)]
                given = [c for c in own if getattr(c, "value", True) is not None]
                found[name, "bases"] = told([*node.decorator_list, *node.bases, *node.keywords])
                found[name, "attributes"] = told(own)
                found.update({(name, "values"): told(given)} if given else {})
            for child in ast.iter_child_nodes(node):
                look(child, f"{name}.{child.name}" if isinstance(child, DEFINITIONS) else name)

        for top in self.defined.get(place, ()):
            look(top, place[1])
        return found

    def reached(self, experiment: str) -> set[Place]:
        """Of the definitions; what a constant is, the names tell that stand for it."""
        return super().reached(experiment) & self.defined.keys()

    def shape(self, place: Place) -> str:
        """All of a definition with its local variables numbered: the same when they are renamed."""
        one = self.modules.get(place[0], Module())
        known = {*one.imports, *one.things}
        tops = (with_numbered_locals(top, known) for top in self.defined.get(place, ()))
        return " ".join(self.told(place[0], top) for top in tops)
