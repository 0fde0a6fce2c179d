"""Chains whose weights depend on previous choices, against plain formulas."""

import io

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.supernet.dependent import Dependence
from harness.supernet.sampling import drawing
from harness.supernet.sequential_net import Choices, SuperNetwork
from harness.supernet.training import Method, descend
from harness.training.optimisers import SGD, weight_optimiser

CHANNELS, SIZES = [4, 4, 6, 4], [3, 2, 4, 3]  # of the layers' inputs; operations of each layer
OUTPUTS = [4, 6, 4, 4]
SETUP = SGD(0.1, 1e-5, 0.9, 0.1, decay_vectors=False)
KINDS = ("none", "bias", "bias_sum", "attention", "excitation", "split")


def block(inputs: int, outputs: int, kernel: int) -> nn.Module:
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.Tanh())


def network(kind: str = "none", seed: int = 0, **said) -> SuperNetwork:
    torch.manual_seed(seed)
    stem = nn.Conv2d(3, CHANNELS[0], 3, padding=1)
    layers = [
        [block(i, o, 2 * kernel + 1) for kernel in range(size)]
        for i, o, size in zip(CHANNELS, OUTPUTS, SIZES, strict=True)
    ]
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
    made = SuperNetwork(stem, layers, head, CHANNELS, Dependence(kind=kind, **said))
    if kind in ("bias", "bias_sum") and seed == 0:
        made.additional.table.data.normal_(generator=torch.Generator().manual_seed(1))
    return made.to(memory_format=torch.channels_last)


def images(seed: int = 1) -> Tensor:
    x = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    return x.to(memory_format=torch.channels_last)


def paths(n: int, seed: int = 0) -> list:
    rng, choices = np.random.default_rng(seed), Choices(SIZES)
    return [(choices.uniform(rng),) for _ in range(n)]


def plain(made: SuperNetwork, x: Tensor, ops: tuple[int, ...]) -> Tensor:
    kind, depth = made.dependence.kind, made.dependence.depth
    x = made.stem(x)
    for layer, op in enumerate(ops):
        first = max(0, layer - depth)
        seen, sizes = ops[first : layer + 1], SIZES[first : layer + 1]
        if kind == "bias" and layer:
            x = x + made.additional.of(layer)[seen]
        elif kind == "bias_sum" and layer:
            for i, choice in enumerate(seen):
                x = x + made.additional.of(layer)[sum(sizes[:i]) + choice]
        elif kind in ("attention", "excitation"):
            each = zip(seen, sizes, strict=True)
            hot = torch.cat([functional.one_hot(torch.tensor(c), s) for c, s in each]).to(x)
            x = x * made.additional[layer](hot)[None, :, None, None]
        x = made.layers[layer][op](x)
    return made.head(x)


@pytest.mark.parametrize(
    ("kind", "depth"), [(k, d) for k in KINDS for d in (1, 2, 3) if k != "split" or d == 1]
)
def test_output_is_the_plain_formula(kind, depth):
    made = network(kind, depth=depth).double()
    for path in paths(12):
        assert torch.allclose(made(images().double(), path), plain(made, images().double(), path[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_start_with_the_same_other_weights(kind):
    base, made = network().state_dict(), network(kind).state_dict()
    assert all(torch.equal(made[name], value) for name, value in base.items())


@pytest.mark.parametrize(("kind", "depth"), [("bias", 1), ("bias", 3), ("bias_sum", 2)])
def test_zero_bias_is_the_baseline_to_the_last_bit(kind, depth):
    base, made = network(), network(kind, depth=depth)
    made.additional.table.data.zero_()
    with torch.no_grad():
        assert all(torch.equal(made(images(), path), base(images(), path)) for path in paths(12))


@pytest.mark.parametrize("depth", [1, 2])
def test_shapes_and_parameters(depth):
    made = network("bias", depth=depth)
    assert made.additional.of(0) is None
    assert made.additional.of(1).shape == (3, 2, 1, 4, 1, 1)
    assert made.additional.of(3).shape == ((4, 3, 1, 4, 1, 1) if depth == 1 else (2, 4, 3, 1, 4, 1, 1))
    total = {1: 6 * 4 + 8 * 6 + 12 * 4, 2: 6 * 4 + 24 * 6 + 24 * 4}[depth]
    assert made.additional_parameters() == total


@pytest.mark.parametrize(("depth", "moved"), [(1, [1, 2]), (2, [1, 2, 3])])
def test_a_choice_matters_to_itself_and_the_next_ones(depth, moved):
    made = network("bias", depth=depth)
    a, b = made.additional((0, 0, 0, 0)), made.additional((0, 1, 0, 0))
    assert [i for i in range(1, 4) if not torch.equal(a[i], b[i])] == moved


def test_only_chosen_rows_get_gradients():
    made = network("bias")
    made(images(), ((2, 1, 3, 0),)).square().sum().backward()
    for layer, row in ((1, (2, 1)), (2, (1, 3)), (3, (3, 0))):
        gradient = made.additional.of(layer, gradient=True)
        used = torch.zeros(gradient.shape[:2], dtype=torch.bool)
        used[row] = True
        assert torch.equal(gradient.flatten(2).abs().sum(2) > 0, used)


def test_split_weights_are_kept_apart_by_the_layer_before():
    made = network("split")
    optimiser, labels = weight_optimiser(made, SETUP), torch.arange(4)
    made.split()
    for i, path in enumerate(paths(30)):
        descend(made, optimiser, [path], (images(i), labels), Method())
    assert made.apart[0] is None
    assert [set(c.held) for c in made.apart[1:]] == [set(range(n)) for n in SIZES[:3]]
    assert made.additional_parameters() == sum(
        (before - 1) * sum(p.numel() for p in layer.parameters())
        for before, layer in zip(SIZES[:3], made.layers[1:], strict=True)
    )
    file = io.BytesIO()
    torch.save((made.state_dict(), made.copies()), file)
    file.seek(0)
    weights, copies = torch.load(file, weights_only=True)
    again = network("split", seed=3)
    again.load_state_dict(weights)
    again.load_copies(copies)
    made.eval(), again.eval()
    outputs = [made(images(), path) for path in paths(10, seed=1)]
    assert all(
        torch.equal(again(images(), path), out) for path, out in zip(paths(10, seed=1), outputs, strict=True)
    )
    assert len({tuple(out.flatten().tolist()) for out in outputs}) > 5


def test_a_chain_of_one_layer_has_no_choice_before():
    one = [nn.Identity(), nn.Tanh()]
    made = SuperNetwork(nn.Identity(), [one], nn.Flatten(), [3], Dependence(kind="bias"))
    assert made.additional_parameters() == 0 and made(images(), ((1,),)).shape == (4, 192)


def test_choices():
    choices = Choices(SIZES)
    assert choices.choice("2-1-3-0") == (2, 1, 3, 0)
    for wrong in ("2-1-3", "3-1-3-0", "2-1-3-0-0", "2-1--0", "2-1-3-x", "2-1-3-²"):
        with pytest.raises(HarnessError):
            choices.choice(wrong)
    (path,) = drawing(choices, "shared", 1, 1)(np.random.default_rng(0))
    assert len(path) == 1 and len(path[0]) == 4
    drawn = np.array([path[0] for path in paths(10_000)])
    for layer, size in enumerate(SIZES):
        share = 1 / size
        counts = np.bincount(drawn[:, layer], minlength=size) / len(drawn)
        assert len(counts) == size and abs(counts - share).max() < 4 * (share * (1 - share) / 1e4) ** 0.5
