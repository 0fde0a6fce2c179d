"""Table 4.3: the architectures that FairNAS ranks first, trained from scratch as DARTS evaluates."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.data import load
from harness.data.transform import cutout_mask
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.spaces.darts_net import network as stand_alone
from harness.supernet.ranking import hits, percent
from harness.training.batches import Batches, Pixels
from harness.training.images import batches, leave_source
from harness.training.loop import Loop
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
    chosen = checkpoint.phase("search", lambda part: _chosen(run, config, part))
    train, test = _images(run, config)
    errors = {}
    for arch in dict.fromkeys(chosen.values()):

        def again(part: Phase, arch: str = arch) -> float:
            training = RetrainingLoop(run, config, arch, train)
            training.train(part)
            return training.error(test)

        errors[arch] = checkpoint.phase(f"retraining of {arch}", again)
    for score, arch in chosen.items():
        run.metric(f"error_{score}", errors[arch], "%")
    run.table("chosen", {"by": list(chosen), "architecture": list(chosen.values())})
    checkpoint.remove()


def _chosen(run: Run, config: Config, part: Phase) -> dict[str, str]:
    """The architecture that each score ranks first."""
    scorer, finetune = one_shot.search(run, config, part), config.finetunes[0].name
    return {
        score: scorer.best(finetune, score, at) for score, at in (("sotl", config.sotl_step), ("valacc", 0))
    }


def _images(run: Run, config: Config) -> list[Batches]:
    train, test = (load(config.dataset, part) for part in ("train", "test"))
    leave_source(run, train.card.title, train.card.identity.sha256)
    wanted = (train, config.retrain.train_images), (test, config.retrain.test_images)
    parts = [(images.x[:first], images.y[:first]) for images, first in wanted]
    return batches(parts, config.device, pixels=Pixels.of(train.x))


class RetrainingLoop(Loop):
    """One stand-alone training; what an epoch draws follows from its number."""

    def __init__(self, run: Run, config: Config, arch: str, images: Batches) -> None:
        self.protocol = protocol = config.retrain
        super().__init__(run, protocol.epochs, "epoch of retraining", "network", "optimiser")
        self.arch, self.images = arch, images
        self.network = seeded(
            run,
            f"weights of {arch}",
            lambda: stand_alone(arch, protocol.channels, protocol.layers, 10, auxiliary=True),
            config.device,
        )
        self.optimiser = weight_optimiser(self.network, protocol.weights)
        # Stepped once an epoch, as DARTS does, and before it (D37).
        self.rates = learning_rates(protocol.weights, protocol.epochs, 1)

    def _one(self) -> None:
        protocol, n = self.protocol, len(self.images)
        self.network.train()
        self.network.drop_path = protocol.drop_path * self.step / protocol.epochs
        set_rate(self.optimiser, self.rates[self.step + 1])
        rng = self.run.stream(f"epoch {self.step} of {self.arch}")
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
