"""How weights come of parameters, and what they stand for."""

import numpy as np
import pytest
import torch

from harness.base.errors import HarnessError
from harness.spaces import darts, nb1shot1, nb201
from harness.supernet import relaxed
from harness.supernet.relaxed import BlockWeights, CellWeights, over, softmax


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_softmax_and_what_dirichlet_draws_are_weights() -> None:
    for space in ("nb201", "darts", "nb1shot1-1", "nb1shot1-2", "nb1shot1-3"):
        given = relaxed.start(space, rng())
        for relax in (softmax, relaxed.dirichlet_mean, lambda part: relaxed.dirichlet(part, rng())):
            found = over(given, relax)
            assert type(found) is type(given)
            for part in [found] if space == "nb201" else found:
                for rows in part if isinstance(part, tuple) else [part]:
                    assert torch.allclose(rows.sum(-1), torch.ones(()).double()) and (rows >= 0).all()


def test_parameters_start_near_zero_in_the_space_s_shape() -> None:
    assert relaxed.start("nb201", rng()).shape == (6, 5)
    assert [part.shape for part in relaxed.start("darts", rng(), relaxed.S2)] == [(14, 2)] * 2
    sizes = {1: (4, [3, 4]), 2: (4, [2, 3, 4]), 3: (5, [2, 3, 4, 5])}
    for number, (blocks, inputs) in sizes.items():
        found = relaxed.start(f"nb1shot1-{number}", rng())
        assert found.ops.shape == (blocks, 3) and found.output.shape == (blocks + 1,)
        assert [len(row) for row in found.inputs] == inputs
    drawn = torch.cat([part.flatten() for part in relaxed.start("darts", rng())])
    assert 0.0008 < drawn.std() < 0.0012 and drawn.abs().max() < 0.005
    with pytest.raises(HarnessError, match="no mixed network of space 'fairnas': nb201, darts, nb1shot1-1"):
        relaxed.start("fairnas", rng())


def test_draws_have_the_mean_that_is_said() -> None:
    given = torch.tensor([[0.0, 1.0, -1.0], [2.0, -2.0, 0.0]], dtype=torch.float64)
    assert torch.allclose(relaxed.concentration(given)[0], torch.tensor([1.0, 2.0, np.exp(-1.0)]).double())
    stream = rng()
    drawn = torch.stack([relaxed.dirichlet(given, stream) for _ in range(3000)])
    assert (drawn.mean(0) - relaxed.dirichlet_mean(given)).abs().max() < 0.02
    total = relaxed.concentration(given).sum(-1, keepdim=True)
    mean = relaxed.dirichlet_mean(given)
    assert (drawn.var(0) - mean * (1 - mean) / (total + 1)).abs().max() < 0.01


def test_a_draw_is_its_stream_s_and_leaves_torch_s_alone() -> None:
    given = torch.zeros(4, 3)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, again, other = (relaxed.dirichlet(given, rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


def test_draws_have_the_gradient_of_their_mean() -> None:
    """Averaged over draws: the derivative of the mean of the first weight."""
    given = torch.tensor([0.3, -0.4, 0.8], dtype=torch.float64, requires_grad=True)
    exact = torch.autograd.grad(relaxed.dirichlet_mean(given)[0], given)[0]
    stream, summed = rng(), torch.zeros(3, dtype=torch.float64)
    for _ in range(3000):
        summed += torch.autograd.grad(relaxed.dirichlet(given, stream)[0], given)[0]
    assert (summed / 3000 - exact).abs().max() < 0.01


def test_what_is_no_number_is_refused() -> None:
    given = torch.zeros(6, 5)
    given[2, 3] = float("nan")
    for relax in (softmax, relaxed.concentration, relaxed.dirichlet_mean):
        with pytest.raises(HarnessError, match=r"architecture parameters: nan at \[2, 3\]: .* diverged"):
            relax(given)


def test_architectures_there_and_back() -> None:
    for arch in nb201.SPACE.sample(50, rng()):
        assert relaxed.nb201_architecture(relaxed.of_nb201(arch)) == arch
    for arch in darts.SPACE.sample(50, rng()):
        assert relaxed.darts_genotype(relaxed.of_darts(arch)) == arch
    for number in (1, 2, 3):
        for arch in nb1shot1.space(number).sample(50, rng()):
            assert relaxed.nb1shot1_architecture(relaxed.of_nb1shot1(arch, number), number) == arch


def test_none_wins_an_edge_of_nb201_and_the_first_of_equals() -> None:
    weights = torch.full((6, 5), 0.2)
    assert nb201.digits(relaxed.nb201_architecture(weights)) == "000000"
    weights[:, 3] = 0.3
    weights[1, 0] = 0.4
    assert nb201.digits(relaxed.nb201_architecture(weights)) == "303333"


def test_none_never_wins_in_darts_but_weakens_its_edge() -> None:
    """An edge whose `none` is heavy has little left for its heaviest operation."""
    rows = torch.zeros(14, 8)
    rows[:, 4] = 0.5  # sep_conv_3x3
    rows[[3, 6, 10], 0] = 0.9  # of the edges from 1 to the nodes 3 to 5
    rows[[3, 6, 10], 4] = 0.1
    rows[4, 3] = 0.7  # skip, from 2 to 3
    genotype = darts.parse(relaxed.darts_genotype(CellWeights(rows, torch.full((14, 8), 0.125))))
    sep = "sep_conv_3x3"
    assert genotype.normal == (
        *((sep, 0), (sep, 1)),  # node 2 has these two only
        *((sep, 0), ("skip_connect", 2)),
        *((sep, 0), (sep, 2)),
        *((sep, 0), (sep, 2)),
    )
    assert genotype.reduce == (("max_pool_3x3", 0), ("max_pool_3x3", 1)) * 4


def test_the_heaviest_parents_of_a_block() -> None:
    weights = BlockWeights(
        torch.tensor([[0.1, 0.1, 0.8]] * 4),
        torch.tensor([0.1, 0.3, 0.1, 0.2, 0.3]),
        (torch.tensor([0.2, 0.5, 0.3]), torch.tensor([0.25, 0.25, 0.25, 0.25])),
    )
    arch = relaxed.nb1shot1_architecture(weights, 1)
    assert arch == "0;0,1;1,2;0,1;1,4|" + ",".join(["maxpool3x3"] * 4)


def test_counts_of_operations() -> None:
    ops = [
        "skip_connect",
        "max_pool_3x3",
        "avg_pool_3x3",
        "sep_conv_3x3",
        "none",
        "maxpool3x3",
        "dil_conv_5x5",
    ]
    assert (relaxed.skips(ops), relaxed.parameter_free(ops)) == (1, 5)
    assert relaxed.parameter_free(["nor_conv_1x1", "conv1x1-bn-relu", "sep_conv_5x5"]) == 0


def test_depths_of_darts_cells_reach_from_two_to_five() -> None:
    chain = [("skip_connect", s) for node in (2, 3, 4, 5) for s in (0, node - 1)]
    flat = [("skip_connect", s) for _ in range(4) for s in (0, 1)]
    assert (relaxed.darts_depth(flat), relaxed.darts_depth(chain)) == (2, 5)
    seen = set()
    for arch in darts.SPACE.sample(200, rng()):
        seen |= {relaxed.darts_depth(cell) for cell in (darts.parse(arch).normal, darts.parse(arch).reduce)}
    assert seen == {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("row", "depth"),
    [("000000", 0), ("000300", 1), ("300030", 2), ("301001", 3), ("301030", 2), ("303000", 0)],
)
def test_depths_of_nb201_cells(row: str, depth: int) -> None:
    assert relaxed.nb201_depth(nb201.from_digits(row)) == depth


def test_depths_of_blocks_without_loose_ends() -> None:
    ops = "|" + ",".join(["maxpool3x3"] * 4)
    assert relaxed.nb1shot1_depth("0;0,1;1,2;2,3;0,4" + ops, 1) == 5
    assert relaxed.nb1shot1_depth("0;0,1;1,2;2,3;0,1" + ops, 1) == 2
