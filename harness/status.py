"""How far a campaign is: done, running with its rate, left, expected end."""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.experiments import RunSpec
from harness.layout import Layout
from harness.plan import Past, duration


@dataclass(frozen=True)
class Running:
    """A run that is being worked on."""

    run: str
    step: int
    total: int
    unit: str
    seconds: float

    @property
    def rate(self) -> float:
        return self.step / self.seconds if self.seconds > 0 else 0.0

    def left(self, expected: float | None) -> float | None:
        """Seconds to its end: by its own rate once it has one, else by past records."""
        if self.step > 0:
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

    @property
    def total(self) -> int:
        return self.done + len(self.running) + self.left

    def end(self, cores: int) -> str:
        """`about 3 min left`, honest about what is not known."""
        if self.total == self.done:
            return "complete"
        about = f"about {duration(self.seconds / max(cores, 1))} left"
        return f"{about} + {self.unknown} runs never timed before" if self.unknown else about

    def bar(self, width: int = 24) -> str:
        filled = round(width * self.done / self.total) if self.total else width
        return "█" * filled + "░" * (width - filled)


def read(runs: Sequence[RunSpec], layout: Layout, known: Past) -> Status:
    done = left = unknown = 0
    running: list[Running] = []
    seconds = 0.0
    for spec in runs:
        folder = layout.run_folder(spec.id)
        if (folder / "run.json").is_file():
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
    return Status(done, tuple(running), left, seconds, unknown)


def _running(run: str, path: Path) -> Running | None:
    """A progress file counts while its process lives; what a killed run left behind does not."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        os.kill(state["pid"], 0)
        seconds = max(time.time() - state["started"], 1e-6)
        return Running(run, state["step"], state["total"], state["unit"], seconds)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def lines(status: Status, scale: str, cores: int) -> list[str]:
    """The status as text: one line for the whole, one per running run."""
    head = f"{scale} {status.bar()} {status.done}/{status.total} runs, {status.end(cores)}"
    return [head, *(f"  {r}" for r in status.running)]
