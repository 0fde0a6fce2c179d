"""The mixed network that a search by gradient trains, and its architecture parameters (section 3.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from harness.runs.record import Run
from harness.spaces import darts, nb1shot1, nb201
from harness.supernet import mixed, relaxed
from harness.supernet.relaxed import CellWeights, Weights, over
from harness.training.seeded import seeded
from reproduce.sotl.supernets import of_space

CONV3X3 = ("nor_conv_3x3", "conv3x3-bn-relu")


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Which network is mixed, and how its weights come of parameters."""

    space: str
    channels: int
    cells: int  # searched cells per stage; of the DARTS space in all
    head_norm: Literal["batch", "running"] = "batch"  # on NAS-Bench-201, before the classifier (D30)
    operations: Literal["all", "s2"] = "all"  # of the DARTS space
    relaxation: Literal["softmax", "dirichlet"] = "softmax"  # dirichlet: DrNAS
    device: str = "cpu"

    @property
    def ops(self) -> tuple[str, ...]:
        return relaxed.S2 if self.operations == "s2" else relaxed.DARTS_OPS


class MixedNetwork:
    """A network, its architecture's parameters, and what these stand for."""

    def __init__(self, run: Run, config: Mixture, classes: int) -> None:
        self.config, self.classes = config, classes
        make, _ = of_space(config, classes)
        self.network = seeded(run, "weights", lambda: self._mixed(make()), config.device)
        drawn = self._start(run.stream("architecture parameters"))
        self.shapes = drawn
        self.parameters = nn.ParameterList(nn.Parameter(part.to(config.device)) for part in flat(drawn))

    def _mixed(self, network: nn.Module) -> nn.Module:
        if self.config.space == "nb201":
            return mixed.NB201(network)
        if self.config.space == "darts":
            ops = self.config.ops
            return mixed.Darts(mixed.only(network, ops) if self.config.operations == "s2" else network, ops)
        return mixed.NB1Shot1(network)

    def _start(self, rng: np.random.Generator) -> Weights:
        return relaxed.start(self.config.space, rng, self.config.ops)

    def logits(
        self,
        x: Tensor,
        draws: np.random.Generator | None,
        alphas: list[Tensor] | None = None,
        network: Callable[..., Tensor] | None = None,
    ) -> Tensor:
        """`draws`: of DrNAS, which draws weights anew for each minibatch; other parameters if given."""
        return (network or self.network)(x, self.weights(draws, alphas))

    def weights(self, draws: np.random.Generator | None, alphas: list[Tensor] | None = None) -> Weights:
        """Without `draws` those by which an architecture is chosen: of a distribution the mean."""
        relax: Callable[[Tensor], Tensor] = relaxed.softmax
        if self.config.relaxation == "dirichlet":
            relax = relaxed.dirichlet_mean if draws is None else lambda row: relaxed.dirichlet(row, draws)
        return over(shaped(list(self.parameters) if alphas is None else alphas, self.shapes), relax)

    @torch.no_grad()
    def chosen(self) -> Weights:
        return over(self.weights(None), Tensor.cpu)

    def architecture(self) -> str:
        if self.config.space == "nb201":
            return relaxed.nb201_architecture(self.chosen())
        if self.config.space == "darts":
            return relaxed.darts_genotype(self.chosen(), self.config.ops)
        return relaxed.nb1shot1_architecture(self.chosen(), int(self.config.space[-1]))


def flat(parameters: Weights) -> list[Tensor]:
    """All tensors in order."""
    if isinstance(parameters, Tensor):
        return [parameters]
    return [one for part in parameters for one in (part if isinstance(part, tuple) else (part,))]


def shaped(tensors: list[Tensor], like: Weights) -> Weights:
    """The inverse of `flat`."""
    rest = iter(tensors)
    return over(like, lambda _: next(rest))


def read(space: str, arch: str) -> dict[str, int]:
    """What the thesis counts of a found cell: operations by kind, and depth; of DARTS the normal cell's."""
    if space == "nb201":
        ops = [nb201.OPS[int(digit)] for digit in nb201.digits(arch)]
        depths = {"depth": relaxed.nb201_depth(arch)}
    elif space == "darts":
        cells = darts.parse(arch)
        ops = [op for op, _ in (*cells.normal, *cells.reduce)]
        depths = {
            "depth": relaxed.darts_depth(cells.normal),
            "reduction_depth": relaxed.darts_depth(cells.reduce),
        }
    else:
        number = int(space[-1])
        ops = nb1shot1.space(number).validate(arch).split("|")[1].split(",")
        depths = {"depth": relaxed.nb1shot1_depth(arch, number)}
    counts = {
        "skips": relaxed.skips(ops),
        "zeros": ops.count("none"),
        "parameter_free": relaxed.parameter_free(ops),
        "conv3x3": sum(op in CONV3X3 for op in ops),
    }
    return {**counts, **depths}


def heaviest(weights: Weights) -> float:
    """The mean over rows of the largest weight, how far a search is from uniform mixing."""
    rows = flat(weights if isinstance(weights, Tensor | CellWeights) else weights.ops)
    return float(torch.cat([row.max(dim=-1).values for row in rows]).mean())
