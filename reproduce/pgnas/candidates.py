"""Section 2.3: sub-networks sampled by their drop probabilities, scored and ranked."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.supernet.ranking import Batch
from reproduce.pgnas.counts import evaluating
from reproduce.pgnas.masked import MaskedConv, ShiftNorm, SuperNet
from reproduce.pgnas.shake_shake import Block, Branch, ShakeShake, Skip

BLOCK = 16  # channels that a processor's convolution takes at once
MEMORY = 2**31  # bytes that the masks of a list of candidates may take


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


@torch.no_grad()
def score_plainly(
    network: SuperNet, masks: Tensor, batches: Sequence[Batch], scale: Tensor | None = None
) -> Tensor:
    """Ranks of the right class [candidates, images]: each candidate is built and run, one after the other."""
    network.check_masks(masks)
    found = []
    for mask in masks:
        candidate = copy.deepcopy(network).eval()
        candidate.wear(worn(network, mask, scale)[None])
        found.append(torch.cat([ranks(candidate(x), y) for x, y in batches]).to(torch.uint8))
    return torch.stack(found)


@torch.no_grad()
def score(network: SuperNet, masks: Tensor, batches: Sequence[Batch], scale: Tensor | None = None) -> Tensor:
    """The same ranks, sooner: masks and norms are folded into weights, equal beginnings run once.

    Folding rounds in another order: logits differ in their last digits, and so, seldom, does a rank.
    """
    network.check_masks(masks)
    if not isinstance(network, ShakeShake) or any(layer.after for layer in network.layers.values()):
        return score_plainly(network, masks, batches, scale)
    order = np.lexsort(masks.cpu().numpy().T[::-1])  # neighbours begin alike
    found = torch.empty(len(masks), sum(len(y) for _, y in batches), dtype=torch.uint8)
    start = 0
    for x, y in batches:
        rows = slice(start, start + len(y))
        for number, logits in _logits(network, masks, order, x, scale):
            found[number, rows] = ranks(logits, y).to(torch.uint8)
        start += len(y)
    return found


class Folded:
    """Weights of one network, in evaluation mode, into which a mask can be folded."""

    def __init__(self, network: ShakeShake) -> None:
        self.convs: dict[str, tuple[Tensor, Tensor, int, int]] = {}
        for name, module in network.named_modules():
            if isinstance(module, Branch):
                self._take(f"{name}.conv1", module.conv1, module.norm1, 1.0)
                self._take(f"{name}.conv2", module.conv2, module.norm2, 0.5)  # half of each branch
            elif isinstance(module, Skip):
                half = module.conv1.out_channels
                self._take(f"{name}.conv1", module.conv1, module.norm, 1.0, slice(half))
                self._take(f"{name}.conv2", module.conv2, module.norm, 1.0, slice(half, None))
        self._take("stem", network.stem, network.stem_norm, 1.0)

    def _take(
        self, name: str, conv: MaskedConv, norm: ShiftNorm, share: float, part: slice = slice(None)
    ) -> None:
        scale = share * torch.rsqrt(norm.running_var[part] + norm.eps)
        shift = share * norm.bias[part] - norm.running_mean[part] * scale
        weight = (conv.weight * scale[:, None, None, None]).contiguous(memory_format=torch.channels_last)
        self.convs[name] = weight, shift, conv.stride[0], conv.padding[0]

    def __call__(self, name: str, x: Tensor, mask: Tensor | None, writes: Tensor | None = None) -> Tensor:
        """`writes`: the outputs that somebody reads. Inputs that are dropped are left out where that pays."""
        weight, shift, stride, padding = self.convs[name]
        if writes is not None:
            weight, shift = weight[writes], shift[writes]
        if mask is not None:
            weight = weight * mask[None, :, None, None]
            if (reads := needed(mask)) is not None:
                weight = weight[:, reads]
                x = x.index_select(1, reads) if x.shape[1] == len(mask) else x
        return functional.conv2d(x, weight, shift, stride, padding)


def needed(mask: Tensor) -> Tensor | None:
    """The channels that are kept, and as many others as fill up a multiple of BLOCK; None where it is all."""
    wanted = -(-max(int(mask.count_nonzero()), 1) // BLOCK) * BLOCK
    if wanted >= len(mask):
        return None
    return mask.ne(0).byte().argsort(descending=True, stable=True)[:wanted].sort().values


def _logits(
    network: ShakeShake, masks: Tensor, order: np.ndarray, x: Tensor, scale: Tensor | None
) -> Iterator[tuple[int, Tensor]]:
    """Of each candidate; what it shares with the one before it is kept."""
    folded, names = Folded(network), list(network.layers)
    stages = ["stem", *(f"blocks.{i}" for i in range(len(network.blocks)))]
    ends, at = [0] * len(stages), 0  # the channel of a mask behind which each stage's own end
    for name, width in zip(names, network.widths, strict=True):
        at += width
        found = [i for i, stage in enumerate(stages) if f"{name}.".startswith(f"{stage}.")]
        ends[found[0] if found else len(stages) :] = [at] * (len(stages) - found[0] if found else 0)
    kept: list[Tensor] = []  # outputs of the stages of the candidate before
    before: Tensor | None = None
    for number in order.tolist():
        mask = masks[number]
        parts = dict(zip(names, worn(network, mask, scale).split(network.widths), strict=True))
        same = 0
        if before is not None:
            differs = (mask != before).nonzero()
            first = int(differs[0]) if len(differs) else len(mask)
            same = sum(end <= first for end in ends)
        before, kept = mask, kept[:same]
        if not kept:
            kept.append(folded("stem", x, parts.get("stem")))
        for i in range(len(kept) - 1, len(network.blocks)):
            kept.append(_block(folded, network.blocks[i], f"blocks.{i}", kept[-1], parts))
        pooled = functional.relu(kept[-1]).mean((2, 3))
        pooled = pooled * parts["head"] if "head" in parts else pooled
        yield number, functional.linear(pooled, network.head.weight, network.head.bias)


def _block(folded: Folded, block: Block, name: str, x: Tensor, parts: dict[str, Tensor]) -> Tensor:
    rectified, out = functional.relu(x), x
    if isinstance(block.skip, Skip):
        s = block.skip.stride
        moved = functional.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        halves = [(x, f"{name}.skip.conv1"), (moved, f"{name}.skip.conv2")]
        out = torch.cat([folded(conv, z[:, :, ::s, ::s], parts.get(conv)) for z, conv in halves], 1)
    for branch in ("first", "second"):
        key = f"{name}.{branch}"
        mask = parts.get(f"{key}.conv2")
        inner = None if mask is None else needed(mask)
        inside = folded(f"{key}.conv1", rectified, parts.get(f"{key}.conv1"), inner).relu_()
        out = out + folded(f"{key}.conv2", inside, mask)
    return out
