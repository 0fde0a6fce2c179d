"""What is committed under published/ reads as today's harness would write it."""

import json

import pytest

from harness.base.files import ROOT, sha256_of
from harness.base.layout import SCALES, Layout, artefact_file
from harness.make import render
from harness.make.make import truth_name
from harness.numbers import cellfile
from harness.numbers.cellfile import read_cells
from harness.published import manifest
from harness.runs import archives
from harness.spec import artefacts, fingerprint

ACCEPTED = [
    (artefact, scale)
    for artefact in artefacts.artefacts()
    for scale in SCALES
    if artefact_file(Layout(scale).published, artefact.name, ".cells.csv").is_file()
]


def provenance(artefact, scale):
    """Or a skip, where its runs or its words are others today: its campaign is under way."""
    layout, spec = Layout(scale), artefact.path.relative_to(ROOT).as_posix()
    if scale != "smoke" and manifest.read(layout)[spec] != sha256_of(artefact.path):
        pytest.skip("it was accepted with the words of an earlier spec, and is to be made anew")
    noted = json.loads(artefact_file(layout.published, artefact.name, ".provenance.json").read_text())
    if scale != "smoke" and (why := fingerprint.outdated(artefact, noted, scale)):
        pytest.skip(f"{why}, and is to be made anew")
    return noted


@pytest.mark.parametrize("artefact, scale", ACCEPTED, ids=lambda each: getattr(each, "name", each))
def test_accepted_tables_and_captions_are_those_of_the_cells(artefact, scale):
    """Once five tables kept the layout of the day on which they were accepted."""
    base = Layout(scale).published
    cells = read_cells(artefact_file(base, artefact.name, ".cells.csv"))
    noted = provenance(artefact, scale)
    truths = list(dict.fromkeys(truth_name(truth) for run in noted["runs"] for truth in run["truths"]))
    caption = render.caption(artefact, scale, cells, truths, fingerprint.outdated(artefact, noted, scale))
    again = f"accept it anew at scale {scale}: {artefact.path.relative_to(ROOT)} or the harness has changed"
    written = {".md": render.markdown}
    if artefact.kind == "table":
        written[".tex"] = render.latex
    for suffix, write in written.items():
        accepted = artefact_file(base, artefact.name, suffix).read_text(encoding="utf-8")
        assert write(artefact, cells, caption) == accepted, again


@pytest.mark.parametrize("artefact, scale", ACCEPTED, ids=lambda each: getattr(each, "name", each))
def test_accepted_verdicts_are_those_of_todays_cells_and_tests(artefact, scale):
    """Once claims were tested otherwise than when their verdicts were accepted, and nothing told."""
    noted = provenance(artefact, scale)
    assert noted["cells"] == fingerprint.of_cells(artefact), (
        "other cells or printed numbers: make and accept it"
    )
    tested = fingerprint.of_claims(artefact, scale)
    assert noted["claims"] == tested, "other tests of claims: make and accept it"
    stated = cellfile.claims(artefact_file(Layout(scale).published, artefact.name, ".claims.csv"))
    smaller = {c["id"].removesuffix("-here") for c in stated if c.get("scale")}
    stated = [(c["id"], c["text"]) for c in stated if not c.get("scale")]
    written = [(c["id"], c["text"]) for c in fingerprint.claims_at(artefact, scale)]
    assert stated == [each for each in written if each[0].removesuffix("-here") not in smaller]


@pytest.mark.parametrize("artefact", [a for a, scale in ACCEPTED if scale == "smoke"], ids=lambda a: a.name)
def test_at_scale_smoke_every_accepted_number_names_the_kept_record_that_it_follows_from(artefact):
    """Without these digests and records check stays green, and only counts what rests on its seal alone."""
    runs = provenance(artefact, "smoke")["runs"]
    assert all(len(run["digest"]) == 64 for run in runs)
    assert archives.every_archive(Layout("smoke"), artefact.paper) or not runs
