"""Predictions of a setting's cosines, from its task and from the observed statistics of its data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import FloatArray
from validate.figures.style import MARKERS, PALETTE, Look
from validate.judge.groups import Setting
from validate.judge.rungs import STEPS
from validate.predict.predictors import FITTED_WIDTH, PREDICTORS, Tokens
from validate.predict.predictors import MARGINAL as MARGINAL
from validate.predict.predictors import UNIFORM as UNIFORM

SAMPLE, FROZEN, EQ14 = "finite sample", "frozen flow, late", "eq. 14"
"""With P^s − u and P^s − P̄ the predictions that figures draw: those that hold for a whole run."""
DRAWN = [p for p in PREDICTORS if p.name in (UNIFORM, MARGINAL, SAMPLE, FROZEN, EQ14)]


@dataclass(frozen=True)
class Label:
    """The name and the look of a prediction, the same in every figure."""

    label: str
    look: Look


LOOKS = {p.name: Label(p.label, Look(c, m)) for p, c, m in zip(DRAWN, PALETTE, MARKERS, strict=False)}
COLOURS = {
    **{name: label.look.colour for name, label in LOOKS.items()},
    "frozen flow": PALETTE[5],
    FITTED_WIDTH: PALETTE[7],
    **{f"{lower} → {upper}": colour for (lower, upper, _), colour in zip(STEPS, PALETTE, strict=False)},
}
"""Of each predictor and each step of the ladder, in every panel, whichever of them it draws."""


def predictions(setting: Setting, tokens: Tokens) -> dict[str, FloatArray]:
    """Return every prediction of some anchors' cosines, each of shape (n_seeds or 1, n, n).

    Those of the task are the same for every seed and stand once; those of the run's own label counts and
    of the frozen flow's late direction (Emb-MLP only) are given where they were observed.
    """
    found = {}
    for p in DRAWN:
        if all(p.applies(run, tokens) for run in setting.runs):
            runs = setting.runs[:1] if p.of_task is not None else setting.runs
            found[p.name] = np.array([p.cosines(run, tokens, run.epochs[-1]) for run in runs])
    return found
