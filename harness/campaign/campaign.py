"""What Snakemake's main process does beside Snakemake: one campaign at a time, broken records, a display.

Snakemake's own lock survives a kill -9 and then stops the next campaign; a kernel lock does not.
The display is drawn of Snakemake's events, which `snakemake_logger_plugin_campaign` hands over.
"""

import fcntl
import logging
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from snakemake_interface_logger_plugins.common import LogEvent

from harness.base.errors import INTERRUPTED, HarnessError
from harness.base.files import ROOT, refused, speak_plainly
from harness.base.layout import SCALES, Layout, scale_rank
from harness.base.yamlfile import nearest
from harness.campaign import status
from harness.runs import earlier, forecast
from harness.spec.experiments import RunSpec

FULL = 1 << 20  # bytes: with less than this left, a job of this project fails
LOGGER = logging.getLogger("snakemake.logging")
interrupted = threading.Event()
failures: list[str] = []  # of this campaign, as they are told at its end
_KEYS = ["scale", "paper", "holes"]  # of --config
_held: list[IO[str]] = []  # open for as long as the process lives: closing it would release the lock


def scale_of(config: Mapping[str, Any]) -> str:
    """The scale that config/config.yaml or --config names; a key that nobody reads is a slip."""
    for key in config:
        if key not in _KEYS:
            raise HarnessError(f"--config {key}=… does not exist: {nearest(key, _KEYS)}")
    scale = config.get("scale")
    scale_rank(scale)
    return scale


def holes_of(config: Mapping[str, Any]) -> bool:
    """`--config holes=true`: nothing is run, and what is made has holes where runs are not there."""
    holes = str(config.get("holes", False)).lower()
    if holes not in ("true", "false"):
        raise HarnessError(f"--config holes={holes} is neither true nor false: write holes=true")
    return holes == "true"


def papers_of(config: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """All, or the one that `--config paper=…` names: then the others have no part in this campaign."""
    paper = config.get("paper")
    if paper is not None and paper not in names:
        raise HarnessError(f"--config paper={paper} does not exist: {nearest(paper, names)}")
    return [paper] if paper else list(names)


def unknown_target(workflow: Any, scale: str) -> str:
    """What to say of a target that no rule makes; Snakemake would begin with how rules can go wrong."""
    rules = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    for word in sorted(workflow.dag_settings.targets):
        if word in rules or any(rule.is_producer(word) for rule in workflow.rules):
            continue
        parts = Path(word).parts
        if parts[:1] == ("results",) and len(parts) > 1 and parts[1] in SCALES and parts[1] != scale:
            return f"{word} is of scale {parts[1]}, not {scale}: add --config scale={parts[1]}"
        # `sotl/table_4_1`, as the report and `python -m harness` name it, is the target sotl_table_4_1.
        known = [name for name in rules if not name.startswith("make_")]
        return f"target {word!r} does not exist: {nearest(word.replace('/', '_'), known)}"
    return ""


def before_planning(workflow: Any, runs: Sequence[RunSpec], layout: Layout) -> None:
    """A record that was cut short or edited must count as missing; what only looks must touch nothing."""

    def hear(record: logging.LogRecord) -> bool:
        if getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            # Not at the top: it can make artefacts, and loads what questions need not wait for.
            from harness.campaign import remake

            # As it is mostly written, before records are moved; however it is written, in the Snakefile.
            remake.refuse_touch("--touch" in sys.argv or "-t" in sys.argv)
            try:
                hold(layout)
                remake.set_back_the_future(layout)
                earlier.tidy(runs, layout)
            except (HarnessError, OSError) as error:
                sys.exit(f"snakemake: {refused(error) if isinstance(error, OSError) else error}")
        return True

    if workflow.exec_mode == workflow.exec_mode.DEFAULT and not workflow.output_settings.dryrun:
        LOGGER.addFilter(hear)  # a logger would hear of it in a thread of its own, too late to refuse
        if any(word.startswith("--del") for word in sys.argv):  # --delete-all-output has no event
            hold(layout)


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
    _held.append(file)
    try:
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())  # a buffer would fail once more at exit
    except OSError as error:
        error.filename = file.name
        raise


def answer_ctrl_c() -> None:
    """While jobs are planned nobody else catches it, nor a second one while jobs are being stopped."""

    def stop(*_: object) -> None:
        interrupted.set()
        sys.excepthook = lambda *_: print(f"snakemake: {INTERRUPTED}", file=sys.stderr)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it is ignored by `snakemake … &`
        signal.signal(signal.SIGINT, stop)


def require_place() -> None:
    """Results stand beside the code that made them: there is one place for them."""
    if set("{}") & set(str(ROOT)):
        raise HarnessError(f"{ROOT} holds a brace, which Snakemake takes for a wildcard: rename the folder")
    if Path.cwd() != ROOT:
        raise HarnessError(
            f"--directory {Path.cwd()} is not where this project works, which is {ROOT}:"
            " leave --directory out, or copy the checkout there"
        )


class Display:
    """How far this command is: its jobs, and those runs that it stands on."""

    def __init__(
        self, dag: Any, runs: Sequence[RunSpec], layout: Layout, cores: int, stream: IO[str] = sys.stderr
    ) -> None:
        self.layout, self.cores, self.stream = layout, cores, stream
        self.live = stream.isatty()
        # Snakemake's own events count jobs only where nothing is `quiet`.
        self.jobs, self.finished = {job.jobid: job for job in dag.needrun_jobs()}, dag.finished
        asked, again = {_name(job) for job in dag.jobs}, {_name(job) for job in self.jobs.values()}
        self.runs = [run for run in runs if run.id in asked]
        self.to_come = [run for run in self.runs if run.id in again]
        self.old = status.stamps(self.to_come, layout)
        self.past = self.known = forecast.past(layout.root)
        self.ended = 0  # runs that it has learnt from
        self.at_work: dict[int, Any] = {}
        self.failed: list[str] = []
        self.begun = time.monotonic()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def hear(self, record: logging.LogRecord) -> bool:
        """An event; whether Snakemake shows it: no chatter, and no failure that is told at the end."""
        event, error = getattr(record, "event", None), getattr(record, "exception", None)
        if event == LogEvent.JOB_STARTED:
            self.at_work |= {number: job for number, job in self.jobs.items() if number in record.jobs}
        elif event == LogEvent.JOB_ERROR:
            self.at_work.pop(record.jobid, None)
            if not interrupted.is_set():
                self.failed.append(_failure(record))
                failures.append(self.failed[-1])
        elif getattr(record, "ends", False):
            self.stop()
            return False
        if self.stopped.is_set():
            return not (error and interrupted.is_set())
        return record.levelno > logging.INFO and error != "RuleException"

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(timeout=2)
        self._draw("\n")
        for line in [*self.failed, *[f"snakemake: {INTERRUPTED}"] * interrupted.is_set()]:
            print(line, file=self.stream)

    def _watch(self) -> None:
        drawn = False
        while not drawn or not self.stopped.wait(1.0 if self.live else 15.0):
            self._draw("" if self.live else "\n")
            drawn = True

    def _draw(self, end: str) -> None:
        done, total = sum(map(self.finished, self.jobs.values())), len(self.jobs)
        now = self._status(total - done)
        head, *rest = status.lines(now, self.layout.scale, self.cores)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        gone = forecast.duration(time.monotonic() - self.begun)
        text = f"{head}, {done}/{total} jobs{failed}, {gone} gone"
        # Jobs at work that have not told how far they are: runs that import, tables and figures.
        starting = [_name(job) for job in list(self.at_work.values()) if not self.finished(job)]
        rest += [name for name in starting if name not in {r.run for r in now.running}]
        if rest:
            text += f" | {rest[0].strip()}" + (f" (+{len(rest) - 1})" if len(rest) > 1 else "")
        if self.live:
            text = "\r\033[K" + text[: os.get_terminal_size(self.stream.fileno()).columns - 1]
        self.stream.write(text + end)
        self.stream.flush()

    def _status(self, jobs: int) -> status.Status:
        """Runs that end tell how long those that are left will take here and now."""
        there = status.stamps(self.to_come, self.layout)
        ended = [run for run in self.to_come if there.get(run.id) not in (None, self.old.get(run.id))]
        if len(ended) != self.ended:
            self.known, self.ended = forecast.underway(self.past, ended, self.layout), len(ended)
        return status.read(self.runs, self.layout, self.known, self.old, jobs)


def _name(job: Any) -> str:
    """`sotl/spaces/published/nb201/s0` or the rule: `make_sotl_table_3_1`."""
    return job.wildcards.run if job.rule.name == "run" else job.rule.name


def _failure(record: logging.LogRecord) -> str:
    """What the failed job said last, and how to see it alone."""
    said = "without a word"
    for path in (path for path in map(Path, record.log or []) if path.is_file()):
        if lines := path.read_text(encoding="utf-8", errors="replace").strip().splitlines():
            said = lines[-1]
        elif shutil.disk_usage(path).free < FULL:  # its log is on the disk that is full
            said = f"there is no room on the disk of {path.parent}: make room; nothing finished is lost"
    if record.rule_name == "check":  # its changes are on the screen already
        return "failed: check"
    command = (record.shellcmd or record.rule_name).split(" > ")[0].strip()
    return f"failed: {said}\n        again: {command}"


def _in_one_sentence(workflow: Any, scale: str, record: logging.LogRecord) -> bool:
    """In the place of Snakemake's words, where a target does not exist or a file cannot be used."""
    error, said = getattr(record, "exception", None), ""
    if error == "MissingRuleException":
        said = unknown_target(workflow, scale)
    elif error and (found := re.search(r"^\w+Error: \[Errno (\d+)\] (.+?): '(.+)'\s*\Z", record.msg, re.M)):
        with suppress(OSError):  # one that is no place's fault keeps its traceback
            said = str(refused(OSError(int(found[1]), found[2], found[3])))
    record.msg = f"snakemake: {said}" if said else record.msg
    return True


def listen(workflow: Any, scale: str) -> None:
    """To errors, from now on, whatever the command is."""
    speak_plainly(sys.stdout, sys.stderr, *(getattr(handler, "stream", None) for handler in LOGGER.handlers))
    _hand(workflow, lambda: partial(_in_one_sentence, workflow, scale))


def forget(layout: Layout, pages: Sequence[str]) -> None:
    """Take away the pages that are to be written: however this campaign ends, no older one stays."""
    try:
        for name in pages:
            (layout.root / name).unlink(missing_ok=True)
    except OSError as error:
        sys.exit(f"snakemake: {refused(error)}")


def begin(workflow: Any, runs: Sequence[RunSpec], layout: Layout) -> None:
    def display() -> Callable[[logging.LogRecord], bool]:
        # On a cluster there is a number of jobs, and asking for cores is an error.
        at_once = workflow.cores if workflow.local_exec else workflow.nodes
        return Display(workflow.dag, runs, layout, at_once or 1).hear

    _hand(workflow, display)


def _hand(workflow: Any, ear: Callable[[], Callable[[logging.LogRecord], bool]]) -> None:
    """To the plugin; where the command names another logger, nobody draws."""
    for handler in workflow.logger_manager.get_log_handlers():
        if hasattr(handler, "ears"):
            handler.ears.append(ear())


def end() -> None:
    """An event as well: those of the last jobs may still be on their way."""
    LOGGER.info("The display ends.", extra={"ends": True})
