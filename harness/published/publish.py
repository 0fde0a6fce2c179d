"""Several files of published/ replaced together: all of them or, whatever kills the process, none for good.

They are written into a folder beside them, which gets its final name when it is whole; from then on the
change is decided, and whoever publishes next finishes what a kill left.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from harness.base.files import at_work, write_atomic
from harness.base.layout import Layout
from harness.published import manifest

_WRITING, _DECIDED, _PLACES = ".publishing", ".published", "places.json"


def publish(
    layout: Layout, files: dict[Path, bytes], specs: Iterable[Path] = (), gone: Iterable[Path] = ()
) -> None:
    """Put these contents in their places, and note them, and the specs as they are, in the manifest.

    What is `gone` loses its line there, and its file if that was accepted.
    """
    layout.published.mkdir(parents=True, exist_ok=True)
    with at_work(layout.published):
        _publish(layout, files, specs, gone)


def _publish(layout: Layout, files: dict[Path, bytes], specs: Iterable[Path], gone: Iterable[Path]) -> None:
    finish(layout)
    stage = layout.published / _WRITING
    shutil.rmtree(stage, ignore_errors=True)  # a kill's
    gone = list(gone)
    digests: dict[Path, str | None] = dict.fromkeys(gone)
    digests |= {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    lines = manifest.with_digests(manifest.read(layout), layout, digests, specs)
    content = {**files, manifest.path(layout): manifest.text(lines).encode()}
    took = [file for file in gone if file.is_file() and file.is_relative_to(layout.published)]
    if not took and all(file.is_file() and file.read_bytes() == new for file, new in content.items()):
        return
    places = {}
    try:
        for number, (file, new) in enumerate(content.items()):
            write_atomic(stage / str(number), new)
            places[str(number)] = file.relative_to(layout.published).as_posix()
        names = [file.relative_to(layout.published).as_posix() for file in took]
        write_atomic(stage / _PLACES, json.dumps({"put": places, "take": names}))
        os.replace(stage, layout.published / _DECIDED)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    finish(layout)


def is_unfinished(layout: Layout) -> bool:
    return (layout.published / _DECIDED).is_dir()


def finish(layout: Layout) -> None:
    """Move what an earlier change had decided into its places; nothing where none was cut short."""
    stage = layout.published / _DECIDED
    if not stage.is_dir():
        return
    places = json.loads((stage / _PLACES).read_text(encoding="utf-8"))
    for number, name in places["put"].items():
        if (stage / number).is_file():
            (layout.published / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / number, layout.published / name)
    for name in places["take"]:
        (layout.published / name).unlink(missing_ok=True)
    os.replace(stage, layout.published / _WRITING)  # no longer decided: a kill from here on leaves rubbish
    shutil.rmtree(layout.published / _WRITING)
