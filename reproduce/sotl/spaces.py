"""Table 3.1: the search spaces, counted."""

from dataclasses import dataclass
from typing import Literal

from harness.bench import sources
from harness.runs.record import Run
from harness.spaces import get, nb1shot1


@dataclass(frozen=True)
class Config:
    """A search space and the rule by which it is counted."""

    space: str
    rule: Literal["encodings", "published"] = "encodings"  # NB1Shot1's published sizes follow two rules (D1)


def run(run: Run, config: Config) -> None:
    space = get(config.space)
    if config.rule == "published" and isinstance(space, nb1shot1.NB1Shot1):
        size = nb1shot1.count(space.number).published
    elif space.size <= 1_000_000:
        size = sum(1 for _ in space.enumerate())
    else:
        size = space.size
    run.metric("architectures", size)
    run.metric("operations", len(operations(config.space)))
    text = {"datasets": datasets_text(space.datasets), "truth": truth_text(config.space)}
    run.table("texts", {"key": list(text), "value": list(text.values())})


def operations(name: str) -> tuple[str, ...]:
    """The candidate operations; the thesis counts DARTS' zero, which its encodings never contain."""
    if name == "darts":
        from harness.spaces import darts

        return ("none", *darts.OPS)
    if name == "nb201":
        from harness.spaces import nb201

        return nb201.OPS
    return nb1shot1.OPS


def datasets_text(names: tuple[str, ...]) -> str:
    """As the thesis writes them: `CIFAR10/100, ImageNet16-120`."""
    shown = {"cifar10": "CIFAR10", "cifar100": "CIFAR100", "imagenet16-120": "ImageNet16-120"}
    return ", ".join(shown[n] for n in names).replace("CIFAR10, CIFAR100", "CIFAR10/100")


def truth_text(name: str) -> str:
    """`Exact` where a table holds trained networks, `Predicted` where a surrogate answers."""
    tables = [source for source in sources() if name in source.spaces and source.predict is None]
    return "Exact" if tables else "Predicted"
