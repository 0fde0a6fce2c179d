"""What Snakemake's main process does beside Snakemake: one campaign at a time, broken records, a display.

Snakemake's own lock survives a kill -9 and then stops the next campaign; a kernel lock does not.
"""

import fcntl
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from harness.base.errors import INTERRUPTED, HarnessError
from harness.base.files import ROOT, refused, speak_plainly
from harness.base.layout import SCALES, Layout, scale_rank
from harness.base.yamlfile import nearest
from harness.campaign import status
from harness.runs import forecast
from harness.spec.experiments import RunSpec

FULL = 1 << 20  # bytes: with less than this left, a job of this project fails
LOOKS = re.compile(  # -n also behind other letters, as in -pn
    "-[fFkpq]*n|-[lSDh]|--(list|lint|dry|summary|detailed|dag|rulegraph|filegraph|d3dag|unlock|cleanup-metadata"
    "|report(?!-after)|print-|version|help)"
)
_held: list[IO[str]] = []  # open for as long as the process lives: closing it would release the lock


def scale_of(config: Mapping[str, Any]) -> str:
    """The scale that config/config.yaml or --config names; any other key is a slip."""
    for key in config:
        if key != "scale":
            raise HarnessError(f"--config {key}=… does not exist: {nearest(key, ['scale'])}")
    scale = config.get("scale")
    scale_rank(scale)
    return scale


def unknown_target(word: str, rules: Collection[str], scale: str) -> str:
    """What to say of a target that no rule makes; Snakemake would begin with how rules can go wrong."""
    parts = Path(word).parts
    if parts[:1] == ("results",) and len(parts) > 1 and parts[1] in SCALES and parts[1] != scale:
        return f"{word} is of scale {parts[1]}, not {scale}: add --config scale={parts[1]}"
    # `sotl/table_4_1`, as the report and `python -m harness` name it, is the target sotl_table_4_1.
    return f"target {word!r} does not exist: {nearest(word.replace('/', '_'), rules)}"


def is_asked_for(words: Sequence[str] | None = None) -> bool:
    """Whether this call of Snakemake runs jobs: one that only lists or looks must not touch anything."""
    return not any(map(LOOKS.match, sys.argv[1:] if words is None else words))


def hold(layout: Layout) -> None:
    """Refuse to start while another campaign works in the same results folder."""
    try:
        layout.results.mkdir(parents=True, exist_ok=True)
        file = (layout.results / ".campaign").open("a+")
    except OSError as error:
        raise refused(error) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        other = file.read().strip() or "unknown"
        raise HarnessError(
            f"another campaign (process {other}) works in {layout.results}:"
            " wait for it, stop it, or use another checkout"
        ) from None
    _held.append(file)
    try:
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())  # a buffer would fail once more at exit
    except OSError as error:
        error.filename = file.name
        raise refused(error) from None


def answer_ctrl_c() -> None:
    """While jobs are planned nobody else catches it, nor a second one while jobs are being stopped."""
    default = sys.excepthook

    def told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            print(f"snakemake: {INTERRUPTED}", file=sys.stderr)
        else:
            default(kind, error, trace)

    sys.excepthook = told


def require_place() -> None:
    """Results stand beside the code that made them: there is one place for them."""
    if set("{}") & set(str(ROOT)):
        raise HarnessError(f"{ROOT} holds a brace, which Snakemake takes for a wildcard: rename the folder")
    if Path.cwd() != ROOT:
        raise HarnessError(
            f"--directory {Path.cwd()} is not where this project works, which is {ROOT}:"
            " leave --directory out, or copy the checkout there"
        )


class OneSentence(logging.Filter):
    """In the place of Snakemake's words, where a target does not exist or a file cannot be used."""

    def __init__(self, rules: Collection[str], scale: str) -> None:
        super().__init__()
        self.rules, self.scale = rules, scale

    def filter(self, record: logging.LogRecord) -> bool:
        if found := re.search(r"No rule to produce (\S+) \(", str(record.msg)):
            record.msg = f"snakemake: {unknown_target(found[1], self.rules, self.scale)}"
        elif found := re.search(r"^\w+Error: \[Errno (\d+)\] (.+?): '(.+)'\s*\Z", str(record.msg), re.M):
            with suppress(OSError):  # one that is no place's fault keeps its traceback
                record.msg = f"snakemake: {refused(OSError(int(found[1]), found[2], found[3]))}"
        return True


class Display(logging.Filter):
    """The campaign on one line of a terminal, or a line now and then in a log file.

    It sits on Snakemake's logger as a filter: it reads the events, and keeps Snakemake's own chatter about
    every job from the screen. What a job prints itself (one sentence when it fails) is not touched.
    """

    def __init__(
        self, runs: Sequence[RunSpec], layout: Layout, cores: int, stream: IO[str] = sys.stderr
    ) -> None:
        super().__init__()
        self.runs, self.layout, self.cores, self.stream = runs, layout, cores, stream
        self.live = stream.isatty()
        self.past = self.known = forecast.Past({}, {})
        self.done = 0  # runs, when it last learnt from those that ended
        self.begun = time.monotonic()
        self.old: dict[str, int] = {}
        self.to_come: list[RunSpec] = []
        self.jobs: tuple[Any, ...] = ()
        self.finished: Callable[[Any], bool] = bool
        self.at_work: dict[Any, Any] = {}
        self.interrupted = False
        self.failed: list[str] = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def filter(self, record: logging.LogRecord) -> bool:
        event = str(getattr(record, "event", "") or "")
        if event.endswith("job_started"):
            self.at_work |= {job.jobid: job for job in self.jobs if job.jobid in record.jobs}
        elif event.endswith("job_error"):
            self.at_work.pop(getattr(record, "jobid", None), None)
            if not self.interrupted:
                self.failed.append(_failure(record))
        elif str(record.msg).startswith("Terminating processes on user request"):
            self.interrupted = True
        elif self.interrupted and "At least one job did not complete" in str(record.msg):
            return False
        if not self.thread.is_alive():
            return True
        return record.levelno > logging.INFO and not str(record.msg).startswith("RuleException")

    def start(self, dag: Any) -> None:
        """From here on it tells of what this command was asked for: of these jobs and their runs."""
        asked = {_name(job) for job in dag.jobs}
        self.runs = [run for run in self.runs if run.id in asked]
        # Snakemake's own events count jobs only where nothing is `quiet`.
        self.jobs, self.finished = tuple(dag.needrun_jobs()), dag.finished
        again = {_name(job) for job in self.jobs}
        self.to_come = [run for run in self.runs if run.id in again]
        self.old = status.stamps(self.to_come, self.layout)
        self.past = self.known = forecast.past(self.layout.root)
        self.begun = time.monotonic()
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        if self.thread.is_alive():
            self.thread.join(timeout=2)
        self._draw(end="\n")
        for line in self.failed:
            print(line, file=self.stream)
        if self.interrupted:
            print(f"snakemake: {INTERRUPTED}", file=self.stream)

    def _watch(self) -> None:
        interval = 1.0 if self.live else 15.0
        self._draw(end="" if self.live else "\n")
        while not self.stopped.wait(interval):
            self._draw(end="" if self.live else "\n")

    def _draw(self, end: str) -> None:
        done, total = sum(map(self.finished, self.jobs)), len(self.jobs)
        now = self._status(total - done)
        head, *rest = status.lines(now, self.layout.scale, self.cores)
        jobs = f", {done}/{total} jobs" if total else ""
        jobs += f", {len(self.failed)} failed" if self.failed else ""
        text = f"{head}{jobs}, {forecast.duration(time.monotonic() - self.begun)} gone"
        rest += self._starting({r.run for r in now.running})
        if rest:
            text += f" | {rest[0].strip()}" + (f" (+{len(rest) - 1})" if len(rest) > 1 else "")
        if self.live:
            width = os.get_terminal_size(self.stream.fileno()).columns
            self.stream.write("\r\033[K" + text[: width - 1] + end)
        else:
            self.stream.write(text + end)
        self.stream.flush()

    def _status(self, jobs: int) -> status.Status:
        """Runs that end tell how long those that are left will take here and now."""
        now = status.read(self.runs, self.layout, self.known, self.old, jobs)
        if now.done == self.done:
            return now
        there = status.stamps(self.to_come, self.layout)
        ended = [run for run in self.to_come if there.get(run.id) not in (None, self.old.get(run.id))]
        self.known, self.done = forecast.underway(self.past, ended, self.layout), now.done
        return status.read(self.runs, self.layout, self.known, self.old, jobs)

    def _starting(self, told: set[str]) -> list[str]:
        """Jobs at work that have not told how far they are: runs that import, tables and figures."""
        names = [_name(job) for job in list(self.at_work.values()) if not self.finished(job)]
        return [name for name in names if name not in told]


def _name(job: Any) -> str:
    """`sotl/spaces/published/nb201/s0` or the rule: `make_sotl_table_3_1`."""
    return job.wildcards.run if job.rule.name == "run" else job.rule.name


def _failure(record: logging.LogRecord) -> str:
    """What the failed job said last, and how to see it alone."""
    said = ""
    for path in map(Path, list(record.log or [])):
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = lines[-1] if lines else _silenced(path)
    if record.rule_name == "check":  # its changes are on the screen already
        return "failed: check"
    command = (record.shellcmd or record.rule_name).split(" > ")[0].strip()
    return f"failed: {said or 'without a word'}\n        again: {command}"


def _silenced(log: Path) -> str:
    """Why a job that failed could not even say so: its log is on the disk that is full."""
    if shutil.disk_usage(log).free >= FULL:
        return ""
    return f"there is no room on the disk of {log.parent}: make room; nothing finished is lost"


def attach(runs: Sequence[RunSpec], layout: Layout, cores: int, rules: Collection[str]) -> Display:
    """Listen to Snakemake's log from now on; the display draws once it is started."""
    display = Display(runs, layout, cores)
    logger = logging.getLogger("snakemake.logging")
    speak_plainly(sys.stderr, *(getattr(handler, "stream", None) for handler in logger.handlers))
    logger.addFilter(display)
    logger.addFilter(OneSentence(rules, layout.scale))
    return display
