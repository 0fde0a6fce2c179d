"""What is made again though Snakemake would not see it: it knows files by dates and by notes of its own.

Notes are lost with the folder .snakemake, and a date says little of a file that was copied, or written while
the clock was wrong. A record knows its code and config, an artefact what it was made of: they decide as well.
"""

import os
import sys
import time

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.make.fresh import outputs, require_fresh, with_holes
from harness.runs.stale import is_there
from harness.spec.artefacts import Artefact
from harness.spec.experiments import RunSpec

OLD = 1  # second of 1970: Snakemake takes 0 for no date
AHEAD = 60  # seconds by which the clock of a file server may differ


def refuse_touch(touch: bool) -> None:
    """It would renew the only notes of with which data and how many threads a record was made."""
    if touch:
        sys.exit(
            "snakemake: --touch is refused: it would let records of other code or data count as today's;"
            " those of today are not run again anyway, so give the same command without it"
        )


def is_outdated(spec: RunSpec, layout: Layout) -> bool:
    """Whether a record stands there that does not count today; a missing one Snakemake sees itself."""
    return (layout.run_folder(spec.id) / "run.json").exists() and not is_there(spec, layout)


def has_a_run(artefact: Artefact, layout: Layout) -> bool:
    """So that it can be made with holes."""
    return any(is_there(spec, layout) for spec in artefact.runs(layout.scale, layout.root))


def is_made_otherwise(artefact: Artefact, layout: Layout, holes: bool = False) -> bool:
    """Whether an artefact was made of other records, or by another YAML, than those that stand there now."""
    if not all(path.exists() for path in outputs(artefact, layout.results)):
        return False
    if holes and has_a_run(artefact, layout):
        artefact = with_holes(artefact, layout, layout.root)
    runs = artefact.runs(layout.scale, layout.root)
    if not all(is_there(spec, layout, tables=True) for spec in runs):
        return False  # it is made again after them
    try:
        require_fresh(artefact, layout, layout.root)
    except HarnessError:
        return True
    return False


def set_back_the_future(layout: Layout) -> None:
    """Files of a time when the clock was ahead, as old as can be: Snakemake then compares what they stand on.

    With their own date they would seem newer than whatever is edited or made from now on.
    """
    for folder, _, names in os.walk(layout.results):
        for name in names:
            path = os.path.join(folder, name)
            if os.lstat(path).st_mtime > time.time() + AHEAD:
                os.utime(path, (OLD, OLD), follow_symlinks=False)
