"""Sub-spaces of NAS-Bench-201 by the operations that they allow (icw section 3.1.1)."""

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces import nb201


class SubSpace:
    """The cells whose edges use only these operations, given as digits of the whole space."""

    def __init__(self, ops: str) -> None:
        if not ops or not set(ops) <= set("01234") or len(set(ops)) != len(ops):
            raise HarnessError(f"a sub-space of nb201 is told by different digits of 0 to 4, not by {ops!r}")
        self.ops = "".join(sorted(ops))

    def choice(self, arch: str) -> str:
        """What every cell of this architecture chooses."""
        row = nb201.digits(arch)
        if not set(row) <= set(self.ops):
            raise HarnessError(f"architecture {arch} uses operations beyond {self.ops} of its sub-space")
        return row

    def uniform(self, rng: np.random.Generator) -> str:
        """One of its cells, every edge for itself."""
        return "".join(self.ops[i] for i in rng.integers(len(self.ops), size=len(nb201.EDGES)).tolist())

    def enumerate(self) -> list[str]:
        """All its architectures, in the order of the whole space."""
        allowed = set(self.ops)
        return [arch for arch in nb201.SPACE.enumerate() if allowed.issuperset(nb201.digits(arch))]
