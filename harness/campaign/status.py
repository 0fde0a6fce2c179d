"""How far a campaign is: done, running with its rate, left, expected end."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base.layout import Layout
from harness.runs.forecast import Past, duration
from harness.spec.experiments import RunSpec


@dataclass(frozen=True)
class Running:
    """A run that is being worked on."""

    run: str
    step: int
    total: int
    unit: str
    seconds: float  # since the step `first`, from which this process counts in this unit
    first: int = 0

    @property
    def rate(self) -> float:
        return (self.step - self.first) / self.seconds if self.seconds > 0 else 0.0

    def left(self, expected: float | None) -> float | None:
        """Seconds to its end: by its own rate once it has one, else by past records."""
        if self.rate:
            return (self.total - self.step) / self.rate
        return max(expected - self.seconds, 0.0) if expected is not None else None

    def __str__(self) -> str:
        rate = (
            f"{self.rate:.1f}/s"
            if self.rate >= 1
            else f"{duration(1 / self.rate)} each"
            if self.rate
            else "starting"
        )
        return f"{self.run}  {self.unit} {self.step}/{self.total}, {rate}"


@dataclass(frozen=True)
class Status:
    """A campaign at one moment."""

    done: int
    running: tuple[Running, ...]
    left: int
    seconds: float  # of work that is left, by past records and present rates
    unknown: int  # runs left whose duration nobody knows yet
    jobs: int = 0  # of the campaign that are left; after its runs, its tables and figures

    @property
    def total(self) -> int:
        return self.done + len(self.running) + self.left

    def end(self, cores: int) -> str:
        """`about 3 min left`, honest about what is not known."""
        if self.total == self.done:
            return "tables and figures left" if self.jobs else "complete"
        about = f"about {duration(self.seconds / max(cores, 1))} left"
        if not self.unknown:
            return about
        new = f"{self.unknown} run{'s' * (self.unknown > 1)} never timed before"
        return f"{about} + {new}" if self.seconds else f"{new} left"

    def bar(self, width: int = 24) -> str:
        filled = round(width * self.done / self.total) if self.total else width
        return "█" * filled + "░" * (width - filled)


def stamps(runs: Sequence[RunSpec], layout: Layout) -> dict[str, int]:
    """When each record was written, of those that are there."""
    found: dict[str, int] = {}
    for run in runs:
        with suppress(FileNotFoundError):  # before a run is made again its record is removed
            found[run.id] = (layout.run_folder(run.id) / "run.json").stat().st_mtime_ns
    return found


def read(
    runs: Sequence[RunSpec], layout: Layout, known: Past, old: Mapping[str, int] | None = None, jobs: int = 0
) -> Status:
    """`old`: stamps of records that are to be made again; such a run is done once its record is another."""
    old, there = old or {}, stamps(runs, layout)
    done = left = unknown = 0
    running: list[Running] = []
    seconds = 0.0
    for spec in runs:
        folder = layout.run_folder(spec.id)
        if spec.id in there and there[spec.id] != old.get(spec.id):
            done += 1
            continue
        now_running = _running(spec.id, folder / "progress.json")
        expected, _ = known.expect(spec)
        rest = now_running.left(expected) if now_running else expected
        seconds += rest or 0.0
        unknown += rest is None
        if now_running:
            running.append(now_running)
        else:
            left += 1
    return Status(done, tuple(running), left, seconds, unknown, jobs)


def _running(run: str, path: Path) -> Running | None:
    """A progress file counts while its process lives; what a killed run left behind does not."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        os.kill(state["pid"], 0)
        seconds = max(time.time() - state["started"], 1e-6)
        return Running(run, state["step"], state["total"], state["unit"], seconds, state["from"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def lines(status: Status, scale: str, cores: int) -> list[str]:
    """The status as text: one line for the whole, one per running run."""
    head = f"{scale} {status.bar()} {status.done}/{status.total} runs, {status.end(cores)}"
    return [head, *(f"  {r}" for r in status.running)]
