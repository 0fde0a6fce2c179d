"""Section 2 in numbers: prior, KL, pruning, heuristics, exact posterior."""

import math

import numpy as np
import pytest
import torch

from reproduce.ldn import posterior


def test_prior_falls_by_gamma_and_sums_to_one() -> None:
    beta = posterior.prior(20)
    assert len(beta) == 21 and float(beta.sum()) == pytest.approx(1)
    assert (beta[1:] / beta[:-1]).tolist() == pytest.approx([0.85] * 20)
    mean = float((beta * torch.arange(21)).sum())
    assert mean == pytest.approx(5.0, abs=0.1)  # and 5.65 for D = 50
    assert float((posterior.prior(50) * torch.arange(51)).sum()) == pytest.approx(5.65, abs=0.02)


def test_kl_of_known_distributions() -> None:
    q, beta = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    assert float(posterior.kl(q, beta)) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert float(posterior.kl(beta, beta)) == pytest.approx(0)
    one = torch.tensor([0.0, 1.0])
    assert float(posterior.kl(one, beta)) == pytest.approx(-math.log(0.75), abs=1e-6)  # 0 · log 0 is 0


def test_kl_goes_over_the_last_axis_in_the_type_of_q() -> None:
    q = torch.full((3, 4), 0.25)
    found = posterior.kl(q, posterior.prior(3))
    assert found.shape == (3,) and found.dtype == torch.float32


def test_objective_is_the_negative_elbo_per_point() -> None:
    """Eq. 1 and Eq. 2 divided by N are one function."""
    torch.manual_seed(0)
    q, beta, points = torch.softmax(torch.randn(6, dtype=torch.float64), 0), posterior.prior(5), 200
    log_likelihood = -torch.rand(6, dtype=torch.float64) * 100
    elbo = posterior.elbo(log_likelihood, q, beta)
    assert float(posterior.objective(-log_likelihood / points, q, beta, points)) == pytest.approx(
        float(-elbo) / points
    )


def test_exact_posterior_maximises_the_elbo_and_makes_it_tight() -> None:
    """Appendix A: at q = p(d | D) the ELBO is log p(D), anywhere else it is less by KL(q ‖ p)."""
    torch.manual_seed(1)
    beta, log_likelihood = posterior.prior(7), -torch.rand(8, dtype=torch.float64) * 5
    exact = posterior.exact_posterior(log_likelihood, beta)
    evidence = float(torch.logsumexp(log_likelihood + beta.log(), 0))
    assert float(posterior.elbo(log_likelihood, exact, beta)) == pytest.approx(evidence)
    other = torch.softmax(torch.randn(8, dtype=torch.float64), 0)
    gap = evidence - float(posterior.elbo(log_likelihood, other, beta))
    assert gap == pytest.approx(float((other * (other / exact).log()).sum())) and gap > 0


def test_exact_posterior_of_likelihoods_far_below_zero() -> None:
    exact = posterior.exact_posterior([-5000.0, -4000.0, -4000.0], [1 / 3] * 3)
    assert exact.tolist() == pytest.approx([0, 0.5, 0.5])


def test_heuristics() -> None:
    q = torch.tensor([0.1, 0.2, 0.285, 0.3, 0.115])
    assert int(posterior.d_argmax(q)) == 3
    assert int(posterior.d_95(torch.tensor([0.1, 0.2, 0.2851, 0.3, 0.1149]))) == 2
    assert int(posterior.d_expected(q)) == round(0.2 + 0.57 + 0.9 + 0.46)
    rows = torch.stack([q, q.flip(0)])
    assert posterior.d_argmax(rows).tolist() == [3, 1]
    assert posterior.d_95(rows).tolist() == [3, 1]


def test_the_95_percent_heuristic_is_strict() -> None:
    """D4: exactly 0.95 of the largest does not count (powers of two: no rounding)."""
    largest = 1.0
    q = torch.tensor([0.95 * largest, largest], dtype=torch.float64)
    assert int(posterior.d_95(q)) == 1
    assert int(posterior.d_95(torch.tensor([0.9500001, 1.0], dtype=torch.float64))) == 0


def test_pruning_moves_the_tail_to_the_cut_and_keeps_what_is_below() -> None:
    q = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert posterior.prune(q, 1).tolist() == pytest.approx([0.1, 0.9, 0, 0])
    assert posterior.prune(q, 3).tolist() == pytest.approx(q.tolist())
    assert posterior.prune(q, 0).tolist() == pytest.approx([1, 0, 0, 0])
    several = posterior.prune(torch.stack([q, q]), torch.tensor([0, 2]))
    assert several[1].tolist() == pytest.approx([0.1, 0.2, 0.7, 0])
    assert several.sum(-1).tolist() == pytest.approx([1, 1])


def test_mixtures_average_probabilities_not_logits() -> None:
    probability = torch.tensor([[0.9, 0.1], [0.5, 0.5]])  # points × depth
    q = torch.tensor([0.25, 0.75])
    assert posterior.mixture_probability(probability, q).tolist() == pytest.approx([0.3, 0.5])
    log = posterior.mixture_log_likelihood(probability.log(), q)
    assert log.tolist() == pytest.approx(np.log([0.3, 0.5]).tolist())


def test_mixture_log_likelihood_of_confident_errors_is_finite() -> None:
    """Where every probability underflows, and where a depth has been pruned away."""
    log_p = torch.tensor([[-400.0, -500.0]])
    assert posterior.mixture_log_likelihood(log_p, torch.tensor([0.5, 0.5])).tolist() == pytest.approx(
        [-400 + math.log(0.5)]
    )
    assert posterior.mixture_log_likelihood(log_p, torch.tensor([0.0, 1.0])).tolist() == pytest.approx([-500])
