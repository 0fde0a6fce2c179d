"""The tables that scores leave in a record: what Figures 4.6 to 4.9 and Tables 4.1 to 4.5 are read from."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from harness.runs.record import Run
from harness.supernet.ranking import SCORES
from reproduce.sotl.candidates import Candidates
from reproduce.sotl.scoring import Scores, Scoring

KEY, UNITS = ("finetune", "step", "arch"), ("params", "truth")
KEPT_EVERY = 5  # steps: no artefact asks for one between them, and the records stay small
DIGITS = 7  # as many as the networks' own numbers have
OF_TRAINING = ("sotl", "tlmini", "sog", "sogn", "sogn_l1", "sogn_double", "sog_author", "loss")


def leave_tables(run: Run, config: Scoring, ranked: Candidates, scores: dict[str, Scores]) -> None:
    """training, minibatch, whole: one row per way, step and architecture; groups; architectures."""
    units = list(zip(ranked.params, ranked.truth, strict=True))
    training, minibatch, whole, groups = [], [], [], []
    diverged = np.zeros(len(units), int)
    for name, found in scores.items():
        steps = torch.stack(found.training).numpy()  # architecture, step, score
        diverged += ~np.isfinite(steps[:, :, 0]).all(axis=1)
        training += _training(name, steps, units)
        groups += _groups(name, steps[:, :, 0], ranked.truth)
        minis = [[[value] for value in values] for values in found.minibatch]
        minibatch += _sparse(name, minis, config.val_every, units)
        whole += _sparse(name, found.whole, config.whole_every, units)
    wholes = ("valacc", "valacc_all") if config.val_all else ("valacc",)
    _table(run, "training", (*KEY, *OF_TRAINING, *UNITS), training)
    _table(run, "minibatch", (*KEY, "valaccmini", *UNITS), minibatch)
    _table(run, "whole", (*KEY, *wholes, *UNITS), whole)
    _table(run, "groups", ("finetune", "step", "group", "loss"), groups)
    _leave_architectures(run, ranked, diverged)


def _training(name: str, steps: np.ndarray, units: list[tuple]) -> list[list]:
    """A row per kept step and architecture."""
    columns, last = [SCORES.index(score) for score in OF_TRAINING], steps.shape[1] - 1
    return [
        [name, step, arch, *_rounded(steps[arch, step, columns]), *units[arch]]
        for step in (*range(0, last, KEPT_EVERY), last)
        for arch in range(len(units))
    ]


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def _sparse(name: str, found: list[list[list[float]]], every: int, units: list[tuple]) -> list[list]:
    """What was measured every so many updates; where a fine-tuning ended early, the worst from there on."""
    longest, worst = max(map(len, found)), [-math.inf] * len(found[0][0])
    return [
        [name, place * every, arch, *(values[place] if place < len(values) else worst), *units[arch]]
        for arch, values in enumerate(found)
        for place in range(longest)
    ]


def _groups(name: str, losses: np.ndarray, truth: np.ndarray) -> list[list]:
    """Figure 4.8: mean training loss over ten minibatches of all, the truly best tenth, the median tenth."""
    order, tenth = np.argsort(-truth, kind="stable"), max(1, round(len(truth) / 10))
    middle = (len(truth) - tenth) // 2
    members = {"all": order, "top": order[:tenth], "median": order[middle : middle + tenth]}
    rows = []
    for step in range(losses.shape[1]):
        for group, these in members.items():
            near = losses[these, max(0, step - 9) : step + 1]
            finite = near[np.isfinite(near)]
            rows.append([name, step, group, finite.mean() if len(finite) else math.inf])
    return rows


def _leave_architectures(run: Run, ranked: Candidates, diverged: np.ndarray) -> None:
    rows = []
    for arch, name in enumerate(ranked.archs):
        said = f"{diverged[arch]} of its fine-tunings diverged" if diverged[arch] else "ranked"
        rows.append([arch, name, ranked.params[arch], ranked.truth[arch], said])
    rows += [["", name, "", "", said] for name, said in ranked.refused.items()]
    _table(run, "architectures", ("arch", "architecture", "params", "truth", "outcome"), rows)
    run.metric("architectures", len(ranked.archs))
    run.metric("refused", len(ranked.refused))
    run.metric("diverged", int((diverged > 0).sum()))


def _table(run: Run, name: str, columns: tuple[str, ...], rows: list[list]) -> None:
    run.table(name, {column: [row[i] for row in rows] for i, column in enumerate(columns)})
