"""How well each prediction does on some runs: beside simple guesses, by kinds of pairs, and an error budget.

In the budget neighbouring rungs differ in one idealisation of the Emb-MLP's theory, so that the distance
between their cosines is its price. The rungs between the frozen flow and training (coupled, linearised,
population) need an integration of minutes a run and are left out: docs/theory/flows.md has them for the
paper's setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from theory import off_diagonal
from theory.edge.checked import checked
from validate.judge.measures.agreement import agreement, skill_over_zeros, slope
from validate.judge.measures.geometry import cosine_pairs
from validate.judge.measures.prediction import RIVALS, pair_kinds
from validate.judge.stats import SHARE, SKILL, Estimate, Record, over_seeds
from validate.observe.groups import Setting
from validate.observe.times import early_epoch
from validate.predict.predictors import groups_of, predictions, uniform_cosines
from validate.terminal.progress import track

ORDERED, SLOPES, CLOSE = 0.7, (0.5, 2.0), 0.2
"""The order is right from this Pearson on, as in the verdict; the size for such a slope and RMSE."""


@dataclass(frozen=True)
class Ranked(Record):
    """How well one predictor does over seeds, early and over all pairs of anchors.

    A rival, a guess that knows no label distribution, has no scale, and so neither skill nor error.
    """

    HEADER: ClassVar = ("predictor", "Pearson", "skill", "RMSE")
    predictor: str
    rival: bool
    pearson: Estimate
    skill: Estimate
    rmse: Estimate

    def cells(self) -> list[str]:
        """Return a line under ``HEADER``."""
        name = f"{self.predictor} (rival)" if self.rival else self.predictor
        return [name, *(e.brief for e in (self.pearson, self.skill, self.rmse))]


def ranking(setting: Setting) -> list[Ranked]:
    """Return every predictor and rival that applies to a setting's runs, the best correlation first."""
    runs, tokens = setting.runs, setting.task.anchors
    if len(tokens) < 3:
        return []
    observed = np.array([cosine_pairs(run, tokens, early_epoch) for run in runs])
    ranked, none = [], over_seeds([])
    for name, matrices in predictions(runs, [*map(early_epoch, runs)], tokens).items():
        predicted = np.array([*map(off_diagonal, matrices)])
        skill = skill_over_zeros(predicted, observed)
        pearson, rmse = agreement(predicted, observed, "pearson", "rmse")
        ranked.append(Ranked(name, False, pearson, over_seeds(skill, SKILL), rmse))
    for name, pairs in RIVALS.items():
        (pearson,) = agreement(pairs(setting.task, tokens), observed, "pearson")
        ranked.append(Ranked(name, True, pearson, none, none))
    # Equal correlations differ by rounding: of these, the first named comes first.
    return sorted(ranked, key=lambda r: round(r.pearson.mean, 9) if r.pearson.n else -math.inf, reverse=True)


# --- the prediction alone, by kinds of pairs ------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """How predicted and observed cosines of some pairs of anchors agree, over seeds.

    ``pearson`` is undefined where either side is constant; ``slope`` is that of observed over predicted
    cosine by least squares, 1 if the size is right; ``sign`` is the share of pairs with cosines of one sign.
    """

    HEADER: ClassVar = ("pairs", "Pearson", "slope", "same sign", "RMSE", "in words")
    pairs: str
    pearson: Estimate
    slope: Estimate
    sign: Estimate
    rmse: Estimate

    @property
    def words(self) -> str:
        """The order and the size in words: "order right, size wrong"; without a cosine "undefined"."""
        has_order, low, high = self.pearson.n > 0, *SLOPES
        order = "order right, " if self.pearson.mean >= ORDERED else "order wrong, "
        size = self.rmse.mean <= CLOSE and (not has_order or low <= self.slope.mean <= high)
        return order * has_order + ("size right" if size else "size wrong") if self.rmse.n else "undefined"

    def cells(self) -> list[str]:
        """Return a line under ``HEADER``."""
        return [self.pairs, *(e.brief for e in (self.pearson, self.slope, self.sign, self.rmse)), self.words]


def agreements(setting: Setting) -> list[Agreement]:
    """Return how the prediction agrees with each run at its early epoch, for each kind of pairs and all."""
    tokens, by_kind = setting.task.anchors, []
    if len(tokens) < 3:
        return []
    observed = np.array([cosine_pairs(run, tokens, early_epoch) for run in setting.runs])
    predicted = np.broadcast_to(off_diagonal(uniform_cosines(setting.task, tokens)), observed.shape)
    for kind, chosen in {**pair_kinds(setting.task), "all pairs": np.ones(observed.shape[1], bool)}.items():
        x, y = predicted[:, chosen], observed[:, chosen]
        pearson, rmse = agreement(x, y, "pearson", "rmse")
        slopes = over_seeds([slope(*own) for own in zip(x, y, strict=True)])
        alike = np.where(np.isnan(x + y), np.nan, np.sign(x) == np.sign(y))
        sign = over_seeds(alike.mean(axis=1), SHARE)
        by_kind.append(Agreement(kind, pearson, slopes, sign, rmse))
    return by_kind


# --- the error budget -----------------------------------------------------------------------------------

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
class RungDistance(Record):
    """The distance between two rungs' cosines over all pairs of a group's anchors, and its ``cause``.

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

    def cells(self) -> list[str]:
        """Return a line of the table of distances at one epoch."""
        return [self.group, self.step, str(self.rmse), str(self.largest)]


@checked
def rung_distances(settings: Sequence[Setting]) -> list[RungDistance]:
    """Return the distances between neighbouring rungs, at every snapshot that a setting's runs share.

    Only the Emb-MLP has such a ladder. A step is left out where a run lacks what its rungs need, as may
    a kept run that an older version observed.
    """
    distances = []
    for setting in track(settings, "taking error budgets"):
        groups = groups_of(setting.task) if setting.kind == "emb-mlp" else {}
        for epoch, (group, tokens) in product(setting.epochs(), groups.items()):
            matrices = predictions(setting.runs, [epoch] * len(setting.runs), tokens)
            matrices[OBSERVED] = [run.cosines(tokens, epoch) for run in setting.runs]
            rungs = {name: np.array([*map(off_diagonal, of_runs)]) for name, of_runs in matrices.items()}
            for lower, upper, cause in (*STEPS, *WHOLE):
                if {lower, upper} <= rungs.keys():
                    sizes = agreement(rungs[lower], rungs[upper], "rmse", "largest_error")
                    distances.append(RungDistance(setting.label, epoch, group, lower, upper, cause, *sizes))
    return distances
