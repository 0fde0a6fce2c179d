"""The command line: looking (find, plan, status), running, accepting, records, data, truths; the steps."""

import argparse
import os
import sys
import time

from harness.accepted import outcomes
from harness.base.errors import INTERRUPTED, HarnessError
from harness.base.files import refused, speak_plainly
from harness.base.layout import SCALES, Layout
from harness.campaign import status
from harness.cli import accepted, planning
from harness.runs import forecast
from harness.runs.stale import is_there
from harness.spec import artefacts, experiments


def main(argv: list[str] | None = None) -> None:
    """Run one command; a mistake of the user is one sentence on stderr and exit code 1."""
    speak_plainly(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    try:
        code = options.do(options) or 0
        sys.stdout.flush()  # here, not at exit: a closed pipe must end up below
        sys.exit(code)
    except HarnessError as error:
        sys.exit(f"harness: {error}")
    except BrokenPipeError:  # `… | head` closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        sys.exit(f"harness: {refused(error)}")
    except KeyboardInterrupt:
        sys.exit(f"harness: {INTERRUPTED}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, do, text: str, scale: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        if scale:
            sub.add_argument("--scale", choices=SCALES, default="smoke")
        sub.set_defaults(do=do)
        return sub

    sub = command("find", _find, "where an artefact is, its target, its runs, its last verdict")
    sub.add_argument("what", help="'Table 4.1', sotl/table_4_1 or words of its title")
    sub.add_argument("--paper")
    sub = command("claim", accepted.claim, "what is known of the claims with these words", scale=False)
    sub.add_argument("words", nargs="+", metavar="word", help="e.g. 'skip connections'; of all papers")
    sub = command(
        "plan", planning.plan, "runs present and missing, hours and disk that the missing ones will take"
    )
    sub.add_argument("artefacts", nargs="*", metavar="artefact", help="or a paper; all when none is named")
    sub.add_argument("--gpu", default="v100-16gb", help="of harness/rehearsal/devices.yaml")
    sub = command(
        "rehearse", planning.rehearse, "builds and steps runs at full size on a pretend GPU, and counts"
    )
    sub.set_defaults(scale="paper")
    sub.add_argument("artefacts", nargs="*", metavar="artefact", help="or a paper; all when none is named")
    sub.add_argument("--minutes", type=float, default=1e9, help="and the next time goes on")
    sub.add_argument("--error", action="store_true", help="how wrong forecasts are, of runs that were made")
    sub = command("decide", _decide, "adds the seeds that decide most of what is open, in so many hours")
    sub.add_argument("--hours", type=float, required=True, help="of one core")
    sub.add_argument("--show", action="store_true", help="only say what is expected")
    sub.add_argument("papers", nargs="*", metavar="paper", help="all when none is named")
    sub = command("status", _status, "a live view of a campaign; once when the output is no terminal")
    sub.add_argument("--once", action="store_true")
    sub = command("run", _run, "run one run by its name, e.g. sotl/spaces/count/nb201/s0")
    sub.add_argument("run")
    sub.add_argument("--threads", type=_threads, help="instead of what experiments.yaml says")
    told = "compare with the accepted outcomes in published/; exit 1 when something changed"
    sub = command("check", accepted.check, told)
    sub.add_argument("artefacts", nargs="*", metavar="artefact", help="tell each place of these alone")
    sub.add_argument("--published", action="store_true", help="what was accepted alone; nothing need be run")
    sub.add_argument("--replay", action="store_true", help="run one of each experiment again as well")
    sub = command("published", accepted.published, "make again what was accepted, from kept records alone")
    sub.set_defaults(scale="cpu")
    sub = command(
        "replay", accepted.replay, "run runs again elsewhere; a line for each that leaves other numbers"
    )
    sub.add_argument("runs", nargs="+", metavar="run")
    sub = command("accept", accepted.accept, "accept today's outcome of artefacts (all when none is named)")
    sub.add_argument("artefacts", nargs="*", metavar="artefact")
    sub.add_argument("--reason", required=True)
    told = "draw accepted figures and tables again from their accepted cells, which stay"
    sub = command("redraw", accepted.redraw, told)
    sub.add_argument("artefacts", nargs="+", metavar="artefact", help="or a paper")
    sub = command("withdraw", accepted.withdraw, "take away what was accepted of a former artefact")
    sub.add_argument("artefact")
    sub.add_argument("--reason", required=True)
    sub = command("records", _records, "run records kept in published/: lay them out, keep today's")
    sub.add_argument("action", choices=("lay-out", "keep"))
    sub.add_argument("papers", nargs="+", metavar="paper")
    sub = command(
        "vouch", _vouch, "show that records of older code count: both codes run in small", scale=False
    )
    sub.add_argument("old", help="the commit whose records are there")
    sub.add_argument("new", nargs="?", default="HEAD", help="the commit they shall count for (HEAD)")
    sub.add_argument("--paper", help="only records of this one")
    command("reproduced", _reproduced, "write REPRODUCED.md and the README's table anew", scale=False)
    sub = command("data", _data, "image sets: list, fetch, verify", scale=False)
    sub.add_argument("action", choices=("list", "fetch", "verify"))
    sub.add_argument("names", nargs="*", metavar="set")
    sub.add_argument("--from", dest="ways", choices=("any", "publisher", "registry"), default="any")
    sub = command("bench", _bench, "ground truths: list, convert, compile, query", scale=False)
    actions = sub.add_subparsers(required=True, dest="action", metavar="action")
    actions.add_parser("list", help="every source, what it holds, where it is expected")
    actions.add_parser("convert", help="make a source's store anew").add_argument("source")
    told = "make the tables that the project carries from the full files"
    compiled = actions.add_parser("compile", help=told, description=told)
    compiled.add_argument("folder", help="where they are written")
    compiled.add_argument("--official", action="store_true", help="from the benchmarks' own archives")
    query = actions.add_parser("query", help="one truth and its identity")
    for word in ("space", "architecture", "dataset", "epochs", "split", "trials"):
        query.add_argument(word)
    query.add_argument("--source", default="best")
    sub = command("fetch", _fetch, "step of the pipeline: an image set or a truth that a run needs")
    sub.add_argument("source")
    sub = command("make", _make, "step of the pipeline: one artefact from its runs")
    sub.add_argument("artefact")
    sub.add_argument("--holes", action="store_true", help="of the runs that are there, without the others")
    sub = command("report", _report, "step of the pipeline: the HTML report, of whatever there is")
    sub.add_argument("--paper", default="", help="a page of this one alone")
    return parser


def _threads(text: str) -> int:
    """A number that a run can have; argparse tells of any other."""
    if not text.isdecimal() or len(text) > 4 or int(text) not in range(1, 1025):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of threads: write 1 to 1024")
    return int(text)


def _find(options: argparse.Namespace) -> int:
    layout = Layout(options.scale)
    if options.paper:
        experiments.paper(options.paper)  # a wrong name is told
    found = [a for a in artefacts.artefacts() if options.paper in (None, a.paper) and _meets(a, options.what)]
    if not found:
        where = f" of {options.paper}" if options.paper else ""
        raise HarnessError(
            f"no artefact{where} matches {options.what!r}: `python -m harness plan` lists them all"
        )
    for artefact in found:
        there = forecast.forecast(artefact.runs(options.scale), layout, forecast.Past({}, {}))
        print(f"{artefact.name}  {artefact.data['where']}: {artefact.data['title']}")
        print(f"  spec      {artefact.path.relative_to(layout.root)}")
        print(f"  target    snakemake {artefact.target} --config scale={options.scale}")
        print(f"  runs      {there.present} present, {there.missing} missing at scale {options.scale}")
        runs = artefact.runs(options.scale)
        for spec in runs[:8]:
            print(f"            {spec.id}")
        if len(runs) > 8:
            print(f"            … and {len(runs) - 8} more")
        for line in outcomes.lines(artefact, layout):
            print(f"  verdict   {line}")
    return 0


def _meets(artefact: artefacts.Artefact, what: str) -> bool:
    """By name, alias, place ('Table 4.1') or words of the title; 'Table 4.1' does not meet 'Table 4.10'."""
    asked = what.casefold().strip()
    if asked in (artefact.name, artefact.target):
        return True
    place = artefact.data["where"].casefold()
    if any(p == asked or p.startswith((f"{asked},", f"{asked} ")) for p in (place, place.partition(" ")[2])):
        return True
    title = artefact.data["title"].casefold()
    return all(
        word in title.split() if any(ch.isdigit() for ch in word) else word in f"{place} {title}"
        for word in asked.split()
    )


def _decide(options: argparse.Namespace) -> int:
    from harness.campaign import decide  # loads pandas and scipy, which no other question needs

    for line in decide.decide(options.scale, options.hours, papers=options.papers, keep=not options.show):
        print(line, flush=True)
    return 0


def _status(options: argparse.Namespace) -> int:
    layout, runs, known = Layout(options.scale), artefacts.needed_runs(options.scale), forecast.past()
    stale = status.stamps([run for run in runs if not is_there(run, layout)], layout)
    cores = os.cpu_count() or 1
    while True:
        now = status.read(runs, layout, known, stale)
        text = "\n".join(status.lines(now, options.scale, cores))
        if options.once or not sys.stdout.isatty():
            print(text)
            return 0
        print(f"\033[2J\033[H{text}\n\n(Ctrl-C leaves this view; the campaign goes on)", flush=True)
        if now.done == now.total:
            return 0
        time.sleep(1)


def _run(options: argparse.Namespace) -> int:
    from harness.runs.execute import execute

    spec = experiments.find_run(options.run, options.scale)
    print(execute(spec, Layout(options.scale), threads=options.threads))
    return 0


def _records(options: argparse.Namespace) -> int:
    from harness.campaign import campaign
    from harness.runs import archives

    layout = Layout(options.scale)
    campaign.hold(layout)
    for paper in options.papers:
        if options.action == "keep":
            folder, n = archives.keep(paper, layout)
            size = sum(path.stat().st_size for path in archives.every_archive(layout, paper))
            print(f"{paper}: {n} records in {folder.relative_to(layout.root)}, {size / 1e3:.0f} kB")
            continue
        found = archives.lay_out(paper, layout)
        for run, reason in found.items():
            if reason:
                print(f"{run} is left to be run: {reason}")
        laid = list(found.values()).count("")
        print(f"{paper}: {laid} records laid out in {layout.results.relative_to(layout.root)}")
    return 0


def _vouch(options: argparse.Namespace) -> int:
    from harness.vouch.vouch import vouch

    words = []
    for module, word, why in vouch(options.old, options.new, paper=options.paper):
        print(f"{word} {module}: {why}", flush=True)
        words.append(word)
    print(f"vouch: {words.count('vouched')} modules vouched for, {words.count('refused')} refused")
    return 1 if "refused" in words else 0


def _reproduced(options: argparse.Namespace) -> int:
    from harness.accepted.reproduced import write

    for path in write():
        print(path.name)
    return 0


def _data(options: argparse.Namespace) -> int:
    from harness.data import cli

    return cli.main(options.action, options.names, options.ways)


def _bench(options: argparse.Namespace) -> int:
    from harness.bench import cli

    return cli.main(options)


def _fetch(options: argparse.Namespace) -> int:
    from harness.runs.fetch import fetch

    fetch(options.source, Layout(options.scale))
    return 0


def _make(options: argparse.Namespace) -> int:
    from harness.make.fresh import with_holes
    from harness.make.make import make

    layout, artefact = Layout(options.scale), artefacts.find(options.artefact)
    make(with_holes(artefact, layout) if options.holes else artefact, layout)
    return 0


def _report(options: argparse.Namespace) -> int:
    from harness.report import build, page_of

    layout = Layout(options.scale)
    if options.paper:
        experiments.paper(options.paper)  # a wrong name is told
    for problem in build(layout, paper=options.paper):
        print(f"report: {problem}", file=sys.stderr)
    print(f"report: {page_of(layout, options.paper).relative_to(layout.root)}")
    return 0
