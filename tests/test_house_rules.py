"""The rules that keep the house in order, read off its own files."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness.base.files import ROOT
from harness.spec import artefacts
from harness.spec.experiments import paper_names

# Not ours, or not source: what .gitignore names, and every hidden folder but the one that holds the checks.
LEFT_OUT = {"results", "__pycache__", "build", "dist", "node_modules"}
PACKAGES = ("torch", "pandas", "scipy", "nats-bench", "nasbench", "nasbench301", "matplotlib", "seaborn")


def files(*suffixes: str, below: str = ".") -> list[Path]:
    """The project's files with one of these endings, all when none is named."""

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            hidden = path.name.startswith(".") and path.name not in (".ci", ".gitignore")
            if path.is_symlink() or hidden or path.name in LEFT_OUT or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                yield from walk(path)
            elif not suffixes or path.suffix in suffixes:
                yield path

    return list(walk(ROOT / below))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module's full name and the level of a relative import, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level
            yield from ((f"{node.module}.{alias.name}", node.level) for alias in node.names)


HOUSE, PAPERS = files(".py", below="harness"), files(".py", below="reproduce")
DRAWINGS = [*files(".py", below="tables"), *files(".py", below="figures")]


def test_there_is_something_to_look_at():
    assert len(HOUSE) > 30 and len(PAPERS) > 5 and DRAWINGS
    assert {"Snakefile", "pyproject.toml", ".gitignore"} <= {name_of(p) for p in files()}
    assert "tests/test_house_rules.py" in {name_of(p) for p in files(".py")}


def test_the_harness_knows_no_paper():
    guilty = [name_of(p) for p in HOUSE for name, _ in imports(p) if name.split(".")[0] == "reproduce"]
    assert not guilty


def test_no_paper_imports_another():
    for path in PAPERS:
        own = path.relative_to(ROOT / "reproduce").parts[0]
        for name, _ in imports(path):
            if name.startswith("reproduce."):
                assert name.split(".")[1] == own, f"{name_of(path)} imports {name}: put it into harness"


def test_a_drawing_sees_cells_and_style_only():
    for path in DRAWINGS:
        ours = {name for name, _ in imports(path) if name.split(".")[0] in ("harness", "reproduce")}
        assert all(name.startswith("harness.drawing.") for name in ours), f"{name_of(path)} imports {ours}"


def test_no_relative_imports():
    """The code id follows absolute imports; it would miss an edit behind a relative one."""
    guilty = [name_of(p) for p in [*HOUSE, *PAPERS, *DRAWINGS] for _, level in imports(p) if level]
    assert not guilty


def test_no_star_imports():
    guilty = [name_of(p) for p in files(".py") for name, _ in imports(p) if name.endswith(".*")]
    assert not guilty


def test_no_module_is_imported_by_a_computed_name():
    """What is imported by a name in a variable, the code id does not see; those here load by intent."""
    allowed = {
        "harness/runs/execute.py",
        "harness/make/make.py",
        "harness/rehearsal/rehearse.py",
        "harness/cli/warm.py",
        "harness/vouch/trial.py",
    }
    calls = re.compile(r"\b(import_module|__import__|spec_from_file_location)\(")
    guilty = {name_of(p) for p in [*HOUSE, *PAPERS] if calls.search(p.read_text(encoding="utf-8"))}
    assert guilty <= allowed


def test_no_test_records_a_property():
    """The tests run in two processes, and a number of numpy's in a property ends both without a reason."""
    calls = re.compile(r"\brecord_(?:property|testsuite_property|xml_attribute)\(")
    guilty = [name_of(p) for p in files(".py", below="tests") if calls.search(p.read_text(encoding="utf-8"))]
    assert not guilty


def test_nothing_imports_torchvision():
    """No CPU build of it fits this torch."""
    guilty = [
        name_of(p) for p in files(".py") for name, _ in imports(p) if name.split(".")[0] == "torchvision"
    ]
    assert not guilty


HEAVY = {"torch", "pandas", "sklearn", "onnxruntime", "matplotlib", "seaborn", "nats_bench"}
LIGHT = (
    "harness/spaces/",
    "harness/data/",
    "harness/bench/",
    "harness/cli/commands.py",
    "harness/runs/forecast.py",
)
LIGHT += (
    "harness/campaign/status.py",
    "harness/runs/record.py",
    "harness/spec/artefacts.py",
    "harness/spec/experiments.py",
)


def top_level(tree: ast.Module) -> Iterator[str]:
    """The packages that a module imports when it is imported, not in its functions or for type checkers."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_what_answers_at_once_imports_nothing_heavy():
    for path in HOUSE:
        if name_of(path).startswith(LIGHT) and not path.stem.endswith("_net"):
            heavy = HEAVY & set(top_level(ast.parse(path.read_text(encoding="utf-8"))))
            assert not heavy, f"{name_of(path)} imports {heavy} at its top: import it where it is needed"


def test_files_stay_short():
    long = {
        name_of(p): lines for p in files(".py", ".smk") if (lines := len(p.read_text().splitlines())) > 300
    }
    assert not long
    assert len((ROOT / "Snakefile").read_text().splitlines()) < 80


def test_every_module_has_a_docstring():
    silent = [
        name_of(p) for p in files(".py") if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))
    ]
    assert not silent
    silent = [name_of(p) for p in [ROOT / "Snakefile", *files(".smk")] if not p.read_text().startswith('"""')]
    assert not silent


def test_no_bare_except():
    for path in files(".py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{name_of(path)}, line {node.lineno}"


def test_public_functions_of_the_house_are_typed():
    for path in [*HOUSE, *PAPERS, *DRAWINGS]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                where = f"{name_of(path)}, line {node.lineno}: {node.name}"
                assert node.returns is not None and all(a.annotation for a in given), where


def test_no_place_of_one_machine():
    """A path that exists on one machine only; in a test's text as little as anywhere else."""
    folders = "|".join(("work", "root", "Users", "mnt", "home/[a-z_][a-z0-9_-]*", "tmp/[a-z]+"))
    absolute = re.compile(rf"(?<![\w.~}}:/])/({folders})/")
    assert absolute.search(f"see /{'work'}/main") and absolute.search(f"'/home/{'somebody'}/x'")
    assert not absolute.search("results/work/x") and not absolute.search("~/home/x/y")
    for path in files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            assert not absolute.search(line), f"{name_of(path)}, line {number}: {line.strip()}"


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def named_in(environment) -> list[str]:
    """What pip installs there, and what stands commented out under `extra: official`."""
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    return [*pip, *re.findall(r"^ +# - (.+)$", text, re.M)]


def test_both_environments_name_the_same_packages_and_versions(project, environment):
    pip = named_in(environment)
    extras = [one for group in project.get("optional-dependencies", {}).values() for one in group]
    assert sorted(pip) == sorted(project["dependencies"] + extras)
    assert len(set(map(package, pip))) == len(pip), "a package is named twice"
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    assert {package(one) for one in conda} == {"python", "pip"}
    (python,) = [one for one in conda if package(one) == "python"]
    assert python == f"python{project['requires-python']}"


def package(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", requirement)[0].lower().replace("_", "-")


def test_every_package_has_a_version(project):
    for one in project["dependencies"]:
        assert re.search(r"[=<>~]=?\s*\d", one), f"{one} may be any version"


def test_the_given_packages_are_named(project, environment):
    pip = named_in(environment)
    extras = [one for group in project.get("optional-dependencies", {}).values() for one in group]
    for there in (pip, project["dependencies"] + extras):
        assert set(PACKAGES) <= {package(one) for one in there}


def test_what_is_imported_is_asked_for(project):
    """Every package that the house or a paper imports is one of the dependencies."""
    import sys

    known = {"yaml": "pyyaml", "PIL": "pillow", "sklearn": "scikit-learn"}
    extras = [one for group in project.get("optional-dependencies", {}).values() for one in group]
    asked = {package(one) for one in project["dependencies"] + extras}
    for path in [*HOUSE, *PAPERS, *DRAWINGS]:
        for name, _ in imports(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top not in ("harness", "reproduce", "__future__"):
                assert known.get(top, top.replace("_", "-")) in asked, f"{name_of(path)} imports {top}"


def test_every_dependency_is_used(project):
    """A package that nothing imports is a promise nobody keeps; of scikit-learn an image set is read."""
    sources = "\n".join(p.read_text(encoding="utf-8") for p in [*files(".py", ".smk"), ROOT / "Snakefile"])
    modules = {"pyyaml": "yaml", "pillow": "PIL"}
    for one in {*map(package, project["dependencies"])} - {"scikit-learn"}:
        module = modules.get(one, one.replace("-", "_"))
        assert re.search(rf"^\s*(import|from) {module}\b", sources, re.M), one
    assert "installed: sklearn/" in (ROOT / "harness" / "data" / "sources.yaml").read_text()


def test_a_pinned_version_is_the_same_wherever_it_stands(project):
    pins = dict(one.split("==") for one in project["dependencies"] if "==" in one)
    assert "torch" in pins
    for path in [*files(".md", ".yml", ".yaml", ".toml"), ROOT / "Makefile", ROOT / ".ci" / "run"]:
        for name, version in re.findall(r"\b([a-z-]+)==([0-9][0-9.]*)", path.read_text(encoding="utf-8")):
            if path.parent.name != "docs":  # docs speak of other projects' pins too
                assert pins.get(name, version) == version, f"{name_of(path)}: {name}=={version}"


@pytest.mark.parametrize("artefact", artefacts.artefacts(), ids=lambda a: a.name)
def test_every_deviation_of_an_artefact_is_noted(artefact):
    text = (ROOT / "reproduce" / artefact.paper / "NOTES.md").read_text(encoding="utf-8")
    named = re.findall(r"\bD\d+\b", artefact.path.read_text(encoding="utf-8"))
    for deviation in {*named, *artefact.data.get("deviations", [])}:
        assert re.search(rf"^### {deviation} — \S", text, re.M), deviation
    assert set(named) == set(artefact.data.get("deviations", [])), "a deviation is mentioned and not listed"


def test_deviations_are_numbered_once_and_code_points_at_real_ones():
    for paper in paper_names():
        folder = ROOT / "reproduce" / paper
        headings = re.findall(r"^### (D\d+)\b", (folder / "NOTES.md").read_text(encoding="utf-8"), re.M)
        assert len(headings) == len(set(headings)), paper
        for path in folder.iterdir():
            if path.suffix in (".py", ".yaml"):
                pointed = set(re.findall(r"\bD\d+\b", path.read_text(encoding="utf-8")))
                assert pointed <= set(headings), f"{name_of(path)}: {pointed - set(headings)}"


def test_every_folder_of_a_paper_is_one():
    for folder in ("tables", "figures"):
        assert {p.parent.name for p in files(".yaml", ".py", below=folder)} <= set(paper_names())
