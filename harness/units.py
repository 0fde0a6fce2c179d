"""The code of an experiment in pieces that can be compared: what it does, and what its names stand for."""

import ast
import copy
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.code_id import PACKAGES, path_of, syntax
from harness.marked import FUNCTIONS, arms, numbers
from harness.trees import (
    BLOCKS,
    DEFINITIONS,
    binds,
    block_of,
    defaults,
    dotted_names,
    first_run,
    is_text,
    literals,
    loose_attributes,
    parameters,
    with_numbered_locals,
)

Place = tuple[str, str]  # a module and a name in it


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


class State:
    """The modules of one checkout; `moved`: where definitions stood in the other."""

    def __init__(self, root: Path, modules: Collection[str]) -> None:
        files = {name: path for name in modules if (path := path_of(name, root))}
        self.files = {name: path.relative_to(root).as_posix() for name, path in files.items()}
        self.trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
        self.numbers = {name: numbers(module) for name, module in self.trees.items()}
        self.moved: dict[Place, Place] = {}
        self.known: dict[tuple[str, ...], str] = {}
        self.bound: dict[Place, list[ast.stmt | tuple[str, ...]]] = {}
        self.defined: dict[Place, list[ast.stmt]] = {}
        self.loose: dict[str, list[ast.stmt]] = {name: [] for name in self.trees}
        for name, module in self.trees.items():
            self._bind(name, module)

    def _bind(self, module: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):  # imports inside functions too: more meanings than there are do no harm
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                source = (alias.name,) if alias.asname else (alias.name.split(".")[0],)
                if isinstance(node, ast.ImportFrom):
                    source = (node.module or "", alias.name)
                self.bound.setdefault((module, alias.asname or source[-1]), []).append(source)
        for stmt in tree.body:
            if isinstance(stmt, DEFINITIONS):
                self.defined.setdefault((module, stmt.name), []).append(stmt)
                self.bound.setdefault((module, stmt.name), []).append(stmt)
            elif not is_text(stmt) and not isinstance(stmt, ast.Import | ast.ImportFrom):
                self.loose[module].append(stmt)
                for name in binds(stmt):
                    self.bound.setdefault((module, name), []).append(stmt)

    def home(self, place: Place) -> Place:
        return self.moved.get(place, place)

    def meaning(self, module: str, name: tuple[str, ...]) -> str:
        """What a dotted name stands for, in words that are equal where it stands for the same."""
        place = (module, *name)
        if place not in self.known:
            self.known[place] = name[0]  # for those that it stands on and that stand on it
            found = [self._meaning(module, name, what) for what in self.bound.get((module, name[0]), ())]
            self.known[place] = " or ".join(dict.fromkeys(found)) or name[0]
        return self.known[place]

    def _meaning(self, module: str, name: tuple[str, ...], what: ast.stmt | tuple[str, ...]) -> str:
        if isinstance(what, tuple):
            module, names = self._source(what, name)
            inside = names and (module, names[0]) in self.bound
            return self.meaning(module, names) if inside else ".".join([module, *names[:1]])
        if isinstance(what, DEFINITIONS):
            shape = parameters(what) if isinstance(what, FUNCTIONS) else ""
            return ".".join(self.home((module, name[0]))) + shape
        return hashlib.sha256(self.told(module, what).encode()).hexdigest()[:16]

    def _source(self, what: tuple[str, ...], name: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The module that an import leads to, and what of the dotted name is left to look for in it."""
        module, *names = (*what, *name[1:])
        while names and f"{module}.{names[0]}" in self.trees:
            module, names = f"{module}.{names[0]}", names[1:]
        return module, tuple(names)

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
        """What it can come to: from its `run` and `Config`, and from what runs at an import."""
        waiting = {(experiment, name) for name in ("run", "Config")} & self.defined.keys()
        for module, stmts in self.loose.items():
            waiting |= {place for stmt in stmts for place in self._mentioned(module, stmt)}
        for place, nodes in self.defined.items():
            if place[1].startswith("__") or any(node.decorator_list for node in nodes):
                waiting.add(place)
        found: set[Place] = set()
        while waiting - found:
            place = (waiting - found).pop()
            found.add(place)
            waiting |= {p for node in self.defined[place] for p in self._mentioned(place[0], node)}
        return found

    def _mentioned(self, module: str, node: ast.AST) -> Iterator[Place]:
        """By its name, or with the same word behind a dot or in a text that `getattr` may take."""
        words = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        words |= {n.attr for n in loose_attributes(node)}
        for name in dotted_names(node, ()):
            places = self._places(module, name, frozenset())
            yield from places
            if not places and not self._foreign(module, name[0]):
                words |= {*name[2 if name[0] == "self" else 1 :]}  # no attribute of `self` is a module's
        yield from (place for place in self.defined if place[1] in words)

    def _foreign(self, module: str, name: str) -> bool:
        """Imported, and from no package of ours: `subprocess.run` is nobody's `run`."""
        bound = self.bound.get((module, name), [])
        return bool(bound) and all(isinstance(w, tuple) and w[0].split(".")[0] not in PACKAGES for w in bound)

    def _places(self, module: str, name: tuple[str, ...], seen: frozenset[Place]) -> set[Place]:
        place, found = (module, name[0]), set()
        for what in self.bound.get(place, ()) if place not in seen else ():
            if isinstance(what, DEFINITIONS) and place in self.defined:
                found.add(place)
            elif isinstance(what, tuple) and (source := self._source(what, name))[1]:
                found |= self._places(*source, seen | {place})
        return found

    def shape(self, place: Place) -> str:
        """All of a definition with its local variables numbered: the same when they are renamed."""
        known = {name for module, name in self.bound if module == place[0]}
        tops = (with_numbered_locals(top, known) for top in self.defined.get(place, ()))
        return " ".join(self.told(place[0], top) for top in tops)
