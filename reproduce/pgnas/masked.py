"""Layers whose input channels may be dropped, and the super-network that holds their drop probabilities."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from harness.base.errors import HarnessError
from reproduce.pgnas import posterior


class MaskedConv(nn.Conv2d):
    """A convolution without bias; `mask` [images or 1, channels] multiplies its inputs (or outputs, D6)."""

    mask: Tensor | None = None
    after = False

    def __init__(
        self, inputs: int, outputs: int, kernel: int, *, segments: Sequence[int] | None = None, **more: int
    ) -> None:
        super().__init__(inputs, outputs, kernel, bias=False, **more)
        self.segments = [inputs] if segments is None else list(segments)  # channels that share one p

    def forward(self, x: Tensor) -> Tensor:
        if self.mask is None:
            return super().forward(x)
        mask = self.mask[:, :, None, None]
        return super().forward(x) * mask if self.after else super().forward(x * mask)


class MaskedLinear(nn.Linear):
    """The classifier, whose inputs may be dropped too (D5)."""

    mask: Tensor | None = None
    after = False

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.segments = [inputs]

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if self.mask is None else x * self.mask)


Masked = MaskedConv | MaskedLinear


@dataclass(frozen=True)
class Link:
    """The outputs of `producer` pass through `norms` and reach `consumers` alone.

    A channel that all of them drop is needed by nobody: its producer need not compute it.
    """

    producer: str
    norms: tuple[str, ...]
    consumers: tuple[str, ...]


class SuperNet(nn.Module):
    """A network of masked layers. A subclass calls `own` when its layers are there, and names its links."""

    progress = 0.0  # the share of training that is done, on which ENAS's drop path hangs
    second_logits: Tensor | None = None  # of a second classifier, which only training uses (ENAS)

    def links(self) -> list[Link]:
        return []

    def own(
        self,
        start: float = 0.1,
        *,
        per_channel: bool = False,
        after: bool = False,
        exempt: Iterable[str] = (),
    ) -> None:
        """Give every masked layer but the exempt ones its drop probabilities, all equal to `start`."""
        if after:
            for part in self.modules():
                if isinstance(part, MaskedConv):
                    part.after, part.segments = True, [part.out_channels]
        self.layers: dict[str, Masked] = {
            name: part
            for name, part in self.named_modules()
            if isinstance(part, Masked) and name not in exempt
        }
        segments = [
            [1] * sum(layer.segments) if per_channel else layer.segments for layer in self.layers.values()
        ]
        sizes = torch.tensor(list(chain(*segments)))
        self.drop_logits = nn.Parameter(torch.full((len(sizes),), posterior.logit_of(start)))
        self.widths = [sum(parts) for parts in segments]  # channels of each layer
        self.counts = [len(parts) for parts in segments]  # drop probabilities of each layer
        self.register_buffer("channels", sizes.float(), persistent=False)
        places = torch.repeat_interleave(torch.arange(len(sizes)), sizes, output_size=sum(self.widths))
        self.register_buffer("of_channel", places, persistent=False)

    @property
    def p(self) -> Tensor:
        """Of each drop probability."""
        return torch.sigmoid(self.drop_logits)

    @property
    def p_of_channels(self) -> Tensor:
        return self.p[self.of_channel]

    def norms(self) -> Tensor:
        """‖W‖² of the input channels that share each drop probability."""
        found = []
        for layer, parts in zip(self.layers.values(), self._parts(), strict=True):
            weight = layer.weight
            if len(parts) == 1:
                found.append(weight.square().sum()[None])
            else:
                dims = [d for d in range(weight.ndim) if d != (0 if layer.after else 1)]
                per_input = weight.square().sum(dims)
                found.append(torch.stack([part.sum() for part in per_input.split(parts)]))
        return torch.cat(found)

    def _parts(self) -> list[list[int]]:
        sizes = [int(size) for size in self.channels.tolist()]
        ends = [sum(self.counts[: i + 1]) for i in range(len(self.counts))]
        return [sizes[end - count : end] for end, count in zip(ends, self.counts, strict=True)]

    def regulariser(self, prior: posterior.Prior) -> Tensor:
        return posterior.regulariser(self.p, self.norms(), self.channels, prior)

    def wear(self, masks: Tensor | None) -> None:
        """From now on with these masks [images or 1, all channels], or without any."""
        parts = [None] * len(self.layers) if masks is None else masks.split(self.widths, dim=1)
        for layer, part in zip(self.layers.values(), parts, strict=True):
            layer.mask = part

    @contextmanager
    def wearing(self, masks: Tensor | None) -> Iterator[None]:
        self.wear(masks)
        try:
            yield
        finally:
            self.wear(None)

    def relaxed_masks(self, images: int, tau: float) -> Tensor:
        """Of each image of a minibatch, drawn from torch's own generator."""
        u1, u2 = torch.rand(2, images, len(self.of_channel), device=self.drop_logits.device)
        return posterior.relaxed(self.drop_logits[self.of_channel], u1, u2, tau)

    def check_masks(self, masks: Tensor, source: str = "a candidate list") -> None:
        """Masks of another network would be split at the wrong places."""
        wanted = len(self.of_channel)
        if masks.ndim != 2 or masks.shape[1] != wanted:
            raise HarnessError(
                f"{source} has masks of {masks.shape[-1]} channels, this network has {wanted}: it belongs to"
                " another network; sample candidates from this one"
            )


def add_gradient(network: SuperNet, prior: posterior.Prior) -> None:
    """The regulariser's gradient, by its closed forms: behind `backward`, like weight decay and as cheap."""
    logits, p = network.drop_logits.detach(), network.p.detach()
    with torch.no_grad():
        gradient = posterior.logit_gradient(logits, network.norms(), network.channels, prior)
        if network.drop_logits.requires_grad:
            network.drop_logits.grad = (
                gradient if network.drop_logits.grad is None else network.drop_logits.grad + gradient
            )
        scale = 2 * prior.weight_coefficient * ((1 - p) if prior.coupled else torch.ones_like(p))
        if len(scale) == len(network.layers):
            weights = [layer.weight for layer in network.layers.values()]
            decays = torch._foreach_mul(weights, list(scale.unbind()))
            torch._foreach_add_([w.grad for w in weights], decays)
            return
        per_channel = scale[network.of_channel].split(network.widths)
        for layer, factors in zip(network.layers.values(), per_channel, strict=True):
            shape = [1] * layer.weight.ndim
            shape[0 if layer.after else 1] = -1
            layer.weight.grad.add_(layer.weight * factors.reshape(shape))
