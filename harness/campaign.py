"""What Snakemake's main process does beside Snakemake: one campaign at a time, broken records, a display.

Snakemake's own lock survives a kill -9 and then stops the next campaign; a kernel lock does not.
"""

import fcntl
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from harness import plan, status
from harness.errors import HarnessError
from harness.experiments import RunSpec
from harness.layout import Layout, scale_rank
from harness.record import refuse_broken
from harness.yamlfile import nearest

_held: list[IO[str]] = []  # open for as long as the process lives: closing it would release the lock


def scale_of(config: Mapping[str, Any]) -> str:
    """The scale that config/config.yaml or --config names; any other key is a slip."""
    for key in config:
        if key != "scale":
            raise HarnessError(f"--config {key}=… does not exist: {nearest(key, ['scale'])}")
    scale_rank(config["scale"])
    return config["scale"]


def is_asked_for(words: Sequence[str] | None = None) -> bool:
    """Whether this call of Snakemake runs jobs: one that only lists or looks must not touch anything."""
    looks = (
        "-n",
        "-l",
        "-S",
        "-D",
        "--list",
        "--lint",
        "--dry",
        "--summary",
        "--detailed",
        "--dag",
        "--rulegraph",
    )
    looks += ("--filegraph", "--d3dag", "--unlock", "--report", "--print-", "--version", "--help", "-h")
    return not any(word.startswith(looks) for word in (sys.argv[1:] if words is None else words))


def hold(layout: Layout) -> None:
    """Refuse to start while another campaign works in the same results folder."""
    layout.results.mkdir(parents=True, exist_ok=True)
    file = (layout.results / ".campaign").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        other = file.read().strip() or "unknown"
        raise HarnessError(
            f"another campaign (process {other}) works in {layout.results}:"
            " wait for it, stop it, or use another checkout"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    _held.append(file)


def set_broken_aside(runs: Sequence[RunSpec], layout: Layout) -> None:
    """Broken records are named and renamed, so that Snakemake finds them missing and runs them again."""
    for line in refuse_broken([layout.run_folder(run.id) for run in runs]):
        print(f"refused: {line}", file=sys.stderr)


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
        self.jobs = (0, 0)
        self.failed: list[str] = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def filter(self, record: logging.LogRecord) -> bool:
        event = str(getattr(record, "event", "") or "")
        if event.endswith("progress"):
            self.jobs = (record.done, record.total)
        elif event.endswith("job_error"):
            self.failed.append(_failure(record))
        if not self.thread.is_alive():
            return True
        return record.levelno > logging.INFO and not str(record.msg).startswith("RuleException")

    def start(self) -> None:
        self.known = plan.past(self.layout.root)
        self.begun = time.monotonic()
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        if self.thread.is_alive():
            self.thread.join(timeout=2)
        self._draw(end="\n")
        for line in self.failed:
            print(line, file=self.stream)

    def _watch(self) -> None:
        interval = 1.0 if self.live else 15.0
        while not self.stopped.wait(interval):
            self._draw(end="" if self.live else "\n")

    def _draw(self, end: str) -> None:
        head, *rest = status.lines(
            status.read(self.runs, self.layout, self.known), self.layout.scale, self.cores
        )
        done, total = self.jobs
        jobs = f", job {done}/{total}" if total else ""
        text = f"{head}{jobs}, {plan.duration(time.monotonic() - self.begun)} gone"
        if rest:
            text += f" | {rest[0].strip()}" + (f" (+{len(rest) - 1})" if len(rest) > 1 else "")
        if self.live:
            width = os.get_terminal_size(self.stream.fileno()).columns
            self.stream.write("\r\033[K" + text[: width - 1] + end)
        else:
            self.stream.write(text + end)
        self.stream.flush()


def _failure(record: logging.LogRecord) -> str:
    """What the failed job said last, and how to see it alone."""
    said = ""
    for path in map(Path, list(record.log or [])):
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = lines[-1] if lines else ""
    if record.rule_name == "check":  # its changes are on the screen already
        return "failed: check"
    command = (record.shellcmd or record.rule_name).split(" > ")[0].strip()
    return f"failed: {said or 'without a word'}\n        again: {command}"


def attach(runs: Sequence[RunSpec], layout: Layout, cores: int) -> Display:
    """Listen to Snakemake's log from now on; the display draws once it is started."""
    display = Display(runs, layout, cores)
    logging.getLogger("snakemake.logging").addFilter(display)
    return display
