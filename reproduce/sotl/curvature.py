"""The ends of the spectrum of a Hessian by few parameters (section 4.3.5)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

DENSE = 64  # up to so many parameters the whole Hessian is made


class Ends(NamedTuple):
    """The largest and the smallest eigenvalue."""

    largest: float
    smallest: float


Loss = Callable[[list[Tensor]], Tensor]


def eigenvalues(loss: Loss, parameters: list[Tensor], steps: int = 20) -> Ends:
    """Exact up to DENSE parameters; above, `steps` of Lanczos' iteration, which come to the ends first."""
    times, size = products(loss, parameters)
    if size <= DENSE:
        found = np.linalg.eigvalsh(dense(times, size))
    else:
        found = lanczos(times, size, min(steps, size))
    return Ends(float(found[-1]), float(found[0]))


def products(loss: Loss, parameters: list[Tensor]) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """What multiplies a vector by the Hessian, by differentiating twice, and the size of the vector."""
    points = [parameter.detach().clone().requires_grad_() for parameter in parameters]
    slopes = torch.autograd.grad(loss(points), points, create_graph=True)
    slope = torch.cat([one.flatten() for one in slopes])

    def times(vector: np.ndarray) -> np.ndarray:
        towards = torch.from_numpy(vector).to(slope)
        rows = torch.autograd.grad(slope, points, towards, retain_graph=True)
        return torch.cat([row.flatten() for row in rows]).double().cpu().numpy()

    return times, len(slope)


def dense(times: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """The Hessian, its rounding made symmetric."""
    rows = np.stack([times(unit) for unit in np.eye(size)])
    return (rows + rows.T) / 2


def lanczos(times: Callable[[np.ndarray], np.ndarray], size: int, steps: int) -> np.ndarray:
    """The eigenvalues within a Krylov space, ascending; each vector is kept orthogonal to all before."""
    start = np.random.Generator(np.random.PCG64(0)).standard_normal(size)
    basis, inside = [start / np.linalg.norm(start)], np.zeros((steps, steps))
    for step in range(steps):
        image = times(basis[-1])
        for _ in range(2):  # once more for what rounding left
            for row, known in enumerate(basis):
                part = float(known @ image)
                inside[row, step] += part
                image = image - part * known
        length = float(np.linalg.norm(image))
        if step + 1 == steps or length < 1e-10 * max(1.0, np.abs(inside).max()):
            return np.linalg.eigvalsh((inside[: step + 1, : step + 1] + inside[: step + 1, : step + 1].T) / 2)
        basis.append(image / length)
        inside[step + 1, step] = length
    raise AssertionError("a Krylov space has one step at least")
