"""The flow of AdamW beside P^s − u: cosines at equal training accuracy, predicted without a run.

P^s − u says in which order the cosines come. The flow of ``theory.predicted_embedding`` also knows γ, widths,
optimiser, rate and batch, and says how large they are. It costs minutes, and so does its rival, the run of
another seed; each line of the comparison has its cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import InputError, cosine_matrix, off_diagonal, predicted_embedding
from theory.arrays import FloatArray
from validate.judge.agreement import measures, slope
from validate.judge.groups import Setting
from validate.judge.measures.prediction import same_mapping
from validate.judge.stats import COSINE, SIZE, Estimate, over_seeds
from validate.observe import Observations
from validate.observe.times import accuracy_at
from validate.predict.predictors import UNIFORM, groups_of, uniform_cosines

LEVELS = (0.1, 0.3, 0.5)
"""The training accuracies at which runs and flow are compared."""
NEAR = 0.05
"""How far the accuracy of a snapshot may be from a level."""
SEED, MAPPING = "another seed's run", "same mapping or not"
FLOWS = {"adamw": "AdamW flow", "sgd": "SGD flow"}
ALIGNED_HEADER = ("accuracy", "predictor", "Pearson", "slope", "RMSE", "seconds")


@dataclass(frozen=True)
class Aligned:
    """How one predictor does on all pairs of anchors at one training accuracy, over seeds.

    ``slope`` is that of observed over predicted cosine, 1 if the size is right. ``seconds`` is the processor
    time of the prediction: of the flow for all levels together, of another seed's run up to this level.
    """

    level: float
    predictor: str
    pearson: Estimate
    slope: Estimate
    rmse: Estimate
    seconds: float

    def cells(self) -> list[str]:
        """Return a line of the table."""
        numbers = [e.brief for e in (self.pearson, self.slope, self.rmse)]
        return [f"{self.level:g}", self.predictor, *numbers, f"{self.seconds:.0f}"]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        estimates = {name: getattr(self, name).as_dict() for name in ("pearson", "slope", "rmse")}
        return {"accuracy": self.level, "predictor": self.predictor, **estimates, "seconds": self.seconds}


def snapshot_at(run: Observations, level: float) -> int | None:
    """Return the epoch of the snapshot whose training accuracy is nearest to a level, if one is near."""
    distance, epoch = min((abs(accuracy_at(run, epoch) - level), epoch) for epoch in run.epochs)
    return epoch if distance <= NEAR else None


def flow_cosines(
    setting: Setting, accuracies: Sequence[float], *, seed: int = 1000
) -> tuple[list[FloatArray], float]:
    """Return the flow's cosines of all anchors at some training accuracies, and the seconds that they took.

    Weights and memory tables are drawn with a seed of their own: nothing of a run is used.

    Parameters
    ----------
    setting : Setting
    accuracies : sequence of float
        Increasing.
    seed : int, optional
        Of the start.

    Raises
    ------
    InputError
        If the runs are not of an Emb-MLP at a constant rate on the whole population, or their task has
        several rules, whose accuracies are learned at different times.
    """
    run, began = setting.runs[0], time.process_time()
    rules = [mapping.name for mapping in setting.task.mappings if not mapping.is_table]
    if len(rules) > 1:
        remedy = "compare without the flow, or train a task with one of them"
        raise InputError("flow", rules, "the task has several rules", remedy)
    found = predicted_embedding(
        accuracies=accuracies,
        max_epochs=2 * run.config.training.epochs,
        seed=seed,
        **flow_arguments(run.config),
    )
    anchors = list(setting.task.anchors)
    return [cosine_matrix(W[anchors]) for W in found.W_emb], time.process_time() - began


def aligned(setting: Setting, *, seed: int = 1000, flow: Callable[..., Any] = flow_cosines) -> list[Aligned]:
    """Compare the flow, P^s − u, a guess and another seed with a setting's runs at equal training accuracy.

    At each of ``LEVELS`` every run is seen at the snapshot with the nearest training accuracy, and the flow
    at that accuracy. A level to which some run has no snapshot within ``NEAR`` is left out, and so is
    another seed's run where there is one seed.

    Raises
    ------
    InputError
        If no level is left, or the flow does not describe the runs.
    """
    runs, tokens = setting.runs, setting.task.anchors
    near = {level: [e for run in runs if (e := snapshot_at(run, level)) is not None] for level in LEVELS}
    known = {level: epochs for level, epochs in near.items() if len(epochs) == len(runs)}
    if not known:
        problem = f"{setting.label} has no snapshots near the training accuracies {LEVELS}"
        raise InputError("flow", setting.label, problem, "train with more of --training.snapshot-epochs")
    reached = {
        level: [accuracy_at(run, epoch) for run, epoch in zip(runs, own, strict=True)]
        for level, own in known.items()
    }
    wanted = sorted({accuracy for own in reached.values() for accuracy in own})
    matrices, seconds = flow(setting, wanted, seed=seed)
    found: list[Aligned] = []
    for level, own in known.items():
        observed = [off_diagonal(run.cosines(tokens, epoch)) for run, epoch in zip(runs, own, strict=True)]
        at_level = [off_diagonal(matrices[wanted.index(accuracy)]) for accuracy in reached[level]]
        one = [off_diagonal(uniform_cosines(setting.task, tokens))] * len(runs)
        guess = [same_mapping(setting.task, tokens)] * len(runs)
        predictors = {
            FLOWS[runs[0].config.training.optimizer]: (at_level, seconds),
            UNIFORM: (one, 0.0),
            MAPPING: (guess, 0.0),
        }
        if len(runs) > 1:
            ends = zip(runs, own, strict=True)
            cost = float(np.median([run.seconds * epoch / run.config.training.epochs for run, epoch in ends]))
            predictors[SEED] = ([*observed[1:], observed[0]], cost)
        for name, (predicted, cost) in predictors.items():
            each = measures(predicted, observed)
            slopes = [slope(p, o) for p, o in zip(predicted, observed, strict=True)]
            bounds = over_seeds(each["pearson"], COSINE), over_seeds(slopes), over_seeds(each["rmse"], SIZE)
            found.append(Aligned(level, name, *bounds, cost))
    return found
