"""Matrix products of stacks of matrices: MKL's batched ones, or oneDNN's, one by one, where they are wide.

On processors without MKL's best kernels oneDNN is twice as fast from about 100 rows on.
"""

import torch
from torch import Tensor

WIDE = 100


def _one_by_one(left: Tensor) -> bool:
    wide = left.shape[1] >= WIDE and left.dtype is torch.float32 and not left.requires_grad
    return wide and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _product(left: Tensor, right: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(left, right.mT, None, "none", [], "")


def multiply(left: Tensor, right: Tensor, out: Tensor) -> Tensor:
    """out = left · right for every model."""
    if not _one_by_one(left):
        return torch.bmm(left, right, out=out)
    for o, a, b in zip(out, left, right, strict=True):
        o.copy_(_product(a, b))
    return out


def multiply_add(left: Tensor, right: Tensor, bias: Tensor, out: Tensor) -> Tensor:
    """out = bias + left · right for every model; bias may be out itself."""
    if not _one_by_one(left):
        return torch.baddbmm(bias, left, right, out=out)
    for o, a, b, c in zip(out, left, right, bias, strict=True):
        torch.add(_product(a, b), c, out=o)
    return out
