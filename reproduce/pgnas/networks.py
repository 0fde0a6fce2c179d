"""The super-networks of section 3 by name."""

from dataclasses import dataclass
from typing import Literal

from reproduce.pgnas import enas_cell, imagenet_nets, shake_shake
from reproduce.pgnas.masked import SuperNet

STEM_AND_HEAD = ("stem", "head")


@dataclass(frozen=True, kw_only=True)
class Network:
    """Which super-network, and how it is dropped from."""

    network: Literal["shake-shake", "enas", "resnet", "densenet"]
    width: int  # channels of the first stage, filters of ENAS, the growth of a DenseNet
    blocks: int = 4  # per stage (shake-shake), layers (enas)
    stem: int = 16  # shake-shake
    depths: tuple[int, ...] = ()  # per stage (resnet, densenet)
    inflated: bool = True  # resnet
    classes: int = 10
    side: int = 32
    shake: bool = True  # D11
    drop_path_keep: float = 0.6  # enas (D12)
    drop_start: float = 0.1
    granularity: Literal["layer", "channel"] = "layer"  # of the drop probabilities (D1)
    mask_after: bool = False  # D6
    stem_and_head: bool = True  # are masked, too (D5)


def build(n: Network) -> SuperNet:
    drops = {
        "start": n.drop_start,
        "per_channel": n.granularity == "channel",
        "after": n.mask_after,
        "exempt": () if n.stem_and_head else STEM_AND_HEAD,
    }
    match n.network:
        case "shake-shake":
            shape = shake_shake.Shape(
                width=n.width, blocks=n.blocks, stem=n.stem, classes=n.classes, shake=n.shake,
            )  # fmt: skip
            return shake_shake.ShakeShake(shape, **drops)
        case "enas":
            cell = enas_cell.Shape(
                filters=n.width, layers=n.blocks, classes=n.classes, side=n.side,
                drop_path_keep=n.drop_path_keep,
            )  # fmt: skip
            return enas_cell.EnasNet(cell, **drops)
        case "resnet":
            res = imagenet_nets.ResNetShape(
                depths=tuple(n.depths), width=n.width, classes=n.classes, inflated=n.inflated
            )
            return imagenet_nets.ResNet(res, **drops)
        case "densenet":
            dense = imagenet_nets.DenseNetShape(
                growth=n.width, depths=tuple(n.depths), classes=n.classes, stem=2 * n.width
            )
            return imagenet_nets.DenseNet(dense, **drops)
