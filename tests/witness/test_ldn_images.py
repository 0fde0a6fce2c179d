"""Convolutional LDNs and DDNs beside the authors': logits, a step, trainings, predictions, calibration."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from image_run import a_run
from torch import Tensor
from witness import ldn_start
from witness.formula import numbers, sketch
from witness.ldn_start import IMAGES

from harness.metrics import calibration
from harness.runs.record import Run
from reproduce.ldn import image_training, posterior
from reproduce.ldn.conv import ConvNet, Shape
from reproduce.ldn.image_data import ImageParts, Part
from reproduce.ldn.image_evaluation import evaluate, prediction_scores
from reproduce.ldn.images import predictions

THEIRS = numbers("ldn_images")
# Double precision: measured is at most 2e-14, other processors add up in another order.
CLOSE = {"rtol": 1e-10, "atol": 1e-11}

pytestmark = pytest.mark.usefixtures("one_thread")


def head(network: ConvNet) -> list[torch.nn.Parameter]:
    """In the order in which the authors' layers are called."""
    of = network.head
    return [*of.hidden.parameters(), of.norm_weight, of.norm_bias, *of.output.parameters()]


def started(learnt: bool, shape: Shape | None = None) -> ConvNet:
    sizes = {"width": ldn_start.WIDTH, "bottleneck": ldn_start.BOTTLENECK}
    shape = shape or Shape(ldn_start.DEPTH, ldn_start.SIDE, ldn_start.CHANNELS, **sizes)
    network = ConvNet(shape, learnt).double()
    ldn_start.weights(
        network.input.parameters(), network.blocks.parameters(), head(network), network.depth_logits.data
    )
    return network


def parts() -> ImageParts:
    n = {960: ldn_start.TRAIN, 962: ldn_start.SELECT, 964: ldn_start.TEST}
    return ImageParts(*(Part(*ldn_start.images(count, number)) for number, count in n.items()))


def trained(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[ConvNet, image_training.Progress]:
    learnt, drop = IMAGES[case]

    class Stream:
        def __init__(self, name: str) -> None:
            self.epoch = int(name.removeprefix("epoch "))

        def permutation(self, n: int):
            return ldn_start.order(self.epoch, n).numpy()

    monkeypatch.setattr(Run, "stream", lambda run, name: Stream(name))
    sizes = {"batch": ldn_start.BATCH, "max_epochs": ldn_start.EPOCHS, "lr": ldn_start.RATE}
    recipe = image_training.Recipe(**sizes, lr_drop_epoch=drop)
    network = started(learnt)
    return network, image_training.train(a_run(folder), network, parts(), recipe)


def close(found: object, expected: object) -> None:
    ours = torch.as_tensor(found, dtype=torch.float64)
    torch.testing.assert_close(ours, torch.tensor(expected, dtype=torch.float64), **CLOSE)


def of_weights(network: ConvNet) -> list[float]:
    trained = [*network.input.parameters(), *network.blocks.parameters(), *head(network)]
    return sketch(torch.cat([p.reshape(-1) for p in trained]))


def of_statistics(network: ConvNet) -> list[float]:
    """The blocks' before the head's, as theirs are listed."""
    kept = [b.reshape(-1) for name, b in network.blocks.named_buffers() if "running" in name]
    return sketch(torch.cat([*kept, network.head.running_mean[0], network.head.running_var[0]]))


@pytest.mark.parametrize("case", IMAGES)
def test_logits_of_every_depth_in_both_modes(case: str) -> None:
    network, x = started(IMAGES[case][0]), parts().train.x[:6]
    close([sketch(a) for a in network(x).transpose(0, 1)], THEIRS["cases"][case]["training"])
    network.eval()
    close([sketch(a) for a in network(x).transpose(0, 1)], THEIRS["cases"][case]["evaluation"])


@pytest.mark.parametrize("case", IMAGES)
def test_the_first_step(case: str) -> None:
    theirs, network, train = THEIRS["cases"][case], started(IMAGES[case][0]), parts().train
    chosen = ldn_start.order(0, len(train))[: ldn_start.BATCH]
    optimiser = torch.optim.SGD(network.parameters(), lr=ldn_start.RATE, momentum=0.5)
    beta = posterior.prior(network.shape.max_depth)
    loss = image_training.objective(network, train.x[chosen], train.y[chosen], beta, len(train))
    loss.backward()
    close(loss.item(), theirs["first loss"])
    weights = [*network.input.parameters(), *network.blocks.parameters(), *head(network)]
    close([sketch(p.grad) for p in weights], theirs["gradients"])
    if network.learnt:
        close(network.depth_logits.grad, theirs["gradient of the depth logits"])
    optimiser.step()
    close(of_weights(network), theirs["after a step"]["weights"])
    close(of_statistics(network), theirs["after a step"]["statistics"])


@pytest.mark.parametrize("case", IMAGES)
def test_a_training_and_its_chosen_epoch(case: str, tmp_path: Path, monkeypatch) -> None:
    """In the ELBO that chooses minibatches count alike, and so does the KL of every step (D20)."""
    theirs = THEIRS["cases"][case]
    network, progress = trained(case, tmp_path, monkeypatch)
    for name in ("lr", "train_elbo", "kl", "select_elbo"):
        close(progress.history[name], theirs[name])
    assert (progress.epoch, progress.best_epoch) == (theirs["epochs"], theirs["best_epoch"])
    close(network.q.detach(), theirs["q"])
    close(of_weights(network), theirs["weights"])
    close(of_statistics(network), theirs["statistics"])
    if network.learnt:
        close(posterior.kl(network.q.detach(), posterior.prior(ldn_start.DEPTH)), theirs["KL"])


@pytest.mark.parametrize("case", IMAGES)
def test_predictions_whole_pruned_and_of_each_depth(case: str, tmp_path: Path, monkeypatch) -> None:
    theirs = THEIRS["cases"][case]
    network, _ = trained(case, tmp_path, monkeypatch)
    test = parts().test
    chosen, qs = predictions(network)
    tested = evaluate(network, test, list(qs.values()))
    for (name, q), mixture in zip(qs.items(), tested.mixtures, strict=True):
        expected = theirs["predictions"][name]
        assert chosen[name] == expected["depth"]
        close(sketch(torch.from_numpy(mixture)), expected["probabilities"])
        log_p = posterior.mixture_log_likelihood(tested.log_likelihood, q).numpy()
        found = prediction_scores(mixture, log_p, test.y.numpy())
        for score in ("mean_probability", "log_likelihood"):
            close(found[score], expected[score])
        assert found["error"] == pytest.approx(expected["error"])
    with torch.no_grad():
        close(sketch(torch.softmax(network(test.x), -1).transpose(0, 1)), theirs["depths"])


def test_the_published_size() -> None:
    theirs, (x, y) = THEIRS["published size"], ldn_start.images(4, 966, 28, 1)
    network = started(True, Shape(50, 28, 1))
    assert sum(p.numel() for p in network.parameters()) == theirs["parameters"]
    beta = posterior.prior(50)
    logits = network(x)
    loss = posterior.objective(-image_training.log_likelihood(logits, y).mean(0), network.q, beta, 60_000)
    loss.backward()
    close(sketch(logits.transpose(0, 1)), theirs["training"])
    close([loss.item(), posterior.kl(network.q, beta).item()], [theirs["loss"], theirs["KL"]])
    weights = [*network.input.parameters(), *network.blocks.parameters(), *head(network)]
    close(sketch(torch.cat([p.grad.reshape(-1) for p in weights])), theirs["gradients"])
    close(sketch(network.depth_logits.grad), theirs["gradient of the depth logits"])
    network.eval()
    close(sketch(network(x).transpose(0, 1)), theirs["evaluation"])


def test_the_calibration_error_and_its_bins() -> None:
    """Their empty bins make it nan, ours count nothing (D18)."""
    theirs, (predicted, label) = THEIRS["calibration"], (t.numpy() for t in ldn_start.probabilities())
    events = calibration.every_class_if_predicted_events(predicted, label)
    diagram = calibration.reliability(*events, 10)
    close(100 * calibration.ece_upper_edge(predicted, label), theirs["every bin filled"]["ece"])
    close(diagram.accuracy, theirs["every bin filled"]["accuracy"])
    close(diagram.share, theirs["every bin filled"]["share"])
    sharp, label = torch.tensor([[0.991] + [0.001] * 9] * 5).numpy(), np.array([0, 0, 0, 1, 0])
    assert theirs["empty bins"]["ece"] == "nan"
    assert math.isnan(calibration.ece_upper_edge(sharp, label, empty_is_nan=True))
    assert 100 * calibration.ece_upper_edge(sharp, label) == pytest.approx(11.0)  # .9 of .1 − 0, .1 of 1 − .8


def test_a_confident_error_is_infinitely_improbable_in_theirs_alone() -> None:
    """D21: the logarithm of a softmax in single precision, against a log-sum-exp."""
    network = started(False, Shape(1, ldn_start.SIDE, ldn_start.CHANNELS, width=8, bottleneck=4))
    network.head.output.bias.data[3] += 300
    network.float()
    x, label = parts().select.x[:5].float(), torch.tensor(THEIRS["confident error"]["labels"])
    found: Tensor = image_training.mixture_log_likelihood(network, Part(x, label)).mean()
    assert THEIRS["confident error"]["minus log-likelihood"] == "inf"
    assert -found.item() == pytest.approx(300, abs=2)
