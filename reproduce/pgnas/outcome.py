"""What a trained super-network and its candidates come to: the numbers behind every table."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from harness.metrics.ranking import spearman
from harness.runs.record import Run
from harness.supernet.ranking import Batch
from reproduce.pgnas import exporting
from reproduce.pgnas.candidates import Errors, errors, worn
from reproduce.pgnas.counts import Counter, dropped_shares, operations_by_threshold
from reproduce.pgnas.masked import MaskedConv, SuperNet
from reproduce.pgnas.posterior import fixed_point
from reproduce.pgnas.training import Training, drawn

BINS = range(0, 100, 2)  # of candidates' errors, in percent


class Asked(Protocol):
    """What is asked of the candidates."""

    side: int
    chosen_of: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """Percent wrong of each candidate, on the images that choose and on those that test."""

    choose: np.ndarray
    test: np.ndarray
    choose5: np.ndarray
    test5: np.ndarray


def leave_layers(run: Run, config: Training, network: SuperNet) -> None:
    """The drop probability of each layer, what pulls at it, and whether the layer widens."""
    p = network.p_of_channels.detach().double().split(network.widths)
    norms = network.norms().detach().split(network.counts)
    rows: dict[str, list[object]] = {
        key: [] for key in ("layer", "kind", "widens", "p", "channels", "norm", "rest")
    }
    for (name, layer), own, norm in zip(network.layers.items(), p, norms, strict=True):
        outputs, inputs = layer.weight.shape[:2]
        total, channels = norm.double().sum(), torch.tensor(len(own))
        rest = float("nan")
        if config.prior is not None and config.coupled and config.entropy == "bonus":
            rest = fixed_point(total, channels, config.prior).item()
        values = (
            name,
            _kind(name, layer),
            "yes" if outputs > inputs else "no",
            own.mean().item(),
            len(own),
            total.item(),
            rest,
        )
        for column, value in zip(rows.values(), values, strict=True):
            column.append(value)
    run.table("layers", rows)
    means = np.array(rows["p"])
    run.metric("p_mean", 100 * network.p_of_channels.mean().item(), "%")
    run.metric("p_low", 100 * (means < 0.05).mean(), "%")
    run.metric("p_between", 100 * ((means >= 0.05) & (means <= 0.2)).mean(), "%")
    run.metric("p_high", 100 * (means > 0.2).mean(), "%")
    run.metric("p_highest", 100 * means.max(), "%")


def _kind(name: str, layer: nn.Module) -> str:
    if not isinstance(layer, MaskedConv):
        return "head"
    return "stem" if name == "stem" else "skip" if layer.kernel_size == (1, 1) else "branch"


@torch.no_grad()
def leave_whole(run: Run, config: Training, network: SuperNet, test: Sequence[Batch]) -> None:
    """The super-network itself: without masks, under their mean, and under masks drawn for each image."""

    def tell(name: str, found: Errors) -> None:
        run.metric(f"{name}_error", found.top1, "%")
        run.metric(f"{name}_top5", found.top5, "%")

    tell("whole", errors(network, test))
    run.metric("parameters_whole", Counter.of(network, config.side).whole().parameters.item() / 1e6, "M")
    if config.masks == "none":
        return
    p = network.p_of_channels.detach()
    with network.wearing(torch.ones_like(p)[None] if config.rescale else (1 - p)[None]):
        tell("mean_mask", errors(network, test))
    for name, hard in (("relaxed", False), ("hard", True)):
        if config.masks == "hard" and not hard:
            continue  # such a training has no relaxed masks
        torch.manual_seed(int(run.stream(f"{name} masks").integers(2**63)))
        found = []
        for x, y in test:
            with network.wearing(drawn(network, config, len(x), hard=hard)):
                found.append(errors(network, [(x, y)]))
        weights = [len(y) for _, y in test]
        tell(
            name,
            Errors(
                *(
                    float(np.average([getattr(e, k) for e in found], weights=weights))
                    for k in ("top1", "top5")
                )
            ),
        )


def leave_candidates(run: Run, config: Asked, network: SuperNet, masks: Tensor, scores: Scores) -> int:
    """Tables of all candidates and of what choosing among so many of them gives; the number of the chosen."""
    counter = Counter.of(network, config.side)
    cost, (channels, empty) = counter.exact(masks), dropped_shares(network, masks)
    expected, whole = counter.expected(), counter.whole()
    run.table(
        "candidates",
        {
            "choose_error": scores.choose,
            "test_error": scores.test,
            "parameters": (cost.parameters / 1e6).numpy(),
            "operations": (cost.operations / 1e6).numpy(),
        },
    )
    for name, values in (("choose", scores.choose), ("test", scores.test)):
        run.metric(f"{name}_mean", values.mean(), "%")
        run.metric(f"{name}_sd", values.std(ddof=1), "%")
    run.metric("agreement", spearman(scores.choose, scores.test))
    shares = np.histogram(scores.test, bins=[*BINS, 100])[0] / len(scores.test)
    run.table("histogram", {"error": list(BINS), "share": 100 * shares})
    sizes = (cost.parameters / 1e6).numpy()
    run.table("choices", choices(scores, sizes, [c for c in config.counts if c <= len(masks)]))
    best = int(scores.choose[: config.chosen_of].argmin())
    run.metric("chosen_error", scores.test[best], "%")
    run.metric("chosen_top5", scores.test5[best], "%")
    run.metric("best_on_test_error", scores.test.min(), "%")
    run.metric("parameters", cost.parameters[best].item() / 1e6, "M")
    run.metric("parameters_expected", expected.parameters.item() / 1e6, "M")
    run.metric("operations", cost.operations[best].item() / 1e6, "M")
    run.metric("parameters_kept", 100 * (cost.parameters[best] / whole.parameters).item(), "%")
    run.metric("operations_kept", 100 * (cost.operations[best] / whole.operations).item(), "%")
    run.metric("dropped_channels", channels[best].item())
    run.metric("dropped_operations", empty[best].item())
    above, alone = operations_by_threshold(network)
    run.metric("operations_above_half", above)
    run.metric("some_operation_empty", 100 * alone, "%")
    return best


def leave_exported(
    run: Run, config: Training, network: SuperNet, mask: Tensor, tests: Sequence[Batch]
) -> None:
    """The candidate of a mask as a network of its own, without what is dropped."""
    small = exporting.export(network, mask[None])
    cost = exporting.cost(small, config.side)
    run.metric("exported_parameters", cost.parameters.item() / 1e6, "M")
    run.metric("exported_operations", cost.operations.item() / 1e6, "M")
    run.metric("exported_error", errors(small, tests).top1, "%")


def choices(scores: Scores, sizes: np.ndarray, counts: Sequence[int]) -> dict[str, list[float]]:
    """Of each number C of candidates: means over as many separate groups of C as there are.

    `by_choose`: test error of the candidate that other images choose; `by_test`: the least test error, which
    is what the authors print; `by_spread`: that error as mean and deviation of all candidates let expect it.
    `parameters` are those, in millions, of the candidate that other images choose.
    """
    names = "count", "groups", "by_choose", "by_test", "by_spread", "choose_error", "optimism", "parameters"
    rows: dict[str, list[float]] = {key: [] for key in names}
    mean, deviation = scores.test.mean(), scores.test.std(ddof=1)
    for count in counts:
        groups = len(scores.test) // count
        choose, test, size = (
            part[: groups * count].reshape(groups, count) for part in (scores.choose, scores.test, sizes)
        )
        best = np.arange(groups), choose.argmin(axis=1)
        own = test[best].mean()
        least = test.min(axis=1).mean()
        spread = mean - expected_maximum(count) * deviation
        chosen = choose.min(axis=1).mean()
        values = (count, groups, own, least, spread, chosen, own - least, size[best].mean())
        for column, value in zip(rows.values(), values, strict=True):
            column.append(float(value))
    return rows


def expected_maximum(count: int) -> float:
    """Of so many independent standard normal numbers: ∫ 1 − Φᶜ above 0 less ∫ Φᶜ below."""
    from scipy.stats import norm

    x = np.linspace(-12, 12, 24001)
    below = np.exp(count * norm.logcdf(x))
    step = x[1] - x[0]
    return float(((1 - below)[x >= 0].sum() - below[x < 0].sum()) * step - step / 2)


def leave_control(
    run: Run, config: Training, network: SuperNet, name: str, masks: Tensor, wrong: np.ndarray
) -> None:
    """Test errors of masks that guidance did not place, and how many parameters they leave (D20)."""
    run.metric(f"{name}_mean", wrong.mean(), "%")
    run.metric(f"{name}_sd", wrong.std(ddof=1), "%")
    cost = Counter.of(network, config.side).exact(masks)
    run.metric(f"{name}_parameters", cost.parameters.mean().item() / 1e6, "M")


@torch.no_grad()
def leave_own_statistics(
    run: Run,
    config: Training,
    network: SuperNet,
    masks: Tensor,
    train: Sequence[Batch],
    test: Sequence[Batch],
    scale: Tensor | None,
) -> None:
    """Mean test error of some candidates with three kinds of batch norm statistics (D23).

    The training's; those of the same images in the same mode under masks drawn for each image, as in the
    training; those under the candidate's own mask. The gain is from the second to the third: between the
    first and the second lies what is not the mask, such as how branches are weighed and how old the
    statistics are.
    """
    shared = copy.deepcopy(network)
    torch.manual_seed(int(run.stream("masks of shared statistics").integers(2**63)))
    renew_statistics(shared, train, lambda images: shared.wear(drawn(shared, config, images)))
    found = []
    for mask in masks:
        own = copy.deepcopy(network).eval()
        own.wear(worn(network, mask, scale)[None])
        shared.wear(worn(network, mask, scale)[None])
        inherited = errors(own, test).top1
        renew_statistics(own, train)
        found.append((inherited, errors(shared, test).top1, errors(own, test).top1))
    inherited, common, after = np.array(found).mean(axis=0)
    run.metric("inherited_statistics", inherited, "%")
    run.metric("shared_statistics", common, "%")
    run.metric("own_statistics", after, "%")
    run.metric("own_statistics_gain", common - after, "%")


@torch.no_grad()
def renew_statistics(
    network: nn.Module, batches: Sequence[Batch], before: Callable[[int], None] | None = None
) -> None:
    """Each norm's mean and variance become those of these images, all batches alike; nothing else trains.

    `before` is called with the number of images before each batch: it may change the masks.
    """
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    momenta = [part.momentum for part in norms]
    network.eval()
    for number, (x, _) in enumerate(batches, 1):
        for norm in norms:
            norm.train()
            norm.momentum = 1 / number
        if before is not None:
            before(len(x))
        network(x)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()


def scale_of(config: Training, network: SuperNet) -> Tensor | None:
    """What a kept channel is multiplied by."""
    if not config.rescale:
        return None
    return 1 / (1 - network.p_of_channels.detach())
