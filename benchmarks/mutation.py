"""Which changed arithmetic between a run's record and its verdict the tests notice.

    python benchmarks/mutation.py                        every mutant of every module
    python benchmarks/mutation.py numbers/stats numbers/judge           of these two
    python benchmarks/mutation.py --sample 20 --seed 1   of each module so many, drawn with this seed
    python benchmarks/mutation.py --records --sample 10  also: what golden tests and kept records tell

A mutant (`mutants.py`) is put into the functions of a loaded module, in a fork of one process that has
collected the tests; no file changes. Of the tests those run that call the function, the closest ones first,
until one fails. Red where a mutant survives that `mutation_survivors.md` does not list, with the reason why
nothing can notice it; --listed tries those of the list again.

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
    "spec/fingerprint",
    "accepted/rejudge",
]
MODULES += [
    "numbers/cellfile",
    "accepted/outcomes",
    "base/layout",
    "make/render",
    "make/make",
    "report/collect",
]
# Between no record and its verdict: what draws before a record, what rewords a claim, and what compares, of
# which a record made again tells nothing. Of these the tests must notice mutants.
BESIDE = [
    "base/seeds",
    "accepted/rejudge",
    "accepted/differences",
    "accepted/artefact_check",
    "accepted/check",
]
MODULES += BESIDE[2:]
# Those that start processes of their own would not see a mutant.
TESTS = """golden metrics report numbers/test_stats.py numbers/test_judge.py numbers/test_claims.py
    numbers/test_cells.py numbers/test_tables.py numbers/test_rows.py spec/test_each.py
    numbers/test_truth_column.py numbers/test_run_pairs.py numbers/test_paired_claims.py
    numbers/test_boundaries.py make/test_render.py spec/test_slips.py numbers/test_cellfile.py
    accepted/test_outcomes.py accepted/test_rejudge.py accepted/test_published.py spec/test_artefacts.py
    runs/test_record.py accepted/test_check.py faulty"""
STARTS = "test_the_command"
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
        require_that_nothing_fails_unchanged(trials)
        print(f"{len(trials)} tests, {sum(trial.seconds for trial in trials):.0f} s")
        records: list[Trial] = []
        with tempfile.TemporaryDirectory(prefix="mutation-kept-") as folder:
            if self.asked.records:
                records = [t for t in trials if t.name.startswith("tests/golden/")] + of_kept(
                    Path(folder), MODULES
                )
            print(f"{sum(trial.seconds for trial in records):.0f} s of them and of {len(records)} records")
            self.red = tried(drawn, trials, records, self.asked.listed)
        return True


def sample(module: str, asked: argparse.Namespace) -> list[Mutant]:
    every = mutants(source(module))
    names = {f"{module} {mutant.name}" for mutant in every}
    if stale := sorted(name for name in listed() - names if name.startswith(f"{module} ")):
        sys.exit(f"{SURVIVORS.name} lists what is no mutant today: {stale[0]}")
    chance = random.Random(f"{asked.seed} {module}")
    return chance.sample(every, min(asked.sample or len(every), len(every)))


def source(module: str) -> str:
    return (ROOT / "harness" / f"{module}.py").read_text(encoding="utf-8")


def listed() -> set[str]:
    """The mutants that nothing can notice: `module function: before → after`."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines()
    return {line[4:-2] for line in lines if line.startswith("* ``")}


def tried(
    drawn: dict[str, list[Mutant]], trials: list[Trial], records: list[Trial], again: bool = False
) -> bool:
    """Prints what survives and the rates; whether that is another than what is listed."""
    known, sums, arithmetic, red = listed(), [0] * 4, [0] * 4, False
    print(f"{'':20} mutants  noticed  by records  listed  seconds", flush=True)
    for module, every in drawn.items():
        begun, counts = time.perf_counter(), [len(every), 0, 0, 0]
        for mutant in every:
            name = f"{module} {mutant.name}"
            if name in known and not again:
                counts[3] += 1
                continue
            told = bool(records and module not in BESIDE and noticed(module, mutant, records))
            by_any = told or bool(noticed(module, mutant, trials))
            counts[1] += by_any
            counts[2] += told
            counts[3] += not by_any and name in known
            if records and module not in BESIDE and by_any and not told:
                print(f"only a test notices: line {mutant.line} {name}")
            if by_any == (name in known):
                red = True
                what = "listed, but noticed" if by_any else f"survives in line {mutant.line}"
                print(f"{what}: {name}", flush=True)
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        if module not in BESIDE:
            arithmetic = [a + b for a, b in zip(arithmetic, counts, strict=True)]
        print(f"{module:20}{row(counts)}{time.perf_counter() - begun:9.0f}", flush=True)
    print(f"{'all':20}{row(sums)}")
    n = sums[0] - sums[3]
    print(f"noticed: {sums[1]} of {n} ({sums[1] / n:.1%}), but for {sums[3]} listed, which change nothing")
    if records:
        n = arithmetic[0] - arithmetic[3]
        told = f"{arithmetic[2]} of {n} ({arithmetic[2] / n:.1%})"
        print(f"by golden tests and kept records alone, of all but {', '.join(BESIDE)}: {told}")
    return red


def row(counts: list[int]) -> str:
    return "".join(f"{n:{width}}" for n, width in zip(counts, (8, 9, 12, 8), strict=True))


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument(
        "modules", nargs="*", metavar="module", default=MODULES, help="numbers/stats, metrics/ranking, …"
    )
    words.add_argument("--sample", type=int, help="of each module so many")
    words.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    words.add_argument("--listed", action="store_true", help="those that are listed as survivors, too")
    words.add_argument("--records", action="store_true", help="golden tests and kept records alone, too")
    tester = Tester(words.parse_args())
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
    pytest.main([*flags, *(str(ROOT / "tests" / name) for name in TESTS.split())], plugins=[tester])
    shutil.rmtree(scratch)
    return int(tester.red)


if __name__ == "__main__":
    sys.exit(main())
