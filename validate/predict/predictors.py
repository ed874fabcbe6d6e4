"""Every prediction of the anchors' cosines, in one list that comparisons, claims and figures share.

A prediction is made from the task, or from a run before training: its label counts and its initial weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sim.config.run import MemberConfig
from theory import (
    InputError,
    Sum,
    Task,
    average_attention_probability,
    cosine_matrix,
    eq14_embedding,
    label_distribution,
    marginal_distribution,
)
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.labels.distribution import exact_ratio
from validate.observe import NotObservedError, Observations
from validate.observe.observations import places
from validate.observe.times import time_at

Tokens = tuple[int, ...]
Predict = Callable[[Observations, Tokens, int], FloatArray]
"""From a run, some of its anchors and an epoch to a cosine matrix."""
ALL = "all anchors"
FromTask = Callable[[Task, Tokens], FloatArray]


def groups_of(task: Task) -> dict[str, Tokens]:
    """Return the token groups that are compared: each mapping's anchors, and all anchors together."""
    groups = {m.name: m.anchors for m in task.mappings if len(m.anchors) > 2}
    return groups if len(task.mappings) == 1 else groups | {ALL: task.anchors}


def group_title(group: str) -> str:
    """Return what a caption calls a group."""
    return group if group == ALL else f"{group} anchors"


@lru_cache(maxsize=64)
def training_labels(task: Task, tokens: Tokens) -> FloatArray:
    """Return P^s of the training distribution (held-out combinations removed), shape (n, d), read-only."""
    found = np.stack([label_distribution(task, s, held_out=True) for s in tokens])
    found.flags.writeable = False
    return found


def uniform_cosines(task: Task, tokens: Sequence[int]) -> FloatArray:
    """Return the cosines of P^s − u, the drive of eq. 5."""
    return _drive_cosines(task, tokens, 1 / task.vocab_size)


def marginal_cosines(task: Task, tokens: Sequence[int]) -> FloatArray:
    """Return the cosines of P^s − P̄, the drive once the common part of the labels is fitted."""
    return _drive_cosines(task, tokens, marginal_distribution(task, held_out=True))


def _drive_cosines(task: Task, tokens: Sequence[int], common: FloatArray | float) -> FloatArray:
    """Return the cosines of P^s − ``common``; NaN if that is only rounding or s is never trained."""
    labels = training_labels(task, tuple(tokens))
    drives = labels - common
    unseen = [not exact_ratio(task, s, "any", True) for s in tokens]
    drives[(np.abs(drives).max(axis=1) <= 1e-12 * labels.max(axis=1)) | unseen] = 0
    return cosine_matrix(drives)


def eq14_cosines(task: Task, tokens: Sequence[int]) -> FloatArray:
    """Return the cosines of eq. 14 with its printed width."""
    return cosine_matrix(eq14_embedding(task, tokens))


def from_counts(run: Observations, tokens: Tokens, _: int = 0) -> FloatArray:
    """Predict by P̂^s − u of the run's own training data."""
    return cosine_matrix(run.array("token_label_matrix_anchors")[_rows(run, tokens)])


def from_frozen_flow(run: Observations, tokens: Tokens, epoch: int) -> FloatArray:
    """Predict by eq. 5 from the run's own initial weights and data, at the time of an epoch.

    W(t) = W(0) + tD with D the frozen flow's direction and t = Σ learning rate, so the inner products follow
    from those of W(0), of W(0) with D, and of D.
    """
    rows, time = _rows(run, tokens), time_at(run, epoch)
    crossed = run.array("frozen_start")
    gram = run.at("gram", 0)[:, : len(crossed)] + time * (crossed + crossed.T)
    return gram_cosines((gram + time**2 * run.array("frozen_direction"))[np.ix_(rows, rows)])


def from_frozen_direction(run: Observations, tokens: Tokens, _: int = 0) -> FloatArray:
    """Predict by the limit of eq. 5 at late times, where the initial embedding no longer matters."""
    rows = _rows(run, tokens)
    return gram_cosines(run.array("frozen_direction")[np.ix_(rows, rows)])


def _of_run(cosines: FromTask) -> Predict:
    return lambda run, tokens, _: cosines(run.task, tokens)


from_uniform, from_marginal, from_eq14 = map(_of_run, (uniform_cosines, marginal_cosines, eq14_cosines))


def gram_cosines(gram: FloatArray) -> FloatArray:
    """Return the cosine matrix of given inner products, shape (n, n); NaN for a zero vector."""
    norms = np.sqrt(np.diagonal(gram))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(gram / norms[:, None] / norms, -1.0, 1.0)


@dataclass(frozen=True)
class Predictor:
    """One way to predict cosines, with its look in figures and the equation behind it.

    ``name`` is for tables, ``label`` for figures, with mathematics. ``cosines`` takes (run, tokens, epoch)
    and returns a matrix of shape (n, n), ``of_task`` the same from (task, tokens) where no run is needed; one
    of the two is given. ``needs`` are the observables that it reads. ``sums_only`` marks one that holds only
    where the label is the key plus the anchors, and ``whole_run`` one that is the same at every epoch, so
    that figures of a run show it. ``functions`` are those of ``theory`` that compute it, and ``colour`` is a
    number in the palette.
    """

    name: str
    label: str
    equation: str
    colour: int
    functions: tuple[str, ...] = ()
    cosines: Predict | None = None
    of_task: FromTask | None = None
    needs: tuple[str, ...] = ()
    sums_only: bool = False
    whole_run: bool = True
    marker: str = "X"

    def of_run(self, run: Observations, tokens: Tokens, epoch: int = 0) -> FloatArray:
        """Return the predicted cosines for a run."""
        if self.cosines is not None:
            return self.cosines(run, tokens, epoch)
        assert self.of_task is not None
        return self.of_task(run.task, tokens)

    def speaks_of(self, task: Task, tokens: Sequence[int]) -> bool:
        """Return whether it is defined for some tokens of a task."""
        return not self.sums_only or are_summed(task, tokens)

    def applies(self, run: Observations, tokens: Sequence[int]) -> bool:
        """Return whether it can be computed for some tokens of a run."""
        return self.speaks_of(run.task, tokens) and all(name in run.arrays for name in self.needs)


def are_summed(task: Task, tokens: Sequence[int]) -> bool:
    """Return whether every token is an anchor of a sum of anchors: eq. 14 covers no other rule."""
    mappings = [task.mapping_of(token) for token in tokens]
    return all(mapping is not None and isinstance(mapping.rule, Sum) for mapping in mappings)


UNIFORM, MARGINAL, FITTED_WIDTH = "P^s - u", "P^s - mean P", "eq. 14, fitted width"
PREDICTORS = [
    Predictor(
        *(UNIFORM, "$P^s - u$ (eq. 5, 8)", "eq. 5, 7, 8", 0),
        functions=("label_distribution",),
        of_task=uniform_cosines,
        marker="o",
    ),
    Predictor(
        *(MARGINAL, r"$P^s - \bar P$", "eq. 5 once the marginal label distribution is fitted", 1),
        functions=("label_distribution",),
        of_task=marginal_cosines,
        marker="s",
    ),
    Predictor(
        "finite sample",
        r"$\hat P^s - u$ of the run's data",
        "eq. 5 with the run's own label counts",
        2,
        functions=("token_label_matrix",),
        cosines=from_counts,
        needs=("token_label_matrix_anchors",),
        marker="^",
    ),
    Predictor(
        "frozen flow",
        "frozen flow at the same time",
        "eq. 5, the run's initial weights, matched sum of learning rates",
        5,
        functions=("frozen_flow", "frozen_direction"),
        cosines=from_frozen_flow,
        needs=("frozen_direction", "frozen_start"),
        whole_run=False,
    ),
    Predictor(
        "frozen flow, late",
        "frozen flow, late (eq. 5)",
        "eq. 5, the run's initial weights, t to infinity",
        3,
        functions=("frozen_direction",),
        cosines=from_frozen_direction,
        needs=("frozen_direction",),
        marker="D",
    ),
    Predictor(
        *("eq. 14", "eq. 14, width 12", "eq. 14, width 12; sums of anchors only", 4),
        functions=("eq14_embedding",),
        of_task=eq14_cosines,
        sums_only=True,
        marker="v",
    ),
]
"""Every prediction that comparisons and figures show; ``register_predictor`` adds one."""
_FITTED = ("eq. 14; each run's width is fitted on the other seeds (on itself if alone)", 7)


@checked
def register_predictor(predictor: Predictor) -> None:
    """Add a prediction of the anchors' cosines to every comparison, report and figure.

    Raises
    ------
    InputError
        If another predictor has its name, or it cannot be computed.
    """
    names = [FITTED_WIDTH, *(known.name for known in PREDICTORS)]
    if predictor.name in names:
        raise InputError("name", predictor.name, "another predictor has that name", "choose another")
    if predictor.cosines is None and predictor.of_task is None:
        raise InputError("cosines", None, "nothing to compute it by", "give cosines or of_task")
    PREDICTORS.append(predictor)


def equations() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return where each predictor comes from, and the functions of ``theory`` that compute it."""
    found = {p.name: (p.equation, p.functions) for p in PREDICTORS}
    return found | {FITTED_WIDTH: (_FITTED[0], ("eq14_embedding", "fit_width"))}


def colours() -> dict[str, int]:
    """Return each predictor's number in the palette."""
    return {p.name: p.colour for p in PREDICTORS} | {FITTED_WIDTH: _FITTED[1]}


def task_cosines(task: Task, tokens: Tokens, *, sums_only: bool = False) -> dict[str, FloatArray]:
    """Return the cosine matrix, shape (n, n), of every predictor that needs the task alone.

    With ``sums_only``, only of those that have a closed form for sums of anchors and count no labels.
    """
    return {
        p.name: p.of_task(task, tokens)
        for p in PREDICTORS
        if p.of_task is not None and p.speaks_of(task, tokens) and p.sums_only >= sums_only
    }


def predictions(
    runs: Sequence[Observations], epochs: Sequence[int], tokens: Tokens
) -> dict[str, list[FloatArray]]:
    """Return each predictor's matrices, at an epoch for each run; those that do not apply are left out."""
    return {
        p.name: [p.of_run(run, tokens, epoch) for run, epoch in zip(runs, epochs, strict=True)]
        for p in PREDICTORS
        if all(p.applies(run, tokens) for run in runs)
    }


def _rows(run: Observations, tokens: Tokens) -> list[int]:
    return places(tokens, run.task.anchors, "tokens", "an anchor")


def predicted_average_share(config: MemberConfig, tolerance: float) -> float:
    """Return Lemma 1's mean probability that |A_ij − 1/i| ≤ tolerance, over the entries of rows i ≥ 2.

    The attention is a run's first, at initialisation; a model without any raises ``NotObservedError``. NaN
    where it does not start as Lemma 1 assumes, with matrices at one scale and no biases.
    """
    model, task = config.model, config.build_task()
    source = model.first_attention_reads
    if source is None:
        raise NotObservedError("observable", "lemma1_share", "no attention", "use a Transformer")
    if not model.one_initial_scale:
        return float("nan")
    width, rows = model.width(task.vocab_size), range(2, task.length + 1)
    chances = [
        average_attention_probability(tolerance, width, config.init_rate, i, source=source) for i in rows
    ]
    return float(np.average(chances, weights=rows))
