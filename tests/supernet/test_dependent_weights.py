"""The additional weights of super-networks: their shapes, gradients and decay."""

import numpy as np
import pytest
import torch
from dependent_networks import KINDS, SETUP, baseline, batch, excite, images, paths, seeded

from harness.base.errors import HarnessError
from harness.supernet.dependent import Dependence
from harness.supernet.nb201_net import Skeleton, uniform
from harness.supernet.training import Method, descend
from harness.training.optimisers import weight_optimiser


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_shapes_of_section_3_3(depth):
    network = seeded(kind="bias", depth=depth)
    assert network.additional.of(0) is None  # the first edge of all: no choice before it
    for position in range(1, 36):
        channels = 4 << position // 12
        seen = min(depth, position) + 1
        assert network.additional.of(position).shape == (*[5] * seen, 1, channels, 1, 1), position
    assert network.additional.table.shape[1] == 4
    total = sum(5 ** (min(depth, p) + 1) * (4 << p // 12) for p in range(1, 36))
    assert network.additional_parameters() == total
    assert total == sum(p.numel() for p in network.parameters()) - sum(
        p.numel() for p in baseline().parameters()
    )


def test_parameters_of_the_published_size():
    """35 tables of 5 x 5 vectors for D=1: 11 of 16 channels, 12 of 32 and of 64."""
    skeleton = Skeleton(channels=16, cells=2)
    assert seeded(skeleton, kind="bias").additional_parameters() == 25 * (11 * 16 + 12 * 32 + 12 * 64)
    summed = seeded(skeleton, kind="bias_sum").additional_parameters()
    assert summed == 10 * (11 * 16 + 12 * 32 + 12 * 64)
    gates = seeded(skeleton, kind="attention").additional_parameters()
    assert gates == 6 * 16 + 11 * 11 * 16 + 12 * 11 * (32 + 64)  # the first sees its own choice only
    two = seeded(skeleton, kind="excitation").additional_parameters()
    hidden = 5 * 8 + 8 + 35 * (10 * 16 + 16)  # 5 is rounded to 8, 10 to 16: to 8 it would lose a fifth
    assert two == hidden + 9 * 16 + 17 * (11 * 16 + 12 * 32 + 12 * 64)


def test_bias_vectors_are_views_of_the_parameters():
    network = seeded(kind="bias", depth=2)
    with torch.no_grad():
        for position in range(1, 36):
            network.additional.of(position).fill_(position)
    values = network.additional.table.unique().tolist()
    assert sorted(values) == list(map(float, range(1, 36)))
    # the last index moves quickest, and it is the edge's own choice
    with torch.no_grad():
        network.additional.of(7)[1, 2, 3].fill_(99.0)
    vectors = network.additional([0] * 5 + [1, 2, 3] + [0] * 28)
    assert (vectors[7] == 99.0).all() and sum((v == 99.0).any().item() for v in vectors[1:]) == 1


def test_only_chosen_rows_get_gradients_and_masked_ones_stay_zero():
    network = seeded(kind="bias")
    optimiser, minibatch = weight_optimiser(network, SETUP), batch()
    for path in paths(12, 6, "23"):
        descend(network, optimiser, [path], minibatch, Method())
        chosen = [int(d) for row in path for d in row]
        for position in range(1, 36):
            gradient = network.additional.of(position, gradient=True).clone()
            here = gradient[chosen[position - 1], chosen[position]]
            assert here.abs().max() > 0, position
            here.zero_()
            assert (gradient == 0).all(), position
    for position in range(1, 36):
        vectors = network.additional.of(position).clone()
        assert vectors[2:4, 2:4].abs().max() > 0
        vectors[2:4, 2:4] = 0
        assert (vectors == 0).all()


@pytest.mark.parametrize("kind", ["bias", "bias_sum"])
@pytest.mark.parametrize("decayed", [True, False])
def test_weight_decay_pulls_rows_that_are_not_chosen(kind, decayed):
    network = excite(seeded(kind=kind, decayed=decayed))
    optimiser, minibatch = weight_optimiser(network, SETUP), batch()
    row = network.additional.of(7)[0]  # of a masked choice
    then = row.detach().clone()
    descend(network, optimiser, [("232323",) * 6], minibatch, Method())
    assert torch.allclose(row, then * (1 - 0.1 * 0.1) if decayed else then)
    assert torch.equal(row, then) != decayed


def test_gates_are_decayed_but_for_their_biases():
    network = seeded(kind="excitation")
    decayed, plain_ = (
        {id(p) for p in group["params"]} for group in weight_optimiser(network, SETUP).param_groups
    )
    for name, parameter in network.additional.named_parameters():
        assert id(parameter) in (plain_ if name.endswith("bias") else decayed)


def test_parts_count_every_parameter():
    network = seeded(kind="bias")
    counted = sum(p.numel() for part in network.parts().values() for p in part.parameters())
    assert counted == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("kind", [*KINDS, "none"])
def test_a_checkpoint_round_trip(kind):
    network, other = (seeded(kind=kind, depth=2) for _ in range(2))
    if kind in ("bias", "bias_sum"):
        excite(network)
    other.load_state_dict(network.state_dict())
    assert network.copies() == {}
    other.load_copies({})
    path = paths(1, 6)[0]
    assert torch.equal(network(images(), path), other(images(), path))
    assert len(network.statistics()) == len(list(network.buffers())) > 100


def test_what_cannot_be_is_refused():
    with pytest.raises(HarnessError, match="depth: 1"):
        Dependence(kind="split", depth=2)
    with pytest.raises(HarnessError, match="kind: none"):
        Dependence(kind="bias", depth=0)
    network = seeded(kind="bias")
    with pytest.raises(HarnessError, match="kind: split"):
        network.split()
    with pytest.raises(HarnessError, match="one choice per cell"):
        network(images(), (uniform(np.random.default_rng(0)),) * 5)
