"""What a witness and this project both start from: tensors that a formula gives, and the witness's numbers.

A file of numbers was made once by running the authors' code, in double precision, on these very tensors. It
names the repository, the commit and, in a sentence, how to make it again.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

FOLDER = Path(__file__).parent / "numbers"
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def noise(number: int, *shape: int) -> Tensor:
    """Tensor `number`: values in [-1, 1) in double precision, by splitmix64 of its number and each place."""
    with np.errstate(over="ignore"):
        z = (np.arange(np.prod(shape, dtype=int), dtype=np.uint64) + np.uint64(number << 32)) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return torch.from_numpy((z >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0).reshape(shape)


def fill(parameters: list[nn.Parameter], first: int = 0) -> None:
    """Weights of a size that trains: ±1/√(inputs) for what multiplies; a scale or shift as if it had 16.

    The order counts, not the names: both sides list the parameters in the same order.
    """
    with torch.no_grad():
        for number, weight in enumerate(parameters, first):
            inputs = max(1, weight[0].numel()) if weight.dim() > 1 else 16
            weight.copy_(noise(number, *weight.shape) / inputs**0.5)


def numbers(name: str) -> dict[str, Any]:
    """What the authors' code gave."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def sketch(values: Tensor, number: int = 999) -> list[float]:
    """A large tensor in three numbers: its sum, its Euclidean norm, its product with a formula's."""
    flat = values.detach().double().reshape(-1)
    return [flat.sum().item(), flat.norm().item(), (flat * noise(number, flat.numel())).sum().item()]
