"""What every super-network, and every score of an architecture that is trained on from it, does."""

import ast
import math
from collections.abc import Callable
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.supernet import darts_net, dependent_nb201_net, nb1shot1_net, nb201_net, sequential_net
from harness.supernet.dependent import Dependence
from harness.supernet.ranking import SCORES, FineTune, Start, accuracy, fine_tune
from harness.supernet.sampling import Choices, Path

KINDS = get_args(get_type_hints(Dependence)["kind"])
Built = tuple[nn.Module, Choices]


def nb201(**flags: bool) -> Built:
    return nb201_net.SuperNetwork(nb201_net.Skeleton(channels=4, cells=1, **flags)), nb201_net


def darts(layers: int, **flags: bool) -> Built:
    return darts_net.SuperNetwork(darts_net.Skeleton(4, layers, **flags)), darts_net


def nb1shot1(number: int, **flags: bool) -> Built:
    return nb1shot1_net.SuperNetwork(number, nb1shot1_net.Skeleton(4, 1, **flags)), nb1shot1_net.Choices(
        number
    )


def dependent(kind: str) -> Built:
    skeleton = nb201_net.Skeleton(channels=4, cells=1)
    return dependent_nb201_net.SuperNetwork(skeleton, Dependence(kind=kind)), nb201_net


def chain(kind: str) -> Built:
    def block(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.Tanh())

    layers = [
        [block(4, 4) for _ in range(3)],
        [block(4, 6) for _ in range(2)],
        [block(6, 4) for _ in range(4)],
    ]
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
    network = sequential_net.SuperNetwork(block(3, 4), layers, head, [4, 4, 6], Dependence(kind=kind))
    return network, sequential_net.Choices([3, 2, 4])


# By the module, and by what is switched in it: how a small one is built, with what draws its paths.
BUILT: dict[tuple[str, str], Callable[[], Built]] = {
    ("nb201_net", "tracking"): lambda: nb201(track=True),
    ("nb201_net", "of the batch"): lambda: nb201(track=False),
    ("nb201_net", "searched"): lambda: nb201(affine=False, track=False, conv_bias=True),
    ("darts_net", "plain"): lambda: darts(3),
    ("darts_net", "tracking"): lambda: darts(4, affine=True, track=True),
    ("darts_net", "affine"): lambda: darts(4, affine=True, track=False),
    ("nb1shot1_net", "1"): lambda: nb1shot1(1),
    ("nb1shot1_net", "2"): lambda: nb1shot1(2, affine=False),
    ("nb1shot1_net", "3"): lambda: nb1shot1(3, track=False),
    **{("dependent_nb201_net", kind): lambda kind=kind: dependent(kind) for kind in KINDS},
    **{("sequential_net", kind): lambda kind=kind: chain(kind) for kind in KINDS},
}


@pytest.fixture(params=BUILT, ids=" ".join)
def built(request) -> Built:
    torch.manual_seed(0)
    network, choices = BUILT[request.param]()
    return network.to(memory_format=torch.channels_last), choices


def batches(count: int) -> list[tuple[Tensor, Tensor]]:
    drawn = torch.Generator().manual_seed(1)
    x = (torch.randn(6, 3, 8, 8, generator=drawn).to(memory_format=torch.channels_last) for _ in range(count))
    return [(images, torch.randint(10, (6,), generator=drawn)) for images in x]


def paths(built: Built, count: int) -> list[Path]:
    """Each cell for itself."""
    rng = np.random.default_rng(3)
    return [tuple(built[1].uniform(rng) for _ in range(built[0].cells)) for _ in range(count)]


def test_every_file_with_a_super_network_is_built_here():
    found = set()
    for file in (ROOT / "harness" / "supernet").glob("*.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        if any(isinstance(node, ast.ClassDef) and node.name == "SuperNetwork" for node in body):
            found.add(file.stem)
    assert found == {module for module, _ in BUILT}, "write into BUILT how a small one is built"


def test_a_path_gives_finite_numbers_and_gradients_for_what_it_uses(built):
    """And for nothing else: of additional weights, which a path may use in part, for some."""
    network, _ = built
    for path in paths(built, 6):
        network.zero_grad()
        live = network.live(path)
        logits = network(batches(1)[0][0], path)
        assert logits.shape == (6, 10) and logits.isfinite().all()
        logits.square().sum().backward()
        used = {id(p) for p in network.parameters() if p.grad is not None}
        additional = getattr(network, "additional", None)
        partly = set() if additional is None else {id(p) for p in additional.parameters()}
        assert len({id(p) for p in live}) == len(live)
        assert used <= {id(p) for p in live} <= used | partly
        given = [p.grad for p in live if p.grad is not None]
        assert all(grad.isfinite().all() for grad in given)
        # A shift of batch norm carries on behind `none`, where weights get zeros.
        assert "nb201" in type(network).__module__ or all(grad.any() for grad in given)


def test_a_path_of_the_wrong_length_is_refused_in_one_sentence(built):
    network, _ = built
    (path,) = paths(built, 1)
    for wrong in (path[:-1], (*path, path[0])):
        for question in (network.live, lambda one: network(batches(1)[0][0], one)):
            with pytest.raises(HarnessError, match="cells names|layers") as refused:
                question(wrong)
            assert "\n" not in str(refused.value)


# Of finite scores: lowest and highest. Higher is predicted better, but for the loss itself.
RANGES = {
    "loss": (0, math.inf),
    "tlmini": (-math.inf, 0),
    "sotl": (-math.inf, 0),
    **dict.fromkeys(("sog", "sogn", "sogn_l1", "sogn_double", "sog_author"), (0, math.inf)),
}


def test_scores_are_the_same_in_any_order_and_lie_in_their_ranges(built):
    assert set(RANGES) == set(SCORES), "write the range of each score into RANGES"
    network, setup = built[0], FineTune(lr=0.01, batch=6, updates=2)
    start, asked = Start(network), paths(built, 2)

    def scored(path: Path) -> Tensor:
        start.restore()
        torch.manual_seed(len(found))  # what another process would not have in common
        return fine_tune(network, path, batches(3), setup)

    found: dict[int, Tensor] = {}
    for which in (0, 1):
        found[which] = scored(asked[which])
    assert all(torch.equal(scored(asked[which]), found[which]) for which in (1, 0))
    for column, name in enumerate(SCORES):
        low, high = RANGES[name]
        values = found[0][:, column]
        assert values.isfinite().all() and low <= values.min() and values.max() <= high, name


def test_accuracy_is_percent_and_the_same_for_images_together_and_apart(built):
    """Where batch norm has running statistics: others are those of the images that are asked at once."""
    network = built[0]
    data, (path,) = batches(2), paths(built, 1)
    network.train()
    network(data[0][0], path)
    together = [(torch.cat([x for x, _ in data]), torch.cat([y for _, y in data]))]
    first = accuracy(network, path, data)
    assert accuracy(network, path, data) == first and 0 <= first <= 100
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    if all(part.track_running_stats for part in norms):
        assert accuracy(network, path, together) == first
