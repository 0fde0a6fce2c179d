"""Where a long run keeps its state, so that a killed run continues: beside its results."""

import io
import sys
import time
from typing import Any

from harness.code_id import code_id
from harness.errors import HarnessError
from harness.experiments import canonical
from harness.files import write_atomic
from harness.record import Run


class Checkpoint:
    """One file in the run's folder; what other code, another config or thread count left is ignored."""

    def __init__(self, run: Run, every: float = 60.0) -> None:
        import torch

        spec = run.spec
        self.path = run.folder / "checkpoint"
        self.every = every  # seconds
        self._key = repr((spec.id, spec.scale, canonical(spec.config), code_id(spec.module)))
        self._key += f" threads={torch.get_num_threads()}"
        self._saved = time.monotonic()

    def load(self) -> Any | None:
        """The state saved last (tensors and plain data), or None where there is none of this run."""
        import torch

        if not self.path.is_file():
            return None
        try:
            found = torch.load(self.path, weights_only=True)
        except Exception as error:  # torch raises whatever its reader meets
            raise HarnessError(f"{self.path} cannot be read ({type(error).__name__}): delete it") from None
        if found["key"] == self._key:
            return found["state"]
        print(
            f"{self.path} is of another configuration, other code or another number of threads:"
            " this run begins anew",
            file=sys.stderr,
        )
        return None

    @property
    def due(self) -> bool:
        return time.monotonic() - self._saved >= self.every

    def save(self, state: Any) -> None:
        import torch

        memory = io.BytesIO()
        torch.save({"key": self._key, "state": state}, memory)
        write_atomic(self.path, memory.getvalue())
        self._saved = time.monotonic()

    def remove(self) -> None:
        """The run has ended."""
        self.path.unlink(missing_ok=True)
