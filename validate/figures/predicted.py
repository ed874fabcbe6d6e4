"""What the theory says of a setting's cosines, from its task and from what was observed of its data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import FloatArray
from validate.figures.style import MARKERS, PALETTE
from validate.judge.groups import Setting
from validate.predict.predictors import PREDICTORS, Tokens


@dataclass(frozen=True)
class Look:
    """How a prediction is called and drawn, the same in every figure."""

    label: str
    colour: str
    marker: str


UNIFORM, MARGINAL, SAMPLE, FROZEN, EQ14 = (
    "P^s - u",
    "P^s - mean P",
    "finite sample",
    "frozen flow, late",
    "eq. 14",
)
"""The predictions that figures draw: those that hold for a whole run, at no time of its own."""
_DRAWN = [p for p in PREDICTORS if p.name in (UNIFORM, MARGINAL, SAMPLE, FROZEN, EQ14)]
LOOKS = {
    p.name: Look(p.label, colour, marker) for p, colour, marker in zip(_DRAWN, PALETTE, MARKERS, strict=False)
}


def predictions(setting: Setting, tokens: Tokens) -> dict[str, FloatArray]:
    """Return every prediction of some anchors' cosines, each of shape (n_seeds or 1, n, n).

    Those of the task are the same for every seed and stand once; that of the run's own label counts and that
    of the frozen flow's late direction (Emb-MLP only) are given where they were observed.
    """
    found = {}
    for p in _DRAWN:
        if all(p.applies(run, tokens) for run in setting.runs):
            runs = setting.runs[:1] if p.of_task is not None else setting.runs
            found[p.name] = np.array([p.cosines(run, tokens, run.epochs[-1]) for run in runs])
    return found
