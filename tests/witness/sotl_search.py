"""What the witnesses of the thesis's search networks share: images, filled networks, the training loop."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path as Folder
from typing import Any

import torch
from gradient_searches import begun
from torch import Tensor, nn
from torch.nn import functional
from witness.formula import fill, noise, sketch

from harness.supernet.sampling import Path, whole
from harness.supernet.training import Method, adapt, descend
from reproduce.sotl.gradient_steps import SearchLoop

# Double precision: sums in another order, through up to 9 cells, differ by some 1e-13.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def images(number: int = 0) -> tuple[Tensor, Tensor]:
    return noise(7000 + number, 8, 3, 16, 16), (torch.arange(8) * 7 + number) % 10


def filled(network: nn.Module) -> nn.Module:
    """With the witness's weights, as the experiments hold it in memory."""
    fill(list(network.double().parameters()))
    return network.to(memory_format=torch.channels_last)


def flat(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.detach().reshape(-1) for part in parts])


def norms(network: nn.Module) -> list[nn.BatchNorm2d]:
    return [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]


def near(ours: Any, theirs: Any, **tolerance: float) -> None:
    as_double = [torch.as_tensor(x, dtype=torch.float64) for x in (ours, theirs)]
    torch.testing.assert_close(*as_double, **{**CLOSE, **tolerance})


def answers(network: nn.Module, path: Path, before_evaluation: Callable[[nn.Module], None]) -> dict[str, Any]:
    """One path: two images' logits in training mode, loss, gradient of all weights, logits in evaluation."""
    x, y = images()
    logits = network.train()(x, path)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]
    moved = [int(norm.num_batches_tracked) for norm in norms(network)]
    before_evaluation(network)
    with torch.no_grad():
        evaluation = network.eval()(x, path)[:2]
    return {
        "training": logits[:2],
        "loss": loss.item(),
        "gradient": sketch(flat(gradients)),
        "evaluation": evaluation,
        "moved": moved,
    }


def trained(
    network: nn.Module, theirs: dict[str, Any], method: Method, text: Callable[[dict], Any], *, again: bool
) -> list[float]:
    """Our steps on the author's paths and learning rates; `again`: his pass of a held-out batch (D31).

    Every weight has a gradient of zero before the first step: where the author's code multiplies by zero
    it has one too, ours none yet (D14).
    """
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    rates, paths = iter(theirs["rates"]), iter(theirs["paths"])
    optimiser = torch.optim.SGD(
        network.parameters(), 1.0, 0.9, weight_decay=5e-4, nesterov=theirs["rates"][0][1]
    )

    def draw() -> list[Path]:
        return [whole(text(path), network.cells) for path in islice(paths, method.paths)]

    losses = []
    for number, rate in enumerate(_each_step(rates, method.inner_steps)):
        optimiser.param_groups[0]["lr"] = rate
        if method.in_tasks:
            losses.append(adapt(network, optimiser, draw, images(2 * number), method))
            continue
        chosen = draw()
        losses.append(descend(network, optimiser, chosen, images(2 * number), method))
        if again:
            with torch.no_grad():
                network(images(2 * number + 1)[0], chosen[-1])
    assert next(paths, None) is None
    return losses


def searched(folder: Folder, **given: Any) -> SearchLoop:
    """A search by gradient from the witness's weights and parameters, on its images, to its end."""
    loop = begun(folder, truth_source="none", **given)
    filled(loop.network)
    for i, alpha in enumerate(loop.alphas):
        alpha.data = 1e-3 * noise(50_000 + i, *alpha.shape)
    loop.batch, loop.held_batch = lambda step: images(2 * step), lambda step: images(2 * step + 1)
    while loop.step < loop.total:
        loop.one()
    return loop


def _each_step(rates: Iterator[list], inner: int) -> Iterator[float]:
    """The rate of every minibatch; within a task it stays."""
    while block := list(islice(rates, inner)):
        assert len({rate for rate, _ in block}) == 1
        yield block[0][0]
