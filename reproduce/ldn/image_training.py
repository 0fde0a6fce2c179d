"""Section 3.2: SGD on the ELBO with early stopping; a killed training goes on where its last epoch ended."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from reproduce.ldn import posterior
from reproduce.ldn.conv import ConvNet
from reproduce.ldn.image_data import ImageParts, Part

AT_ONCE = 500  # images of a forward pass that trains nothing


@dataclass(frozen=True)
class Recipe:
    """The training of appendix B, as the authors' code has it."""

    lr: float = 0.1
    momentum: float = 0.5
    batch: int = 512
    max_epochs: int = 500
    patience: int = 30  # epochs without a better ELBO on the selecting part
    lr_drop_epoch: int | None = None  # from this epoch on a tenth of lr (D11)
    gamma: float = 0.85  # of the prior


@dataclass
class Progress:
    """Everything that the next epoch depends on, beside the network and its optimiser."""

    epoch: int = 0
    best_epoch: int = -1
    best_score: float = -math.inf
    best: dict[str, Tensor] | None = None
    diverged: bool = False
    history: dict[str, list[float]] = field(
        default_factory=lambda: {"epoch": [], "lr": [], "train_elbo": [], "select_elbo": [], "kl": []}
    )


def train(run: Run, network: ConvNet, parts: ImageParts, recipe: Recipe) -> Progress:
    """Train, stop early, and leave the network at its best checkpoint (as it is where none was better)."""
    if len(parts.train) % recipe.batch == 1:
        raise HarnessError(
            f"{run.spec.id}: {len(parts.train)} training images leave a last batch of one, which has no batch"
            f" statistics: choose another batch than {recipe.batch}"
        )
    optimiser = torch.optim.SGD(network.parameters(), lr=recipe.lr, momentum=recipe.momentum)
    beta = posterior.prior(network.shape.max_depth, recipe.gamma).to(network.depth_logits)
    checkpoint = Checkpoint(run)
    progress = _resume(checkpoint, network, optimiser)
    while not _over(progress, recipe):
        _epoch(run, network, optimiser, parts, beta, recipe, progress)
        _keep(checkpoint, network, optimiser, progress)
        run.progress(progress.epoch, recipe.max_epochs, "epoch")
    if progress.best is not None:
        network.load_state_dict(progress.best)
    return progress


def _over(progress: Progress, recipe: Recipe) -> bool:
    tired = progress.epoch - 1 - progress.best_epoch > recipe.patience
    return progress.diverged or progress.epoch >= recipe.max_epochs or tired


def _epoch(
    run: Run,
    network: ConvNet,
    optimiser: torch.optim.SGD,
    parts: ImageParts,
    beta: Tensor,
    recipe: Recipe,
    progress: Progress,
) -> None:
    """One pass over the training part, and the ELBO of the selecting part behind it."""
    dropped = recipe.lr_drop_epoch is not None and progress.epoch >= recipe.lr_drop_epoch
    optimiser.param_groups[0]["lr"] = recipe.lr * (0.1 if dropped else 1.0)
    # One stream per epoch: what a resumed training draws does not depend on where it was killed.
    order = torch.from_numpy(run.stream(f"epoch {progress.epoch}").permutation(len(parts.train)))
    network.train()
    total = kl = 0.0
    minibatches = order.split(recipe.batch)
    for chosen in minibatches:
        optimiser.zero_grad(set_to_none=True)
        kl += posterior.kl(network.q.detach(), beta).item() / len(minibatches) if network.learnt else 0.0
        loss = objective(network, parts.train.x[chosen], parts.train.y[chosen], beta, len(parts.train))
        loss.backward()
        optimiser.step()
        total += loss.item() / len(minibatches)
        if not math.isfinite(total):
            break
    progress.diverged = not math.isfinite(total)
    score = math.nan
    if not progress.diverged:
        score = select_elbo(network, parts, recipe.batch, kl)
        if score > progress.best_score:
            progress.best_epoch, progress.best_score = progress.epoch, score
            progress.best = {name: value.clone() for name, value in network.state_dict().items()}
    lr = optimiser.param_groups[0]["lr"]
    for name, value in zip(progress.history, (progress.epoch, lr, -total, score, kl), strict=True):
        progress.history[name].append(value)
    progress.epoch += 1


def select_elbo(network: ConvNet, parts: ImageParts, batch: int, kl: float) -> float:
    """ELBO per image that stops a training, of minibatches that count alike and the epoch's mean KL (D20)."""
    minibatches = mixture_log_likelihood(network, parts.select).split(batch)
    return torch.stack([part.mean() for part in minibatches]).mean().item() - kl / len(parts.train)


def objective(network: ConvNet, x: Tensor, y: Tensor, beta: Tensor, train_images: int) -> Tensor:
    """−ELBO per image (D2); of a DDN, the cross-entropy of its last depth."""
    if not network.learnt:
        return torch.nn.functional.cross_entropy(network.last_logits(x)[:, 0], y)
    return posterior.objective(-log_likelihood(network(x), y).mean(0), network.q, beta, train_images)


def log_likelihood(logits: Tensor, y: Tensor) -> Tensor:
    """log p(y | x, d): [images, depths] from logits [images, depths, classes]."""
    return torch.log_softmax(logits, -1).gather(2, y[:, None, None].expand(-1, logits.shape[1], 1))[..., 0]


@torch.no_grad()
def mixture_log_likelihood(network: ConvNet, part: Part) -> Tensor:
    """log of Eq. 3 per image, over all depths; of a DDN, of its last depth."""
    network.eval()
    forward = network if network.learnt else network.last_logits
    q = network.q if network.learnt else torch.ones(1, device=network.depth_logits.device)
    batches = zip(part.x.split(AT_ONCE), part.y.split(AT_ONCE), strict=True)
    return torch.cat([posterior.mixture_log_likelihood(log_likelihood(forward(x), y), q) for x, y in batches])


def _keep(checkpoint: Checkpoint, network: ConvNet, optimiser: torch.optim.SGD, progress: Progress) -> None:
    state = {"network": network.state_dict(), "optimiser": optimiser.state_dict(), "progress": vars(progress)}
    checkpoint.save(state)


def _resume(checkpoint: Checkpoint, network: ConvNet, optimiser: torch.optim.SGD) -> Progress:
    """The state behind the last complete epoch, or a fresh start."""
    state = checkpoint.load()
    if state is None:
        return Progress()
    network.load_state_dict(state["network"])
    optimiser.load_state_dict(state["optimiser"])
    return Progress(**state["progress"])
