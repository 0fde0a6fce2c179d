"""Counts on a built network, to hold the closed formulas against."""

import torch
from torch import Tensor, nn


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def outputs(module: nn.Module, image: Tensor) -> list[tuple[nn.Module, int]]:
    """Every leaf module that one image passes, and how many numbers it puts out."""
    seen: list[tuple[nn.Module, int]] = []
    leaves = [leaf for leaf in module.modules() if not list(leaf.children())]
    hooks = [
        leaf.register_forward_hook(lambda m, _, out: seen.append((m, out[0].numel()))) for leaf in leaves
    ]
    with torch.no_grad():
        module(image)
    for hook in hooks:
        hook.remove()
    return seen


def multiply_accumulates(module: nn.Module, image: Tensor) -> int:
    """Of convolutions and linear layers, a linear layer's bias counted as one more each."""
    total = 0
    for leaf, numbers in outputs(module, image):
        if isinstance(leaf, nn.Conv2d):
            assert leaf.bias is None
            total += numbers * leaf.in_channels // leaf.groups * leaf.kernel_size[0] * leaf.kernel_size[1]
        elif isinstance(leaf, nn.Linear):
            total += numbers * (leaf.in_features + 1)
    return total
