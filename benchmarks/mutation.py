"""Which changed arithmetic between a run's record and its verdict the tests notice.

    python benchmarks/mutation.py                        every mutant of every module
    python benchmarks/mutation.py numbers/stats numbers/judge           of these two
    python benchmarks/mutation.py --sample 20 --seed 1   of each module so many, drawn with this seed
    python benchmarks/mutation.py --records --sample 10  what golden tests and kept records notice alone

A mutant (`mutants.py`) is put into the functions of a loaded module, in a fork of one process that has
collected the tests; no file changes. Of the tests those run that call the function, the closest ones first,
until one fails. Red where a mutant survives that `mutation_survivors.md` does not list, with the reason why
nothing can notice it; --listed tries those of the list again. With --records red below 95 %; what only
decides whether input is refused is left out, since kept records are of input that is not.

Three minutes of a processor pass before the first mutant: every test runs twice without one. Then a mutant
takes one to ten seconds, and half a minute where no record notices it.

mutmut and cosmic-ray write mutants into the files: a record's code id would then be of other code, and
nothing would be made of kept records. Neither leaves a seed out or turns a mean into a maximum.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["NAS_WARM"] = "off"
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import pytest  # noqa: E402
from mutants import Mutant, mutants, put_in  # noqa: E402
from trials import SECONDS, Trial, forked, of_kept, of_tests  # noqa: E402

MODULES = [
    "metrics/ranking",
    "metrics/resampled",
    "metrics/consistency",
    "base/seeds",
    "numbers/tables",
    "numbers/rows",
    "numbers/truth_column",
]
MODULES += [
    "numbers/run_pairs",
    "numbers/reductions",
    "numbers/cells",
    "numbers/stats",
    "numbers/judge",
    "spec/expand",
    "numbers/claims",
    "numbers/claim_record",
    "spec/fingerprint",
]
MODULES += [
    "numbers/cellfile",
    "accepted/outcomes",
    "base/layout",
    "make/render",
    "make/make",
]
# Between no record and its verdict: what draws before a record, what compares, what the page adds, of which
# a record made again tells nothing. Of these the tests must notice mutants, not the records.
BESIDE = [
    "base/seeds",
    "accepted/differences",
    "accepted/artefact_check",
    "accepted/check",
    "report/numbers",
]
MODULES += BESIDE[1:]
# Those that start processes of their own would not see a mutant.
TESTS = """golden metrics report numbers/test_stats.py numbers/test_judge.py numbers/test_claims.py
    numbers/test_cells.py numbers/test_tables.py numbers/test_rows.py spec/test_each.py
    numbers/test_truth_column.py numbers/test_run_pairs.py numbers/test_paired_claims.py
    numbers/test_boundaries.py make/test_render.py spec/test_slips.py numbers/test_cellfile.py
    accepted/test_outcomes.py accepted/test_published.py spec/test_artefacts.py
    runs/test_record.py accepted/test_check.py faulty"""
STARTS = "test_the_command"
LEAST = 0.95  # of the mutants between a record and its verdict, by golden tests and kept records alone
ONLY_A_TEST = "## What no record can tell"
SURVIVORS = Path(__file__).with_name("mutation_survivors.md")

# By function: what noticed its mutants so far is asked first.
_NOTICED: dict[tuple[str, int], Counter[str]] = {}


def noticed(module: str, mutant: Mutant, trials: Sequence[Trial]) -> str:
    """By which trial, or nothing where it survives. A constant concerns all that call anything there."""
    place = module, mutant.function
    mine = [
        t for t in trials if place in t.called or (not mutant.function and module in {m for m, _ in t.called})
    ]
    before = _NOTICED.setdefault(place, Counter())
    mine = sorted(closest_first(mine), key=lambda trial: -before[trial.name])
    by = forked(lambda: first_failure({module: mutant}, mine)) if mine else ""
    before[by] += 1
    return by


def closest_first(trials: Sequence[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: (trial.seconds > 0.1, len(trial.called), trial.seconds))


def first_failure(changed: dict[str, Mutant], trials: Sequence[Trial]) -> str:
    for module, mutant in changed.items():
        put_in(mutant, f"harness.{module.replace('/', '.')}")
    for trial, after in zip(trials, [*trials[1:], None], strict=True):
        if trial.run(after and after.item):
            return trial.name
    return ""


def require_that_nothing_fails_unchanged(trials: Sequence[Trial]) -> None:
    """In another order and with modules put into themselves: else a failure would not be the mutant's."""
    unchanged = {module: mutants(source(module))[0].undone() for module in MODULES}
    if failed := forked(lambda: first_failure(unchanged, closest_first(trials)), 10 * SECONDS):
        sys.exit(f"{failed} fails without a mutant where tests run in another order")


class Tester:
    """In the place of pytest's own loop over the tests that it collected."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.red = asked, True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        drawn = {module: sample(module, self.asked) for module in self.asked.modules}
        trials = of_tests(session.items, MODULES)
        with tempfile.TemporaryDirectory(prefix="mutation-kept-") as folder:
            if self.asked.records:
                trials += of_kept(Path(folder), MODULES)
            require_that_nothing_fails_unchanged(trials)
            print(f"{len(trials)} tests and records, {sum(trial.seconds for trial in trials):.0f} s")
            self.red = tried(drawn, trials, self.asked)
        return True


def sample(module: str, asked: argparse.Namespace) -> list[Mutant]:
    every = mutants(source(module))
    names = {f"{module} {mutant.name}" for mutant in every}
    if stale := sorted(name for name in listed() - names if name.startswith(f"{module} ")):
        sys.exit(f"{SURVIVORS.name} lists what is no mutant today: {stale[0]}")
    if asked.records:
        every = [mutant for mutant in every if not mutant.refuses]
    chance = random.Random(f"{asked.seed} {module}")
    return chance.sample(every, min(asked.sample or len(every), len(every)))


def source(module: str) -> str:
    return (ROOT / "harness" / f"{module}.py").read_text(encoding="utf-8")


def listed(records: bool = True) -> set[str]:
    """The mutants that nothing, or no record, can notice: `module function: before → after`."""
    text = SURVIVORS.read_text(encoding="utf-8")
    lines = (text if records else text.partition(ONLY_A_TEST)[0]).splitlines()
    return {line[4:-2] for line in lines if line.startswith("* ``")}


def tried(drawn: dict[str, list[Mutant]], trials: list[Trial], asked: argparse.Namespace) -> bool:
    """Prints what survives and the rate; whether that is another than what is listed, or too low."""
    known, sums, red = listed(asked.records), [0] * 3, False
    print(f"{'':20} mutants  noticed  listed  seconds", flush=True)
    for module, every in drawn.items():
        begun, counts = time.perf_counter(), [len(every), 0, 0]
        for mutant in every:
            name = f"{module} {mutant.name}"
            is_known = name in known
            if is_known and not asked.listed:
                counts[2] += 1
                continue
            by_any = bool(noticed(module, mutant, trials))
            counts[1] += by_any
            counts[2] += not by_any and is_known
            if by_any == is_known:
                red = True
                what = "listed, but noticed" if by_any else f"survives in line {mutant.line}"
                print(f"{what}: {name}", flush=True)
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        print(f"{module:20}{row(counts)}{time.perf_counter() - begun:9.0f}", flush=True)
    n = sums[0] - sums[2]
    print(f"{'all':20}{row(sums)}")
    print(f"noticed: {sums[1]} of {n} ({sums[1] / n:.1%}), but for {sums[2]} listed")
    return sums[1] < LEAST * n if asked.records else red


def row(counts: list[int]) -> str:
    return "".join(f"{n:{width}}" for n, width in zip(counts, (8, 9, 8), strict=True))


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", nargs="*", metavar="module", help="numbers/stats, metrics/ranking, …")
    words.add_argument("--sample", type=int, help="of each module so many")
    words.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    words.add_argument("--listed", action="store_true", help="those that are listed as survivors, too")
    words.add_argument("--records", action="store_true", help="of golden tests and kept records alone")
    asked = words.parse_args()
    asked.modules = asked.modules or [m for m in MODULES if not asked.records or m not in BESIDE]
    tester = Tester(asked)
    scratch = tempfile.mkdtemp(prefix="mutation-")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{scratch}/hypothesis"
    flags = [
        "-s",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        "-k",
        f"not {STARTS}",
        f"--basetemp={scratch}/tests",
    ]
    tests = ["golden"] if asked.records else TESTS.split()
    pytest.main([*flags, *(str(ROOT / "tests" / name) for name in tests)], plugins=[tester])
    shutil.rmtree(scratch)
    return int(tester.red)


if __name__ == "__main__":
    sys.exit(main())
