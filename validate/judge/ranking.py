"""Every predictor and rival, ranked by how well it does on some runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import off_diagonal
from validate.judge.agreement import measures
from validate.judge.groups import Setting
from validate.judge.measures.geometry import cosine_pairs
from validate.judge.measures.prediction import RIVALS
from validate.judge.stats import COSINE, SIZE, SKILL, Estimate, over_seeds
from validate.observe.times import early_epoch
from validate.predict.predictors import PREDICTORS

RANKED_HEADER = ("predictor", "Pearson", "skill", "RMSE")


@dataclass(frozen=True)
class Ranked:
    """How well one predictor does over seeds, early and over all pairs of anchors.

    A rival is a guess that knows no label distribution. It has no scale, and so neither skill against
    orthogonal anchors nor error.
    """

    name: str
    rival: bool
    pearson: Estimate
    skill: Estimate
    rmse: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        estimates = {name: getattr(self, name).as_dict() for name in ("pearson", "skill", "rmse")}
        return {"predictor": self.name, "rival": self.rival, **estimates}

    def cells(self) -> list[str]:
        """Return a line of the table of predictors."""
        name = f"{self.name} (rival)" if self.rival else self.name
        return [name, *(e.brief for e in (self.pearson, self.skill, self.rmse))]


def ranking(setting: Setting) -> list[Ranked]:
    """Return every predictor and rival that says anything of a setting's runs, the best correlation first."""
    runs, task = setting.runs, setting.task
    tokens = task.anchors
    if len(tokens) < 3:
        return []
    observed = np.array([cosine_pairs(run, tokens, early_epoch) for run in runs])
    found = []
    for predictor in PREDICTORS:
        if all(predictor.applies(run, tokens) for run in runs):
            matrices = [predictor.cosines(run, tokens, early_epoch(run)) for run in runs]
            predicted = np.array([*map(off_diagonal, matrices)])
            each = measures(predicted, observed)
            skill = 1 - ((predicted - observed) ** 2).sum(axis=1) / (observed**2).sum(axis=1)
            estimates = (each["pearson"], COSINE), (skill, SKILL), (each["rmse"], SIZE)
            found.append(Ranked(predictor.name, False, *(over_seeds(x, within) for x, within in estimates)))
    none = over_seeds([])
    for name, pairs in RIVALS.items():
        each = measures(np.broadcast_to(pairs(task, tokens), observed.shape), observed)
        found.append(Ranked(name, True, over_seeds(each["pearson"], COSINE), none, none))
    return sorted(
        found, key=lambda r: -math.inf if math.isnan(r.pearson.mean) else r.pearson.mean, reverse=True
    )
