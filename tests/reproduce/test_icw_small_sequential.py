"""The sequential space: FairNAS' own at the published numbers, and the same architectures for everybody."""

import numpy as np
import pytest
import torch

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.spaces import fairnas, fairnas_net
from harness.spec.experiments import paper
from reproduce.icw import small_sequential as sequential
from reproduce.icw.standalone import Config

LITTLE = sequential.Space(
    stem=4,
    stem_stride=1,
    first=4,
    stages=(
        sequential.Stage(channels=6, stride=2, cells=2),
        sequential.Stage(channels=8, stride=1, cells=1),
    ),
    head=12,
)


def space_of(scale: str) -> sequential.Space:
    """As experiments.yaml says."""
    spec = next(iter(paper("icw").experiments["standalone"].runs(scale)))
    return build(Config, spec.config, spec.id).space


def test_the_published_space_is_that_of_fairnas():
    space = space_of("paper")
    assert sequential.cells(space) == fairnas.CELLS
    archs = fairnas.SPACE.sample(20, np.random.default_rng(0))
    assert [sequential.ops_of(space, arch) for arch in archs] == [fairnas.ops_of(arch) for arch in archs]
    assert (sequential.params_of(space, archs, 100) == fairnas.SPACE.params_of(archs, "subimagenet")).all()


def test_the_published_network_is_that_of_fairnas_weight_by_weight():
    space, (arch,) = space_of("paper"), fairnas.SPACE.sample(1, np.random.default_rng(1))
    theirs = fairnas_net.network(arch, 100, dropout=0.2).eval()
    ours = sequential.standalone(space, arch, 100, 0.2).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x))
    assert [m.p for m in ours.modules() if isinstance(m, torch.nn.Dropout)] == [0.2]


def test_the_published_super_network_has_the_parameters_of_table_4():
    space = space_of("paper")
    parts = [sequential.stem(space), sequential.head(space, 100)]
    parts += [block for layer in sequential.layers(space) for block in layer]
    assert sum(p.numel() for part in parts for p in part.parameters()) == 14_839_700


def test_layers_hold_six_blocks_each_that_fit_one_another():
    x, shape = torch.randn(2, 3, 16, 16), []
    x = sequential.stem(LITTLE)(x)
    for inputs, layer in zip(sequential.channels(LITTLE), sequential.layers(LITTLE), strict=True):
        assert x.shape[1] == inputs and len(layer) == 6
        outs = [block(x) for block in layer]
        assert len({out.shape for out in outs}) == 1
        x = outs[0]
        shape.append(tuple(x.shape[1:]))
    assert shape == [(6, 8, 8), (6, 8, 8), (8, 8, 8)]
    assert sequential.head(LITTLE, 5)(x).shape == (2, 5)


def test_an_op_is_its_kernel_and_expansion():
    blocks = sequential.layers(LITTLE)[0]
    kernels = [block.layers[3].kernel_size[0] for block in blocks]
    expansions = [block.layers[3].groups // 4 for block in blocks]
    assert list(zip(kernels, expansions, strict=True)) == [(3, 3), (5, 3), (7, 3), (3, 6), (5, 6), (7, 6)]


def test_parameters_are_those_of_the_network():
    archs = sequential.sample(LITTLE, 5, np.random.default_rng(0))
    counted = [sum(p.numel() for p in sequential.standalone(LITTLE, a, 7, 0.0).parameters()) for a in archs]
    assert sequential.params_of(LITTLE, archs, 7).tolist() == counted


def test_the_ranked_architectures_are_one_list_of_which_runs_take_the_first():
    first = sequential.ranked(LITTLE, 50)
    assert len(set(first)) == 50 and sequential.ranked(LITTLE, 8) == first[:8]
    assert first[:3] == ["5-3-3", "4-0-1", "4-1-2"]  # a new list would need new truths
    ops = np.array([sequential.ops_of(LITTLE, arch) for arch in sequential.ranked(LITTLE, 200)])
    assert all(len(np.unique(ops[:, cell])) == 6 for cell in range(3))


def test_what_is_not_there_is_refused_in_one_sentence():
    with pytest.raises(HarnessError, match="a space of 3 cells has no 217 architectures"):
        sequential.ranked(LITTLE, 217)
    assert len(sequential.ranked(LITTLE, 216)) == 216
    for wrong in ("1-2", "1-2-6", "1-2-3-4", "1-2-", "", "1-2-²"):
        with pytest.raises(HarnessError, match="is no architecture here: write 3 ops 0 to 5 joined by '-'"):
            sequential.ops_of(LITTLE, wrong)
