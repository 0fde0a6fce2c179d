"""The command line's part that looks at accepted outcomes and changes them."""

import argparse
import sys

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.campaign import campaign
from harness.spec import artefacts
from harness.spec.experiments import RunSpec


def check(options: argparse.Namespace) -> int:
    from harness.accepted import check as checked
    from harness.runs import replay

    layout = Layout(options.scale)
    found = checked.check(layout, here=not options.published)
    told = list(checked.lines(found.changes, options.scale))
    if options.artefacts:
        names = {artefact.name for artefact in artefacts.chosen(options.artefacts)}
        more = f"python -m harness check --scale {options.scale}{' --published' * options.published}"
        elsewhere = f"none of these, but others. Look closer: {more}"
        told = [str(change) for change in found.changes if change.artefact in names] or told and [elsewhere]
    for line in told:
        print(f"changed: {line}", file=sys.stderr)
    again: list[RunSpec] = []
    differ: list[str] = []
    not_again = None
    if options.replay:
        again = replay.chosen(layout)
        not_again = replay.passed_over(again, layout)
        differ = list(replay.replayed(again, layout))
    for line in differ:
        print(f"changed: {line}", file=sys.stderr)
    if not (found.changes or differ):
        print("\n".join(checked.summary(found, options.scale, len(again), not_again)))
    return 1 if found.changes or differ else 0


def claim(options: argparse.Namespace) -> int:
    from harness.accepted.claims_found import lines

    for line in lines(" ".join(options.words)):
        print(line)
    return 0


def published(options: argparse.Namespace) -> int:
    from collections import Counter

    from harness import report
    from harness.accepted.remade import place_of, remake

    counts: Counter[str] = Counter()
    wrong = 0
    for made in remake(options.scale):
        counts[made.how] += 1
        if made.wrong:
            wrong += 1
            print(f"changed: {made.artefact}: {made.wrong}", file=sys.stderr)
    layout = place_of(options.scale)
    report.build(layout)
    print(", ".join(f"{number} artefact{'s' * (number > 1)} {how}" for how, number in counts.items()))
    print(f"published: {layout.report.relative_to(layout.root)}")
    return 1 if wrong else 0


def replay(options: argparse.Namespace) -> int:
    from harness.runs import replay

    layout, code = Layout(options.scale), 0
    for run in options.runs:
        try:
            differ = replay.differences(run, layout)
        except HarnessError as error:
            print(f"{run}: cannot be run again: {error}")
            code = 1
            continue
        if differ:
            more = f"; and {len(differ) - 1} more" if differ[1:] else ""
            look = f"python -m harness replay {run} --scale {options.scale}"
            print(f"{run}: run again, {differ[0]}{more}. Look closer: {look}")
            code = 1
    return code


def accept(options: argparse.Namespace) -> int:
    from harness.accepted.accept import accept_all

    layout = Layout(options.scale)
    campaign.hold(layout)  # what is accepted must not be made anew meanwhile
    for provenance in accept_all(artefacts.chosen(options.artefacts), layout, options.reason):
        print(provenance.relative_to(layout.root))
    return 0


def redraw(options: argparse.Namespace) -> int:
    """Those that were accepted at this scale; one that is named and was not is refused."""
    from harness.accepted import reproduced
    from harness.accepted.redraw import redraw

    layout = Layout(options.scale)
    campaign.hold(layout)
    code = 0
    for artefact in artefacts.chosen(options.artefacts):
        try:
            changed = [path.name for path in redraw(artefact, layout)]
        except HarnessError as error:
            print(error, file=sys.stderr)  # it names the artefact or its file
            code = 1
            continue
        print(f"{artefact.name}: {', '.join(changed) or 'as it was'}", flush=True)
    reproduced.write()
    return code


def withdraw(options: argparse.Namespace) -> int:
    """An artefact that the project no longer has."""
    from harness.accepted.withdraw import withdraw

    layout = Layout(options.scale)
    campaign.hold(layout)
    print(withdraw(options.artefact, layout, options.reason))
    return 0
