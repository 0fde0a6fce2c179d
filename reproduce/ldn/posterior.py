"""Section 2: distributions over depth; tensors or arrays with depth 0..D as last axis in, tensors out."""

import torch
from torch import Tensor

EPS = 1e-10  # where q and the prior are clamped before their logarithm, as the authors' code does
GAMMA = 0.85


def prior(depth: int, gamma: float = GAMMA) -> Tensor:
    """β, appendix B: β_i ∝ γ^(1+i) for i = 0..D."""
    beta = gamma ** (1 + torch.arange(depth + 1, dtype=torch.float64))
    return beta / beta.sum()


def log_clamped(p: Tensor) -> Tensor:
    return p.clamp(EPS, 1 - EPS).log()


def kl(q: Tensor, beta: Tensor) -> Tensor:
    """KL(q ‖ β), the second term of Eq. 1."""
    q, beta = torch.as_tensor(q), torch.as_tensor(beta)
    return (q * (log_clamped(q) - log_clamped(beta.to(q.dtype)))).sum(-1)


def objective(cross_entropy: Tensor, q: Tensor, beta: Tensor, train_points: int) -> Tensor:
    """What is minimised: E_q[mean cross-entropy of a depth] + KL/N, which is −Eq. 2 divided by N (D2)."""
    return (q * cross_entropy).sum(-1) + kl(q, beta) / train_points


def elbo(log_likelihood: Tensor, q: Tensor, beta: Tensor) -> Tensor:
    """Eq. 1, from each depth's log-likelihood summed over the data."""
    log_likelihood, q = torch.as_tensor(log_likelihood), torch.as_tensor(q)
    return (q * log_likelihood).sum(-1) - kl(q, beta)


def exact_posterior(log_likelihood: Tensor, beta: Tensor) -> Tensor:
    """Eq. 5: p(d | D) from each depth's train log-likelihood summed over the data."""
    log_likelihood = torch.as_tensor(log_likelihood, dtype=torch.float64)
    return torch.softmax(log_likelihood + torch.as_tensor(beta, dtype=torch.float64).log(), -1)


def d_argmax(q: Tensor) -> Tensor:
    """d_opt where data are few: the most probable depth."""
    return torch.as_tensor(q).argmax(-1)


def d_95(q: Tensor) -> Tensor:
    """d_opt where data are many: the first depth with more than 95 % of the largest probability (D4)."""
    q = torch.as_tensor(q)
    return (q > 0.95 * q.amax(-1, keepdim=True)).int().argmax(-1)


def d_expected(q: Tensor) -> Tensor:
    """d_opt = round(E_q[d]), appendix D."""
    q = torch.as_tensor(q)
    return (q * torch.arange(q.shape[-1], dtype=q.dtype)).sum(-1).round().long()


def prune(q: Tensor, depth: Tensor | int) -> Tensor:
    """q after all blocks above `depth` are cut off: their probability goes to `depth` itself."""
    q, depth = torch.as_tensor(q), torch.as_tensor(depth)[..., None]
    index = torch.arange(q.shape[-1])
    tail = (q * (index > depth)).sum(-1, keepdim=True)
    return q * (index <= depth) + tail * (index == depth)


def mixture_probability(probability: Tensor, q: Tensor) -> Tensor:
    """Eq. 3: Σ_i q_i p(y | x, d=i) for probabilities [..., points, depth] and q [..., depth]."""
    return (torch.as_tensor(probability) * torch.as_tensor(q)[..., None, :]).sum(-1)


def mixture_log_likelihood(log_probability: Tensor, q: Tensor) -> Tensor:
    """log of Eq. 3 per point, from log-probabilities [..., points, depth]; no −inf for confident errors."""
    log_probability, q = torch.as_tensor(log_probability), torch.as_tensor(q)
    return torch.logsumexp(log_probability + q.log()[..., None, :], -1)
