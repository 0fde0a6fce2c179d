"""What a sub-network needs: parameters and multiplications, exact for masks and expected under p (D9)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reproduce.pgnas.masked import SuperNet


@dataclass(frozen=True)
class Cost:
    """Of one sub-network or of many: tensors of one length."""

    parameters: Tensor
    operations: Tensor  # multiplications of one image


@dataclass(frozen=True)
class Counter:
    """Counts sub-networks of one super-network; `sides` are the outputs of each convolution for one image."""

    network: SuperNet
    sides: dict[str, int]

    @classmethod
    def of(cls, network: SuperNet, side: int, channels: int = 3) -> "Counter":
        return cls(network, outputs(network, side, channels))

    def exact(self, masks: Tensor) -> Cost:
        """Of hard masks [sub-networks, channels]: what is dropped, and what nobody reads, is not there."""
        self.network.check_masks(masks)
        return self._cost(masks.double())

    def expected(self, p: Tensor | None = None) -> Cost:
        """The mean of `exact` over masks: layers are dropped independently of one another."""
        p = self.network.p_of_channels if p is None else p
        return self._cost(1 - p.detach().double()[None])

    def whole(self) -> Cost:
        return self._cost(torch.ones(1, len(self.network.of_channel), dtype=torch.double))

    def _cost(self, kept: Tensor) -> Cost:
        """`kept`: 1 or 0, or the probability of that, by sub-network and channel."""
        network, modules = self.network, dict(self.network.named_modules())
        kept = kept.cpu()  # where the counts of weights are that these meet; a few sums, whatever trains
        by_layer = dict(zip(network.layers, kept.split(network.widths, dim=1), strict=True))
        written: dict[str, Tensor] = {}  # of layers and norms whose outputs not all are read
        for link in network.links():
            reads = [by_layer[name] for name in link.consumers if _by_input(network, name)]
            if len(reads) == len(link.consumers):
                needed = (1 - (1 - torch.stack(reads)).prod(0)).sum(1)
                written |= dict.fromkeys((link.producer, *link.norms), needed)
        parameters = operations = torch.zeros(len(kept), dtype=torch.double)
        counted: set[int] = set()
        for name, module in modules.items():
            sizes = {key: value for key, value in module.named_parameters(recurse=False)}
            if not sizes or module is network:
                continue
            counted |= {id(value) for value in sizes.values()}
            if isinstance(module, nn.Conv2d | nn.Linear):
                weights, outputs = self._weights(name, module, by_layer, written)
                parameters = parameters + weights + (outputs if module.bias is not None else 0)
                operations = operations + weights * self.sides[name]
            else:
                channels = len(next(iter(sizes.values())))
                each = sum(value.numel() for value in sizes.values()) / channels
                parameters = parameters + each * written.get(name, channels)
        assert counted == {id(p) for n, p in network.named_parameters() if n != "drop_logits"}
        return Cost(parameters, operations)

    def _weights(
        self, name: str, layer: nn.Module, kept: dict[str, Tensor], written: dict[str, Tensor]
    ) -> tuple[Tensor | float, Tensor | float]:
        """How many, and how many outputs."""
        weight, after = layer.weight, getattr(layer, "after", False)
        inputs: Tensor | float = weight.shape[1]
        outputs: Tensor | float = written.get(name, weight.shape[0])
        if name in kept and after:
            outputs = kept[name].sum(1)
        elif name in kept:
            inputs = kept[name].sum(1)
        kernel = weight[0, 0].numel() if weight.ndim == 4 else 1
        return inputs * outputs * kernel, outputs


def _by_input(network: SuperNet, name: str) -> bool:
    """Whether the layer has a mask on what it reads: one behind it (D6) drops none of that."""
    return name in network.layers and not network.layers[name].after


def outputs(network: nn.Module, side: int, channels: int = 3) -> dict[str, int]:
    """Pixels of each convolution's output for one image, 1 of a classifier."""
    sides: dict[str, int] = {
        name: 0 for name, part in network.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)
    }

    def note(name: str):  # noqa: ANN202
        def hook(module: nn.Module, given: object, result: Tensor) -> None:
            sides[name] = result[0, 0].numel()

        return hook

    handles = [
        part.register_forward_hook(note(name)) for name, part in network.named_modules() if name in sides
    ]
    with evaluating(network), torch.no_grad():
        network(next(network.parameters()).new_zeros(1, channels, side, side))
    for handle in handles:
        handle.remove()
    return sides


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """In evaluation mode, and behind that as it was."""
    training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(training)


def dropped_shares(network: SuperNet, masks: Tensor) -> tuple[Tensor, Tensor]:
    """Table 7 of hard masks: the share of channels that are dropped, and of operations that lose them all."""
    by_layer = masks.double().split(network.widths, dim=1)
    channels = 1 - masks.double().mean(1)
    empty = torch.stack([part.sum(1) == 0 for part in by_layer]).double()
    return channels, empty.mean(0)


def operations_by_threshold(network: SuperNet, threshold: float = 0.5) -> tuple[float, float]:
    """Table 7's other reading (D10): an operation counts as dropped where its p is above a threshold.

    Also how likely it is that some operation loses all of its channels by chance.
    """
    p = network.p_of_channels.detach().double().split(network.widths)
    above = sum(float(part.mean() > threshold) for part in p) / len(p)
    alone = 1 - torch.stack([1 - part.prod() for part in p]).prod().item()
    return above, alone
