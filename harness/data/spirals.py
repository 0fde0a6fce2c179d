"""The two-armed spirals of the LDN paper: a generator, its split, its normalisation."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

NoiseKind = Literal["uniform01", "gauss"]


@dataclass(frozen=True)
class Points:
    """Points of the plane, float32 [n, 2], with the arm that each belongs to."""

    x: np.ndarray
    y: np.ndarray


def spirals(
    points: int,
    rng: np.random.Generator,
    *,
    rotation: float = 720.0,
    noise_kind: NoiseKind = "uniform01",
    noise: float = 0.2,
    arms: int = 2,
) -> Points:
    """Arms of equal size, points in random order; the radius is the angle, the root of a uniform number.

    The noise is added before an arm is turned to its place: uniform noise, being one-sided, moves arms apart.
    """
    x, y = [], []
    for arm in range(arms):
        size = points // arms + (arm < points % arms)
        angle = np.sqrt(rng.random(size)) * np.deg2rad(rotation)
        shape = (size, 2)
        shift = rng.random(shape) if noise_kind == "uniform01" else rng.standard_normal(shape)
        arm_points = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) + noise * shift
        turn = 2 * np.pi * arm / arms
        matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        x.append(arm_points @ matrix)
        y.append(np.full(size, arm))
    order = rng.permutation(points)
    return Points(np.concatenate(x)[order].astype(np.float32), np.concatenate(y)[order].astype(np.int64))


def split(points: Points, train: int) -> tuple[Points, Points]:
    """The first `train` points (they are in random order) and the rest, both standardised by the first."""
    mean, std = points.x[:train].mean(0), points.x[:train].std(0)
    x = ((points.x - mean) / std).astype(np.float32)
    return Points(x[:train], points.y[:train]), Points(x[train:], points.y[train:])
