"""The exact gradient of SoTL beside `unrolled`; epochs cut short; all images to train on."""

from pathlib import Path

import numpy as np
import pytest
import torch
from gradient_searches import SEARCHES, SOTL, TINY, begun, made_up_searches  # noqa: F401
from plain_mixed import plain_nb201, with_torch_s_modules
from small_runs import table
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.training.unrolled import unrolled
from reproduce.sotl.architecture_slopes import WAYS
from reproduce.sotl.mixed_networks import read

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")
EXACT = {**SOTL, "algorithm": "sotl_exact"}


class Plain(nn.Module):
    """Torch's own modules, with the statistics of the batch alone."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = with_torch_s_modules(network)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean = module.running_var = module.num_batches_tracked = None

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        return plain_nb201(self.network.network, x, weights)


@pytest.mark.parametrize("nesterov", [True, False])
def test_the_exact_gradient_is_unrolled_s(tmp_path: Path, nesterov: bool) -> None:
    """Eq. 3.20 through three steps with momentum and decay; the search goes on as if nothing had been."""
    weights = {**TINY["weights"], "nesterov": nesterov}
    loop = begun(tmp_path, **EXACT, weights=weights, minibatches=3)
    batches = {step: loop.batch(step) for step in range(6)}
    loop.batch = lambda step: (batches[step][0].double(), batches[step][1])
    loop.one()
    before = [value.clone() for value in loop.network.state_dict().values()]
    plain, setup = Plain(loop.network).train(), loop.config.weights
    named = dict(loop.network.named_parameters())
    momentum = {name: loop.optimiser.state[p]["momentum_buffer"].clone() for name, p in named.items()}
    state = {f"w {name}": p.detach().clone() for name, p in named.items()}
    state |= {f"m {name}": buffer for name, buffer in momentum.items()}

    def loss_of(values: dict, outer: dict, batch: tuple) -> Tensor:
        given = {f"network.{name[2:]}": value for name, value in values.items()}
        logits = functional_call(plain, given, (batch[0], outer["alpha"].softmax(dim=-1)))
        return functional.cross_entropy(logits, batch[1])

    def step(state: dict, outer: dict, batch: tuple) -> tuple[dict, Tensor]:
        values = {name: value for name, value in state.items() if name.startswith("w ")}
        slopes, loss = grad_and_value(loss_of)(values, outer, batch)
        new = {}
        for name, value in values.items():
            push = slopes[name] + setup.weight_decay * value
            buffer = setup.momentum * state[f"m {name[2:]}"] + push
            new[f"m {name[2:]}"] = buffer
            push = push + setup.momentum * buffer if nesterov else buffer
            new[name] = value - batch[2] * push
        return new, loss

    given = [(*loop.batch(number), torch.tensor(loop.rates[number])) for number in range(3, 6)]
    expected = unrolled(step, state, {"alpha": loop.alphas[0].detach()}, given).gradient["alpha"]
    torch.testing.assert_close(loop.slopes(range(3, 6))[0], expected, rtol=1e-5, atol=1e-8)
    direct = WAYS["sotl"](loop, range(3, 6))[0]
    assert (direct - expected).norm() > 1e-3 * expected.norm()
    assert all(map(torch.equal, before, loop.network.state_dict().values()))


def test_epochs_cut_short_go_through_all_images(tmp_path: Path) -> None:
    """Three minibatches an epoch: the fourth of a pass is the next epoch's first; rates fall over all."""
    loop = begun(tmp_path, **SOTL, minibatches=3, darts_epochs=4)
    seen: list[Tensor] = []
    take = loop.images.take
    object.__setattr__(
        loop.images, "take", lambda chosen, crops: (seen.append(chosen), take(chosen, crops))[1]
    )
    for step in range(8):
        loop.batch(step)
    for whole in (seen[:4], seen[4:]):
        assert sorted(np.concatenate(whole).tolist()) == list(range(32))
    assert (loop.chunks, loop.total, loop.in_epoch) == (1, 4, 3)
    assert loop.rates[0] == 0.05 and loop.rates[12] == pytest.approx(0.001)


def test_validation_images_are_trained_on_where_merged(tmp_path: Path) -> None:
    """As SoTL-DARTS with 20 layers does: an epoch of twice as many minibatches."""
    merged, alone = (
        table(SEARCHES.done(tmp_path / str(all_), **SOTL, merged=all_, darts_epochs=1), "epochs")
        for all_ in (True, False)
    )
    assert merged["updates"].tolist() == [0, 3] and alone["updates"].tolist() == [0, 2]


def test_unroll_longer_than_a_cut_epoch(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="unroll is 3 minibatches, an epoch has 2: lower it"):
        begun(tmp_path, **SOTL, minibatches=2)


def test_what_is_counted_of_cells_of_the_other_spaces() -> None:
    """By hand: of DARTS both cells' operations, of NAS-Bench-1Shot1 the blocks'."""
    cell = "[('skip_connect', 0), ('sep_conv_3x3', 1), ('max_pool_3x3', 0), ('sep_conv_3x3', 2), "
    cell += "('skip_connect', 0), ('sep_conv_5x5', 1), ('dil_conv_3x3', 0), ('dil_conv_5x5', 1)]"
    genotype = f"Genotype(normal={cell}, normal_concat=range(2, 6), reduce={cell}, reduce_concat=range(2, 6))"
    found = read("darts", genotype)
    assert (found["skips"], found["parameter_free"], found["depth"], found["reduction_depth"]) == (4, 6, 3, 3)
    found = read("nb1shot1-3", "0;0;0;0,1;0,1;4,5|" + ",".join(["conv3x3-bn-relu"] * 5))
    assert (found["conv3x3"], found["parameter_free"], found["depth"]) == (5, 0, 3)
