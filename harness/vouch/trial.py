"""What `vouch` starts in each of two checkouts: it lists experiments, or makes runs and tells what ran.

Python gets it as text (`python -c`), so that each checkout runs it with its own `harness`: at its top it
imports nothing of ours.
"""

import ast
import builtins
import importlib
import json
import sys
from collections.abc import Collection
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def arms(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression that may not run though it does."""
    match node:
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BoolOp():
            return node.values[1:]
        case ast.Compare():
            return node.comparators[1:]
        case ast.Lambda():
            return [node.body]
        case ast.DictComp():
            return [node.key, node.value, *(each.iter for each in node.generators[1:])]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return [node.elt, *(each.iter for each in node.generators[1:])]
        case ast.comprehension():
            return node.ifs
        case ast.match_case(guard=ast.expr()):
            return [node.guard]
    return []


def _ours(name: str) -> ModuleType:
    """A module of the checkout; an older one had no rooms."""
    try:
        return importlib.import_module(f"harness.{name}")
    except ModuleNotFoundError:
        return importlib.import_module(f"harness.{name.rpartition('.')[2]}")


def numbers(module: ast.Module) -> dict[ast.AST, int]:
    """A number for each node, the same whenever this text is parsed by this Python."""
    return {node: number for number, node in enumerate(ast.walk(module))}


class _Marking(ast.NodeTransformer):
    """Before each statement of a function, and around each arm in it, a call that notes its number."""

    def __init__(self, file: str, module: ast.Module) -> None:
        self.file, self.numbers, self.inside = file, numbers(module), False
        self.arms = {arm for node in ast.walk(module) for arm in arms(node)}

    def visit(self, node: ast.AST) -> Any:
        inside, self.inside = self.inside, self.inside or isinstance(node, FUNCTIONS)
        self.generic_visit(node)
        self.inside = inside
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if inside and isinstance(node, ast.stmt) and not docstring:
            return [ast.copy_location(ast.Expr(self._note(node)), node), node]
        return self._note(node, node) if inside and node in self.arms else node

    def _note(self, node: ast.AST, *value: ast.expr) -> ast.Call:
        words = [ast.Constant(self.file), ast.Constant(self.numbers[node]), *value]
        return ast.copy_location(ast.Call(ast.Name("__ran__", ast.Load()), words, []), node)


def watch(files: Collection[str]) -> set[tuple[str, int]]:
    """From now on these files of the checkout are imported with marks; what ran comes into this set."""
    seen: set[tuple[str, int]] = set()
    here, plain = Path.cwd().resolve(), SourceFileLoader.source_to_code

    def note(file: str, number: int, value: Any = None) -> Any:
        seen.add((file, number))
        return value

    def source_to_code(loader: SourceFileLoader, data: bytes, path: str, **how: Any) -> Any:
        found = Path(path).resolve()
        name = found.relative_to(here).as_posix() if found.is_relative_to(here) else ""
        if name not in files:
            return plain(loader, data, path, **how)
        module = ast.parse(data)
        marked = ast.fix_missing_locations(_Marking(name, module).visit(module))
        return compile(marked, path, "exec", dont_inherit=True)

    builtins.__ran__ = note  # type: ignore[attr-defined]
    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]
    return seen


def small_runs() -> dict[str, Any]:
    """Runs in small by name: those of scale smoke, and what it skips and scale cpu has, as smoke would."""
    experiments = _ours("spec.experiments")

    found = {}
    for name in experiments.paper_names():
        for experiment in experiments.paper(name).experiments.values():
            there = {(run.method, run.setting) for run in experiment.runs("smoke")}
            if not there:
                continue  # its block of scale smoke is not meant to be run
            wanted = there | {(run.method, run.setting) for run in experiment.runs("cpu")}
            scales = experiment.data.get("scales", {})
            smoke = {
                k: v for k, v in (scales.get("smoke") or {}).items() if k not in ("skip", "out_of_reach")
            }
            data = {**experiment.data, "scales": {**scales, "smoke": smoke}}
            every = replace(experiment, data=data).runs("smoke")
            found |= {run.id: run for run in every if (run.method, run.setting) in wanted}
    return found


def survey() -> dict[str, Any]:
    """Of each experiment's module its code id, imports, runs in small, and what has no small form."""
    code_id = _ours("code.code_id")
    experiments = _ours("spec.experiments")

    small, found = small_runs(), {}
    tried = {(run.paper, run.experiment) for run in small.values()}
    every = [run for scale in ("smoke", "cpu", "paper") for run in experiments.all_runs(scale)]
    for module in {run.module for run in every}:
        known = {"code": code_id.code_id(module), "closure": sorted(code_id.closure(module))}
        runs = {run.id: run.config for run in small.values() if run.module == module}
        large = {run.experiment for run in every if run.module == module} - {name for _, name in tried}
        found[module] = {**known, "runs": runs, "large": sorted(large)}
    return found


def make(files: list[str], runs: list[str]) -> dict[str, Any]:
    """Make these runs here; their records or why there is none, and what ran on the way to the records."""
    seen = watch(files)
    layouts, execute, fetch, record = map(_ours, ("base.layout", "runs.execute", "runs.fetch", "runs.record"))
    layout, specs, made = layouts.Layout("smoke"), small_runs(), {}
    for need in sorted({need for run in runs for need in specs[run].needs}):
        fetch.fetch(need, layout)
    for run in runs:
        before = set(seen)
        try:
            execute.execute(specs[run], layout, threads=1)
            sizes = [file.stat().st_size for file in layout.run_folder(run).glob("*.csv")]
            made[run] = {"record": record.read_record(layout.run_folder(run)), "bytes": sum(sizes)}
        except Exception as error:  # whatever an experiment raises
            made[run] = {"error": f"{type(error).__name__}: {error}"}
            seen &= before
        print(f"{len(made)}/{len(runs)} {run}", file=sys.stderr, flush=True)
    return {"runs": made, "seen": sorted(seen)}


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    answer = make(**given) if given else survey()
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")
