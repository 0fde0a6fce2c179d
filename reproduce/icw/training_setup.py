"""Table 5: the training set-ups, read off the objects they build and the fields that runs use."""

from dataclasses import dataclass

import torch
from torch import nn

from harness.runs.record import Run
from harness.training.optimisers import SGD, weight_optimiser
from reproduce.icw.steps import learning_rates, schedule

STEPS = 4  # iterations per epoch while reading the schedule: its ends do not depend on their number


@dataclass(frozen=True)
class Augmentation:
    """What happens to a training image (Table 5, lower half); None or 0 = not done."""

    pixel_shift: int | None = None
    flip: bool = True
    scale: tuple[float, ...] | None = None
    ratio: tuple[float, ...] | None = None
    interpolation: str | None = None
    crop: str | None = None
    colour_jitter: float | None = None
    normalise: bool = True


@dataclass(frozen=True)
class Evaluation:
    """What happens to an image that is evaluated."""

    resize: bool = False
    crop: str | None = None
    normalise: bool = True


@dataclass(frozen=True)
class Config:
    """How one kind of network is trained (Table 5)."""

    weights: SGD
    epochs: int
    batch_size: int
    side: int
    label_smoothing: float
    dropout: float
    gradient_clip: float | None
    augmentation: Augmentation
    evaluation: Evaluation


def run(run: Run, config: Config) -> None:
    network = nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2))
    optimiser = weight_optimiser(network, config.weights)
    scheduler = schedule(optimiser, config.weights, config.epochs, STEPS)
    network(torch.zeros(2, 3, 2, 2)).sum().backward()
    norm = {id(p) for p in network[1].parameters()}
    decays = {
        id(p) in norm: g["weight_decay"]
        for g in optimiser.param_groups
        for p in g["params"]
        if p.ndim > 1 or id(p) in norm
    }
    momentum = optimiser.param_groups[0]["momentum"]
    rates = learning_rates(optimiser, scheduler, config.epochs * STEPS)
    a, e = config.augmentation, config.evaluation
    texts = {
        "Optimizer": type(optimiser).__name__,
        "initial learning rate": f"{max(rates):g}",
        "final learning rate": f"{rates[-1]:g}",
        "warmup epochs": _or_dash(config.weights.warmup_epochs),
        "learning rate decay": _decay(scheduler),
        "momentum": f"{momentum:g}",
        "gradient clipping": _or_dash(config.gradient_clip),
        "weight decay": f"{decays[False]:g}",
        "weight decay applies to BatchNorm": _yes(decays[True] > 0),
        "epochs": str(config.epochs),
        "data input shape": f"3×{config.side}×{config.side}",
        "batch size": str(config.batch_size),
        "cross-entropy label smoothing": _or_dash(config.label_smoothing),
        "dropout": _or_dash(config.dropout),
        "pixel shift": _or_dash(a.pixel_shift),
        "random horizontal flipping": _yes(a.flip),
        "image scale": _range(a.scale),
        "image ratio": _range(a.ratio),
        "interpolation": _or_dash(a.interpolation),
        "cropping": _or_dash(a.crop),
        "color jitter (brightness, contrast, saturation)": _or_dash(a.colour_jitter),
        "normalization": _yes(a.normalise),
        "evaluation: image resizing": _yes(e.resize) if e.resize else "-",
        "evaluation: cropping": _or_dash(e.crop),
        "evaluation: normalization": _yes(e.normalise),
    }
    run.table("setup", {"key": list(texts), "value": list(texts.values())})


def _decay(scheduler: torch.optim.lr_scheduler.LRScheduler) -> str:
    last = getattr(scheduler, "_schedulers", [scheduler])[-1]
    return type(last).__name__.removesuffix("AnnealingLR").casefold()


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _or_dash(value: object) -> str:
    return "-" if not value else f"{value:g}" if isinstance(value, float) else str(value)


def _range(ends: tuple[float, ...] | None) -> str:
    return "-" if ends is None else f"{ends[0]:g} to {ends[1]:g}"
