"""A sub-network without what its mask drops: really smaller, with the outputs of the masked super-network."""

import copy

import torch
from torch import Tensor, nn

from harness.base.errors import HarnessError
from reproduce.pgnas.counts import Cost, outputs
from reproduce.pgnas.masked import Link, MaskedConv, SuperNet


class Reads(nn.Module):
    """A layer that reads some of the channels that it is given."""

    def __init__(self, layer: nn.Module, channels: Tensor, given: int) -> None:
        super().__init__()
        self.layer, self.all = layer, len(channels) == given
        self.register_buffer("channels", channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x if self.all else x.index_select(1, self.channels))


class Nothing(nn.Module):
    """What is left of a convolution that lost all inputs or outputs: zeros, as many as are read."""

    def __init__(self, conv: nn.Conv2d, outputs: int) -> None:
        super().__init__()
        self.outputs, self.stride = outputs, conv.stride[0]
        self.reach = 2 * conv.padding[0] - conv.dilation[0] * (conv.kernel_size[0] - 1) - 1

    def forward(self, x: Tensor) -> Tensor:
        height, width = ((side + self.reach) // self.stride + 1 for side in x.shape[2:])
        return x.new_zeros(len(x), self.outputs, height, width)


def export(network: SuperNet, mask: Tensor) -> nn.Module:
    """The network of one hard mask [1, channels], in evaluation mode; it has no drop probabilities.

    What a kept channel is multiplied by (D14) goes into the weights.
    """
    network.check_masks(mask, "a mask to export")
    if any(layer.after for layer in network.layers.values()):
        raise HarnessError("masks behind convolutions drop no input: export a network with mask_after: false")
    network.wear(None)
    small = copy.deepcopy(network).eval()
    factors = dict(zip(network.layers, mask[0].split(network.widths), strict=True))
    kept = {name: part.nonzero()[:, 0] for name, part in factors.items()}
    offered: dict[str, Tensor] = {}  # to a consumer: the channels that its producer still computes
    written: dict[str, Tensor] = {}  # by a producer
    for link in network.links():
        if not set(link.consumers) <= kept.keys():
            continue
        needed = torch.cat([kept[name] for name in link.consumers]).unique()
        written[link.producer] = needed
        offered |= dict.fromkeys(link.consumers, needed)
        _narrow_norms(small, link, needed)
    for name in dict.fromkeys([*kept, *written]):
        layer = small.get_submodule(name)
        reads, writes = kept.get(name), written.get(name)
        if name in factors:
            shape = [-1, *[1] * (layer.weight.ndim - 2)]
            layer.weight.data.mul_(factors[name].to(layer.weight).reshape(shape))
        small.set_submodule(name, _narrow(layer, reads, writes, offered.get(name)))
    del small.drop_logits
    small.layers = {}
    return small


def _narrow_norms(small: nn.Module, link: Link, channels: Tensor) -> None:
    for name in link.norms:
        norm = small.get_submodule(name)
        assert isinstance(norm, nn.BatchNorm2d)
        for key in ("weight", "bias"):
            if (value := getattr(norm, key, None)) is not None:
                setattr(norm, key, nn.Parameter(value[channels].detach().clone()))
        norm.running_mean, norm.running_var = norm.running_mean[channels], norm.running_var[channels]
        if not len(channels):
            small.set_submodule(name, nn.Identity())


def _narrow(
    layer: nn.Module, reads: Tensor | None, writes: Tensor | None, offered: Tensor | None
) -> nn.Module:
    weight = layer.weight.detach()
    if isinstance(layer, nn.Conv2d) and layer.groups > 1:  # each channel by itself: reads what it writes
        assert writes is not None
        if not len(writes):
            return Reads(Nothing(layer, 0), writes, weight.shape[0])
        conv = nn.Conv2d(
            len(writes), len(writes), layer.kernel_size, layer.stride, layer.padding,
            groups=len(writes), bias=False,
        )  # fmt: skip
        conv.weight = nn.Parameter(weight[writes].clone())
        return Reads(conv, writes, weight.shape[0])
    if writes is not None:
        weight = weight[writes]
    if reads is not None:
        weight = weight[:, reads]
    given = layer.weight.shape[1] if offered is None else len(offered)
    places = torch.arange(weight.shape[1]) if reads is None else reads
    if offered is not None and reads is not None:
        places = torch.searchsorted(offered, reads)
    if isinstance(layer, nn.Linear):
        linear = nn.Linear(max(weight.shape[1], 1), weight.shape[0], bias=layer.bias is not None)
        linear.in_features = weight.shape[1]
        linear.weight = nn.Parameter(weight.clone())
        linear.bias = layer.bias
        return Reads(linear, places, given)
    assert isinstance(layer, MaskedConv)
    if not weight.numel():
        return Nothing(layer, weight.shape[0])
    conv = nn.Conv2d(
        weight.shape[1], weight.shape[0], layer.kernel_size, layer.stride, layer.padding,
        layer.dilation, bias=False,
    )  # fmt: skip
    conv.weight = nn.Parameter(weight.clone())
    return Reads(conv, places, given)


def size(small: nn.Module) -> int:
    return sum(parameter.numel() for parameter in small.parameters())


def cost(small: nn.Module, side: int) -> Cost:
    """What is there, parameter by parameter, and what its layers multiply for one image."""
    parts, pixels = dict(small.named_modules()), outputs(small, side)
    done = sum(parts[name].weight.numel() * each for name, each in pixels.items())
    return Cost(torch.tensor(float(size(small))), torch.tensor(float(done)))
