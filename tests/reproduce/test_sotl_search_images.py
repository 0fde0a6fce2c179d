"""Which images each step of a search by gradient looks at, and each Hessian."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gradient_searches import SEARCHES, SOTL, begun, made_up_searches  # noqa: F401
from plain_mixed import plain_nb201, with_torch_s_modules
from torch import Tensor
from torch.nn import functional

from harness.data import split
from reproduce.sotl import gradient_steps, one_shot
from reproduce.sotl.architecture_slopes import WAYS
from reproduce.sotl.curvature import eigenvalues
from reproduce.sotl.gradient_steps import SearchLoop

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")
LOOKS_AT = {
    "darts": {"held"},
    "darts_second_order": {"images", "held"},
    "sotl": {"images"},
    "sotl_exact": {"images"},
    "sovl": {"images", "held"},
    "sovl_slip": set(),
    "one_minibatch": {"images"},
    "noise": set(),
}


def slopes(folder: Path, algorithm: str, other: str | None = None) -> Tensor:
    """Of the first update; `other`: the part whose images are others."""
    unroll = 1 if algorithm.startswith("darts") else 3
    loop = begun(folder, algorithm=algorithm, unroll=unroll)
    if other is not None:
        part = getattr(loop, other)
        setattr(loop, other, replace(part, x=255 - part.x))
    return loop.slopes(range(unroll))[0].detach()


@pytest.mark.parametrize("algorithm", WAYS)
def test_a_slope_comes_of_its_own_images_alone(tmp_path: Path, algorithm: str) -> None:
    """Bug of its name: a validation gradient from training images would pass for one."""
    usual = slopes(tmp_path / "usual", algorithm)
    felt = {
        part
        for part in ("images", "held")
        if not torch.equal(usual, slopes(tmp_path / part, algorithm, part))
    }
    assert felt == LOOKS_AT[algorithm]


class Seen(Exception):
    """The search would begin here."""


def test_a_search_is_handed_its_parts_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The division's training half trains; the other half validates."""
    loops: list[SearchLoop] = []

    def seen(loop: SearchLoop, part: object) -> None:
        loops.append(loop)
        raise Seen

    monkeypatch.setattr(SearchLoop, "train", seen)
    with pytest.raises(Seen):
        SEARCHES.done(tmp_path, **SOTL)
    halves, x = split("halves", 64), one_shot.load("made-up", "train").x
    for part, numbers in ((loops[0].images, halves.train), (loops[0].held, halves.val)):
        assert {image.tobytes() for image in part.x} == {image.tobytes() for image in x[numbers]}


def test_each_hessian_is_of_its_own_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends beside torch's Hessian of the plain way to compute the loss; the search is not disturbed."""
    loop = begun(tmp_path, **SOTL, curvature_images=5)
    loop.one()
    monkeypatch.setattr(gradient_steps, "eigenvalues", eigenvalues)
    del loop._curvature
    before = [value.clone() for value in loop.network.state_dict().values()]
    for name in ("images", "held"):
        part = getattr(loop, name)
        taken = type(part).take
        monkeypatch.setattr(
            type(part),
            "take",
            lambda self, *asked, taken=taken: (taken(self, *asked)[0].double(), taken(self, *asked)[1]),
        )
    found = loop._curvature()
    assert all(map(torch.equal, before, loop.network.state_dict().values()))
    plain = with_torch_s_modules(loop.network.network).train()
    for name, part in (("train", loop.images), ("val", loop.held)):
        x, y = part.take(np.arange(5))

        def loss(alpha: Tensor, x: Tensor = x, y: Tensor = y) -> Tensor:
            return functional.cross_entropy(plain_nb201(plain, x, alpha.softmax(dim=-1)), y)

        whole = torch.autograd.functional.hessian(loss, loop.alphas[0].detach()).reshape(30, 30)
        ends = np.linalg.eigvalsh(whole.numpy())
        assert found[f"largest_{name}"] == pytest.approx(ends[-1], rel=1e-8)
        assert found[f"smallest_{name}"] == pytest.approx(ends[0], rel=1e-6, abs=1e-10)
    assert found["largest_train"] != pytest.approx(found["largest_val"], rel=1e-3)
