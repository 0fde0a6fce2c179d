"""What a sentence says of its settings, tested: on average, usually, in all, in some (docs/verdicts.md).

A pair of p values goes in for each setting, one against its failing (`holds`) and one against its holding
(`fails`), each one-sided; such a pair comes out for the sentence.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from harness.numbers.contrast import Contrast

DEFAULT = "on average"
# In how many of so many settings it must hold.
LEAST: dict[str, Callable[[int], int]] = {
    "in all": lambda settings: settings,
    "consistently": lambda settings: settings,  # the word promises every one of them
    "usually": lambda settings: settings // 2 + 1,
    "in some": lambda settings: 1,
}
QUANTIFIERS = (DEFAULT, *LEAST)

P = tuple[float, float]
FEW = 5  # degrees of freedom; who has more tells how it scatters by itself
LIKELY = 0.001  # of 15 settings of two runs, one in twenty would often part them by chance


def in_at_least(least: int, settings: Sequence[P]) -> P:
    """That it holds in so many of them, and that it fails in so many that it cannot."""
    holds, fails = zip(*settings, strict=True)
    return at_least(least, holds), at_least(len(settings) - least + 1, fails)


def at_least(least: int, each: Sequence[float]) -> float:
    """The p value against fewer being true: the partial conjunction of Benjamini and Heller (2008).

    But for the `least - 1` smallest, Simes' test of the others: where all must be true it is the largest of
    all (intersection-union), where one must be it is sharper than Bonferroni's and Holm's.
    """
    rest = sorted(each)[least - 1 :]
    return min(1.0, min(p * len(rest) / (i + 1) for i, p in enumerate(rest)))


def pooled(settings: Sequence[Contrast]) -> list[Contrast]:
    """Each with the scatter that runs have on average over settings, or with its own where that is larger.

    Two or three runs tell little of how they scatter, several settings of other runs more. That none is taken
    for quieter than all are on average keeps false alarms at their level where settings differ. Where they
    differ beyond doubt nothing is shared.
    """
    known = [c for c in settings if c.per_run > 0 and math.isfinite(c.per_run) and c.df_runs <= FEW]
    df = sum(max(c.df_runs for c in group) for group in _apart(known))
    if len(_apart(known)) < 2 or not _alike(known):
        return list(settings)
    usual = sum(c.per_run * c.df_runs for c in known) / sum(c.df_runs for c in known)
    return [_scattering(c, usual, df) if c in known else c for c in settings]


def _alike(settings: Sequence[Contrast]) -> bool:
    """Bartlett's test: whether they may all scatter alike."""
    v, df = np.array([c.per_run for c in settings]), np.array([c.df_runs for c in settings])
    value = df.sum() * math.log((v * df).sum() / df.sum()) - (df * np.log(v)).sum()
    value /= 1 + ((1 / df).sum() - 1 / df.sum()) / (3 * (len(v) - 1))
    return bool(special.chdtrc(len(v) - 1, value) > LIKELY)


def _scattering(c: Contrast, usual: float, df: float) -> Contrast:
    factor = max(1.0, usual / c.per_run)
    return replace(c, of_runs=((c.se_runs**2 * factor, df),), per_run=c.per_run * factor)


def _apart(settings: Sequence[Contrast]) -> list[list[Contrast]]:
    """Settings that share runs or seeds together: their scatter is one piece of evidence."""
    groups: list[list[Contrast]] = []
    for c in settings:
        mine = [c]
        for group in [group for group in groups if any(c.names & other.names for other in group)]:
            groups.remove(group)
            mine = group + mine
        groups.append(mine)
    return groups
