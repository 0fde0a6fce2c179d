"""Where things are: one object that knows every folder of a scale."""

from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.files import ROOT

SCALES = ("smoke", "cpu", "paper")
KINDS = {"table": "tables", "figure": "figures"}


def scale_rank(scale: str) -> int:
    """smoke < cpu < paper: a claim or a number is judged from its scale on."""
    if scale not in SCALES:
        raise HarnessError(f"scale {scale!r} does not exist: use one of {', '.join(SCALES)}")
    return SCALES.index(scale)


@dataclass(frozen=True)
class Layout:
    """The folders of one scale below one checkout."""

    scale: str
    root: Path = ROOT
    elsewhere: Path | None = None  # for results/<scale>: what is made to be compared leaves no trace there

    def __post_init__(self) -> None:
        scale_rank(self.scale)

    @property
    def results(self) -> Path:
        return self.elsewhere or self.root / "results" / self.scale

    @property
    def published(self) -> Path:
        return self.root / "published" / self.scale

    def run_folder(self, run: str) -> Path:
        return self.results / "runs" / run

    def rows(self, artefact: str) -> Path:
        return self.results / "rows" / artefact

    @property
    def report(self) -> Path:
        return self.results / "report" / "index.html"

    def relative(self, path: Path) -> str:
        return path.relative_to(self.results).as_posix()


def artefact_file(base: Path, artefact: str, suffix: str) -> Path:
    """`sotl/table_4_1` + `.md` → base/tables/sotl/table_4_1.md; the same names in results and published."""
    paper, name = artefact.split("/")
    return base / KINDS[name.partition("_")[0]] / paper / f"{name}{suffix}"
