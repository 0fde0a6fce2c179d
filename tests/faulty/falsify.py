"""Ways to falsify an accepted outcome, for hands that know the harness."""

import csv
import io
import json
import shutil

import tiny
from faulty.spoilt import ACCEPTED, PLAIN, RESULTS, TABLE, Change, make_table_if_possible
from sealed import edit_record

from harness.accepted.accept import accept
from harness.base.files import sha256_of
from harness.base.layout import Layout
from harness.make.make import make, texts
from harness.numbers import cellfile
from harness.published import manifest, publish
from harness.runs import archives
from harness.spec import artefacts

FIGURE = "published/smoke/figures/gold/figure_1"
PROVENANCE = ACCEPTED.replace("cells.csv", "provenance.json")
PAGE = ACCEPTED.replace("cells.csv", "md")
CLAIMS = ACCEPTED.replace("cells.csv", "claims.csv")
ARCHIVE = "published/smoke/records/gold/accuracy.tar.xz"
EXPERIMENTS = "reproduce/gold/experiments.yaml"
RANKING = "gold/ranking/params/a/s0"


def resealed(*changes: Change) -> Change:
    """The digests of the edited files are made whole again by somebody who knows of them."""

    def change(layout: Layout) -> None:
        for each in changes:
            each(layout)
        files = {file: file.read_bytes() for file in manifest.accepted_files(layout)}
        publish.publish(layout, files, gone=[layout.root / name for name in manifest.read(layout)])
        publish.publish(layout, files, [layout.root / TABLE])

    return change


def in_cells(**changed: str) -> Change:
    """Fields of the accepted cell plain / a."""

    def change(layout: Layout) -> None:
        path = layout.root / ACCEPTED
        lines = list(csv.DictReader(io.StringIO(path.read_text())))
        lines[0].update(changed)
        assert (lines[0]["row"], lines[0]["column"]) == ("plain", "a")
        text = io.StringIO()
        writer = csv.DictWriter(text, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        path.write_text(text.getvalue())

    return change


def twice(layout: Layout) -> None:
    """The first cell stands there a second time, before it with another value."""
    path = layout.root / ACCEPTED
    head, first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([head, first.replace("70.875", "99"), first, *rest]))


def in_provenance(**changed: object) -> Change:
    """Of every run that it names; a key that it has itself is its own."""

    def change(layout: Layout) -> None:
        path = layout.root / PROVENANCE
        noted = json.loads(path.read_text())
        mine = {key: value for key, value in changed.items() if key in noted}
        noted.update(mine)
        for run in noted["runs"]:
            run.update({key: value for key, value in changed.items() if key not in mine})
        path.write_text(json.dumps(noted, indent=1) + "\n")

    return change


def out_of_provenance(key: str) -> Change:
    """Of every run that it names."""

    def change(layout: Layout) -> None:
        path = layout.root / PROVENANCE
        noted = json.loads(path.read_text())
        for run in noted["runs"]:
            del run[key]
        path.write_text(json.dumps(noted, indent=1) + "\n")

    return change


def copied(old: str, new: str) -> Change:
    return lambda layout: shutil.copyfile(layout.root / old, layout.root / new)


def linked(layout: Layout) -> None:
    path = layout.root / ACCEPTED
    path.unlink()
    path.symlink_to(layout.root / RESULTS / "tables/gold/table_1.cells.csv")


def seed_copied(layout: Layout) -> None:
    """Seed 0's folder over seed 1's: two runs of one."""
    for file in layout.run_folder(PLAIN[0]).iterdir():
        shutil.copyfile(file, layout.run_folder(PLAIN[1]) / file.name)


def seed_copied_and_renamed(layout: Layout) -> None:
    seed_copied(layout)
    edit_record(layout.run_folder(PLAIN[1]), reseal=True, run=PLAIN[1], seed=1)
    make_table_if_possible(layout)


def record(run: str = PLAIN[1], **changed: object) -> Change:
    def change(layout: Layout) -> None:
        edit_record(layout.run_folder(run), reseal=True, **changed)
        make_table_if_possible(layout)

    return change


def in_table(old: str, new: str) -> Change:
    """One line of a run's table, its digest and the record's seal made whole."""

    def change(layout: Layout) -> None:
        folder = layout.run_folder(RANKING)
        path = folder / "architectures.csv"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        edit_record(folder, reseal=True, tables={path.name: sha256_of(path)})
        make_table_if_possible(layout)

    return change


def other_truth(layout: Layout) -> None:
    truth = json.loads((layout.run_folder(RANKING) / "run.json").read_text())["truths"][0]
    record(RANKING, truths=[{**truth, "file": "another.csv", "sha256": "cd" * 32}])(layout)


def added_artefact(layout: Layout) -> None:
    text = (layout.root / TABLE).read_text().replace("gold/table_1", "gold/table_9")
    (layout.root / TABLE).with_name("table_9.yaml").write_text(text)


def swept_away(layout: Layout) -> None:
    for file in (layout.root / TABLE, *(layout.published / "tables/gold").iterdir()):
        file.unlink()


def in_archive(
    run: str = PLAIN[1], seal: bool = True, noted: bool = False, more: str = "", **changed: object
) -> Change:
    """A kept record edited and packed again, with one file `more`; `noted`: in the provenance, too."""

    def change(layout: Layout) -> None:
        path, apart = layout.root / ARCHIVE, Layout("smoke", layout.root, layout.root / "apart")
        archives.lay_out_apart(path, apart)
        folder, runs = apart.run_folder(run), apart.results / "runs"
        edit_record(folder, reseal=seal, **changed)
        if more:
            (folder / more).write_text("a\n1\n")
        if noted:
            record = json.loads((folder / "run.json").read_text())
            path_of = layout.root / PROVENANCE
            told = json.loads(path_of.read_text())
            (mine,) = (each for each in told["runs"] if each["run"] == run)
            mine.update({key: record[key] for key in archives.NOTED if key in record})
            path_of.write_text(json.dumps(told))
        files = {
            p.relative_to(runs).as_posix(): p.read_bytes() for p in sorted(runs.rglob("*.*")) if p.is_file()
        }
        path.write_bytes(archives.pack(files))
        shutil.rmtree(apart.results)

    return change


def written(path: str, content: str | bytes) -> Change:
    def change(layout: Layout) -> None:
        data = content.encode() if isinstance(content, str) else content
        (layout.root / path).write_bytes(data)

    return change


def shown_again(layout: Layout) -> None:
    """The accepted page and LaTeX written of the accepted cells as they now are."""
    table = artefacts.find("gold/table_1", layout.root)
    runs = json.loads((layout.root / PROVENANCE).read_text())["runs"]
    for suffix, text in texts(table, "smoke", cellfile.read_cells(layout.root / ACCEPTED), runs).items():
        if suffix != ".html":
            (layout.root / PAGE).with_suffix(suffix).write_text(text)


def one_picture_for_another(layout: Layout) -> None:
    """Two figures were accepted, and one shows what nobody drew of its cells."""
    spec = layout.root / "figures/gold/figure_1.yaml"
    text = spec.read_text().replace("gold/figure_1", "gold/figure_2")
    spec.with_name("figure_2.yaml").write_text(text)
    shutil.copyfile(spec.with_suffix(".py"), spec.with_name("figure_2.py"))
    tiny.forget()
    figure = artefacts.find("gold/figure_2", layout.root)
    make(figure, layout, layout.root)
    accept(figure, layout, "a second look", layout.root)
    (layout.root / f"{FIGURE}.png").write_bytes(b"\x89PNG of something else")


def linked_folder(layout: Layout) -> None:
    folder = (layout.root / ACCEPTED).parent
    elsewhere = folder.rename(layout.root / "elsewhere")
    folder.symlink_to(elsewhere)


def linked_digests(layout: Layout) -> None:
    path = manifest.path(layout)
    path.symlink_to(path.rename(layout.root / "elsewhere"))


def in_another_scale(layout: Layout) -> None:
    """Edited where a larger scale's outcomes are, of which REPRODUCED.md tells as well."""
    other = Layout("cpu", layout.root)
    page = other.published / "tables/gold/table_1.md"
    publish.publish(other, {page: b"as it was\n"})
    page.write_text("better\n")


def of_another_scale(layout: Layout) -> None:
    noted = in_provenance(scale="cpu")
    noted(layout)


def better(value: float) -> list[dict[str, object]]:
    return [{"name": "accuracy", "value": value, "unit": ""}, {"name": "count", "value": 782938, "unit": ""}]
