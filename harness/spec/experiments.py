"""experiments.yaml → the list of runs of a scale."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import scale_rank
from harness.base.yamlfile import line_of, nearest, read_with_lines, validate


@dataclass(frozen=True)
class RunSpec:
    """One unit of work: experiment × method × setting × seed at a scale, with its resolved config."""

    paper: str
    experiment: str
    method: str
    setting: str
    seed: int
    scale: str
    config: dict[str, Any] = field(hash=False)
    resources: dict[str, int] = field(hash=False)
    module: str
    needs: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()  # metrics and columns that may hold what is no number

    @property
    def id(self) -> str:
        return f"{self.paper}/{self.experiment}/{self.method}/{self.setting}/s{self.seed}"


@dataclass(frozen=True)
class Absence:
    """A method or setting that a scale leaves out, and why."""

    verdict: str  # "not run" or "out of reach"
    reason: str


@dataclass(frozen=True)
class Experiment:
    """One block of experiments.yaml."""

    paper: str
    name: str
    where: str
    data: dict[str, Any]
    added: dict[str, dict[str, dict[str, list[int]]]] = field(default_factory=dict)  # of more_seeds.yaml

    def _scale(self, scale: str) -> dict[str, Any]:
        scale_rank(scale)
        return self.data.get("scales", {}).get(scale) or {}

    def differs(self, scale: str) -> list[str]:
        """The deviations that say how this scale differs from the published set-up."""
        return self._scale(scale).get("differs", [])

    def absence(self, scale: str, method: str | None, setting: str | None) -> Absence | None:
        """Why this combination has no runs at this scale, or None where it has."""
        block = self._scale(scale)
        for verdict, key in (("out of reach", "out_of_reach"), ("not run", "skip")):
            for name in (setting, method):
                if name in block.get(key, {}):
                    return Absence(verdict, block[key][name])
        return None

    def seeds(self, scale: str, method: str) -> list[int]:
        """One list for all methods, or lists by method with `others` for the rest."""
        seeds = self._scale(scale).get("seeds", self.data["seeds"])
        return seeds if isinstance(seeds, list) else seeds.get(method, seeds["others"])

    def more_seeds(self, scale: str, method: str, setting: str) -> list[int]:
        """Those that were added to decide what was open."""
        return self.added.get(scale, {}).get(self.name, {}).get(f"{method}/{setting}", [])

    def runs(self, scale: str) -> Iterator[RunSpec]:
        """Every run of this experiment at this scale; later blocks override earlier ones by name."""
        block = self._scale(scale)
        module = f"reproduce.{self.paper}.{self.data.get('module', self.name)}"
        needs = tuple(block.get("needs", self.data.get("needs", [])))
        undefined = tuple(self.data.get("undefined", []))
        resources = {"threads": 1, "gpu": 0, "mem_mb": 2000, **self.data.get("resources", {})}
        resources |= block.get("resources", {})
        for method, of_method in self.data["methods"].items():
            for setting, of_setting in self.data["settings"].items():
                if self.absence(scale, method, setting):
                    continue
                config = {
                    **(self.data.get("config") or {}),
                    **(of_method or {}),
                    **(of_setting or {}),
                    **(block.get("config") or {}),
                    **(block.get("methods", {}).get(method) or {}),
                    **(block.get("settings", {}).get(setting) or {}),
                }
                more = self.more_seeds(scale, method, setting)
                for seed in dict.fromkeys([*self.seeds(scale, method), *more]):
                    named = self.paper, self.name, method, setting, seed, scale
                    yield RunSpec(*named, config, resources, module, needs, undefined)


@dataclass(frozen=True)
class Paper:
    """A paper's experiments.yaml."""

    name: str
    title: str
    authors: str
    year: int
    experiments: dict[str, Experiment]
    words: dict[str, str]  # what its terms mean
    know: list[str]  # where text, code and data differ in a way that numbers hang on
    not_there: dict[str, str]  # what of it is not reproduced, and why
    source: dict[str, str]  # which version was read, where it is, BibTeX

    def runs(self, scale: str) -> list[RunSpec]:
        return [run for experiment in self.experiments.values() for run in experiment.runs(scale)]


def paper_names(root: Path = ROOT) -> list[str]:
    return sorted(p.parent.name for p in (root / "reproduce").glob("*/experiments.yaml"))


@cache
def paper(name: str, root: Path = ROOT) -> Paper:
    """The experiments of one paper, checked."""
    names = paper_names(root)
    if name not in names:
        raise HarnessError(f"paper {name!r} does not exist: {nearest(name, names)}")
    path = root / "reproduce" / name / "experiments.yaml"
    data, lines = read_with_lines(path)
    validate(data, lines, "experiments", path)
    if data["paper"] != name:
        raise HarnessError(
            f"{path}, line {line_of(lines, ('paper',))}: paper is {data['paper']!r}, not {name!r}"
        )
    for experiment, block in data["experiments"].items():
        known = {**block["methods"], **block["settings"]}
        for scale, changes in block.get("scales", {}).items():
            for key in ("skip", "out_of_reach", "methods", "settings"):
                for word in changes.get(key, {}):
                    if word not in known:
                        at = ("experiments", experiment, "scales", scale, key, word)
                        raise HarnessError(
                            f"{path}, line {line_of(lines, at)}: {key} names {word!r}, which is no method or"
                            f" setting of {experiment}: {nearest(word, known)}"
                        )
        for at, changes in [((), block), *((("scales", s), c) for s, c in block.get("scales", {}).items())]:
            seeds = changes.get("seeds", [])
            for word in seeds if isinstance(seeds, dict) else []:
                if word not in {*block["methods"], "others"}:
                    line = line_of(lines, ("experiments", experiment, *at, "seeds", word))
                    raise HarnessError(
                        f"{path}, line {line}: seeds names {word!r}, which is no method of {experiment}:"
                        f" {nearest(word, block['methods'])}"
                    )
    more = more_of(name, root)
    experiments = {n: Experiment(name, n, b["where"], b, more) for n, b in data["experiments"].items()}
    told = data.get("words", {}), data.get("know", []), data.get("not_there", {}), data.get("source", {})
    return Paper(name, data["title"], data["authors"], data["year"], experiments, *told)


def more_path(name: str, root: Path = ROOT) -> Path:
    """Seeds beside those of experiments.yaml, by scale, experiment and method/setting."""
    return root / "reproduce" / name / "more_seeds.yaml"


def more_of(name: str, root: Path = ROOT) -> dict[str, Any]:
    """What `python -m harness decide` wrote there."""
    path = more_path(name, root)
    if not path.is_file():
        return {}
    data, lines = read_with_lines(path)
    validate(data, lines, "more_seeds", path)
    return data


def added(name: str, scale: str, root: Path = ROOT) -> set[str]:
    """The runs of a paper that were added to decide what was open."""
    return {
        f"{name}/{experiment}/{place}/s{seed}"
        for experiment, places in more_of(name, root).get(scale, {}).items()
        for place, seeds in places.items()
        for seed in seeds
    }


def all_runs(scale: str, root: Path = ROOT) -> list[RunSpec]:
    return [run for name in paper_names(root) for run in paper(name, root).runs(scale)]


def find_run(run_id: str, scale: str, root: Path = ROOT) -> RunSpec:
    """The run of this name, or the nearest names there are."""
    runs = {run.id: run for run in all_runs(scale, root)}
    if run_id not in runs:
        raise HarnessError(f"run {run_id!r} does not exist at scale {scale}: {nearest(run_id, runs)}")
    return runs[run_id]
