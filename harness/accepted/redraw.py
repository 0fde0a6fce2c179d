"""An accepted page or picture drawn again from its accepted cells, whose records may be gone.

Nothing that was measured or judged changes: only what shows it, with another caption or another drawing.
"""

import json
import tempfile
from pathlib import Path

from harness.accepted.accept import drawn_by
from harness.base.errors import HarnessError
from harness.base.files import sha256_of, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.make.fresh import REMADE, command, outputs
from harness.make.make import render_made
from harness.numbers import cellfile
from harness.published import manifest, publish
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact

JUDGED = (".cells.csv", ".claims.csv", ".provenance.json")


def redraw(artefact: Artefact, layout: Layout) -> list[Path]:
    """The files that changed. A spec whose tests are others today is not sealed: `check` tells of it."""
    publish.finish(layout)
    place = artefact_file(layout.published, artefact.name, ".provenance.json")
    if not place.is_file():
        raise HarnessError(f"{artefact.name} was never accepted at scale {layout.scale}: nothing to draw")
    _require_sealed(artefact, layout)
    noted = cellfile.provenance(place)
    if noted.get("cells") != fingerprint.of_cells(artefact):
        raise HarnessError(
            f"{artefact.name} asks for other cells than those accepted at scale {layout.scale}:"
            f" make it and accept it, `{command(fingerprint.as_noted(artefact, noted), layout.scale)}`"
        )
    files = _drawn(artefact, layout, noted)
    before = {path: path.read_bytes() if path.is_file() else b"" for path in files}
    changed = [path for path, content in files.items() if before[path] != content]
    if artefact.kind == "figure" and changed:
        files[place] = (json.dumps(noted | drawn_by(artefact), indent=1) + "\n").encode()
    same = noted.get("claims") == fingerprint.of_claims(artefact, layout.scale)
    publish.publish(layout, files, manifest.stands_on(artefact)[:1] if same else ())
    return changed


def _require_sealed(artefact: Artefact, layout: Layout) -> None:
    """Cells that somebody edited would be drawn, and their picture sealed."""
    sealed = manifest.read(layout)
    for suffix in JUDGED:
        path = artefact_file(layout.published, artefact.name, suffix)
        name = path.relative_to(layout.root).as_posix()
        if not path.is_file() or sealed.get(name) != sha256_of(path):
            raise HarnessError(
                f"{name} is not as it was accepted: bring it back with `git checkout -- {name}`"
            )


def _drawn(artefact: Artefact, layout: Layout, noted: dict) -> dict[Path, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        apart = Layout(layout.scale, layout.root, Path(folder))
        cells = artefact_file(layout.published, artefact.name, ".cells.csv")
        write_atomic(artefact_file(apart.results, artefact.name, ".cells.csv"), cells.read_text("utf-8"))
        render_made(fingerprint.as_noted(artefact, noted), apart, noted["runs"])
        return {
            layout.published / path.relative_to(apart.results): path.read_bytes()
            for path in outputs(artefact, apart.results)
            if path.suffix not in REMADE and not path.name.endswith(JUDGED)
        }
