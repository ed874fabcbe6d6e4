"""What each idealisation of the Emb-MLP's theory costs on some runs: their error budget.

Neighbouring rungs differ in one idealisation, so that the distance between their cosines is its price. The
rungs between the frozen flow and training (coupled, linearised, population) need an integration of minutes a
run and are left out: docs/theory/flows.md has them for the paper's setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theory import off_diagonal
from theory.checked import checked
from validate.judge.agreement import measures
from validate.judge.groups import Setting
from validate.judge.stats import SIZE, Estimate, over_seeds
from validate.predict.predictors import PREDICTORS, Tokens
from validate.predict.tokens import groups_of
from validate.progress import track

OBSERVED = "observed"
STEPS = (
    ("P^s - u", "finite sample", "one drawn data set in place of the whole distribution"),
    ("finite sample", "frozen flow, late", "the run's own W1 and W2, of finite width"),
    ("frozen flow, late", "frozen flow", "the initial embedding, not yet outgrown"),
    (
        "frozen flow",
        OBSERVED,
        "the rest: W1 and W2 move, the softmax leaves uniform, tanh, batches, optimiser",
    ),
)
"""Neighbouring rungs, and the idealisation that lies between them."""
WHOLE = (
    ("frozen flow, late", OBSERVED, "the last two together, independent of how time is matched"),
    ("P^s - u", OBSERVED, "all of it"),
    ("P^s - mean P", OBSERVED, "all of it, the common part of the labels taken out"),
)
"""Several steps in one, up to all of them."""
LEFT_OUT = (
    "Left out: the coupled, linearised and population rungs, which divide the last step further and take "
    "minutes per run to integrate; docs/theory/flows.md has them for the paper's Emb-MLP. The frozen flow is "
    "taken at t = Σ learning rate, the time of plain gradient descent: AdamW takes steps of another size, "
    "so that for it only the last two steps together mean anything. Distances add as the sides of a "
    "polygon do: the whole is at most the sum of its steps, and often less."
)


@dataclass(frozen=True)
class RungDistance:
    """How far the cosines of two rungs lie apart over all pairs of a group's anchors, and the ``cause``.

    ``rmse`` and ``largest`` are the root mean square and the largest difference, over seeds.
    """

    setting: str
    epoch: int
    group: str
    lower: str
    upper: str
    cause: str
    rmse: Estimate
    largest: Estimate

    @property
    def step(self) -> str:
        """Both rungs in one name."""
        return f"{self.lower} → {self.upper}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"rmse": self.rmse.as_dict(), "largest": self.largest.as_dict()}


@checked
def rung_distances(settings: Sequence[Setting]) -> list[RungDistance]:
    """Return the distances between neighbouring rungs, at every snapshot that a setting's runs share.

    Settings of other models than the Emb-MLP have no such ladder and give nothing. A step is left out where a
    run lacks what its rungs need, as a kept run may that was observed by an older version.
    """
    return [
        distance
        for setting in track(settings, "taking error budgets")
        if setting.config.model.kind == "emb-mlp"
        for epoch in setting.epochs()
        for group, tokens in groups_of(setting.task).items()
        for distance in _distances(setting, epoch, group, tokens)
    ]


def _distances(setting: Setting, epoch: int, group: str, tokens: Tokens) -> list[RungDistance]:
    steps = (*STEPS, *WHOLE)
    wanted = {name for step in steps for name in step[:2]}
    matrices = {
        p.name: [p.cosines(run, tokens, epoch) for run in setting.runs]
        for p in PREDICTORS
        if p.name in wanted and all(p.applies(run, tokens) for run in setting.runs)
    }
    matrices[OBSERVED] = [run.cosines(tokens, epoch) for run in setting.runs]
    rungs = {name: np.array([*map(off_diagonal, of_runs)]) for name, of_runs in matrices.items()}
    found = []
    for lower, upper, cause in steps:
        if {lower, upper} <= rungs.keys():
            apart = measures(rungs[lower], rungs[upper])
            sizes = (over_seeds(apart[name], SIZE) for name in ("rmse", "largest_error"))
            found.append(RungDistance(setting.label, epoch, group, lower, upper, cause, *sizes))
    return found
