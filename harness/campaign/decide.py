"""Which seeds to add so that an hour decides the most sentences, and what is expected of them.

A sentence that is open gets a second look, once, at the level that `harness/numbers/looks.py` leaves for it.
How likely that decides it follows from what its runs show: its value would move by what more runs of their
scatter move it. Runs that several sentences stand on count for each of them. Only the papers' count.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout
from harness.numbers import rows
from harness.numbers.cells import Filled, fill
from harness.numbers.claims import Tested, cells_of, estimates_of, larger, tests_of, word_of
from harness.runs.stale import is_there
from harness.spec import experiments
from harness.spec.artefacts import Artefact, artefacts
from harness.spec.fingerprint import claims_at, waits

MORE = (1, 2, 3, 5, 8)  # seeds that may be added to each method at once
DRAWS = 200
Group = tuple[str, str, str]  # paper/experiment, method, setting


@dataclass(frozen=True)
class Open:
    """A sentence that is not decided, with the runs that it stands on."""

    name: str
    text: str
    tests: tuple[Tested, ...]
    groups: frozenset[Group]
    runs: int  # of each method at least

    def chance(self, more: int) -> float:
        """That so many more seeds of each method decide it."""
        times, rng = (self.runs + more) / self.runs, np.random.default_rng(0)
        several = larger(self.tests, times, 1.0)
        decided = 0
        for _ in range(DRAWS):
            moved = [Tested(**{**vars(t), "test": t.test.moved(rng, times)}) for t in several]
            decided += word_of(moved) != "unclear"
        return decided / DRAWS


@dataclass(frozen=True)
class Step:
    """So many seeds more for each of these, and the sentences that may be decided by them."""

    groups: frozenset[Group]
    more: int
    hours: float
    chances: dict[str, float]

    @property
    def expected(self) -> float:
        return sum(self.chances.values())


class Decisions:
    """What is open at a scale, of artefacts whose runs are all there."""

    def __init__(self, scale: str, root: Path = ROOT, papers: Iterable[str] = ()) -> None:
        self.layout, self.root, self.papers = Layout(scale, root), root, set(papers)
        self.seconds: dict[Group, list[float]] = {}

    @cached_property
    def open(self) -> list[Open]:
        found = []
        for artefact in artefacts(self.root):
            if artefact.data.get("claims") and (not self.papers or artefact.paper in self.papers):
                found += self._of(artefact)
        return found

    def _of(self, artefact: Artefact) -> Iterator[Open]:
        scale = self.layout.scale
        runs = artefact.runs(scale, self.root)
        if not runs or not all(is_there(run, self.layout) for run in runs):
            return
        filled, records = filled_of(artefact, self.layout, self.root)
        cells, had = estimates_of(artefact, filled, scale)
        made_of = {(f.row, f.column): f.runs for f in filled if f.estimate}
        groups = {run.id: (f"{run.paper}/{run.experiment}", run.method, run.setting) for run in runs}
        for run, record in records.items():
            self.seconds.setdefault(groups[run], []).append(record["seconds"])
        for claim in claims_at(artefact, scale):
            places = cells_of(claim)
            looked = any(had.get(place, 1.0) < 1 for place in places)
            if looked or claim["ours"] or waits(claim, scale) or not places <= cells.keys():
                continue
            noisy = [place for place in places if not cells[place].exact and len(cells[place].per_run) > 1]
            tests = tests_of(claim, cells, had)
            if noisy and word_of(tests) == "unclear":
                mine = frozenset(groups[run] for place in noisy for run in made_of[place] if run in groups)
                n = min(cells[place].n for place in noisy)
                yield Open(f"{artefact.name} {claim['id']}", claim["text"], tuple(tests), mine, n)

    def hours(self, groups: frozenset[Group], more: int) -> float:
        return more * sum(median(self.seconds[group]) for group in groups) / 3600

    def plan(self, hours: float) -> list[Step]:
        """One after another what is expected to decide most per hour, until the hours are spent."""
        left, chosen, taken = list(self.open), [], set()
        chances = {(o.name, more): o.chance(more) for o in left for more in MORE}
        while True:
            steps = []
            for groups in {o.groups for o in left}:
                mine = [o for o in left if o.groups <= groups]
                for more in MORE:
                    told = {o.name: chances[o.name, more] for o in mine}
                    steps.append(Step(groups, more, self.hours(groups, more), told))
            steps = [s for s in steps if s.hours <= hours and s.expected and not s.groups & taken]
            if not steps:
                return chosen
            best = max(steps, key=lambda s: (s.expected / s.hours, sorted(s.groups)))
            chosen.append(best)
            hours -= best.hours
            taken |= best.groups
            left = [o for o in left if not o.groups & taken]


def filled_of(artefact: Artefact, layout: Layout, root: Path) -> tuple[list[Filled], dict[str, dict]]:
    """Its cells from its records, and these."""
    stacked, records = rows.collect(artefact.runs(layout.scale, root), layout, artefact.cells)
    return fill(artefact, stacked, layout.scale, root), records


def told(decisions: Decisions, steps: list[Step], hours: float) -> Iterator[str]:
    """What will be run, how long it takes and what is expected of it."""
    texts = {o.name: o.text for o in decisions.open}
    for step in steps:
        names = ", ".join(f"{method}/{setting}" for _, method, setting in sorted(step.groups))
        of = ", ".join(sorted({experiment for experiment, _, _ in step.groups}))
        yield f"{step.hours:.2f} h: {step.more} more of each in {of}: {names}"
        for name, chance in step.chances.items():
            yield f"    {chance:4.0%}  {name}: {texts[name]}"
    spent, expected = sum(s.hours for s in steps), sum(s.expected for s in steps)
    yield (
        f"{spent:.1f} of {hours:g} h on one core are expected to decide {expected:.1f} of the"
        f" {len(decisions.open)} sentences that are open"
    )


def write(steps: list[Step], scale: str, root: Path = ROOT) -> list[Path]:
    """The seeds beside those of experiments.yaml, from where a campaign takes them."""
    papers = sorted({experiment.partition("/")[0] for step in steps for experiment, _, _ in step.groups})
    paths = []
    for name in papers:
        paper, more = experiments.paper(name, root), experiments.more_of(name, root)
        at = more.setdefault(scale, {})
        for step in steps:
            for place, method, setting in sorted(step.groups):
                mine, _, experiment = place.partition("/")
                if mine != name:
                    continue
                had = paper.experiments[experiment].seeds(scale, method)
                first = max(had) + 1
                seeds = at.setdefault(experiment, {})
                seeds[f"{method}/{setting}"] = list(range(first, first + step.more))
        path = experiments.more_path(name, root)
        head = "# By `python -m harness decide`: seeds beside those of experiments.yaml.\n"
        write_atomic(path, head + _yaml(more))
        paths.append(path)
    return paths


def _yaml(more: dict) -> str:
    lines = []
    for scale, of_experiments in more.items():
        lines.append(f"{scale}:")
        for experiment, places in of_experiments.items():
            lines.append(f"  {experiment}:")
            lines += [f"    {place}: {seeds}" for place, seeds in places.items()]
    return "\n".join(lines) + "\n"


def decide(
    scale: str, hours: float, root: Path = ROOT, papers: Iterable[str] = (), keep: bool = True
) -> Iterator[str]:
    """Says what is expected; then writes it down, unless it shall only be shown."""
    decisions = Decisions(scale, root, papers)
    steps = decisions.plan(hours)
    if not steps:
        raise HarnessError(f"{hours:g} h decide nothing of the {len(decisions.open)} sentences that are open")
    yield from told(decisions, steps, hours)
    if keep:
        for path in write(steps, scale, root):
            yield f"written to {path.relative_to(root)}: `snakemake all --config scale={scale}` runs them"
