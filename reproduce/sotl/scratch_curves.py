"""Section 4.2.1, Figures 4.4 and 4.5: estimators along the benchmark's own trainings from scratch."""

import gzip
import json
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.bench import catalogue, curve, truths
from harness.bench.carried import find_data
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.spaces import nb201

LAST_EPOCHS = "benchmarks/nb201/final_train_loss_1000.json.gz"
NAMES = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "ImageNet16-120"}
# Higher = predicted better; what scratch_training leaves under the same names.
CURVES = ("sotl", "valacc", "trainacc")
FURTHER = ("sotl_all", "valloss")


@dataclass(frozen=True, kw_only=True)
class Config(Asked):
    """One draw of architectures; each seed draws its own (section 4.2.1: 200 architectures, 10 seeds)."""

    dataset: str
    epochs: int  # of the schedule
    truth_epochs: int = 200
    curves: Literal["nb201-nats", "last-epochs"] = "nb201-nats"  # whole curves, or only their ends (D18)
    trial: int = 0  # which of the benchmark's trainings is followed
    val_12: str = "val"  # on which images ValAcc is measured; for cifar10 also whose training it is (D18)
    val_200: str = "val"
    sample: int = 200
    each_to: int = 20  # every epoch is kept up to this one, then every fifth
    then_every: int = 5

    @property
    def val(self) -> str:
        return self.val_12 if self.epochs == 12 else self.val_200

    @property
    def kept(self) -> list[int]:
        """Epochs, counted from one."""
        whole = range(1, self.epochs + 1)
        return [e for e in whole if e <= self.each_to or e % self.then_every == 0 or e == self.epochs]


@dataclass(frozen=True)
class Curves:
    """Scores by epoch (rows, those of `epochs`) and architecture, and where they come from."""

    epochs: list[int]
    scores: dict[str, np.ndarray]
    origin: dict[str, str]


def run(run: Run, config: Config) -> None:
    if config.epochs not in (12, 200):
        raise HarnessError(f"{run.spec.id}: the benchmark has schedules of 12 and 200 epochs: choose one")
    draw = run.stream("architectures")
    if config.curves == "nb201-nats":
        require_whole(run)
        archs = nb201.SPACE.sample(config.sample, draw)
        curves = official(archs, config)
    else:
        held, origin = last_epochs()
        if config.sample > len(held):
            raise HarnessError(f"{LAST_EPOCHS} has {len(held)} cells, not {config.sample}: lower sample")
        archs = [sorted(held)[i] for i in draw.choice(len(held), config.sample, replace=False)]
        curves = ends([held[arch] for arch in archs], archs, origin, config)
    truth = config.truths(run, "nb201", archs, config.dataset)
    of_arch = {"params": nb201.SPACE.params_of(archs, config.dataset), "truth": truth}
    leave_tables(run, archs, curves, of_arch)


def require_whole(run: Run) -> None:
    """Three records are enough for a reader's test, and nothing for a draw of 200 cells."""
    source = catalogue.named("nb201-nats")
    found = catalogue.find(source)
    here = catalogue.open_store(source, found[1]).meta.cells if found else 0
    if here != source.cells:
        raise HarnessError(
            f"{run.spec.id} follows the benchmark's trainings, of which {here:,} of {source.cells:,} records"
            f" are here: {source.get}"
        )


def official(archs: list[str], config: Config) -> Curves:
    """SoTL of an epoch is its mean training loss; what is summed over all epochs is kept beside it."""
    found: dict[str, list[np.ndarray]] = {what: [] for what in ("train_loss", "train_acc", "loss", "acc")}
    for arch in archs:
        for what, values in found.items():
            one = curve("nb201", arch, config.dataset, config.epochs, config.val, config.trial, what)
            values.append(one.values)
    values = {what: np.array(of_archs).T for what, of_archs in found.items()}  # epoch, architecture
    scores = {
        "sotl": -values["train_loss"],
        "valacc": values["acc"],
        "trainacc": values["train_acc"],
        "sotl_all": -values["train_loss"].cumsum(axis=0),
        "valloss": -values["loss"],
    }
    rows = np.array(config.kept) - 1
    origin = {"source": one.identity.source, "sha256": one.identity.sha256, "policy": one.identity.policy}
    return Curves(config.kept, {name: score[rows] for name, score in scores.items()}, origin)


def last_epochs() -> tuple[dict[str, dict], dict[str, str]]:
    """What of the official records was at hand: the last epochs of 1,000 cells, by architecture (D18)."""
    path = find_data(LAST_EPOCHS)
    if path is None:
        raise HarnessError(
            f"the ends of the curves are not here: put {LAST_EPOCHS} below NAS_DATA, or the official files"
            " and use scale paper"
        )
    try:
        held = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise HarnessError(f"{path} is not readable gzip JSON ({error}): fetch it again") from None
    policy = "training loss and accuracy of the last epoch, of one seed that is not recorded"
    return held, {"source": "last epochs of 1,000 cells", "sha256": sha256_of(path), "policy": policy}


def ends(held: list[dict], archs: list[str], origin: dict[str, str], config: Config) -> Curves:
    """The last epoch only: loss and accuracy in training; validation accuracy from the source of truths."""
    of_run = np.array([one[NAMES[config.dataset]][str(config.epochs)][:2] for one in held])
    answer = truths("nb201", archs, config.dataset, config.epochs, config.val, 0, source=config.truth_source)
    scores = {"sotl": -of_run[:, 0], "valacc": answer.values, "trainacc": of_run[:, 1]}
    policy = f"{origin['policy']}; ValAcc: {answer.identity.policy}"
    return Curves(
        [config.epochs], {name: v[None] for name, v in scores.items()}, {**origin, "policy": policy}
    )


def leave_tables(run: Run, archs: list[str], curves: Curves, of_arch: dict[str, np.ndarray]) -> None:
    """`curves` and, of whole curves, `further`: a row per epoch and architecture; `architectures`; `data`."""
    epochs, n = len(curves.epochs), len(archs)
    keys = {"epoch": np.repeat(curves.epochs, n), "arch": np.tile(np.arange(n), epochs)}
    repeated = {name: np.tile(values, epochs) for name, values in of_arch.items()}
    for table, names in (("curves", CURVES), ("further", FURTHER)):
        columns = {name: curves.scores[name].ravel() for name in names if name in curves.scores}
        if columns:
            run.table(table, {**keys, **columns, **repeated})
    run.table("architectures", {"arch": range(n), "architecture": archs, **of_arch})
    run.table("data", {key: [value] for key, value in curves.origin.items()})
    run.metric("architectures", n)
    run.progress(n, n, "architecture")
