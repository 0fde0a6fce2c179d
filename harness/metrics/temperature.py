"""Temperature scaling (Guo et al. 2017): one number that makes predicted probabilities sharper or flatter."""

import numpy as np

LEAST, MOST = 0.05, 20.0  # temperatures that are looked at


def scaled(log_probability: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of logits, or of logarithms of probabilities, at this temperature."""
    z = np.asarray(log_probability, float) / temperature
    z = np.exp(z - z.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def negative_log_likelihood(
    log_probability: np.ndarray, label: np.ndarray, temperature: float = 1.0
) -> float:
    """Mean over samples, in nats."""
    p = scaled(log_probability, temperature)[np.arange(len(label)), np.asarray(label)]
    return float(-np.log(np.maximum(p, 1e-300)).mean())


def fitted(log_probability: np.ndarray, label: np.ndarray) -> float:
    """The temperature of the least negative log-likelihood, by golden section."""
    low, high = 1 / MOST, 1 / LEAST
    shrink = (np.sqrt(5) - 1) / 2
    for _ in range(60):
        one, two = high - shrink * (high - low), low + shrink * (high - low)
        first, second = (negative_log_likelihood(log_probability, label, 1 / b) for b in (one, two))
        low, high = (low, two) if first <= second else (one, high)
    return float(2 / (low + high))


def cross_fitted(log_probability: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, float]:
    """Probabilities of each half at the temperature that the other half fits, and the mean of the two."""
    log_probability, label = np.asarray(log_probability, float), np.asarray(label)
    out, found = np.empty_like(log_probability), []
    for half in (0, 1):
        found.append(fitted(log_probability[1 - half :: 2], label[1 - half :: 2]))
        out[half::2] = scaled(log_probability[half::2], found[-1])
    return out, float(np.mean(found))
