"""One query function for every benchmark; every argument that decides the number must be given."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from harness import spaces
from harness.base.errors import HarnessError
from harness.bench import catalogue, nats, nb301
from harness.bench.choose import choose, elsewhere
from harness.bench.identity import (
    QUANTITIES,
    SPLITS,
    TRIALS,
    Curve,
    Identity,
    Key,
    Source,
    Trials,
    Truth,
    Truths,
)
from harness.bench.lookup import Architectures, as_list, name_of, rows_of


def truth(
    space: str,
    architecture: str | int,
    dataset: str,
    epochs: int,
    split: str,
    trials: Trials,
    *,
    source: str = "best",
) -> Truth:
    """The ground-truth accuracy of one architecture, in percent, and which number it is."""
    if not isinstance(architecture, str | int | np.integer):
        raise HarnessError(
            f"truth is for one architecture, not {type(architecture).__name__}: use truths for many"
        )
    many, name = _answer(space, architecture, _accuracy(dataset, epochs, split, trials), source)
    return Truth(name, float(many.values[0]), many.identity)


def truths(
    space: str,
    architectures: Architectures,
    dataset: str,
    epochs: int,
    split: str,
    trials: Trials,
    *,
    source: str = "best",
) -> Truths:
    """The ground-truth accuracies of many architectures, in percent, all from one source."""
    return _answer(space, architectures, _accuracy(dataset, epochs, split, trials), source)[0]


def seconds(
    space: str, architectures: Architectures, dataset: str, epochs: int, *, source: str = "best"
) -> Truths:
    """Training seconds of one run, on the benchmark authors' hardware."""
    return _answer(space, architectures, Key("seconds", dataset, _whole(epochs), "train", "mean"), source)[0]


def curve(
    space: str,
    architecture: str | int,
    dataset: str,
    epochs: int,
    split: str,
    trials: int,
    quantity: str,
    *,
    source: str = "best",
) -> Curve:
    """One value per epoch of one run. The split says which run (cifar10: val 25k images, test 50k).

    `train_loss` and `train_acc` are the run's own; `loss` and `acc` are on the split. Accuracies in percent.
    """
    key = _accuracy(dataset, epochs, split, trials)
    if quantity not in QUANTITIES:
        raise spaces.unknown("quantity of a curve", quantity, QUANTITIES)
    if space != "nb201" or source not in ("best", "nb201-nats"):
        asked = f"{space} at all" if space != "nb201" else source
        raise HarnessError(f"there are no curves in {asked}: only nb201-nats has them, for nb201")
    if not nats.holds_curve(dataset, epochs, split, trials, quantity):
        raise HarnessError(f"nb201-nats has no curve of {key}: it has 12 and 200 epochs, trials 0, 1, 2")
    official = catalogue.named("nb201-nats")
    found = catalogue.find(official)
    if found is None:
        raise HarnessError(
            f"curves come from nb201-nats only, which is not here: {catalogue.missing(official)}"
        )
    store = catalogue.open_store(official, found[1])
    row = int(rows_of(space, official, store, as_list(architecture))[0])
    name = name_of(space, store, row)
    values = nats.curve(store, row, name, dataset, epochs, split, trials, quantity)
    identity = _identity(space, official, key, found[0], store.meta.version, store.meta.sha256)
    policy = f"{identity.policy}; {quantity} after each epoch"
    return Curve(name, quantity, values, replace(identity, policy=policy))


def _accuracy(dataset: str, epochs: int, split: str, trials: Trials) -> Key:
    if split not in SPLITS:
        raise spaces.unknown("split", split, SPLITS)
    if isinstance(trials, np.integer):
        trials = int(trials)
    if isinstance(trials, bool) or trials not in TRIALS:
        raise spaces.unknown("trials", trials, [str(one) for one in TRIALS])
    return Key("accuracy", dataset, _whole(epochs), split, trials)


def _whole(epochs: int) -> int:
    if isinstance(epochs, bool) or not isinstance(epochs, int | np.integer):
        raise HarnessError(f"epochs must be a whole number, not {epochs!r}")
    return int(epochs)


def _answer(space: str, architectures: Architectures, key: Key, wanted: str) -> tuple[Truths, str]:
    """The values and the first architecture's name."""
    archs = as_list(architectures)
    source, names, paths, store = choose(space, key, wanted)
    if store is None:
        return _predicted(space, source, names, paths, archs, key)
    rows = rows_of(space, source, store, archs)
    values = np.array(store.array("values")[catalogue.column(source, key)][rows], dtype=float)
    absent = np.isnan(values)
    if absent.any():
        first = name_of(space, store, archs[int(np.argmax(absent))])
        raise HarnessError(
            f"{source.name} has no {key} for {int(absent.sum())} of the {len(values)} architectures asked, "
            f"the first {first}: {elsewhere(space, key, source)}"
        )
    identity = _identity(space, source, key, names, store.meta.version, store.meta.sha256)
    return Truths(values, identity), name_of(space, store, archs[0]) if len(archs) else ""


def _predicted(
    space: str, source: Source, names: list[str], paths: list[Path], archs: list[str] | np.ndarray, key: Key
) -> tuple[Truths, str]:
    if isinstance(archs, np.ndarray) and len(archs):
        raise HarnessError(f"{source.name} has no rows: ask it with genotypes")
    values = source.predict(paths, list(archs), key)
    sha = nb301.hash_once(tuple(map(str, paths)), tuple(path.stat().st_mtime_ns for path in paths))
    identity = _identity(space, source, key, names, source.version, sha)
    return Truths(values, identity), archs[0] if len(archs) else ""


def _identity(space: str, source: Source, key: Key, names: list[str], version: str, sha: str) -> Identity:
    policy = source.policy(key) or ""
    files = " + ".join(Path(name).name for name in names)
    return Identity(
        source.name, version, files, sha, space, key.dataset, key.epochs, key.split, key.trials, policy
    )
