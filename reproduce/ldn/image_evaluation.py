"""Section 3.2 and appendix D: what a trained network predicts, whole and pruned, and how fast."""

import math
import statistics
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.metrics import calibration
from reproduce.ldn import posterior
from reproduce.ldn.conv import ConvNet, cost
from reproduce.ldn.image_data import Part
from reproduce.ldn.image_training import AT_ONCE, log_likelihood

SCORES = (
    "log_likelihood",
    "mean_probability",  # what the paper's figures call log-likelihood (D13)
    "error",
    "ece_upper_edge",  # the paper's (D18)
    "ece_guo",
    "ece_every_class",
    "over_half_upper_edge",  # confidence − accuracy in the bins above 0.5
    "over_half_guo",
    "least_upper_edge",  # of all bins, the smallest confidence − accuracy
    "least_guo",
)
DIAGRAM = ("prediction", "definition", "bin", "upper", "confidence", "accuracy")
SHARES = ("prediction", "definition", "bin", "share")


@dataclass(frozen=True)
class Tested:
    """Per depth: log p(y | x, d) and whether the most probable class is right, both [images, depths]."""

    log_likelihood: Tensor
    right: Tensor
    mixtures: tuple[np.ndarray, ...]  # class probabilities [images, classes] of Eq. 3, one per q


@torch.no_grad()
def evaluate(network: ConvNet, part: Part, qs: list[Tensor]) -> Tested:
    """One pass in evaluation mode; a DDN has its last depth alone."""
    network.eval()
    likelihoods, right, mixtures = [], [], [[] for _ in qs]
    for x, y in zip(part.x.split(AT_ONCE), part.y.split(AT_ONCE), strict=True):
        logits = network(x) if network.learnt else network.last_logits(x)
        likelihoods.append(log_likelihood(logits, y).double().cpu())
        right.append((logits.argmax(-1) == y[:, None]).cpu())
        probability = torch.softmax(logits.double(), -1).cpu()
        for q, pieces in zip(qs, mixtures, strict=True):
            pieces.append(torch.einsum("ndc,d->nc", probability, q))
    done = tuple(torch.cat(pieces).clamp(max=1.0).numpy() for pieces in mixtures)
    return Tested(torch.cat(likelihoods), torch.cat(right), done)


def prediction_scores(mixture: np.ndarray, log_p: np.ndarray, label: np.ndarray) -> dict[str, float]:
    """Scores of one way to predict; `log_p` is the log of Eq. 3 at the true class; nan where it diverged."""
    if not np.isfinite(mixture).all():
        return dict.fromkeys(SCORES, math.nan)
    edges = calibration.reliability(*calibration.every_class_if_predicted_events(mixture, label), 10)
    chosen = calibration.reliability(*calibration.predicted_class_events(mixture, label), 15)
    percent = (
        (mixture.argmax(1) != label).mean(),
        calibration.ece_upper_edge(mixture, label),
        calibration.ece_guo(mixture, label),
        calibration.ece_every_class(mixture, label),
        calibration.overconfidence(edges, edges=True, above=0.5),
        calibration.overconfidence(chosen, edges=False, above=0.5),
        calibration.least_overconfidence(edges, edges=True),
        calibration.least_overconfidence(chosen, edges=False),
    )
    values = [log_p.mean(), np.exp(log_p).mean(), *(100 * value for value in percent)]
    return {name: float(value) for name, value in zip(SCORES, values, strict=True)}


def reliability_rows(
    prediction: str, mixture: np.ndarray, label: np.ndarray
) -> tuple[list[tuple], list[tuple]]:
    """Both diagrams of one way to predict, rows of DIAGRAM and of SHARES; only shares know empty bins."""
    rows: list[tuple] = []
    shares: list[tuple] = []
    if not np.isfinite(mixture).all():
        return rows, shares
    for definition, events, bins in (
        ("upper_edge", calibration.every_class_if_predicted_events, 10),
        ("guo", calibration.predicted_class_events, 15),
    ):
        diagram = calibration.reliability(*events(mixture, label), bins)
        values = zip(diagram.upper, diagram.confidence, diagram.accuracy, diagram.share, strict=True)
        for place, (*numbers, share) in enumerate(values, start=1):
            shares.append((prediction, definition, place, float(share)))
            if share > 0:
                rows.append((prediction, definition, place, *(float(number) for number in numbers)))
    return rows, shares


@torch.no_grad()
def forward_seconds(network: ConvNet, x: Tensor, pruned: int, repeats: int) -> dict[str, float]:
    """Median seconds of a forward pass; the candidates take turns, each turn begun by another one (D14).

    On a processor it is the time that this process had it: other jobs on the machine do not count.
    """
    clock = time.perf_counter if x.is_cuda else time.process_time
    network.eval()
    whole = network.shape.max_depth
    candidates = {
        "pruned": lambda: network(x, pruned),  # trunk up to d_opt, head at every depth up to it: Eq. 3
        "every_depth": lambda: network(x, whole),  # the whole LDN; also what the authors timed as their DDN
        "last_depth": lambda: network.last_logits(x),  # a DDN that reads its last depth only
    }
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        order = list(candidates)[turn % 3 :] + list(candidates)[: turn % 3]
        for name in order:
            _wait(x)
            start = clock()
            candidates[name]()
            _wait(x)
            if turn:  # the first turn warms up
                times[name].append(clock() - start)
    return {name: statistics.median(measured) for name, measured in times.items()}


def _wait(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize()


def speed_ups(network: ConvNet, seconds: dict[str, float], pruned: int) -> dict[str, float]:
    """Figure 11, in percent: by the clock against both DDNs, by operations of the trunk, by blocks."""
    whole, costs = network.shape.max_depth, cost(network.shape)
    return {
        "speedup_authors": 100 * (1 - seconds["pruned"] / seconds["every_depth"]),
        "speedup_last_depth": 100 * (1 - seconds["pruned"] / seconds["last_depth"]),
        "speedup_operations": 100 * (1 - costs.trunk(pruned) / costs.trunk(whole)),
        "speedup_blocks": 100 * (1 - pruned / whole),
    }


def depth_rows(network: ConvNet, train: Tested, test: Tested, beta: Tensor) -> dict[str, np.ndarray]:
    """One row per depth: q, prior, exact posterior (Eq. 5), likelihood and accuracy of that depth alone."""
    depths = np.arange(network.shape.max_depth + 1)
    if not network.learnt:
        depths = depths[-1:]
    q = network.q.detach().double().cpu().numpy()[depths]
    exact = posterior.exact_posterior(train.log_likelihood.sum(0), beta).numpy()
    return {
        "depth": depths,
        "q": q,
        "prior": beta.numpy()[depths],
        "exact_posterior": exact if network.learnt else q,
        "train_log_likelihood": train.log_likelihood.mean(0).numpy(),
        "log_likelihood": test.log_likelihood.mean(0).numpy(),
        "mean_probability": test.log_likelihood.exp().mean(0).numpy(),
        "accuracy": 100 * test.right.double().mean(0).numpy(),
    }
