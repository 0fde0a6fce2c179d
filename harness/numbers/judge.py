"""What a paper reports, and the verdict on a number beside it."""

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from harness.base.errors import HarnessError
from harness.numbers.contrast import Contrast, contrast
from harness.numbers.stats import MIN_RUNS, Estimate, quantile

_GROUPING = ", \u00a0\u2009\u202f"  # thousands are printed 782,938 or 15 625
_WHOLE = rf"\d{{1,3}}(?:[{_GROUPING}]\d{{3}})+|\d+"  # in threes, so that 0,79 is not 79
_NUMBER = re.compile(
    rf"^(?P<value>[-+]?(?:(?:{_WHOLE})(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{{1,2}})?)\s*%?"
    r"\s*(?:\(\s*(?P<in>\d*\.?\d+)\s*\)|±\s*(?P<pm>\d*\.?\d+))?\s*(?P<unit>%|[KMG])?$"
)
_POWER = re.compile(r"^10\^(\d{1,2})$")
_FACTOR = {"K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class Reported:
    """A number exactly as a paper prints it, and what its printed form says."""

    text: str
    value: float
    resolution: float  # one unit of the last printed digit
    spread: float | None = None
    power_of_ten: bool = False

    def rounds_to(self, value: float) -> bool:
        """Would `value`, printed as the paper prints, read the same?"""
        if self.power_of_ten:
            return value > 0 and round(math.log10(value)) == round(math.log10(self.value))
        return abs(value - self.value) <= 0.5 * self.resolution * (1 + 1e-9)


def parse(text: str) -> Reported:
    """`0.79 (0.00)`, `92.2%`, `782,938`, `14.8M`, `2.88 ± 0.19`, `10^18`."""
    clean = str(text).strip()
    power = _POWER.match(clean)
    if power:
        return Reported(clean, 10.0 ** int(power[1]), 10.0 ** int(power[1]), power_of_ten=True)
    found = _NUMBER.match(clean)
    if not found:
        raise HarnessError(f"reported number {text!r} is not one: write it as printed, e.g. '0.79 (0.00)'")
    digits = re.sub(f"[{_GROUPING}]", "", found["value"])
    mantissa, _, exponent = digits.lower().partition("e")
    factor = _FACTOR.get(found["unit"] or "", 1.0)
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    spread = found["in"] or found["pm"]
    return Reported(
        clean, float(digits) * factor, 10.0**-decimals * factor, float(spread) * factor if spread else None
    )


def is_number(text: str) -> bool:
    return bool(_POWER.match(text.strip()) or _NUMBER.match(text.strip()))


@dataclass(frozen=True)
class Context:
    """What is known of the paper's numbers in one artefact."""

    n: int = 1  # runs behind each printed number
    units: int = 0  # architectures behind each printed number
    spread_kind: str = "unknown"
    others: tuple[float, ...] = ()  # the numbers that the paper prints beside it, in its column

    def at_issue(self, value: float) -> float:
        """From what a number is to be told: from the nearest other one there, and from half of itself."""
        return min([abs(value) / 2, *(abs(other - value) for other in self.others if other != value)])


@dataclass(frozen=True)
class Verdict:
    """One of VERDICTS, or '' where the paper prints nothing, with the reason in a sentence."""

    word: str
    reason: str = ""


def judge(ours: Estimate, reported: Reported, context: Context) -> Verdict:
    """Our number beside the paper's. Two-sided: better than reported is a difference too."""
    if not math.isfinite(ours.value):
        return Verdict("differs", "our value is not a number")
    if reported.rounds_to(ours.value):
        return Verdict("match", "equal after rounding as printed")
    theirs = as_reported(ours, reported.value, reported.spread, context.spread_kind, context.n, context.units)
    apart = gap_between(ours, theirs)
    gap, half = apart.value, apart.half()
    beyond = abs(gap) - 0.5 * reported.resolution
    if half == 0:
        return Verdict("differs", f"{gap:+.3g} from the printed number, and nothing here is random")
    if not math.isfinite(half):
        return Verdict("unclear", "a single run has no interval")
    told = f"{gap:+.3g} from the printed number, 95 % interval of the difference ±{half:.2g}"
    if ours.spread_kind == "bootstrap" and ours.n == 2:
        return Verdict("unclear", f"{told}, from one pair of runs: how pairs scatter is not known")
    if beyond > half:
        return Verdict("differs", told)
    found, issue = apart.found(), context.at_issue(reported.value)
    told += f"; {found:.2g} would have been found four times in five, {issue:.2g} is at issue"
    few = ours.spread_kind == "sample_sd" and ours.n < MIN_RUNS  # two may be close by chance
    return Verdict("agrees" if found < issue and not few else "not refuted", told)


def gap_between(a: Estimate, b: Estimate) -> Contrast:
    """a − b."""
    found = contrast([1, -1], [a, b])
    if b.borrowed:  # one spread used twice has the degrees of freedom of one
        both = (a.se_runs**2 + b.se_runs**2, a.df)
        return replace(found, of_runs=(both,) if both[0] else ())
    return found


def as_reported(
    ours: Estimate, value: float, spread: float | None, kind: str, n: int, units: int
) -> Estimate:
    """The paper's number as an estimate; where it prints no spread, ours stands in for it.

    `kind` says what its ± means. `unknown` is read as a sample standard deviation. The architectures it was
    measured on are a sample too (of size `units`), whatever its ± covers.
    """
    n = max(n, 1)
    se_runs, df, borrowed = 0.0, math.inf, False
    if spread is not None and kind in ("sample_sd", "unknown"):
        se_runs, df = spread / math.sqrt(n), max(n - 1, 1)
    elif spread is not None and kind == "population_sd":
        se_runs, df = spread / math.sqrt(max(n - 1, 1)), max(n - 1, 1)
    elif spread is not None and kind == "sem":
        se_runs, df = spread, max(n - 1, 1)
    elif spread is not None and kind == "t95":
        se_runs, df = spread / quantile(max(n - 1, 1)), max(n - 1, 1)
    elif ours.spread_kind == "sample_sd" and ours.spread is not None:
        se_runs, df, borrowed = ours.spread / math.sqrt(n), ours.df, True
    se_units = ours.se_per_unit / math.sqrt(units) if units else 0.0
    none = {"runs": (), "per_run": (), "architectures": "", "draws": np.empty((0, 0))}
    sampled = replace(ours, se_units=se_units, units=units, **none)
    return replace(sampled, value=value, n=n, spread=spread, se_runs=se_runs, df=df, borrowed=borrowed)


def judge_text(ours: str, reported: str) -> Verdict:
    """Settings are compared as text, or as numbers where both are numbers (3e-4 = 0.0003)."""
    if _same(ours, reported):
        return Verdict("match", "the same setting")
    return Verdict("differs", f"the paper prints {reported!r}, the configuration says {ours!r}")


def _same(a: str, b: str) -> bool:
    """Word by word, numbers as numbers: `0.4 to 1.0` is `0.4 to 1`."""
    words = [text.casefold().split() for text in (a, b)]
    return len(words[0]) == len(words[1]) and all(map(_same_word, *words))


def _same_word(a: str, b: str) -> bool:
    try:
        return a == b or float(a) == float(b)
    except ValueError:
        return False
