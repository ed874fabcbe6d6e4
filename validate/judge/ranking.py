"""Every predictor and rival, ranked by how well it does on some runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from theory import off_diagonal
from validate.judge.compare import measures
from validate.judge.groups import Setting
from validate.judge.measures.geometry import correlation, skill
from validate.judge.measures.rivals import RIVALS
from validate.judge.stats import COSINE, SIZE, SKILL, Estimate, over_seeds
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.predict.predictors import PREDICTORS, Predict


@dataclass(frozen=True)
class Ranked:
    """How well one predictor does, early and over all pairs of anchors.

    Attributes
    ----------
    name : str
    rival : bool
        Whether it is a guess that knows no label distribution.
    pearson, skill, rmse : Estimate
        Over seeds; a rival has no scale, and so neither skill against orthogonal anchors nor error.
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


RANKED_HEADER = ("predictor", "Pearson", "skill", "RMSE")


def ranking(setting: Setting) -> list[Ranked]:
    """Return every predictor and rival that says anything of a setting's runs, the best correlation first."""
    runs = setting.runs
    tokens = setting.task.anchors
    if len(tokens) < 3:
        return []
    found = [
        Ranked(p.name, False, *_of_predictor(p.cosines, runs))
        for p in PREDICTORS
        if all(p.applies(run, tokens) for run in runs)
    ]
    none = over_seeds([])
    found += [Ranked(rival.name, True, _over(runs, _of_rival(rival.pairs)), none, none) for rival in RIVALS]
    return sorted(
        found, key=lambda r: -math.inf if math.isnan(r.pearson.mean) else r.pearson.mean, reverse=True
    )


def _over(runs: Sequence[Observations], measure: Callable[[Observations], float]) -> Estimate:
    return over_seeds([measure(run) for run in runs], COSINE)


def _of_predictor(predict: Predict, runs: Sequence[Observations]) -> tuple[Estimate, Estimate, Estimate]:
    tokens = runs[0].task.anchors
    skills = over_seeds([skill(run, predict, tokens) for run in runs], SKILL)
    errors = over_seeds([_rmse(predict, run) for run in runs], SIZE)
    return _over(runs, lambda run: correlation(run, predict, tokens)), skills, errors


def _rmse(predict: Predict, run: Observations) -> float:
    tokens, epoch = run.task.anchors, early_epoch(run)
    pair = off_diagonal(predict(run, tokens, epoch)), off_diagonal(run.cosines(tokens, epoch))
    return float(measures(*pair)["rmse"])


def _of_rival(pairs: Callable[..., Any]) -> Callable[[Observations], float]:
    def measure(run: Observations) -> float:
        tokens = run.task.anchors
        observed = off_diagonal(run.cosines(tokens, early_epoch(run)))
        return float(measures(pairs(run.task, tokens), observed)["pearson"])

    return measure
