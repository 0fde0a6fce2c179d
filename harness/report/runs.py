"""The runs behind the numbers, for the page's script."""

import json
from typing import Any

from harness.report.read import Paper

_SHARED = ("code", "commit", "device", "threads", "status")  # the same for most runs: kept once


def behind(papers: list[Paper], scale: str) -> dict[str, Any]:
    """Runs, what they share, their configs, and the runs of each number, claim and artefact by its place."""
    known = {name: record for paper in papers for name, record in paper.runs.items()}
    place = {name: index for index, name in enumerate(known)}
    configs: dict[str, int] = {}
    shared: dict[str, int] = {}
    described = []
    for name, record in known.items():
        config = json.dumps(record["config"], indent=2, ensure_ascii=False)
        common = json.dumps({key: record[key] for key in _SHARED} | {"host": _host(record["machine"])})
        described.append(
            {"id": name, "seed": record["seed"], "hours": round(record["seconds"] / 3600, 6)}
            | {"start": record["started"], "end": record["ended"]}
            | {"config": configs.setdefault(config, len(configs))}
            | {"shared": shared.setdefault(common, len(shared))}
        )
    numbers = [
        [place[run] for run in runs if run in place]
        for paper in papers
        for section in paper.sections
        for runs in section.behind
    ]
    once = {"shared": [json.loads(text) for text in shared], "configs": list(configs)}
    return {"scale": scale, "runs": described, "numbers": numbers} | once


def _host(machine: dict[str, Any]) -> str:
    """`AMD EPYC, 2 cores, python 3.13.5, torch 2.13.0`."""
    first = [str(machine.get("processor", "")), f"{machine.get('cores', '?')} cores"]
    rest = [f"{key} {machine[key]}" for key in machine if key not in ("processor", "cores", "system")]
    return ", ".join(filter(None, first + rest))
