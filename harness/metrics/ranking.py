"""How well a prediction ranks architectures. Higher prediction = predicted better, throughout."""

import numpy as np


def spearman(prediction: np.ndarray, truth: np.ndarray) -> float:
    """Spearman's ρ with mid-ranks for ties; nan where one side is constant."""
    return _pearson(_mid_ranks(prediction), _mid_ranks(truth))


def kendall(prediction: np.ndarray, truth: np.ndarray) -> float:
    """Kendall's τ-b (ties corrected); nan where one side is constant.

    As scipy's to the last bit; loading scipy.stats would take longer than most tables.
    """
    if np.isnan(prediction).any() or np.isnan(truth).any():
        return float("nan")
    x, y = (np.unique(values, return_inverse=True)[1] for values in (prediction, truth))
    pairs, tied_x, tied_y = len(x) * (len(x) - 1) // 2, _tied(x), _tied(y)
    if pairs in (tied_x, tied_y):
        return float("nan")
    tied = _tied(np.unique(x * len(x) + y, return_inverse=True)[1])
    discordant = _inversions(y[np.lexsort((y, x))])
    excess = pairs - tied_x - tied_y + tied - 2 * discordant
    return float(np.clip(excess / np.sqrt(pairs - tied_x) / np.sqrt(pairs - tied_y), -1, 1))


def pearson(prediction: np.ndarray, truth: np.ndarray) -> float:
    return _pearson(np.asarray(prediction, float), np.asarray(truth, float))


def partial_spearman(prediction: np.ndarray, truth: np.ndarray, given: np.ndarray) -> float:
    """Spearman's ρ of prediction and truth with the ranks of a third quantity (#params) held fixed."""
    xy, xz, yz = spearman(prediction, truth), spearman(prediction, given), spearman(truth, given)
    rest = (1 - xz**2) * (1 - yz**2)
    return float((xy - xz * yz) / np.sqrt(rest)) if rest > 0 else float("nan")


def top_k(prediction: np.ndarray, truth: np.ndarray, k: int) -> float:
    """Mean true accuracy of the k best predicted; ties in the prediction are shared out evenly."""
    prediction, truth = np.asarray(prediction, float), np.asarray(truth, float)
    if not 1 <= k <= len(truth):
        raise ValueError(f"k={k} of {len(truth)} architectures")
    return float(_expected_top_means(prediction, truth)[k - 1])


def _mid_ranks(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]


def _tied(groups: np.ndarray) -> int:
    """Pairs within one group."""
    counts = np.bincount(groups)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(numbers: np.ndarray) -> int:
    """Pairs whose first number is the larger: each is told by the highest bit in which the two differ."""
    found = 0
    for bit in reversed(range(int(numbers.max()).bit_length())):  # ordered by the bits above this one
        above, one = numbers >> (bit + 1), numbers >> bit & 1
        starts = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
        before = np.cumsum(one) - one
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(numbers))))
        found += int(before[one == 0].sum())
        numbers = numbers[np.argsort(numbers >> bit, kind="stable")]
    return found


def _pearson(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else float("nan")


def _expected_top_means(prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """m(k) for k = 1..n: mean truth of the k best predicted, in expectation over the order of ties."""
    order = np.argsort(-prediction, kind="stable")
    values = truth[order].astype(float)
    _, starts, counts = np.unique(-prediction[order], return_index=True, return_counts=True)
    group_means = np.add.reduceat(values, starts) / counts
    return np.cumsum(np.repeat(group_means, counts)) / np.arange(1, len(values) + 1)


def improvement(prediction: np.ndarray, truth: np.ndarray, k: int, normalised: bool = True) -> float:
    """Mean truth of the k best predicted; normalised so that 0 = mean of all evaluated, 1 = best evaluated.

    icw, section 3.4. The paper says 1 is the best of the space; its code takes the best *evaluated* (D4).
    """
    truth = np.asarray(truth, float)
    mean = top_k(prediction, truth, k)
    if not normalised:
        return mean
    span = truth.max() - truth.mean()
    if k == len(truth):
        return 0.0  # nothing is pruned; the difference of two sums would leave its last digits
    return float((mean - truth.mean()) / span) if span > 0 else float("nan")


def correlation_after_pruning(prediction: np.ndarray, truth: np.ndarray, keep: int) -> float:
    """Kendall's τ-b on the `keep` truly best architectures (icw, Figure 3 bottom); ties by position."""
    if not 2 <= keep <= len(truth):
        raise ValueError(f"keep={keep} of {len(truth)} architectures")
    best = np.argsort(-np.asarray(truth, float), kind="stable")[:keep]
    return kendall(np.asarray(prediction)[best], np.asarray(truth)[best])
