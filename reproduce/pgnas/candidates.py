"""Section 2.3: sub-networks sampled by their drop probabilities, scored and ranked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.supernet.ranking import Batch
from reproduce.pgnas.counts import evaluating
from reproduce.pgnas.masked import MaskedConv, SuperNet
from reproduce.pgnas.shake_shake import Block, ShakeShake, Skip

BLOCK = 16  # channels that a processor's convolution takes at once
LAST = 255  # of the ranks that are kept: further ones count as this
Pair = tuple[Tensor, Tensor]  # a weight and a shift
MEMORY = 2**31  # bytes that the masks of a list of candidates may take
WEIGHTS = 2**28  # bytes that the weights of merged candidates may take at once


def sample(p: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Hard masks [candidates, channels], as bytes; the first are the same however many follow."""
    if count * len(p) > MEMORY:
        raise HarnessError(
            f"{count:,} candidates of {len(p):,} channels are {count * len(p) / 1e9:.1f} GB of masks: lower"
            " candidates"
        )
    probability = p.detach().cpu().numpy()
    rows = [rng.random(len(probability), dtype=np.float32) >= probability for _ in range(count)]
    return torch.from_numpy(np.array(rows, dtype=np.uint8).reshape(count, len(probability)))


def uniform(network: SuperNet, count: int, rng: np.random.Generator) -> Tensor:
    """Hard masks of the mean probability in every layer."""
    p = network.p_of_channels.detach()
    return sample(p.mean().expand_as(p), count, rng)


def shuffled(network: SuperNet, count: int, rng: np.random.Generator) -> Tensor:
    """Hard masks of the learnt probabilities, dealt anew for each mask: a layer has another one's."""
    p, places = network.p.detach().cpu(), network.of_channel.cpu()
    return torch.cat(
        [sample(p[torch.from_numpy(rng.permutation(len(p)))][places], 1, rng) for _ in range(count)]
    )


def ranks(logits: Tensor, y: Tensor) -> Tensor:
    """Of each image, how many classes are more probable than the right one: 0 is top-1, below 5 is top-5."""
    return (logits > logits.gather(1, y[:, None])).sum(1)


@dataclass(frozen=True)
class Errors:
    """Percent of images whose class is not the most probable, and not among the five most probable."""

    top1: float
    top5: float

    @classmethod
    def of(cls, found: Tensor) -> "Errors":
        right = [(found < k).sum().item() for k in (1, 5)]
        return cls(*(100.0 * (len(found) - r) / len(found) for r in right))


@torch.no_grad()
def errors(network: nn.Module, batches: Sequence[Batch]) -> Errors:
    """In evaluation mode, with the masks that it wears."""
    with evaluating(network):
        return Errors.of(torch.cat([ranks(network(x), y) for x, y in batches]))


def worn(network: SuperNet, mask: Tensor, scale: Tensor | None = None) -> Tensor:
    """A mask as the layers take it; `scale`: what each kept channel is multiplied by (D14)."""
    mask = mask.to(network.drop_logits.detach())
    return mask if scale is None else mask * scale


def score_plainly(
    network: SuperNet, masks: Tensor, batches: Sequence[Batch], scale: Tensor | None = None
) -> Tensor:
    """Ranks of the right class [candidates, images], as bytes: the network wears one mask after the other."""

    def one(mask: Tensor) -> Callable[[Tensor], Tensor]:
        def run(x: Tensor) -> Tensor:
            with network.wearing(mask[None]):
                return network(x)

        return run

    with evaluating(network):
        return _scored(network, masks, batches, scale, one)


def score(network: SuperNet, masks: Tensor, batches: Sequence[Batch], scale: Tensor | None = None) -> Tensor:
    """The same ranks, sooner where the network can be merged.

    Merging rounds in another order: logits differ in their last digits, and so, seldom, does a rank.
    """
    if not isinstance(network, ShakeShake) or any(layer.after for layer in network.layers.values()):
        return score_plainly(network, masks, batches, scale)
    bytes_of_one = sum(p.numel() * p.element_size() for p in network.parameters())
    groups = masks.split(max(1, WEIGHTS // bytes_of_one))
    return torch.cat([_scored(network, group, batches, scale, partial(Merged, network)) for group in groups])


@torch.no_grad()
def _scored(
    network: SuperNet,
    masks: Tensor,
    batches: Sequence[Batch],
    scale: Tensor | None,
    build: Callable[[Tensor], Callable[[Tensor], Tensor]],
) -> Tensor:
    """Each batch is read once for all of them."""
    network.check_masks(masks)
    candidates = [build(worn(network, mask, scale)) for mask in masks]
    found = []
    for x, y in batches:
        here = [ranks(candidate(x), y).clamp(max=LAST).to(torch.uint8) for candidate in candidates]
        found.append(torch.stack(here).cpu())
    return torch.cat(found, 1)


class Merged:
    """A candidate of a shake-shake network, to evaluate: a block's two branches as one of twice the width.

    Masks, norms and the branches' halves are folded into weights. Inside a branch, channels that are dropped
    are left out, down to a multiple of BLOCK. A skip's two 1×1 convolutions are one of 2×2.
    """

    def __init__(self, network: ShakeShake, mask: Tensor) -> None:
        self.kept = dict(zip(network.layers, mask.split(network.widths), strict=True))
        self.stem = self._folded("stem", network.stem, network.stem_norm)
        self.blocks = [self._block(f"blocks.{i}", block) for i, block in enumerate(network.blocks)]
        head, kept = network.head, self.kept.get("head", mask.new_ones(network.head.in_features))
        self.head = head.weight * kept, head.bias

    def __call__(self, x: Tensor) -> Tensor:
        x = functional.conv2d(x, *self.stem, padding=1)
        for first, second, skip, stride in self.blocks:
            inside = functional.conv2d(functional.relu(x), *first, stride=stride, padding=1).relu_()
            if skip is not None:
                x = functional.conv2d(functional.pad(x, (0, 1, 0, 1)), *skip, stride=stride)
            x = functional.conv2d(inside, *second, padding=1).add_(x)
        return functional.linear(functional.relu(x).mean((2, 3)), *self.head)

    def _block(self, name: str, block: Block) -> tuple[Pair, Pair, Pair | None, int]:
        branches = {f"{name}.first": block.first, f"{name}.second": block.second}
        ins = [self._folded(f"{b}.conv1", part.conv1, part.norm1) for b, part in branches.items()]
        outs = [self._folded(f"{b}.conv2", part.conv2, part.norm2, 0.5) for b, part in branches.items()]
        weights, shifts = torch.cat([w for w, _ in ins]), torch.cat([s for _, s in ins])
        second, moved = torch.cat([w for w, _ in outs], 1), outs[0][1] + outs[1][1]
        if (read := _some(second.abs().amax((0, 2, 3)))) is not None:
            weights, shifts, second = weights[read], shifts[read], second[:, read]
        skip = None
        if isinstance(block.skip, Skip):
            half, part = block.skip.conv1.out_channels, block.skip
            w1, s1 = self._folded(f"{name}.skip.conv1", part.conv1, part.norm, 1.0, slice(half))
            w2, s2 = self._folded(f"{name}.skip.conv2", part.conv2, part.norm, 1.0, slice(half, None))
            one, other = functional.pad(w1, (0, 1, 0, 1)), functional.pad(w2, (1, 0, 1, 0))
            skip = _last(torch.cat([one, other])), torch.cat([s1, s2])
        return (_last(weights), shifts), (_last(second), moved), skip, block.first.conv1.stride[0]

    def _folded(
        self, name: str, conv: MaskedConv, norm: nn.BatchNorm2d, share: float = 1.0, part: slice = slice(None)
    ) -> Pair:
        """A weight and a shift that give `share` of what conv and norm give; `part`: the norm's channels."""
        scale = share * norm.weight[part] * torch.rsqrt(norm.running_var[part] + norm.eps)
        weight = conv.weight * scale[:, None, None, None]
        if name in self.kept:
            weight = weight * self.kept[name][None, :, None, None]
        return _last(weight), share * norm.bias[part] - norm.running_mean[part] * scale


def _last(weight: Tensor) -> Tensor:
    return weight.contiguous(memory_format=torch.channels_last)


def _some(sizes: Tensor) -> Tensor | None:
    """Channels that are not zero, and as many others as fill up a multiple of BLOCK; None where it is all."""
    wanted = -(-max(int(sizes.count_nonzero()), 1) // BLOCK) * BLOCK
    if wanted >= len(sizes):
        return None
    return sizes.ne(0).byte().argsort(descending=True, stable=True)[:wanted].sort().values
