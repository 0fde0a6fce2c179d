"""Batch means and re-estimated statistics of nsa: measured values of known networks and batches."""

import numpy as np
import pytest
import torch
from small_runs import SmallRuns, table
from torch import Tensor

from harness.training.batches import Batches, Pixels
from reproduce.nsa import batch_means, stochastic
from reproduce.nsa.batch_norm_modes import estimate
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.norms import norms
from reproduce.nsa.wiring import wirings


def network(count: int = 4) -> WiredNet:
    torch.manual_seed(0)
    return WiredNet(Shape(width=1, side=8, nodes=3, classes=4), wirings(1, count, 3))


def images(n: int) -> Batches:
    x = np.random.default_rng(3).integers(0, 256, (n, 8, 8, 3)).astype(np.uint8)
    return Batches(x, np.zeros(n, np.int64), Pixels.of(x))


def test_measured_variances_are_larger_where_a_batch_has_one_architecture():
    """The first column is of such batches; both are those of a plain computation with the same draws."""
    net, all_images = network(), images(300)
    probe = batch_means.Probe(repeats=24)
    found = batch_means.measured(net, all_images, probe, 64, np.random.default_rng(5))
    assert (found[3:, 0] > found[3:, 1]).mean() > 0.9
    assert batch_means.geometric_mean(found[3:, 0] / found[3:, 1]) > 4
    rng, means = np.random.default_rng(5), {1: [], 64: []}
    net.train()
    for _ in range(probe.repeats):
        x = all_images.take(rng.integers(300, size=64))[0]
        for size, of_size in means.items():
            ids, layers = torch.from_numpy(rng.integers(4, size=size)), []
            for norm in norms(net):
                norm.listener = lambda _, h, layers=layers: layers.append(h.mean((0, 2, 3)).detach().double())
            net(x, ids)
            of_size.append(layers)
    plain = [[torch.stack(layer).var(0).sum() for layer in zip(*means[size], strict=True)] for size in means]
    assert np.allclose(found.T, np.array(plain), rtol=1e-3)


def test_factors_say_by_how_much_the_variance_falls(tmp_path):
    """By batch over by image, layer by layer; layer 0 is the geometric mean from the third norm on."""
    runs = SmallRuns(stochastic, {"dataset": "digits"})
    run, config = runs.begun(tmp_path)
    probe = batch_means.Probe(at=(50,), batches=(2,))
    exact, measured = [(9, 9), (0, 1), (3, 1), (0, 2)], [(5, 1), (4, 1), (6, 2), (48, 4)]
    rows = [[50, 0, i, *pair] for i, pair in enumerate(exact, 1)]
    rows += [[50, 2, i, *pair] for i, pair in enumerate(measured, 1)]
    stochastic._leave_batch_means(run, probe, rows)
    found = table(run, "batch_means")
    assert found["layer"].tolist() == [0, 1, 2, 3, 4] and set(found["batch"]) == {2}
    assert found["exact"].tolist() == pytest.approx([1.75**0.5, 1.5, 1, 1.75, 1])
    assert found["measured"].tolist() == pytest.approx([6, 5, 4, 3, 12])


def test_statistics_of_several_batches_are_their_means():
    """Each batch counts once, with its own architecture; variances are the unbiased ones."""
    net = network().double().eval()
    parts = [images(16 * 3).take(np.arange(i, i + 16))[0].double() for i in (0, 16, 32)]
    ids = [torch.tensor([i]) for i in (2, 0, 3)]
    heard: list[list[Tensor]] = [[] for _ in norms(net)]
    for norm, mine in zip(norms(net), heard, strict=True):
        norm.listener = lambda _, h, mine=mine: mine.append(h.transpose(0, 1).flatten(1))
    estimate(net, parts, ids)
    assert len(heard[-1]) == 3
    for norm, mine in zip(norms(net), heard, strict=True):
        assert torch.allclose(norm.mean[0], torch.stack([h.mean(1) for h in mine]).mean(0), rtol=1e-9)
        assert torch.allclose(norm.var[0], torch.stack([h.var(1) for h in mine]).mean(0), rtol=1e-9)
        norm.listener = None
    estimate(net, parts[:1], ids[:1])
    alone = net.stem(parts[0])
    assert torch.allclose(net.stem_norm.mean[0], alone.mean((0, 2, 3)), rtol=1e-9)


def test_the_exact_factor_is_that_of_drawn_batches():
    """Features that hang on image and architecture alone: var of means of many batches, both ways."""
    rng = np.random.default_rng(0)
    feature = rng.normal(size=(6, 50)) + 1.5 * rng.normal(size=(6, 1))  # architecture, image
    shares = np.array([[feature.mean(1).var(), feature.var(1).mean()]])
    size, draws = 8, 40000
    images = rng.integers(50, size=(draws, size))
    batchwise = feature[rng.integers(6, size=(draws, 1)), images].mean(1).var()
    imagewise = feature[rng.integers(6, size=(draws, size)), images].mean(1).var()
    assert batch_means.ratio(shares, size)[0] == pytest.approx(batchwise / imagewise, rel=0.05)
