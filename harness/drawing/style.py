"""The house style of figures: one column wide, colour-blind safe, the same bytes for the same cells."""

import io
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.base.errors import HarnessError
from harness.base.files import write_atomic
from harness.base.yamlfile import read

COLUMN = 3.4  # inches, one column of a two-column page
WIDE = 7.0
# Okabe and Ito's palette: told apart with every common colour blindness.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
BLACK, GREY, RULE = "#222222", "#888888", "#BBBBBB"
NOTE = "#555555"  # of small words: grey ones could hardly be read
PALETTE = {"blue": BLUE, "orange": ORANGE, "green": GREEN, "vermilion": VERMILION, "purple": PURPLE}
PALETTE |= {"sky": SKY, "black": BLACK, "grey": GREY}
# The same thing has the same colour in every figure of a paper; a name that is missing is an error.
COLOURS: dict[str, str] = {}  # of the paper that is drawn
LABELS: dict[str, str] = {}  # what legends call it if that is not its name
# What bands and bars of the figure that is drawn mean: it stands on the figure.
SPREAD, INTERVAL = ("bands", "one standard deviation"), ("bands", "95 % intervals")
BARS, BAR_INTERVAL = ("bars", "one standard deviation"), ("bars", "95 % intervals")
_said: dict[str, list[str]] = {}


def say(what: tuple[str, str]) -> None:
    drawn, meaning = what
    if drawn not in _said.setdefault(meaning, []):
        _said[meaning].append(drawn)


def _note() -> str:
    """`bands and bars: one standard deviation`."""
    return "; ".join(f"{' and '.join(sorted(drawn))}: {meaning}" for meaning, drawn in _said.items())


def use_colours(path: Path) -> None:
    """Those of figures/<paper>/colours.yaml: a colour by name, or `{colour: …, label: …}`."""
    COLOURS.clear(), LABELS.clear()
    for name, look in (read(path) or {}).items() if path.is_file() else ():
        look = look if isinstance(look, dict) else {"colour": look}
        if look.keys() - {"colour", "label"} or look.get("colour") not in [*PALETTE]:
            told = f"{path}: {name!r} has no colour of the palette: write one of {', '.join(PALETTE)}"
            raise HarnessError(told)
        COLOURS[name] = PALETTE[look["colour"]]
        LABELS[name] = look.get("label", name)


def style() -> dict[str, object]:
    return {
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "legend.fontsize": 7,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.2,
        "legend.frameon": False,
        "svg.hashsalt": "nas-reproduction",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "figure.dpi": 200,
    }


def band(
    axes: Axes, points: pd.DataFrame, colour: str, label: str, *, alpha: float = 0.2, **line: object
) -> Line2D:
    """`value` against `x` with a band of one spread to both sides."""
    points = points.sort_values("x")
    spread = points["spread"].fillna(0)
    low, high = points["value"] - spread, points["value"] + spread
    axes.fill_between(points["x"], low, high, color=colour, alpha=alpha, linewidth=0)
    if (spread > 0).any():
        say(SPREAD)
    look = {"marker": ".", "markersize": 3, **line}
    return axes.plot(points["x"], points["value"], color=colour, label=label, **look)[0]


def interval(
    axes: Axes,
    points: pd.DataFrame,
    colour: str,
    label: str | None = None,
    *,
    floor: object = None,
    **line: object,
) -> None:
    """`value` against `x` with its 95 % interval as a band; `floor`: where the band must end."""
    points = points.sort_values("x")
    low, high = points["lo"].fillna(points["value"]), points["hi"].fillna(points["value"])
    low = low if floor is None else low.clip(lower=floor)
    axes.fill_between(points["x"], low, high, color=colour, alpha=0.15, linewidth=0)
    if (high > low).any():
        say(INTERVAL)
    axes.plot(points["x"], points["value"], color=colour, label=label, **line)


def not_run(axes: Axes) -> None:
    """A panel without runs says so and shows nothing else."""
    axes.text(0.5, 0.5, "not run at this scale", ha="center", color=GREY, transform=axes.transAxes)
    axes.tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)  # others may share them
    axes.spines[:].set_visible(False)


def save(draw: Callable[[pd.DataFrame, Figure], None], cells: pd.DataFrame, base: Path) -> None:
    """Draw once and write <base>.png, .svg and .pdf without dates, so that equal cells give equal bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with matplotlib.rc_context(style()):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        _said.clear()
        draw(cells, figure)
        if _said:
            figure.suptitle(_note(), x=0.995, ha="right", fontsize=6.5, color=NOTE)
        for kind, metadata in (
            ("png", {"Software": None}),
            ("svg", {"Date": None}),
            ("pdf", {"CreationDate": None}),
        ):
            memory = io.BytesIO()
            figure.savefig(memory, format=kind, metadata=metadata)
            write_atomic(base.with_suffix(f".{kind}"), memory.getvalue())
