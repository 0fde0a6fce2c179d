"""Copies of split weights: checkpoints, statistics, memory."""

import copy
import io

import pytest
import torch
from dependent_networks import ONE, SETUP, batch, cloned, content, paths, seeded, train
from torch import Tensor

from harness.base.errors import HarnessError
from harness.supernet.dependent_nb201_net import SuperNetwork
from harness.supernet.nb201_net import Skeleton
from harness.training.optimisers import weight_optimiser

EDGES = 18  # of three cells


def network(skeleton: Skeleton = ONE, **said) -> SuperNetwork:
    return seeded(skeleton, kind="split", **said)


@pytest.mark.parametrize("momentum", ["shared", "per_copy"])
@pytest.mark.parametrize("source", ["active", "snapshot"])
@pytest.mark.parametrize("copies_first", [False, True])
def test_a_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(momentum, source, copies_first):
    ours = network(momentum=momentum, copies_from=source)
    optimiser = weight_optimiser(ours, SETUP)
    train(ours, optimiser, paths(4, 3))
    ours.split(optimiser)
    train(ours, optimiser, paths(4, 3, seed=1), 4)
    file = io.BytesIO()
    state = {"network": ours.state_dict(), "optimiser": optimiser.state_dict(), "copies": ours.copies()}
    torch.save({**state, "touched": [p.grad is not None for p in ours.parameters()]}, file)
    rest = train(ours, optimiser, paths(8, 3, seed=2), 8)
    file.seek(0)
    kept = torch.load(file, weights_only=True)
    again = network(momentum=momentum, copies_from=source)
    torch.manual_seed(5)
    for parameter in again.parameters():
        parameter.data.normal_()
    optimiser = weight_optimiser(again, SETUP)
    if copies_first:
        again.load_copies(kept["copies"], optimiser)
    again.load_state_dict(kept["network"])
    optimiser.load_state_dict(kept["optimiser"])
    if not copies_first:
        again.load_copies(kept["copies"], optimiser)
    for parameter, touched in zip(again.parameters(), kept["touched"], strict=True):
        parameter.grad = torch.zeros_like(parameter) if touched else None
    assert train(again, optimiser, paths(8, 3, seed=2), 8) == rest
    assert set(content(again)) == set(content(ours))
    for key, tensors in content(ours).items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, content(again)[key], strict=True)), key
    for a, b in zip(ours.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_loaded_copies_are_not_the_others_memory():
    ours, other = network(), network()
    ours.split()
    train(ours, weight_optimiser(ours, SETUP), paths(4, 3))
    other.load_state_dict(ours.state_dict())
    other.load_copies(ours.copies())
    theirs = cloned(ours)
    train(other, weight_optimiser(other, SETUP), paths(6, 3, seed=1))
    for key, tensors in content(ours).items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, theirs[key], strict=True))


@pytest.mark.parametrize("momentum", ["shared", "per_copy"])
def test_complete_makes_every_copy_from_the_active_one(momentum):
    ours = network(momentum=momentum)
    optimiser = weight_optimiser(ours, SETUP)
    ours.split(optimiser)
    train(ours, optimiser, [("333333",) * 3])
    then = cloned(ours)
    ours.complete()
    assert {key[1] for key in content(ours)} == {0, 1, 2, 3, 4}
    for (position, choice), tensors in content(ours).items():
        expected = then[position, choice if choice in (0, 3) else 3]
        assert all(torch.equal(a, b) for a, b in zip(tensors, expected, strict=True))
    held = [t for tensors in content(ours).values() for t in tensors]
    assert len({t.data_ptr() for t in held if t.numel()}) == len(held)
    each = 10 * 16 * (5 * 1 + 6 * 4 + 6 * 16)  # of one copy of every position but the first
    assert ours.additional_parameters() == 4 * each
    train(ours, optimiser, paths(3, 3))
    assert {key[1] for key in content(ours)} == {0, 1, 2, 3, 4}


def test_statistics_are_those_of_all_copies_and_put_everything_back():
    """20 passes in training mode, as before each evaluation (appendix B), then back."""
    ours = network()
    ours.split()
    train(ours, weight_optimiser(ours, SETUP), paths(10, 3))
    ours.complete()
    weights = cloned(ours)
    names = {k: v.clone() for k, v in ours.state_dict().items()}
    kept = [b.clone() for b in ours.statistics()]

    def score(path: tuple[str, ...]) -> Tensor:
        with torch.no_grad():
            ours.train()
            for i in range(20):
                ours(batch(i)[0], path)
            ours.eval()
            return ours(batch(99)[0], path)

    first, second = paths(2, 3, seed=8)
    then = score(first)
    changed = sum(not torch.equal(a, b) for a, b in zip(kept, ours.statistics(), strict=True))
    assert changed > 10
    parameters = len(list(ours.candidates[1].parameters()))
    for key, tensors in content(ours).items():  # weights have not moved
        for a, b in list(zip(tensors, weights[key], strict=True))[:parameters]:
            assert torch.equal(a, b)
    torch._foreach_copy_(ours.statistics(), kept)
    score(second)
    torch._foreach_copy_(ours.statistics(), kept)
    assert torch.equal(score(first), then)
    torch._foreach_copy_(ours.statistics(), kept)
    for key, tensors in content(ours).items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, weights[key], strict=True))
    fixed = [n for n in names if "edges" not in n or n.startswith("body.0.edges.0.")]
    assert fixed and all(torch.equal(ours.state_dict()[n], names[n]) for n in fixed)


def test_a_deep_copy_is_a_network_of_its_own():
    ours = network()
    ours.split()
    train(ours, weight_optimiser(ours, SETUP), paths(6, 3))
    other = copy.deepcopy(ours)
    then = cloned(ours)
    train(other, weight_optimiser(other, SETUP), paths(6, 3, seed=1))
    for key, tensors in content(ours).items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, then[key], strict=True))
    other.turn([0] * EDGES)
    for position in range(1, EDGES):
        loaded = list(other.candidates[position].parameters())
        held = other.apart[position].held[0]
        assert all(a.data_ptr() == b.data_ptr() for a, b in zip(loaded, held, strict=False))


def test_live_weights_are_the_same_objects_in_every_copy():
    ours = network()
    path = paths(1, 3)[0]
    then = [id(p) for p in ours.live(path)]
    ours.split()
    ours.turn([4] * EDGES)
    assert [id(p) for p in ours.live(path)] == then


def test_what_cannot_be_split_is_refused():
    with pytest.raises(HarnessError, match="optimiser"):
        network(momentum="per_copy").split()
    plain = seeded(ONE)
    with pytest.raises(HarnessError, match="kind: split"):
        plain.split()
    plain.complete()
    assert plain.copies() == {} and len(plain.statistics()) == len(list(plain.buffers()))
