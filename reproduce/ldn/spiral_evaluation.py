"""What a trained network of the spirals is asked: likelihoods, posteriors, the functions that it learnt."""

import base64
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.data.spirals import Points
from reproduce.ldn import posterior
from reproduce.ldn.networks import FullyConnected

CHOICES = {"argmax": posterior.d_argmax, "95": posterior.d_95, "expected": posterior.d_expected}
SPAN = 2.4  # maps show the square of standardised coordinates from −SPAN to SPAN; a 720° spiral fits


@torch.no_grad()
def log_probabilities(network: FullyConnected, x: np.ndarray) -> Tensor:
    """[points, depth, class], with batch norm's running statistics, in double precision."""
    return torch.log_softmax(network.eval()(torch.from_numpy(x)).double(), -1)


def scores(log_p: Tensor, q: Tensor, y: np.ndarray) -> dict[str, float]:
    """Of the mixture over q: mean probability of the true class (D6), mean log-likelihood, error in %."""
    classes = torch.from_numpy(y)
    of_truth = log_p[torch.arange(len(classes)), :, classes]
    mixture = (log_p.exp() * q[:, None]).sum(1)
    return {
        "mean_probability": float(posterior.mixture_probability(of_truth.exp(), q).mean()),
        "log_likelihood": float(posterior.mixture_log_likelihood(of_truth, q).mean()),
        "error": 100 * float((mixture.argmax(1) != classes).double().mean()),
    }


def posteriors(network: FullyConnected, train: Points) -> tuple[Tensor, Tensor, Tensor]:
    """q, the exact posterior of the final weights (Eq. 5), and each depth's train log-likelihood."""
    log_p = log_probabilities(network, train.x)
    likelihood = log_p[torch.arange(len(train.y)), :, torch.from_numpy(train.y)].sum(0)
    exact = posterior.exact_posterior(likelihood, network.beta) if network.learnt else network.q.double()
    return network.q.detach().double(), exact, likelihood


def model_row(network: FullyConnected, train: Points) -> dict[str, Any]:
    """`models`: the depths that q and the exact posterior choose, and how far apart the two are."""
    q, exact, likelihood = posteriors(network, train)
    row: dict[str, Any] = {f"d_{name}": int(choose(q)) for name, choose in CHOICES.items()}
    row |= {"q_max": float(q.max()), "exact_argmax": int(exact.argmax())}
    if not network.learnt:
        return row | {"elbo": float(likelihood[-1]), "elbo_gap": 0.0}
    elbo = float(posterior.elbo(likelihood, q, network.beta))
    evidence = float(torch.logsumexp(likelihood + network.beta.log(), 0))
    return row | {"elbo": elbo, "elbo_gap": evidence - elbo}  # the gap is KL(q ‖ exact posterior), appendix A


def prediction_rows(network: FullyConnected, train: Points, test: Points) -> list[dict[str, Any]]:
    """`predictions`: all depths together, cut at a chosen depth, and weighed by the exact posterior."""
    q, exact, _ = posteriors(network, train)
    log_p = log_probabilities(network, test.x)
    ways = {"full": q, "exact": exact}
    ways |= {f"pruned_{name}": posterior.prune(q, choose(q)) for name, choose in CHOICES.items()}
    rows = [{"prediction": name, **scores(log_p, way, test.y)} for name, way in ways.items()]
    return [*rows, {"prediction": "train", **scores(log_probabilities(network, train.x), q, train.y)}]


def depth_rows(network: FullyConnected, train: Points, test: Points) -> list[dict[str, Any]]:
    """`depths`: every depth of a LDN on its own, the last one of a DDN."""
    q, exact, likelihood = posteriors(network, train)
    log_p = log_probabilities(network, test.x)
    depths = range(network.depth + 1) if network.learnt else [network.depth]
    return [
        {
            "depth": i,
            "q": float(q[i]),
            "exact_posterior": float(exact[i]),
            "train_log_likelihood": float(likelihood[i]) / len(train.y),
            **scores(log_p, only(i, q), test.y),
        }
        for i in depths
    ]


def function_rows(network: FullyConnected, train: Points, test: Points, side: int) -> list[dict[str, Any]]:
    """`functions`: a map per depth (each depth alone; of a LDN also Eq. 3 up to it), and the train points."""
    q = network.q.detach().double()
    log_p, on_map = log_probabilities(network, test.x), log_probabilities(network, squares(side))
    seen = scores(log_probabilities(network, train.x), q, train.y)
    rows = [{"depth": -1, "prediction": "train points", **seen, "drawn": packed_points(train)}]
    for i in range(network.depth + 1):
        mixtures = {"depth alone": only(i, q)}
        if network.learnt:
            mixtures["up to depth"] = posterior.prune(q, i)
        for name, mixture in mixtures.items():
            spiral = (on_map[:, :, 1].exp() * mixture).sum(1)
            drawn = base64.b64encode((spiral * 255).round().to(torch.uint8).numpy().tobytes()).decode()
            rows.append({"depth": i, "prediction": name, **scores(log_p, mixture, test.y), "drawn": drawn})
    return rows


def only(depth: int, q: Tensor) -> Tensor:
    """All mass on one depth."""
    return torch.nn.functional.one_hot(torch.tensor(depth), len(q)).to(q)


def squares(side: int) -> np.ndarray:
    """The middles of a map's pixels, row by row from the top, each from the left."""
    steps = ((np.arange(side) + 0.5) / side * 2 - 1) * SPAN
    return np.stack([np.tile(steps, side), np.repeat(steps[::-1], side)], 1).astype(np.float32)


def packed_points(points: Points) -> str:
    """Three bytes per point: x and y in SPAN/127, and its arm."""
    place = np.clip(np.rint(points.x / SPAN * 127), -127, 127).astype(np.int8)
    return base64.b64encode(np.column_stack([place, points.y.astype(np.int8)]).tobytes()).decode()
