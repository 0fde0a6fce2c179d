"""What of a campaign is not there: runs without a record, jobs that failed, the ends of their logs."""

from dataclasses import dataclass
from pathlib import Path

from harness.base.layout import Layout, artefact_file
from harness.spec.artefacts import Artefact

SHOWN = 5  # logs of one artefact; the others mostly say the same
LINES = 6  # the last ones of a log, which say why it ended
LONGEST = 4000  # characters of them


@dataclass(frozen=True)
class Log:
    """A job that began and left nothing."""

    name: str
    end: str  # what its log says last


@dataclass(frozen=True)
class Lacking:
    """Of one artefact."""

    runs: int = 0  # that have no record
    failed: tuple[Log, ...] = ()
    more: int = 0  # that failed as well

    @property
    def sentence(self) -> str:
        began = len(self.failed) + self.more
        told = [f"{self.runs:,} of its runs {'is' if self.runs == 1 else 'are'} not there"] * bool(self.runs)
        told += [f"{began:,} {'job' if began == 1 else 'jobs'} began and did not end"] * bool(began)
        return ", ".join(told)


def lacking(artefact: Artefact, layout: Layout) -> Lacking:
    """A job that is still at work has a log and no record, too; its log then says how far it is."""
    absent = [
        run.id for run in artefact.runs(layout.scale, layout.root) if not _record(run.id, layout).is_file()
    ]
    logs = {run: layout.results / "log" / "runs" / f"{run}.log" for run in absent}
    if not artefact_file(layout.results, artefact.name, ".cells.csv").is_file():
        logs[artefact.name] = layout.results / "log" / f"{artefact.name}.log"
    failed = [Log(name, _end(path)) for name, path in logs.items() if path.is_file()]
    return Lacking(len(absent), tuple(failed[:SHOWN]), len(failed[SHOWN:]))


def _record(run: str, layout: Layout) -> Path:
    return layout.run_folder(run) / "run.json"


def _end(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n".join(lines[-LINES:])[-LONGEST:] or "without a word"
