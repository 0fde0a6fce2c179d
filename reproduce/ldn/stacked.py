"""Many fully connected networks as one stack of tensors: forward, backward and SGD by hand, without autograd.

Models are ordered by depth, deepest first, so that layer i works on the first `alive[i]` of them. Activations
lie as [models, width, points]. Every view that an iteration needs is made once: making it takes as long as a
small operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from reproduce.ldn.networks import Recipe
from reproduce.ldn.pieces import Piece
from reproduce.ldn.posterior import log_clamped, prior
from reproduce.ldn.products import multiply, multiply_add

EPS, MOMENTUM = 1e-5, 0.1  # PyTorch's batch norm


@dataclass(frozen=True)
class Layer:
    """Residual block i of the models that have it."""

    weight: Tensor
    bias: Tensor
    gamma: Tensor
    beta: Tensor
    by_weight: Tensor  # gradients
    by_bias: Tensor
    by_gamma: Tensor
    by_beta: Tensor
    mean: Tensor  # of the batch, per unit
    var: Tensor
    inverse: Tensor  # 1 / standard deviation
    scale: Tensor  # gamma / standard deviation
    one_over: Tensor  # 1 / points of the batch
    mask: Tensor
    below: Tensor  # a_{i-1}
    r: Tensor  # after ReLU, before batch norm
    a: Tensor  # a_i
    g: Tensor  # gradient by a_i, then by a_{i-1}
    t: Tensor  # scratch
    u: Tensor

    def forward(self, ragged: bool) -> None:
        """a_i = a_{i-1} + BN(ReLU(W a_{i-1} + b)), the normalisation as r · scale + shift."""
        r, mean, var = self.r, self.mean, self.var
        multiply_add(self.weight, self.below, self.bias, out=r).clamp_min_(0)
        if ragged:
            r.mul_(self.mask)  # zero, as inactive units are: no later step sees absent points
        torch.sum(r, 2, keepdim=True, out=mean).mul_(self.one_over)
        torch.linalg.vector_norm(r, dim=2, keepdim=True, out=var).square_().mul_(self.one_over)
        var.addcmul_(mean, mean, value=-1).clamp_min_(0)
        torch.add(var, EPS, out=self.inverse).rsqrt_()
        torch.mul(self.gamma, self.inverse, out=self.scale)
        shift = torch.addcmul(self.beta, self.scale, mean, value=-1)
        torch.mul(r, self.scale, out=self.a).add_(shift).add_(self.below)

    def backward(self) -> None:
        """From the gradient by a_i to that by a_{i-1}; through batch norm: g · scale + r · slope + offset."""
        r, g, t = self.r, self.g, self.t
        torch.sum(g, 2, keepdim=True, out=self.by_beta)
        torch.sum(torch.mul(g, r, out=t), 2, keepdim=True, out=self.by_gamma)
        self.by_gamma.addcmul_(self.mean, self.by_beta, value=-1).mul_(self.inverse)
        slope = (self.scale * self.inverse).mul_(self.by_gamma).mul_(self.one_over).neg_()
        offset = (self.scale * self.by_beta).mul_(self.one_over).addcmul_(slope, self.mean).neg_()
        torch.mul(g, self.scale, out=t).add_(offset).add_(torch.mul(r, slope, out=self.u))
        torch.ops.aten.threshold_backward.grad_input(t, r, 0, grad_input=t)
        multiply(t, self.below.mT, out=self.by_weight)
        torch.sum(t, 2, out=self.by_bias)
        multiply_add(self.weight.mT, t, g, out=g)


@dataclass(frozen=True)
class Head:
    """The output block on a_i, for those that read it there: all models in a LDN, those that end in a DDN."""

    weight: Tensor
    bias: Tensor
    by_weight: Tensor
    by_bias: Tensor
    a: Tensor
    g: Tensor
    logits: Tensor  # after `Stack._loss`, the gradient by them

    def forward(self) -> None:
        torch.baddbmm(self.bias, self.weight, self.a, out=self.logits)

    def backward(self) -> None:
        self.by_weight.baddbmm_(self.logits, self.a.mT)
        self.by_bias.add_(self.logits.sum(2, keepdim=True))
        self.g.baddbmm_(self.weight.mT, self.logits)


class Stack:
    """The state of K models of one kind and width, and the memory of a step on up to `points` points each."""

    def __init__(
        self, now: Piece, momentum: Piece, depths: Sequence[int], learnt: bool, points: int, recipe: Recipe
    ) -> None:
        self.now, self.momentum, self.depths, self.learnt, self.recipe = now, momentum, depths, learnt, recipe
        (k, w), deepest, new = now["in_bias"].shape, max(depths), now["in_bias"].new_empty
        alive = [sum(d >= i for d in depths) for i in range(deepest + 2)]  # models of depth i or more
        self.model = torch.cat([torch.arange(n) for n in [0, *alive[1:-1]]])  # of each row
        self.gradient = {name: torch.zeros_like(tensor) for name, tensor in momentum.items()}
        self.statistics = [new(len(self.model), w, 1) for _ in range(4)]
        self.one_over, self.mask = new(k, 1, 1), new(k, 1, points)
        self.g, self.t, self.u = (new(k, w, points) for _ in range(3))
        self.a = [new(n, w, points) for n in alive[:-1]]
        # One set of logits per depth in a LDN, a single one in a DDN; depths that a model lacks have q = 0.
        self.logits = new(deepest + 1 if learnt else 1, k, 2, points).zero_()
        readers = [slice(0 if learnt else alive[i + 1], alive[i]) for i in range(deepest + 1)]
        self.heads = [self._head(i, models) for i, models in enumerate(readers)]
        ends = torch.tensor(alive[1:-1]).cumsum(0).tolist()
        self.layers = [self._layer(i, slice(end - alive[i], end)) for i, end in enumerate(ends, 1)]
        beta = new(k, deepest + 1).zero_()
        for row, d in zip(beta, depths, strict=True):
            row[: d + 1] = prior(d)
        self.log_beta = log_clamped(beta)

    def _layer(self, i: int, rows: slice) -> Layer:
        models = slice(0, rows.stop - rows.start)
        parts = []
        for of in (self.now, self.gradient):
            parts += [of["weight"][rows], *(of[name][rows, :, None] for name in ("bias", "gamma", "beta"))]
        parts[5] = parts[5][:, :, 0]
        parts += [statistic[rows] for statistic in self.statistics]
        parts += [
            self.one_over[models],
            self.mask[models],
            self.a[i - 1][models],
            torch.empty_like(self.a[i]),
        ]
        return Layer(*parts, self.a[i], *(scratch[models] for scratch in (self.g, self.t, self.u)))

    def _head(self, i: int, models: slice) -> Head | None:
        if models.start == models.stop:
            return None
        parts = []
        for of in (self.now, self.gradient):
            parts += [of["out_weight"][models], of["out_bias"][models, :, None]]
        return Head(*parts, self.a[i][models], self.g[models], self.logits[i if self.learnt else 0, models])

    def set_batch(self, x: Tensor, y: Tensor, counts: Tensor, total: Tensor) -> None:
        """Inputs [K, points, 2], labels [K, points]; how many of them are there; N of each model."""
        self.x = x.mT.contiguous()
        counts, self.total = counts.to(x.dtype), total[:, None].to(x.dtype)
        present = torch.arange(y.shape[1]) < counts[:, None]
        self.ragged = not bool(present.all())
        self.mask.copy_(present[:, None, :])
        self.one_over.copy_(1 / counts[:, None, None])
        self.unbiased = (counts / (counts - 1))[self.model, None, None]
        self.share = present / counts[:, None]
        self.sign = (2 * y - 1).to(x.dtype)

    def step(self) -> Tensor:
        """One step of SGD for every model on the batch set last; each model's objective before it."""
        now, gradient = self.now, self.gradient
        torch.baddbmm(now["in_bias"][:, :, None], now["in_weight"], self.x, out=self.a[0])
        for layer in self.layers:
            layer.forward(self.ragged)
        for head in filter(None, self.heads):
            head.forward()
        loss = self._loss()
        for tensor in (self.g, gradient["out_weight"], gradient["out_bias"]):
            tensor.zero_()
        for head, layer in zip(reversed(self.heads), [*reversed(self.layers), None], strict=True):
            if head:
                head.backward()
            if layer:
                layer.backward()
        torch.bmm(self.g, self.x.mT, out=gradient["in_weight"])
        torch.sum(self.g, 2, out=gradient["in_bias"])
        self._update()
        return loss

    def _loss(self) -> Tensor:
        """The objective; its gradients by the logits take the place of the logits."""
        logits, scale = self.logits, self.recipe.scale
        margin = (logits[:, :, 1] - logits[:, :, 0]).mul_(self.sign)
        cross_entropy = functional.logsigmoid(margin).mul_(self.share).sum(2).T.neg()
        slope = margin.neg_().sigmoid_().mul_(self.share * self.sign)
        loss = cross_entropy[:, 0]
        if self.learnt:
            q = torch.softmax(self.now["alpha"], 1)
            cost = cross_entropy + (log_clamped(q) - self.log_beta) / self.total
            loss = (q * cost).sum(1)
            torch.mul(q, cost - loss[:, None], out=self.gradient["alpha"])
            slope.mul_(q.T[:, :, None])
        if scale != "mean":
            self.gradient["alpha"].mul_(self.total)
        if scale == "sum":
            slope.mul_(self.total)
        logits[:, :, 0] = slope
        torch.neg(slope, out=logits[:, :, 1])
        return loss

    def _update(self) -> None:
        for name, momentum in self.momentum.items():
            momentum.mul_(self.recipe.momentum).add_(self.gradient[name])
            self.now[name].add_(momentum, alpha=-self.recipe.lr)
        mean, var = self.statistics[:2]
        self.now["mean"].lerp_(mean[:, :, 0], MOMENTUM)
        self.now["var"].lerp_(var.mul_(self.unbiased)[:, :, 0], MOMENTUM)
