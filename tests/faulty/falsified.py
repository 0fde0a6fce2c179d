"""Accepted outcomes falsified: of these trials `check` once stayed green on two thirds."""

from faulty.falsify import (
    ARCHIVE,
    CLAIMS,
    EXPERIMENTS,
    FIGURE,
    PAGE,
    PROVENANCE,
    RANKING,
    added_artefact,
    better,
    copied,
    in_archive,
    in_cells,
    in_provenance,
    in_table,
    linked,
    of_another_scale,
    other_truth,
    out_of_provenance,
    record,
    resealed,
    seed_copied,
    seed_copied_and_renamed,
    swept_away,
    twice,
)
from faulty.spoilt import ACCEPTED, PLAIN, RESULTS, TABLE, Change, gone, replace

from harness.base.files import sha256_of

ANOTHER = {"processor": "another one", "cores": 2, "system": "Linux"}
MOVED = {"value": "71.125", "lo": "70.19", "hi": "72.06", "spread": "0.376"}

FALSIFIED: dict[str, tuple[Change, list[str]]] = {  # what is done to the accepted tree, what check must say
    "seed 0's folder over seed 1": (
        seed_copied,
        [f"the record in the place of {PLAIN[1]} at scale smoke says that its run is '{PLAIN[0]}'"],
    ),
    "seed 0's folder over seed 1, renamed": (
        seed_copied_and_renamed,
        [f"{PLAIN[0]} and {PLAIN[1]} left the same numbers to the last digit"],
    ),
    "value, interval and spread moved together": (
        in_cells(**MOVED),
        ["plain / a: value was 71.125 and is 70.875", f"gold/table_1: {ACCEPTED} was edited"],
    ),
    "value, interval and spread moved together, digests too": (
        resealed(in_cells(**MOVED)),
        ["plain / a: value was 71.125 and is 70.875"],
    ),
    "interval made a hundred times wider": (
        resealed(in_cells(lo="-20", hi="160", value="70.8751")),
        ["plain / a: value was 70.8751 and is 70.875"],
    ),
    "number in the accepted page": (
        lambda layout: replace(layout, ACCEPTED.replace("cells.csv", "md"), "70.88", "71.08"),
        ["gold/table_1: published/smoke/tables/gold/table_1.md was edited"],
    ),
    "accepted page deleted": (
        gone(ACCEPTED.replace("cells.csv", "md")),
        ["table_1.md is missing. Look closer: git checkout -- published/smoke/tables/gold/table_1.md"],
    ),
    "accepted LaTeX deleted": (gone(ACCEPTED.replace("cells.csv", "tex")), ["table_1.tex is missing"]),
    "accepted picture deleted": (gone(f"{FIGURE}.png"), [f"gold/figure_1: {FIGURE}.png is missing"]),
    "another picture in its place": (
        lambda layout: (layout.root / f"{FIGURE}.png").write_bytes(b"\x89PNG of something else"),
        [f"gold/figure_1: {FIGURE}.png was edited"],
    ),
    "reason of an accepted claim": (
        resealed(lambda layout: replace(layout, CLAIMS, "by ", "by far more than ")),
        ["claim fancy-wins: said 'by far more than"],
    ),
    "reason of an accepted cell": (
        resealed(in_cells(reason="because it is so")),
        ["plain / a: the reason was 'because it is so' and is '-0.325 from the printed number"],
    ),
    "artefact added and not made": (
        added_artefact,
        ["gold/table_9: was never accepted. Look closer: python -m harness accept gold/table_9 --scale"],
    ),
    "artefact swept away with its outcome": (
        swept_away,
        [f"gold/table_1: {TABLE} is missing since", f"gold/table_1: {ACCEPTED} is missing"],
    ),
    "seeds in the provenance": (
        resealed(in_provenance(seed=9)),
        [f"its provenance and the kept record of {PLAIN[0]} differ in seed"],
    ),
    "code in the provenance": (
        resealed(in_provenance(code="f" * 16)),
        [f"its provenance and the kept record of {PLAIN[0]} differ in code"],
    ),
    "provenance without runs": (
        resealed(in_provenance(runs=[])),
        ["gold/table_1: its provenance lacks gold/accuracy/fancy/a/s0, of"],
    ),
    "processor renamed, single value changed": (
        resealed(in_provenance(machine=ANOTHER), in_cells(value="99")),
        [f"the kept record of {PLAIN[0]} differ in machine"],
    ),
    "provenance of another scale": (
        resealed(of_another_scale),
        ["gold/table_1: its provenance says that its scale is 'cpu'"],
    ),
    "provenance of another artefact": (
        resealed(copied("published/smoke/figures/gold/figure_1.provenance.json", PROVENANCE)),
        ["gold/table_1: its provenance says that its artefact is 'gold/figure_1'"],
    ),
    "no number in one line of a table": (
        in_table("\n6,", "\nnan,"),
        [f"{RANKING} left what is no number in architectures.csv, column prediction, line"],
    ),
    "infinity in one line of a table": (
        in_table("\n6,", "\ninf,"),
        [f"{RANKING} left what is no number in architectures.csv, column prediction, line"],
    ),
    "a cell twice": (twice, [f"{ACCEPTED} is cut short or was damaged (plain / a stands 2 times)"]),
    "our own cells edited inside the interval": (
        lambda layout: replace(layout, f"{RESULTS}/tables/gold/table_1.cells.csv", "70.875", "70.9"),
        [f"gold/table_1: {RESULTS}/tables/gold/table_1.cells.csv is not what its records give"],
    ),
    "our own claims edited": (
        lambda layout: replace(layout, f"{RESULTS}/tables/gold/table_1.claims.csv", "agrees", "match"),
        [f"gold/table_1: {RESULTS}/tables/gold/table_1.claims.csv is not what its records give"],
    ),
    "status of a record": (
        record(status="diverged"),
        [f"gold/table_1: {PLAIN[1]} has other status than when it was accepted"],
    ),
    "truth of a record": (
        other_truth,
        [f"gold/table_1: {RANKING} has other truths than when it was accepted"],
    ),
    "seed and scale of a record": (
        record(seed=7, scale="paper"),
        [f"the record in the place of {PLAIN[1]} at scale smoke says that its seed is 7"],
    ),
    "scale of a record": (record(scale="paper"), ["says that its scale is 'paper'"]),
    "config of a record": (
        record(config={"another": 1}),
        [f"stands on {PLAIN[1]}, and its config has changed since"],
    ),
    "kept record edited": (
        in_archive(metrics=better(99.0)),
        [f"{ARCHIVE}: was edited", f"its provenance and the kept record of {PLAIN[1]} differ in digest"],
    ),
    "kept record edited, digests too": (
        resealed(in_archive(metrics=better(99.0))),
        [f"its provenance and the kept record of {PLAIN[1]} differ in digest"],
    ),
    "a key deleted from the provenance's runs, digests too": (
        resealed(out_of_provenance("started")),
        [f"gold/table_1: its provenance and the kept record of {PLAIN[0]} differ in started"],
    ),
    "truths deleted from the provenance's runs, digests too": (
        resealed(out_of_provenance("truths")),
        [f"gold/table_1: {PROVENANCE} is cut short or was damaged"],
    ),
    "kept records deleted, digests too": (
        resealed(gone(ARCHIVE)),
        [f"gold/table_1: the kept record of {PLAIN[0]}, of which it was accepted, is missing"],
    ),
    "kept records cut short": (
        lambda layout: (layout.root / ARCHIVE).write_bytes((layout.root / ARCHIVE).read_bytes()[:400]),
        [f"{ARCHIVE}: was edited", f"{ARCHIVE}: cannot be read … Look closer: git checkout -- {ARCHIVE}"],
    ),
    "page edited, digests too": (
        resealed(lambda layout: replace(layout, PAGE, "70.88", "71.88")),
        [f"gold/table_1: {PAGE} does not show its accepted cells. Look closer: snakemake gold_table_1"],
    ),
    "page deleted, digests too": (
        resealed(gone(PAGE)),
        [f"gold/table_1: {PAGE} is missing. Look closer: git checkout -- {PAGE}"],
    ),
    "which older code counts": (
        lambda layout: (layout.root / "published/vouched.csv").write_text("module\n"),
        ["published/vouched.csv: was added since it was accepted at scale smoke"],
    ),
    "kept records deleted": (gone(ARCHIVE), [f"{ARCHIVE}: is missing"]),
    "digests deleted": (
        gone("published/smoke/SHA256SUMS"),
        [f"gold/table_1: {ACCEPTED} was added", f"gold/figure_1: {FIGURE}.png was added"],
    ),
    "a digest edited": (
        lambda layout: replace(
            layout, "published/smoke/SHA256SUMS", sha256_of(layout.root / ACCEPTED), "0" * 64
        ),
        [f"gold/table_1: {ACCEPTED} was edited"],
    ),
    "a file added": (
        lambda layout: (layout.published / "tables/gold/table_1.extra.md").write_text("It is better.\n"),
        ["gold/table_1: published/smoke/tables/gold/table_1.extra.md was added"],
    ),
    "two accepted pictures swapped": (
        copied(f"{FIGURE}.md", ACCEPTED.replace("cells.csv", "md")),
        ["gold/table_1: published/smoke/tables/gold/table_1.md was edited"],
    ),
    "accepted cells are a link": (linked, [f"gold/table_1: {ACCEPTED} is a link to another file"]),
    "titles of two deviations swapped": (
        lambda layout: replace(layout, "reproduce/gold/NOTES.md", "### D1 — ", "### D1 — Not "),
        ["reproduce/gold/NOTES.md: was edited since it was accepted at scale smoke"],
    ),
    "caption reworded": (
        lambda layout: replace(layout, TABLE, "title: ", "title: Better "),
        [f"gold/table_1: {TABLE} was edited since it was accepted at scale smoke"],
    ),
    "margin of a claim that a larger scale judges": (
        lambda layout: replace(layout, TABLE, "claims:\n", "claims:\n  # margins are larger now\n"),
        [f"gold/table_1: {TABLE} was edited since it was accepted at scale smoke"],
    ),
    "the page that says which statements stand": (
        lambda layout: replace(layout, "REPRODUCED.md", "contradict", "hold"),
        ["REPRODUCED.md: does not say what was accepted. Look closer: python -m harness reproduced"],
    ),
    "what a run is made of": (
        lambda layout: replace(
            layout, "reproduce/gold/experiments.yaml", "seeds: [0, 1, 2]", "seeds: [0, 1]"
        ),
        [
            "gold/table_1: was accepted with gold/accuracy/",
            f"{EXPERIMENTS}: was edited since",
        ],
    ),
}
