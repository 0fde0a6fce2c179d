"""Run one run: module, config, record."""

import importlib
import os
import time
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.files import at_work
from harness.base.layout import Layout
from harness.base.settings import build
from harness.base.threads import THREADS
from harness.runs import earlier, gpus
from harness.runs.allocator import keep_memory
from harness.runs.record import Run, commit, now, write_record
from harness.runs.stale import identity
from harness.spec.experiments import RunSpec


def execute(spec: RunSpec, layout: Layout, *, threads: int | None = None) -> Path:
    """`reproduce.<paper>.<experiment>.run(run, config)`, and its record when it has ended well."""
    earlier.set_aside(spec, layout)
    folder = layout.run_folder(spec.id)
    folder.mkdir(parents=True, exist_ok=True)
    threads = threads or spec.resources["threads"]
    # Identity of results is promised per thread count only, so the count is set before numpy or torch start:
    # they read it once, when they are loaded. Nothing up to here loads them, or `warm` has with one thread.
    for name in THREADS:
        os.environ[name] = str(threads)
    allocator = keep_memory()
    # Of the code that is imported now: while a long run goes on, its files may be edited.
    mine, came_from = identity(spec, layout.root, threads), commit()
    try:
        module = importlib.import_module(spec.module)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith(spec.module):
            raise HarnessError(
                f"experiment {spec.experiment!r} of {spec.paper} has no module {spec.module}:"
                f" write it or remove it from reproduce/{spec.paper}/experiments.yaml"
            ) from None
        raise
    for name in ("Config", "run"):
        if not hasattr(module, name):
            raise HarnessError(
                f"{spec.module} has no {name}, so it is no experiment: correct the name or the module of"
                f" {spec.experiment!r} in reproduce/{spec.paper}/experiments.yaml"
            )
    config = build(module.Config, spec.config, spec.id)
    device = getattr(config, "device", "cpu")
    if device == "cuda":
        gpus.take(spec)  # before torch is asked, which looks once at what there is
    _require(device, spec.id)
    run = Run(spec, folder)
    with at_work(folder):
        started, clock = now(), time.perf_counter()
        module.run(run, config)
        seconds = time.perf_counter() - clock
        write_record(
            run,
            identity=mine,
            commit=came_from,
            device=device,
            allocator=allocator,
            started=started,
            seconds=seconds,
        )
    return folder / "run.json"


def _require(device: str, run: str) -> None:
    """Refuse before anything is read where torch has no such device."""
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise HarnessError(f"{run} wants a GPU and torch sees none: use scale cpu or a CUDA build")
