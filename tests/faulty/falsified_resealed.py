"""Accepted outcomes falsified by hands that make the digests whole again, or go around them."""

from faulty.falsify import (
    ARCHIVE,
    FIGURE,
    PAGE,
    PROVENANCE,
    better,
    in_another_scale,
    in_archive,
    in_cells,
    in_provenance,
    linked_digests,
    linked_folder,
    one_picture_for_another,
    resealed,
    shown_again,
    written,
)
from faulty.spoilt import ACCEPTED, PLAIN, Change, gone

ANOTHER = {"processor": "another one", "cores": 2, "system": "Linux"}
MOVED = {"value": "71.125", "lo": "70.19", "hi": "72.06", "spread": "0.376"}

RESEALED: dict[str, tuple[Change, list[str]]] = {
    "another picture in its place, digests too": (
        resealed(one_picture_for_another),
        [f"gold/figure_1: {FIGURE}.png is not what is drawn here of the same cells. Look closer: git log"],
    ),
    "kind of spread, page and digests too": (
        resealed(in_cells(spread_kind="bootstrap"), shown_again),
        ["plain / a: the kind of spread was 'bootstrap' and is 'sample_sd'"],
    ),
    "a file added, digests too": (
        resealed(written("published/smoke/README.md", "All of it holds.\n")),
        ["published/smoke/README.md: … was left by no acceptance. Look closer: git log --stat -- publ"],
    ),
    "another form of an artefact added, digests too": (
        resealed(written(f"{FIGURE}.svg", "<svg/>")),
        [f"gold/figure_1: {FIGURE}.svg was left by no acceptance"],
    ),
    "kept record edited without its seal, digests too": (
        resealed(in_archive(seal=False, metrics=better(99.0))),
        [
            f"{ARCHIVE}: its record of {PLAIN[1]} is damaged. Look closer: git checkout -- {ARCHIVE}",
            f"gold/table_1: the kept record of {PLAIN[1]}, of which it was accepted, is missing or damaged",
        ],
    ),
    "table that no kept record names, digests too": (
        resealed(in_archive(more="better.csv")),
        [f"{ARCHIVE}: its record of {PLAIN[1]} names no better.csv"],
    ),
    "kept record of another form, provenance and digests too": (
        resealed(in_archive(noted=True, status="diverged", metrics=[{"value": 1}])),
        ["gold/table_1: cannot be made from its kept records: a record is none that runs leave (KeyE"],
    ),
    "provenance deleted, digests too": (
        resealed(gone(PROVENANCE)),
        [f"gold/table_1: {PROVENANCE} is missing. Look closer: git checkout -- {PROVENANCE}"],
    ),
    "provenance nested without end, digests too": (
        resealed(written(PROVENANCE, "[" * 200_000)),
        [f"{PROVENANCE} is cut short or was damaged (it is no provenance)"],
    ),
    "claims of the provenance a list, digests too": (
        resealed(in_provenance(claims=[])),
        [f"{PROVENANCE} is cut short or was damaged (it is no provenance)"],
    ),
    "truths of the provenance without a name, digests too": (
        resealed(in_provenance(truths=[{}])),
        ["gold/table_1: … its provenance names what no page can show (KeyError: 'space')"],
    ),
    "accepted for no reason, digests too": (
        resealed(in_provenance(reason="")),
        ["gold/table_1: its provenance tells no reason"],
    ),
    "accepted before it was run, digests too": (
        resealed(in_provenance(accepted="1999-01-01T00:00:00+00:00")),
        [f"gold/table_1: its provenance says that it was accepted before {PLAIN[0]} ended"],
    ),
    "accepted on no day, digests too": (
        resealed(in_provenance(accepted="long ago")),
        ["gold/table_1: its provenance tells no date that could be one"],
    ),
    "page that is no text, digests too": (
        resealed(written(PAGE, b"\xff\xfe")),
        [f"gold/table_1: {PAGE} does not show its accepted cells"],
    ),
    "a reason longer than any field, digests too": (
        resealed(in_cells(reason="x" * 200_000)),
        [f"{ACCEPTED} is cut short or was damaged (field larger than field limit"],
    ),
    "folder of the accepted tables is a link": (
        linked_folder,
        [f"gold/table_1: {ACCEPTED} is a link to another file, or below one"],
    ),
    "digests are a link": (
        linked_digests,
        ["published/smoke/SHA256SUMS: is a link to another file"],
    ),
    "what another scale holds": (
        in_another_scale,
        ["published/cpu: published/cpu/tables/gold/table_1.md was edited … check --published --scale cpu"],
    ),
}
