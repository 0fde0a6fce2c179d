"""NAS-Bench-201 from the official NATS-Bench folder, through the nats-bench package.

The records are bz2 pickles, and 15,625 of them cannot be pinned by known sha256s here. So nats-bench never
opens one: each is read by the restricted unpickler, which builds plain data only, and handed over as the dict
that nats-bench's own reader would have produced. From there on its code answers.

`get_more_info` defaults to the 12-epoch schedule and to a random trial. This is the only module that may call
it, always with hp and is_random=False; a test searches the tree for calls elsewhere.
"""

import bz2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.base.errors import HarnessError
from harness.base.safe_pickle import load_plain
from harness.bench.identity import QUANTITIES, Column, Key, Say, Source, Table, accuracies
from harness.bench.nb201_table import CELLS, DATASETS, run_of, seconds_policy, seed
from harness.bench.store import Store, records

if TYPE_CHECKING:
    from nats_bench import ArchResults

FOLDER = "NATS-tss-v1_0-3ffb9-simple"
EPOCHS = (12, 200)
TRIALS = 3
SPLITS = {"cifar10": ("val", "test"), "cifar100": ("val", "test", "val+test")}
SPLITS["imagenet16-120"] = SPLITS["cifar100"]
ANSWER = {"val": "valid-accuracy", "test": "test-accuracy", "val+test": "valtest-accuracy"}
RUNS = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")


def run_and_set(dataset: str, split: str) -> tuple[str, str]:
    """nats-bench's names of the training run and of the set that it was evaluated on."""
    if dataset == "cifar10":
        return ("cifar10-valid", "x-valid") if split == "val" else ("cifar10", "ori-test")
    return DATASETS[dataset], {"val": "x-valid", "test": "x-test", "val+test": "ori-test"}[split]


def _columns() -> tuple[Column, ...]:
    made = []
    for data, splits in SPLITS.items():
        for epochs in EPOCHS:
            for split in splits:
                run = f"{run_of(data, split)}; {epochs}-epoch schedule"
                trials = [f"{run}; {seed(k, epochs)}" for k in range(TRIALS)]
                made += accuracies(data, epochs, split, f"{run}; mean of the seeds held", trials)
            made.append(Column(Key("seconds", data, epochs, "train", "mean"), seconds_policy(epochs)))
    return tuple(made)


COLUMNS = _columns()


def convert(inputs: list[Path], folder: Path, say: Say) -> Table:
    """Every record once (about 50 ms each); the curves go straight to disk, they are 1.3 gigabytes in all."""
    from importlib.metadata import version

    from nats_bench import ArchResults, create

    archive = inputs[0]
    meta = _read(archive / "meta.pickle.pbz2")
    archs = meta.get("meta_archs") if isinstance(meta, dict) else None
    if not isinstance(archs, list):
        raise HarnessError(f"{archive}/meta.pickle.pbz2 lists no architectures: unpack the archive again")
    held = [name for name in records(archive) if name != "meta.pickle.pbz2"]
    api = create(
        {"meta_archs": archs, "arch2infos": {}, "evaluated_indexes": []}, "tss", False, verbose=False
    )
    values = np.full((len(COLUMNS), len(archs)), np.nan)
    curve_row = np.full(len(archs), -1, dtype=np.int32)
    curves = {
        (run, epochs): np.lib.format.open_memmap(
            folder / f"curves-{run}-{epochs}.npy",
            "w+",
            float,
            (len(held), TRIALS, len(_kinds(run, epochs)), epochs),
        )
        for run in RUNS
        for epochs in EPOCHS
    }
    for row, name in enumerate(held):
        record = _read(archive / name)
        index = int(name.split(".")[0])
        try:
            results = {hp: ArchResults.create_from_state_dict(state) for hp, state in record.items()}
            if not 0 <= index < len(archs) or any(r.arch_str != archs[index] for r in results.values()):
                raise HarnessError(
                    f"{archive}/{name} is not the record of cell {index}: unpack the archive again"
                )
            # What nats-bench does after reading a file; taken out again, because all of them are 20 GB.
            api.arch2infos_dict[index] = results
            api.evaluated_indexes.add(index)
            values[:, index] = [_value(api, index, results, column.key) for column in COLUMNS]
            for (run, epochs), target in curves.items():
                target[row] = _curves(results[str(epochs)], run, epochs)
            del api.arch2infos_dict[index]
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise HarnessError(
                f"{archive}/{name} is no complete record ({error!r}): unpack it again"
            ) from None
        curve_row[index] = row
        if row % 1000 == 999:
            say(f"{row + 1} of {len(held)} records")
    for target in curves.values():
        target.flush()
    name = f"NATS-tss-v1_0-3ffb9 ({len(held)} records) read by nats-bench {version('nats-bench')}"
    return Table(name, np.array(archs, dtype="S"), values, {"curve_row": curve_row})


def _read(path: Path) -> Any:
    try:
        data = bz2.decompress(path.read_bytes())
    except (OSError, ValueError, EOFError) as error:
        raise HarnessError(f"{path} is not a readable bz2 file ({error}): unpack the archive again") from None
    return load_plain(data, str(path))


def _value(api: Any, index: int, results: "dict[str, ArchResults]", key: Key) -> float:
    run, name = run_and_set(key.dataset, "val" if key.what == "seconds" else key.split)
    hp = str(key.epochs)
    if key.trials == "mean":
        info = api.get_more_info(index, run, iepoch=None, hp=hp, is_random=False)
        return info["train-all-time" if key.what == "seconds" else ANSWER[key.split]]
    trials = results[hp].query(run)
    seeds = sorted(trials)
    if key.trials >= len(seeds):
        return np.nan
    return trials[seeds[key.trials]].get_eval(name)["accuracy"]


def _kinds(run: str, epochs: int) -> list[str]:
    """What is kept per epoch: whatever the archive has at every epoch of this run, and a split asks for."""
    # At 200 epochs: x-valid of cifar10-valid, ori-test of the others; of any other set only the last epoch.
    sets = {"cifar10-valid": ["x-valid"], "cifar10": ["ori-test"]}.get(run, ["x-valid", "x-test", "ori-test"])
    sets = sets if epochs == 12 or run == "cifar10-valid" else ["ori-test"]
    return ["train_loss", "train_acc", *(f"{name} {what}" for name in sets for what in ("loss", "acc"))]


def _curves(result: "ArchResults", run: str, epochs: int) -> np.ndarray:
    """(trial, quantity, epoch); nan where there is no such trial."""
    values = np.full((TRIALS, len(_kinds(run, epochs)), epochs), np.nan)
    trials = result.query(run)
    for trial, one in enumerate(trials[which] for which in sorted(trials)):
        for place, kind in enumerate(_kinds(run, epochs)):
            if kind.startswith("train"):
                source = one.train_losses if kind == "train_loss" else one.train_acc1es
                values[trial, place] = [source[epoch] for epoch in range(epochs)]
                continue
            name, what = kind.split()
            source = one.eval_losses if what == "loss" else one.eval_acc1es
            values[trial, place] = [source[f"{name}@{epoch}"] for epoch in range(epochs)]
    return values


def curve(
    store: Store, row: int, arch: str, dataset: str, epochs: int, split: str, trial: int, what: str
) -> np.ndarray:
    """Per-epoch values of the run that the split belongs to; `loss` and `acc` are those on the split."""
    run, name = run_and_set(dataset, split)
    kind = what if what.startswith("train") else f"{name} {what}"
    held = store.array("curve_row")[row]
    kinds = _kinds(run, epochs)
    values = np.empty(0)
    if held >= 0 and kind in kinds:
        values = np.array(store.array(f"curves-{run}-{epochs}")[held, trial, kinds.index(kind)])
    if not len(values) or np.isnan(values).any():
        raise HarnessError(
            f"nb201-nats has no per-epoch {what} of {dataset} {split} at {epochs} epochs, trial {trial}, for "
            f"{arch}: at 200 epochs it has, of each seed held, train_loss and train_acc of every run, but "
            "loss and acc only for cifar10 val, cifar10 test and the others' val+test; at 12 epochs all, for "
            "trial 0 (cifar10 val also 1)"
        )
    return values


def holds_curve(dataset: str, epochs: int, split: str, trial: object, what: str) -> bool:
    known = dataset in SPLITS and split in SPLITS[dataset] and what in QUANTITIES
    return known and epochs in EPOCHS and trial in range(TRIALS) and not isinstance(trial, bool)


SOURCE = Source(
    name="nb201-nats",
    spaces=("nb201",),
    holds="NAS-Bench-201 as published: 12 and 200 epochs, every split and seed, seconds, curves per epoch",
    files=((f"benchmarks/nb201/{FOLDER}",), (FOLDER,)),
    get=f"unpack NATS-Bench's {FOLDER}.tar (github.com/D-X-Y/NATS-Bench links it) there",
    columns=COLUMNS,
    cells=CELLS,
    convert=convert,
)
