"""What rehearsed runs will take on a named GPU: hours, memory, energy; how wrong the same arithmetic is.

Multiplying matrices takes as long as its operations at the device's rate, everything else as long as its
bytes take to be moved; both rates are what a published training reached. A GPU that is faster than Python can
launch its operations waits for them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.yamlfile import nearest, read_with_lines
from harness.published.rehearsed import kind, read
from harness.runs.forecast import Past
from harness.spec.experiments import RunSpec, all_runs

DEVICES = Path(__file__).with_name("devices.yaml")
DAY = 24 * 60
NUMBERS = ("flops", "bytes", "kernels")


@dataclass(frozen=True)
class Device:
    """Peaks, and the share of them that a published training reached."""

    name: str
    title: str
    flops: float
    bandwidth: float
    reached: float
    launch: float
    memory: float
    watts: float

    def seconds(self, row: Mapping[str, str]) -> float:
        flops, moved, kernels = (float(row[name]) for name in NUMBERS)
        return max((flops / self.flops + moved / self.bandwidth) / self.reached, kernels * self.launch)


@cache
def devices() -> dict[str, Device]:
    data, _ = read_with_lines(DEVICES)
    reference, found = data["reference"], {}
    for name, block in data["devices"].items():
        at_peak = reference["flops"] / block["flops"] + reference["bytes"] / block["bandwidth"]
        numbers = {key: block[key] for key in ("title", "flops", "bandwidth", "memory", "watts")}
        found[name] = Device(
            name, reached=at_peak * block["images_per_second"], launch=data["launch"], **numbers
        )
    return found


def device(name: str) -> Device:
    if name not in devices():
        raise HarnessError(f"the GPU {name!r} is not in {DEVICES.name}: {nearest(name, devices())}")
    return devices()[name]


def counted(root: Path = ROOT) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of rehearsals that came to numbers."""
    return {key: row for key, row in read(root).items() if row["flops"]}


def expected(known: Past, scale: str, gpu: Device, root: Path = ROOT) -> Past:
    """With what is rehearsed; and what runs of other scales took that compute the same on a processor."""
    seconds, size = dict(known.seconds), dict(known.size)
    for (of, run), row in counted(root).items():
        spec = _specs(scale, root).get(f"{run}/s0")
        if of == scale and spec and spec.config.get("device") != "cpu":  # a processor's tell the error alone
            seconds.setdefault((scale, f"{run}/s0"), gpu.seconds(row))
            size.setdefault((scale, f"{run}/s0"), int(row["records"] or 0))
    for scale_, run in known.seconds:
        spec = _specs(scale, root).get(run)
        other = _specs(scale_, root).get(run)
        here = spec and scale_ != scale and spec.config.get("device", "cpu") == "cpu"
        if here and other and spec.config == other.config:
            seconds.setdefault((scale, run), known.seconds[scale_, run])
            size.setdefault((scale, run), known.size.get((scale_, run), 0))
    return Past(seconds, size)


@cache
def _specs(scale: str, root: Path) -> dict[str, RunSpec]:
    return {run.id: run for run in all_runs(scale, root)}


def needs(runs: Iterable[RunSpec], known: Past, gpu: Device, root: Path = ROOT) -> tuple[float, float]:
    """Bytes on the GPU that the largest of these runs takes, and kilowatt-hours of all that train there."""
    rows, memory, joules = counted(root), 0.0, 0.0
    for run in runs:
        if run.config.get("device") != "cuda":
            continue
        row = rows.get((run.scale, kind(run)))
        memory = max(memory, float(row["memory"] or 0) if row else 0.0)
        joules += (known.expect(run)[0] or 0.0) * gpu.watts
    return memory, joules / 3.6e6


def minutes(spec: RunSpec, root: Path = ROOT) -> int:
    """That a job may take on a cluster: thrice the forecast on the slowest GPU here; without one a day."""
    row = counted(root).get((spec.scale, kind(spec)))
    if row is None or spec.config.get("device") != "cuda":
        return DAY
    return 30 + math.ceil(max(3 * gpu.seconds(row) for gpu in devices().values()) / 60)


@dataclass(frozen=True)
class Error:
    """Of forecasts of an experiment's runs by rates that the other experiments' runs give."""

    experiment: str
    kinds: int
    factor: float  # the median of predicted / measured
    worst: float  # the largest factor, in either direction


def errors(known: Past, scale: str = "cpu", root: Path = ROOT) -> list[Error]:
    """How wrong the same arithmetic is where runs were made: on this project's processors.

    The three rates of a processor, which takes one operation after the other, are fitted to the seconds of
    all experiments but one, and tell those of that one.
    """
    import numpy as np
    from scipy.optimize import nnls

    took: dict[str, list[float]] = defaultdict(list)
    for (of, run), seconds in known.seconds.items():
        if of == scale:
            took[run.rpartition("/")[0]].append(seconds)
    rows = {run: row for (of, run), row in counted(root).items() if of == scale and took.get(run)}
    names = sorted(rows)
    numbers = np.array([[float(rows[n][key]) for key in NUMBERS] for n in names]).reshape(-1, len(NUMBERS))
    measured = np.array([median(took[n]) for n in names])
    groups = np.array(["/".join(n.split("/")[:2]) for n in names])
    found = []
    for group in dict.fromkeys(groups):
        others, mine = groups != group, groups == group
        if not others.any():
            continue
        rates, _ = nnls(numbers[others] / measured[others, None], np.ones(others.sum()))
        factors = numbers[mine] @ rates / measured[mine]
        worst = max(map(abs, np.log(np.maximum(factors, 1e-9))))
        found.append(Error(str(group), int(mine.sum()), float(median(factors)), math.exp(worst)))
    return found
