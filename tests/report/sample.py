"""A small results folder for the report's tests: the paper's numbers as printed, ours made up."""

import json
from html import escape
from pathlib import Path

HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\">"
PARAMS = (  # Table 4.5, column Params: space, reported, made-up value, verdict
    ("NB201 (CIFAR10)", "0.79 (0.00)", 0.7613, "agrees"),
    ("NB201 (CIFAR100)", "0.77 (0.00)", 0.7328, "agrees"),
    ("NB201 (ImageNet)", "0.74 (0.00)", 0.7391, "match"),
    ("NB101-1", "0.79 (0.00)", 0.7912, "match"),
    ("NB101-2", "0.81 (0.00)", 0.8049, "match"),
    ("NB101-3", "0.78 (0.00)", 0.6604, "differs"),
    ("DARTS", "0.47 (0.00)", None, "out of reach"),
)
CELLS = (("stem", 464), *((str(k), 16896) for k in (0, 1)), ("2", 14464), ("head", 778), ("sum", 782938))


def run(name: str, scale: str, seed: int, hours: float = 0.0007) -> dict:
    config = {
        "space": "nb101-1",
        "dataset": "cifar10",
        "architectures": 200,
        "truth": {"split": "test", "epochs": 108},
    }
    return {
        "command": f"python -m harness run {name} --scale {scale}",
        "seed": seed,
        "code": "5be1c0ffee24",
        "commit": "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "host": "bench-1",
        "device": "cpu",
        "threads": 1,
        "hours": hours,
        "start": f"2026-03-0{seed + 1}T08:15:00",
        "end": f"2026-03-0{seed + 1}T08:15:02.519",
        "config": config | {"seed": seed},
        "status": "done",
    }


def cell(row: str, column: str, text: str, verdict: str, **more) -> dict:
    empty = dict.fromkeys(("value", "n", "spread", "spread_kind", "lo", "hi")) | {"unit": ""}
    return (
        empty
        | {
            "row": row,
            "column": column,
            "text": text,
            "verdict": verdict,
            "reported": "",
            "reason": "",
            "runs": [],
        }
        | more
    )


def artefact(id: str, kind: str, title: str, where: str, **more) -> dict:
    target = id.replace("/", "_")
    return {
        "id": id,
        "target": target,
        "kind": kind,
        "title": title,
        "label": where.partition(",")[0],
        "where": where,
        "caption": "",
        "command": f"snakemake {target} --config scale=smoke",
        "files": {},
        "cells": [],
        "claims": [],
        "notes": [],
        "truths": [],
    } | more


def table_html(head: list[str], rows: list[list[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)
    body = "".join(
        f'<tr><th scope="row">{escape(r[0])}</th>{"".join(f"<td>{escape(c)}</td>" for c in r[1:])}</tr>'
        for r in rows
    )
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody>\n</table>\n"


def curve_svg() -> str:
    """Three curves with axes, as plain as a picture can be."""
    curves = ("#1f77b4", 0.9), ("#ff7f0e", 0.7), ("#2ca02c", 0.4)
    paths = "".join(
        f'<polyline fill="none" stroke="{color}" points="'
        + " ".join(f"{40 + 18 * k},{150 - 120 * top * (1 - 0.8**k):.1f}" for k in range(20))
        + '"/>'
        for color, top in curves
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 180" width="400" height="180">'
        f'<path d="M40 10V150H390" fill="none" stroke="#333"/>{paths}</svg>'
    )


def table_4_5(spaces: tuple = PARAMS) -> tuple[dict, dict]:
    cells, runs = [], {}
    for space, reported, value, verdict in spaces:
        slug = space.lower().replace(" ", "-").replace("(", "").replace(")", "")
        names = [f"sotl/params_correlation/params/{slug}/s{s}" for s in range(3)] if value else []
        runs |= {name: run(name, "smoke", seed) for seed, name in enumerate(names)}
        reasons = {
            "match": "equal after rounding as printed",
            "agrees": "the paper's value lies inside the interval",
            "differs": "below the interval: three rules of drawing cells were tried, see D3",
            "out of reach": "needs 200 trainings of 100 epochs, about 2,900 GPU hours",
        }
        shown = (
            {}
            if value is None
            else {
                "value": value,
                "n": 200,
                "spread": 0.0187,
                "spread_kind": "bootstrap",
                "lo": value - 0.04,
                "hi": value + 0.03,
            }
        )
        text = "" if value is None else f"{value:.2f}"
        more = {"reported": reported, "reason": reasons[verdict], "runs": names} | shown
        cells.append(cell(space, "Params", text, verdict, **more))
    claims = [
        {
            "id": "params-strong",
            "text": "The parameter count correlates at roughly 80% with the truth.",
            "where": "§4.2.4",
            "verdict": "agrees",
            "reason": "six of seven spaces lie between 0.66 and 0.80",
        },
        {
            "id": "params-darts",
            "text": "DARTS is the space where the parameter count tells least.",
            "where": "Table 4.5",
            "verdict": "not run",
            "reason": "needs the DARTS row",
        },
    ]
    made = artefact(
        "sotl/table_4_5",
        "table",
        "Rank correlation of parameter count and truth",
        "Table 4.5, §4.2.4",
        caption="Spearman correlation of the parameter count with test accuracy, 200 architectures, "
        "three draws, intervals by bootstrap over architectures. Scale smoke.",
        files={"csv": "tables/sotl/table_4_5.cells.csv", "html": "tables/sotl/table_4_5.html"},
        cells=cells,
        claims=claims,
        notes=[
            {
                "id": "D3",
                "text": "How cells of NB101-3 were drawn is not said; here uniformly over encodings.",
            }
        ],
        truths=["NB201 x-test, 200 epochs, mean of trials, nb201-table sha256 5d1f0a77…"],
    )
    return made, runs


def curve(names: list[str]) -> list[dict]:
    """Six points that the paper draws and does not print, and four that no run made."""
    places = [(f"L1, epoch {k}", column) for k in (1, 2, 3, 10, 11) for column in ("SoGN", "top 10")]
    drawn = {"n": 3, "spread": 0.02, "spread_kind": "sample_sd", "lo": 0.2, "hi": 0.4, "runs": names}
    points = [cell(*place, "0.30 (0.02)", "", value=0.3, **drawn) for place in places[:6]]
    reason = "fewer epochs are trained at this scale"
    return points + [cell(*place, "–", "not run", reason=reason) for place in places[6:]]


def figure_4_9() -> tuple[dict, dict]:
    names = [f"sotl/finetune/sog/nb201-cifar10/s{s}" for s in range(3)]
    runs = {name: run(name, "smoke", seed, hours=0.0625) for seed, name in enumerate(names)}
    cells = [
        cell(
            f"SoG, epoch {epoch}",
            "Spearman",
            f"{0.4 + 0.02 * epoch:.2f}",
            "not comparable",
            value=0.4 + 0.02 * epoch,
            n=3,
            spread=0.031,
            spread_kind="sample_sd",
            lo=0.3,
            hi=0.9,
            reason="scaled down",
            runs=names,
        )
        for epoch in range(1, 13)
    ]
    cells += curve(names)
    claims = [
        {
            "id": "sog-beats-sogn",
            "text": "SoG ranks better than SoGN at every epoch.",
            "where": "Figure 4.9a",
            "verdict": "contradicts",
            "reason": "SoGN leads for the first four epochs in all three seeds",
        }
    ]
    made = artefact(
        "sotl/figure_4_9",
        "figure",
        "SoG and SoGN while finetuning",
        "Figure 4.9, §4.2.4",
        caption="Spearman correlation while finetuning SPOS checkpoints, three seeds. Scale smoke.",
        files={"svg": "figures/sotl/figure_4_9.svg"},
        cells=cells,
        claims=claims,
    )
    return made, runs


def icw_table_3() -> dict:
    cells = [
        cell(
            f"cell {name}" if name.isdigit() else name,
            "params",
            f"{count:,}",
            "match",
            value=count,
            reported=f"{count:,}",
            reason="equal as printed",
        )
        for name, count in CELLS
    ]
    cells.append(
        cell(
            "sum, skip without weights", "params", "718,426", "", value=718426, reason="the authors' default"
        )
    )
    note = "The printed counts need a linear 1×1 convolution in place of skip; the text does not say so."
    cells.append(
        cell("reduction", "operations", "6", "paper issue", reported="5", reason="text ≠ table, see D1")
    )
    return artefact(
        "icw/table_3",
        "table",
        "Parameters of the NAS-Bench-201 super-network",
        "Table 3, Appendix B",
        caption="Counted from the network that the runs build, not typed. Scale smoke.",
        files={"html": "tables/icw/table_3.html"},
        cells=cells,
        notes=[{"id": "D1", "text": note}],
    )


def write_results(folder: Path, *, reason: str | None = None) -> Path:
    """results/smoke with two papers, three artefacts; `reason` goes wherever the first cell has text."""
    scale_dir = folder / "results" / "smoke"
    (table, runs), (figure, more), counted = table_4_5(), figure_4_9(), icw_table_3()
    if reason is not None:
        table["cells"][0] |= {
            "row": reason,
            "column": reason,
            "reason": reason,
            "reported": reason,
            "text": reason,
        }
        table |= {"title": reason, "caption": reason}
        runs[table["cells"][0]["runs"][0]]["command"] = reason
    shown = table_html(["Search space", "Params"], [[c["row"], c["text"] or "–"] for c in table["cells"]])
    texts = {
        "tables/sotl/table_4_5.html": shown,
        "tables/sotl/table_4_5.cells.csv": "row,column,n,value\n",
        "figures/sotl/figure_4_9.svg": curve_svg(),
        "tables/icw/table_3.html": table_html(["cell index", "params"], [[n, f"{c:,}"] for n, c in CELLS]),
    }
    about = {
        "sotl": (
            "Improving weight-sharing Neural Architecture Search with a marginal likelihood estimator",
            "thesis, 2021",
        ),
        "icw": ("Inter-choice dependent super-network weights", "2021"),
    }
    for paper, artefacts, known in (("sotl", [table, figure], runs | more), ("icw", [counted], {})):
        title, year = about[paper]
        record = {
            "paper": paper,
            "title": title,
            "authors_year": year,
            "scale": "smoke",
            "artefacts": artefacts,
            "runs": known,
        }
        texts[f"check/{paper}.json"] = json.dumps(record, indent=1)
    for name, text in texts.items():
        path = scale_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return scale_dir
