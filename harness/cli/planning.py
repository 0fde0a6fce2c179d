"""What is missing, and what it will take: `plan`; on a GPU that nobody has here: `rehearse`."""

import argparse

from harness.base.layout import Layout
from harness.rehearsal import forecast as of_gpu
from harness.runs import forecast, missing_data
from harness.spec import artefacts, experiments


def plan(options: argparse.Namespace) -> int:
    layout, known = Layout(options.scale), forecast.past()
    chosen, gpu = artefacts.chosen(options.artefacts), of_gpu.device(options.gpu)
    known = of_gpu.expected(known, options.scale, gpu)
    every = {run.id: run for artefact in chosen for run in artefact.runs(options.scale)}
    more = of_gpu.needs(every.values(), known, gpu)[0] > 0
    head = f"{'scale ' + options.scale:28} {'there':>6} {'missing':>8} {'time':>16} {'disk':>14}"
    print(head + (f" {'memory':>9} {'kWh':>7}" if more else ""))
    for artefact in chosen:
        print(_line(artefact.name, artefact.runs(options.scale), layout, known, gpu if more else None))
    print(_line("all of these", list(every.values()), layout, known, gpu if more else None))
    print("time and disk of what is missing, one run after the other; ? = nothing like it was ever run")
    if more:
        print(f"what trains on a GPU: on one {gpu.title}, by rehearsal (docs/gpus.md says how wrong that is)")
    for line in missing_data.lines(every.values(), layout):
        print(line)
    return 0


def _line(
    name: str,
    runs: list[experiments.RunSpec],
    layout: Layout,
    known: forecast.Past,
    gpu: of_gpu.Device | None,
) -> str:
    f = forecast.forecast(runs, layout, known)
    line = f"{name:28} {f.present:6} {f.missing:8} {f.time_text:>16} {f.disk_text:>14}"
    if gpu is None:
        return line
    memory, energy = of_gpu.needs(runs, known, gpu)
    return f"{line} {memory / 1e9:6.1f} GB {energy:7.1f}" if memory else line


def rehearse(options: argparse.Namespace) -> int:
    if options.error:
        found = of_gpu.errors(forecast.past())
        print("runs of scale cpu, forecast from counts by rates that all other experiments give:")
        for one in found:
            told = f"forecast / measured {one.factor:.2f}, at worst off by a factor of {one.worst:.1f}"
            print(f"{one.experiment:32} {one.kinds:3} kinds, {told}")
        return 0
    from harness.rehearsal.rehearse import lacking, rehearse_all, wanted  # loads torch

    runs = [run for artefact in artefacts.chosen(options.artefacts) for run in artefact.runs(options.scale)]
    for row in rehearse_all(runs, options.minutes):
        print(f"{row['run']}: {row['note'] or row['flops'] + ' operations'}", flush=True)
    left, kinds = len(lacking(runs)), len(wanted(runs))
    more = "; the same command goes on" if left else ""
    print(f"{kinds - left} of {kinds} kinds of runs are rehearsed{more}")
    return 0
