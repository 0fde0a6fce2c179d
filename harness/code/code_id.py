"""A hash of the code that numbers depend on.

Snakemake reruns on a comment in a script and misses an edit in an imported module; these hashes do the
opposite. They go into a job's params, so that an edit that can change a number reruns exactly its jobs.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from harness.base.files import ROOT, sha256_of
from harness.code.definitions import Code, module_at
from harness.code.syntax import closure, imported, path_of, syntax, tree


@cache
def code_id(module: str, root: Path = ROOT) -> str:
    """Of an experiment: of `run` and `Config` of its module, and of every definition that they can come to.

    Carriers are not in it, nor files that code reads.
    """
    files = {name: path_of(name, root) for name in closure(module, root)}
    return Code({name: module_at(path) for name, path in files.items()}).identity(module)


@cache
def step_id(module: str, root: Path = ROOT) -> str:
    """Of a step of the pipeline: of all modules that this one imports, used or not."""
    return _id_of(closure(module, root), root)


def drawing_id(path: Path, root: Path = ROOT) -> str:
    """The same of a module that is imported from its file, and of its paper's colours."""
    names = {name for used in imported(path) for name in closure(used, root)}
    colours = path.with_name("colours.yaml")
    own = f"{_fingerprint(path)} {sha256_of(colours) if colours.is_file() else ''}"
    return hashlib.sha256(f"{own} {_id_of(names, root)}".encode()).hexdigest()[:16]


def _id_of(modules: Iterable[str], root: Path) -> str:
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(f"{name}\n{_fingerprint(path_of(name, root))}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _fingerprint(path: Path) -> str:
    return hashlib.sha256(syntax(tree(path)).encode()).hexdigest()
