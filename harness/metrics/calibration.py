"""Calibration of predicted probabilities. Every definition has a name, because 'ECE' alone says little.

Two choices differ between papers: which *events* are counted (the predicted class of each sample, or every
class of every sample) and which *confidence* stands for a bin (the mean of what fell into it, or its edge).
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram: one entry per bin of (0, 1], from left to right; nan where a bin is empty."""

    upper: np.ndarray  # upper edges; a bin holds its upper edge, so that confidence 1.0 is in the last one
    share: np.ndarray  # of all events
    confidence: np.ndarray  # mean predicted probability
    accuracy: np.ndarray  # fraction of the events that happened


def predicted_class_events(probability: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One event per sample (Guo et al. 2017): its largest probability, and whether that class is true."""
    probability = np.asarray(probability)
    chosen = probability.argmax(1)
    return probability[np.arange(len(chosen)), chosen], chosen == np.asarray(label)


def every_class_events(probability: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One event per sample and class; it happened where the class is the true one."""
    probability = np.asarray(probability)
    return probability.ravel(), (np.arange(probability.shape[1]) == np.asarray(label)[:, None]).ravel()


def every_class_if_predicted_events(
    probability: np.ndarray, label: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One event per sample and class; it happened where the class is the true one *and* the predicted one."""
    probability = np.asarray(probability)
    classes = np.arange(probability.shape[1])
    happened = (classes == np.asarray(label)[:, None]) & (classes == probability.argmax(1)[:, None])
    return probability.ravel(), happened.ravel()


def reliability(confidence: np.ndarray, happened: np.ndarray, bins: int) -> Reliability:
    """Equal bins (0, 1/bins], …, (1 − 1/bins, 1]; of all events, also those of probability 0."""
    confidence, happened = np.asarray(confidence, float), np.asarray(happened, float)
    if len(confidence) == 0 or confidence.min() < 0 or confidence.max() > 1 + 1e-6:
        raise ValueError("confidences must be probabilities, at least one of them")
    upper = np.arange(1, bins + 1) / bins
    # A softmax in single precision may sum to a little more than 1.
    index = np.searchsorted(upper, np.minimum(confidence, 1.0), side="left")
    inside = confidence > 0
    count, total, hits = (
        np.bincount(index[inside], weights=None if w is None else w[inside], minlength=bins)
        for w in (None, confidence, happened)
    )
    with np.errstate(invalid="ignore"):
        return Reliability(upper, count / len(confidence), total / count, hits / count)


def ece_guo(probability: np.ndarray, label: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error of Guo et al. 2017: predicted class, mean confidence; empty bins are 0."""
    return gap(reliability(*predicted_class_events(probability, label), bins), edges=False)


def ece_every_class(probability: np.ndarray, label: np.ndarray, bins: int = 10) -> float:
    """All classes of all samples as events, mean confidence."""
    return gap(reliability(*every_class_events(probability, label), bins), edges=False)


def ece_upper_edge(
    probability: np.ndarray, label: np.ndarray, bins: int = 10, *, empty_is_nan: bool = False
) -> float:
    """The ECE behind Figure 10 of the LDN paper: all classes as events, a bin's confidence is its upper edge.

    An event counts as correct only where its class is also the predicted one. A sharp and perfect classifier
    of ten classes scores 0.09: its nine near-zeros per image sit in a bin whose edge is 0.1.
    """
    diagram = reliability(*every_class_if_predicted_events(probability, label), bins)
    if empty_is_nan and (diagram.share == 0).any():
        return float("nan")  # as the authors' notebook
    return gap(diagram, edges=True)


def gap(diagram: Reliability, *, edges: bool) -> float:
    """Σ share · |confidence − accuracy|, over bins that are not empty."""
    full = diagram.share > 0
    difference = np.abs(_confidence(diagram, edges) - diagram.accuracy)[full]
    return float(diagram.share[full] @ difference)


def overconfidence(diagram: Reliability, *, edges: bool, above: float = 0.0) -> float:
    """Mean of confidence − accuracy over the events of the bins above `above`; positive = over-confident."""
    chosen = (diagram.share > 0) & (diagram.upper > above + 1e-9)
    if not chosen.any():
        return float("nan")
    share = diagram.share[chosen]
    return float(share @ (_confidence(diagram, edges) - diagram.accuracy)[chosen] / share.sum())


def least_overconfidence(diagram: Reliability, *, edges: bool) -> float:
    """The smallest confidence − accuracy of all filled bins: above 0 where every bin is over-confident."""
    full = diagram.share > 0
    return float((_confidence(diagram, edges) - diagram.accuracy)[full].min())


def _confidence(diagram: Reliability, edges: bool) -> np.ndarray:
    return diagram.upper if edges else diagram.confidence
