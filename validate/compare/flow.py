"""The predicted size of cosines beside P^s − u, at equal training accuracy.

P^s − u says in which order the cosines come. ``theory.predicted_embedding`` also knows γ, widths, optimiser,
rate and batch, and says how large they are. Its rival is the run of another seed; each line of the comparison
has its cost.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sim.config.model import EmbMLPConfig
from sim.config.run import MemberConfig
from theory import InputError, off_diagonal, predicted_embedding
from theory.edge.arrays import FloatArray
from theory.flows.mean_training import MOST_GRADIENTS
from theory.labels.counts import TRAINING
from validate.judge.measures.agreement import agreement, slope
from validate.judge.measures.prediction import RIVALS
from validate.judge.stats import Estimate, Record, over_seeds
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.observe.times import accuracy_at
from validate.predict.learning import check_course, flow_arguments
from validate.predict.predictors import UNIFORM, groups_of, uniform_cosines
from validate.predict.statistics import Cosines, summary

LEVELS = (0.1, 0.3, 0.5)
"""The training accuracies at which runs and flow are compared."""
NEAR = 0.05
"""How far the accuracy of a snapshot may be from a level."""
STARTS = (1000, 1001)
"""Seeds of the predictions' initial weights, which no run has."""
SEED, MAPPING = "another seed's run", "same mapping or not"


@dataclass(frozen=True)
class Aligned(Record):
    """How one predictor does on all pairs of anchors at one training accuracy, over seeds.

    ``slope`` is the slope of observed over predicted cosine. ``seconds`` is the cost of the prediction: the
    flow's processor time for all levels together, or the wall time of another seed's run up to this level.
    Predictions by other seeds' runs have runs in common, so their mean has no interval.
    """

    HEADER: ClassVar = ("training accuracy", "predictor", "Pearson", "slope", "RMSE", "seconds")
    level: float
    predictor: str
    pearson: Estimate
    slope: Estimate
    rmse: Estimate
    seconds: float

    def cells(self) -> list[str]:
        """Return a line under ``HEADER``."""
        numbers = [e.brief for e in (self.pearson, self.slope, self.rmse)]
        return [f"{self.level:g}", self.predictor, *numbers, f"{self.seconds:.0f}"]


@dataclass(frozen=True, eq=False)
class Level:
    """Every pair's cosine at one training accuracy, shape (n_seeds, n_pairs), and how each predictor does."""

    level: float
    observed: FloatArray
    predicted: dict[str, FloatArray]
    rows: list[Aligned]


def snapshots_at(runs: Sequence[Observations], level: float) -> list[int]:
    """Return an epoch of each run near a training accuracy, none if a run has no snapshot there.

    It is each run's nearest, or one epoch for all, whichever is nearer to the level and has accuracies nearer
    to each other: another seed's run at another accuracy is a rival with a handicap.
    """
    at = [{epoch: accuracy_at(run, epoch) for epoch in run.epochs} for run in runs]
    nearest = [min(own, key=lambda epoch: abs(own[epoch] - level)) for own in at]
    found = []
    for epochs in (nearest, *([epoch] * len(runs) for epoch in set(at[0]).intersection(*at))):
        accuracies = np.array([own[epoch] for own, epoch in zip(at, epochs, strict=True)])
        if (far := np.abs(accuracies - level).max()) <= NEAR:
            found.append((far + np.ptp(accuracies), epochs))
    return min(found)[1] if found else []


def flow_cosines(
    config: MemberConfig, accuracies: Sequence[float], **options: Any
) -> tuple[list[FloatArray], list[float], float, float]:
    """Return predicted cosines of all anchors, how far two starts are apart, ``gradient_error``, and seconds.

    Nothing of a run is used: cosines and distances are those at increasing training accuracies, NaN where one
    is not reached within twice the run's epochs. Options are those of ``predicted_embedding`` for an Emb-MLP;
    any other model's mean course is followed. Errors are as in ``check_flow``.
    """
    began = time.process_time()
    check_flow(config)
    if isinstance(config.model, EmbMLPConfig):
        course = predicted_embedding(accuracies=accuracies, seeds=STARTS, **flow_options(config), **options)
    else:
        from validate.predict.course import course_embedding  # Reports are made without torch's transforms.

        limit = options.get("max_gradients", MOST_GRADIENTS)
        course = course_embedding(config, accuracies, STARTS, limit)
    anchors = list(config.build_task().anchors)
    cosines, apart = [*course.cosines(anchors)], course.apart(anchors).tolist()
    return cosines, apart, course.gradient_error, time.process_time() - began


def apart_sentence(apart: Sequence[float]) -> str:
    """Return a sentence on the distance of two starts at each of ``LEVELS``."""
    at = [f"{x:.2f} at {level:g}" for level, x in zip(LEVELS, apart, strict=True) if math.isfinite(x)]
    return f"Two starts are apart by (root mean square over pairs): {', '.join(at) or 'unknown'}."


def check_flow(config: MemberConfig) -> None:
    """Refuse a run that no flow describes; errors as in ``flow_arguments`` and ``check_course``.

    A task of several rules, which are learned at different times, is refused as well.
    """
    if isinstance(config.model, EmbMLPConfig):
        flow_arguments(config)
    else:
        check_course(config)
    rules = [mapping.name for mapping in config.build_task().mappings if not mapping.is_table]
    if len(rules) > 1:
        remedy = "leave out the flow, or use a task with one rule"
        raise InputError("flow", rules, "the task has several rules", remedy)


def flow_options(config: MemberConfig) -> dict[str, Any]:
    """Return the arguments of ``predicted_embedding`` for an Emb-MLP's setting."""
    # Without a rule a run's training accuracy is over all its tables.
    tables = all(mapping.is_table for mapping in config.build_task().mappings)
    named = {"max_epochs": 2 * config.training.epochs, "data_set": TRAINING if tables else None}
    return flow_arguments(config) | named


def snapshots_at_levels(setting: Setting) -> dict[float, list[int]]:
    """Return each run's snapshot at each of the ``LEVELS`` where every run has one within ``NEAR``.

    A setting without such a level, or one that the flow does not describe, is refused.
    """
    check_flow(setting.config)
    known = {level: epochs for level in LEVELS if (epochs := snapshots_at(setting.runs, level))}
    if not known:
        problem = f"{setting.label} has no snapshots near the training accuracies {LEVELS}"
        raise InputError("flow", setting.label, problem, "train with more of --training.snapshot-epochs")
    return known


def size_command(settings: Sequence[Setting], paths: Sequence[Path]) -> str:
    """Return a line with the command that predicts the cosines' size too, where it costs less than a run."""
    for setting in settings:
        if not isinstance(setting.config.model, EmbMLPConfig):
            continue
        try:
            snapshots_at_levels(setting)
        except InputError:
            continue
        command = shlex.join(["anchorflow", "compare", *map(str, paths), "--flow"])
        return f"how large the cosines will be: {command}"
    return ""


def size_predictor(config: MemberConfig, route: str = "batches") -> str:
    """Name what predicts the size: a narrow network of an Emb-MLP, and otherwise the mean course."""
    narrow = isinstance(config.model, EmbMLPConfig) and route == "batches"
    return "narrow network" if narrow else f"{config.training.title}'s mean course"


def flow_rows(config: MemberConfig, matrices: Sequence[FloatArray], route: str) -> list[list[str]]:
    """Return a line for each group of anchors and each of ``LEVELS``, as ``predict`` does for P^s − u."""
    task, name, rows = config.build_task(), size_predictor(config, route), []
    for group, tokens in groups_of(task).items():
        places = [task.anchors.index(token) for token in tokens]
        for level, matrix in zip(LEVELS, matrices, strict=True):
            cosines = Cosines.exact(matrix[np.ix_(places, places)])
            rows.append([group, f"{name}, training accuracy {level:g}", *summary(cosines, tokens)])
    return rows


def aligned(setting: Setting) -> list[Level]:
    """Compare the flow, P^s − u, a guess and another seed with a setting's runs at equal training accuracy.

    At each level the flow is taken at the accuracy of each run's nearest snapshot. Errors are as in
    ``snapshots_at_levels``.
    """
    runs, tokens, name = setting.runs, setting.task.anchors, size_predictor(setting.config)
    known = {level: [*zip(runs, at, strict=True)] for level, at in snapshots_at_levels(setting).items()}
    wanted = sorted({accuracy_at(*seen) for snapshots in known.values() for seen in snapshots})
    matrices, *_, seconds = flow_cosines(setting.config, wanted)
    levels = []
    for level, snapshots in known.items():
        observed = np.array([off_diagonal(run.cosines(tokens, epoch)) for run, epoch in snapshots])
        flow = np.array([off_diagonal(matrices[wanted.index(accuracy_at(*seen))]) for seen in snapshots])
        labels = np.broadcast_to(off_diagonal(uniform_cosines(setting.task, tokens)), flow.shape)
        guess = np.broadcast_to(RIVALS[MAPPING](setting.task, tokens), flow.shape)
        predicted = {name: flow, UNIFORM: labels, MAPPING: guess}
        cost = {name: seconds, UNIFORM: 0.0, MAPPING: 0.0}
        if len(runs) > 1:
            predicted[SEED] = np.roll(observed, -1, axis=0)
            each = [run.seconds * epoch / max(run.metrics[-1]["epoch"], 1) for run, epoch in snapshots]
            cost[SEED] = float(np.median(each))
        rows = []
        for predictor, cosines in predicted.items():
            pearson, rmse = agreement(cosines, observed, "pearson", "rmse")
            slopes = over_seeds([slope(p, o) for p, o in zip(cosines, observed, strict=True)])
            if predictor == SEED:
                pearson, slopes, rmse = (replace(e, low=None, high=None) for e in (pearson, slopes, rmse))
            rows.append(Aligned(level, predictor, pearson, slopes, rmse, cost[predictor]))
        levels.append(Level(level, observed, predicted, rows))
    return levels
