"""Tables 3 and 4: the super-networks, their parameters counted part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from harness.runs.record import Run


@dataclass(frozen=True)
class Config:
    """Which super-network without additional weights, as section 3.1 describes it."""

    network: Literal["nb201", "fairnas"]
    side: int  # of the input images
    cells: int = 2  # searched cells per stage (nb201)
    skip_linear: bool = False  # skip as a 1x1 convolution (D1)
    sampled: int = 1000  # stand-alone architectures whose parameters are counted (fairnas, section 3.1.2)


def run(run: Run, config: Config) -> None:
    parts = _parts(config)
    inputs = input_shapes(parts, config.side)
    run.table(
        "parts",
        {
            "part": list(parts),
            "channels": [channels for channels, _ in inputs],
            "spatial": [f"{side}×{side}" for _, side in inputs],
            "params": [
                sum(p.numel() for p in part.parameters() if p.requires_grad) for part in parts.values()
            ],
        },
    )
    if config.network == "fairnas":
        from harness.spaces import fairnas

        sampled = fairnas.SPACE.sample(config.sampled, run.stream("architectures"))
        millions = fairnas.SPACE.params_of(sampled, "subimagenet") / 1e6
        run.table("standalone", {"millions": millions, "typical": (millions >= 2.5) & (millions <= 3.5)})


def _parts(config: Config) -> Mapping[str, nn.Module]:
    if config.network == "fairnas":
        from harness.spaces.fairnas_net import parts

        return parts(classes=100)
    from harness.supernet.nb201_net import Skeleton, SuperNetwork

    return SuperNetwork(Skeleton(cells=config.cells, skip_linear=config.skip_linear)).parts()


def input_shapes(parts: Mapping[str, nn.Module], side: int) -> list[tuple[int, int]]:
    """Channels and side of the image or feature map that each part sees, by passing one image through."""
    x, shapes = torch.zeros(1, 3, side, side), []
    with torch.no_grad():
        for part in parts.values():
            shapes.append((x.shape[1], x.shape[2]))
            part.eval()
            if isinstance(part, nn.ModuleList):  # a choice of blocks, all of the same shape
                x = part[0](x)
            elif hasattr(part, "edges"):  # a super-cell keeps the shape
                x = part(x, "3" * len(part.edges))
            else:
                x = part(x)
    return shapes
