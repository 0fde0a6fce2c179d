"""Table 4.3: the architectures that FairNAS ranks first, trained from scratch as DARTS evaluates."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.data import load
from harness.data.transform import cutout_mask
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.spaces.darts_net import network as stand_alone
from harness.supernet.ranking import hits, percent
from harness.training.batches import Batches, Pixels
from harness.training.optimisers import SGD, learning_rates, set_rate, weight_optimiser
from harness.training.seeded import seeded
from reproduce.sotl import one_shot


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """DARTS' evaluation on CIFAR-10 (section 4.2.2; Liu et al. 2019)."""

    channels: int = 36
    layers: int = 20
    epochs: int = 600
    batch: int = 96
    weights: SGD = SGD(lr_max=0.025, lr_min=0.0, momentum=0.9, weight_decay=3e-4)
    clip: float = 5.0  # norm of the gradient
    auxiliary: float = 0.4  # weight of the second classifier's loss
    cutout: int = 16
    drop_path: float = 0.2  # reached in the last epoch
    train_images: int | None = None
    test_images: int | None = None


@dataclass(frozen=True, kw_only=True)
class Config(one_shot.Config):
    """A search, and how its two winners are trained again."""

    retrain: Protocol
    sotl_step: int = 100  # updates after which SoTL chooses; ValAcc chooses before any


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    kept = checkpoint.load() or {}
    if "chosen" not in kept:
        scorer, finetune = one_shot.search(run, config, checkpoint, kept), config.finetunes[0].name
        steps = {"sotl": config.sotl_step, "valacc": 0}
        kept = {"chosen": {score: scorer.best(finetune, score, step) for score, step in steps.items()}}
        kept |= {"done": {}, "metrics": [(m.name, m.value) for m in run.metrics], "truths": run.truths}
        checkpoint.save(kept)
    else:  # what the search left in the record
        run.truths += kept["truths"]
        for name, value in kept["metrics"]:
            run.metric(name, value)
    train, test = _images(run, config)
    for arch in dict.fromkeys(kept["chosen"].values()):
        if arch in kept["done"]:
            continue
        again = Retraining(run, config, arch, train)
        again.train(checkpoint, kept)
        kept["done"][arch] = again.error(test)
        kept.pop("retraining", None)
        checkpoint.save(kept)
    for score, arch in kept["chosen"].items():
        run.metric(f"error_{score}", kept["done"][arch], "%")
    chosen = kept["chosen"]
    run.table("chosen", {"by": list(chosen), "architecture": list(chosen.values())})
    checkpoint.remove()


def _images(run: Run, config: Config) -> tuple[Batches, Batches]:
    train, test = (load(config.dataset, part) for part in ("train", "test"))
    label, sha256 = train.card.title, train.card.identity.sha256
    run.table("data", {"split": ["train"], "label": [label], "sha256": [sha256]})
    protocol, pixels = config.retrain, Pixels.of(train.x)
    first = slice(protocol.train_images), slice(protocol.test_images)
    return (
        Batches(train.x[first[0]], train.y[first[0]], pixels, config.device),
        Batches(test.x[first[1]], test.y[first[1]], pixels, config.device),
    )


class Retraining:
    """One stand-alone training; what an epoch draws follows from its number."""

    def __init__(self, run: Run, config: Config, arch: str, images: Batches) -> None:
        self.run, self.protocol, self.arch, self.images = run, config.retrain, arch, images
        protocol = config.retrain
        self.network = seeded(
            run,
            f"weights of {arch}",
            lambda: stand_alone(arch, protocol.channels, protocol.layers, 10, auxiliary=True),
            config.device,
        )
        self.optimiser = weight_optimiser(self.network, protocol.weights)
        # Stepped once an epoch, as DARTS does, and before it (D37).
        self.rates = learning_rates(protocol.weights, protocol.epochs, 1)
        self.epoch = 0

    def train(self, checkpoint: Checkpoint, kept: dict) -> None:
        """To the last epoch, from where `kept` left off."""
        found = kept.get("retraining")
        if found is not None and found["arch"] == self.arch:
            self.epoch = found["epoch"]
            self.network.load_state_dict(found["network"])
            self.optimiser.load_state_dict(found["optimiser"])
        while self.epoch < self.protocol.epochs:
            self._epoch()
            self.epoch += 1
            self.run.progress(self.epoch, self.protocol.epochs, "epoch of retraining")
            if checkpoint.due:
                checkpoint.save({**kept, "retraining": self._state()})

    def _epoch(self) -> None:
        protocol, n = self.protocol, len(self.images)
        self.network.train()
        self.network.drop_path = protocol.drop_path * self.epoch / protocol.epochs
        set_rate(self.optimiser, self.rates[self.epoch + 1])
        rng = self.run.stream(f"epoch {self.epoch} of {self.arch}")
        # Drop-path draws from torch's own generator.
        torch.manual_seed(int(rng.integers(2**63)))
        order = rng.permutation(n)
        for place in range(0, n, protocol.batch):
            indices = order[place : place + protocol.batch]
            x, y = self.images.take(indices, rng)
            mask = cutout_mask(len(x), *x.shape[2:], rng, size=protocol.cutout)
            x = x.masked_fill(torch.from_numpy(mask).to(x.device)[:, None], 0.0)
            self.optimiser.zero_grad()
            self.loss(x, y).backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), protocol.clip)
            self.optimiser.step()

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy of both classifiers."""
        logits, second = self.network(x)
        extra = functional.cross_entropy(second, y)
        return functional.cross_entropy(logits, y) + self.protocol.auxiliary * extra

    def error(self, test: Batches) -> float:
        """Percent wrong on the test images."""
        self.network.eval()
        return percent(~hits(self.network, test.in_order(256)))

    def _state(self) -> dict:
        return {
            "arch": self.arch,
            "epoch": self.epoch,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
