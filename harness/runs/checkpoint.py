"""Where a long run keeps its state, so that a killed run continues: beside its results."""

import copy
import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from harness.base.errors import HarnessError, reading
from harness.base.files import sha256_of, write_atomic
from harness.runs.record import Run
from harness.runs.stale import identity, why_other
from harness.spec.experiments import RunSpec

SEAL = hashlib.sha256().digest_size  # bytes before the state; torch itself reads over a flipped bit


class Phase:
    """A part of a run: the state that it was killed in, and what its own parts have come to."""

    def __init__(self, file: "Checkpoint", kept: dict[str, Any]) -> None:
        self._file, self._kept = file, kept

    @property
    def state(self) -> Any | None:
        return self._kept.get("state")

    @property
    def due(self) -> bool:
        return self._file.due

    def save(self, state: Any) -> None:
        self._kept["state"] = state
        self._file.keep()

    def phase(self, name: str, function: Callable[["Phase"], Any]) -> Any:
        """What the function returns (tensors and plain data), or returned before the run was killed.

        What it left in the record then is left again; while it runs, what is saved goes into its own part.
        """
        mine, run = self._kept.setdefault("phases", {}).setdefault(name, {}), self._file.run
        tables = mine.get("tables", {})
        paths = {run.folder / table: digest for table, digest in tables.items()}
        if "returned" in mine and all(p.is_file() and sha256_of(p) == d for p, d in paths.items()):
            for metric in mine["metrics"]:
                run.metric(**metric)
            for truth in mine["truths"]:
                run.truth(truth)
            run.tables |= tables
            return mine["returned"]
        metrics, truths, before = len(run.metrics), len(run.truths), dict(run.tables)
        returned = function(Phase(self._file, mine))
        mine.clear()
        mine["returned"] = copy.deepcopy(returned)  # what is trained on afterwards changes in place
        mine["metrics"] = [vars(metric) for metric in run.metrics[metrics:]]
        mine["truths"] = run.truths[truths:]
        mine["tables"] = {name: digest for name, digest in run.tables.items() if before.get(name) != digest}
        self._file.keep()
        return returned


class Checkpoint:
    """One file in the run's folder; what other code, another config or thread count left is ignored."""

    def __init__(self, run: Run, every: float = 60.0) -> None:
        import torch

        self.run, self.spec, self.threads = run, run.spec, torch.get_num_threads()
        self.path = run.folder / "checkpoint"
        self._phases: dict[str, Any] | None = None
        self.every = every  # seconds
        self._identity = {**identity(run.spec, threads=self.threads), **_named(run.spec)}
        self._saved = time.monotonic()

    def load(self) -> Any | None:
        """The state saved last (tensors and plain data), or None where there is none of this run."""
        if not self.path.is_file():
            return None
        try:
            noted, state = self._read()
        except HarnessError as error:
            os.replace(self.path, self.path.with_name("checkpoint.refused"))
            print(error, file=sys.stderr)
            return None
        mine = all(noted[word] == name for word, name in _named(self.spec).items())
        if reason := why_other(self.spec, noted, threads=self.threads) if mine else "it is of another run":
            print(f"{self.path} does not count, as {reason}: this run begins anew", file=sys.stderr)
            return None
        return state

    def _read(self) -> tuple[dict[str, Any], Any]:
        """A whole file of ours: what carries key and seal has the shape that this code gave it."""
        import torch

        then = "it is set aside as checkpoint.refused, this run begins anew"
        with reading(self.path, "is no whole checkpoint of this project", then):
            data = self.path.read_bytes()
            if hashlib.sha256(data[SEAL:]).digest() != data[:SEAL]:
                raise ValueError("its seal does not hold")
            place = None if torch.cuda.is_available() else "cpu"  # a GPU's tensors are readable without one
            found = dict(torch.load(io.BytesIO(data[SEAL:]), map_location=place, weights_only=True))
            return json.loads(found["identity"]), found["state"]

    @property
    def due(self) -> bool:
        return time.monotonic() - self._saved >= self.every

    def save(self, state: Any) -> None:
        import torch

        memory = io.BytesIO()
        torch.save({"identity": json.dumps(self._identity), "state": state}, memory)
        content = memory.getvalue()
        write_atomic(self.path, hashlib.sha256(content).digest() + content)
        self._saved = time.monotonic()

    def phase(self, name: str, function: Callable[[Phase], Any]) -> Any:
        """See Phase: of a run that consists of such parts."""
        if self._phases is None:
            self._phases = self.load() or {}
        return Phase(self, self._phases).phase(name, function)

    def keep(self) -> None:
        self.save(self._phases)

    def remove(self) -> None:
        """The run has ended."""
        self.path.unlink(missing_ok=True)
        self.path.with_name("checkpoint.refused").unlink(missing_ok=True)


def _named(spec: RunSpec) -> dict[str, str]:
    return {"run": spec.id, "scale": spec.scale}
