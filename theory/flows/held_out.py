r"""What a network with a linear hidden layer must answer on combinations it never saw.

With σ the identity the logits are o(X) = c(X) B at every time, whatever B is: the logits on a held-out
sequence are fixed by those on trained ones wherever its counts are a combination of theirs. Their values are
known in two cases: on the frozen rung, where B follows from C, and where one mode tells the labels apart.
docs/theory/held_out.md has the statements and their proofs. [beyond]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from theory.edge.arrays import ArrayLike, BoolArray, Float64, FloatArray, IntArray, Real
from theory.edge.checked import checked
from theory.edge.errors import InputError
from theory.edge.settled import ROUNDING
from theory.labels.counts import CountPopulation

_IN_SPAN = 1e-9
"""Relative to a count vector: a larger remainder is not due to rounding."""
_FIXED = 1e-4
"""Relative to the margin: a larger difference between solutions is not due to the solver's tolerance."""


@dataclass(frozen=True)
class OneModeAnswers:
    r"""The widest-margin answers of logits :math:`m_y + s(X)\, v_y` that are right on the training set.

    Attributes
    ----------
    margin : float
        Half the smallest gap between the scores s of two neighbouring labels, with tokens' scores in
        [−1, 1]; 0 if no such logits, in the order of the labels' numbers, are right on all training data.
    scores : ndarray, shape (d,)
        Each token's contribution to s; NaN without a solution, and for tokens that are not trained on. Where
        several solutions have the widest margin, this is one of them.
    accuracy : dict of str to float
        The share of each data set that is answered correctly. NaN without a solution, and for a data set with
        a sequence whose answer nothing fixes: its counts are not a combination of trained ones, or the
        solutions with the widest margin put it at different distances from the bounds of its label.
    """

    margin: float
    scores: Float64[FloatArray, " d"]
    accuracy: dict[str, float]


@checked
def answer_accuracy(population: CountPopulation, B: Real[ArrayLike, "d d"]) -> dict[str, float]:
    """Return the accuracy on every data set of answering with the largest logit of c(X) B.

    On the frozen rung at late times B is C K with K = (W1 W2)ᵀ W1 W2, and in wide networks K is a multiple of
    the identity, so that C can be given for B.

    Parameters
    ----------
    population : CountPopulation
    B : array_like, shape (d, d)
        Each token's contribution to the logits, one row per token.

    Returns
    -------
    dict of str to float
        Keyed by the names of the data sets; logits that differ by rounding alone are a tie, answered with the
        first of its labels.
    """
    d = population.vocab_size
    matrix = np.asarray(B, np.float64)
    if len(matrix) != d:
        raise InputError("B", matrix, f"not of the population's {d} tokens", f"give shape ({d}, {d})")
    logits = (population.left @ matrix)[:, None] + population.right @ matrix
    top, bottom = logits.max(axis=2, keepdims=True), logits.min(axis=2, keepdims=True)
    tied = logits >= top - ROUNDING * np.maximum(top, -bottom)
    return _accuracy(population, tied.argmax(axis=2))


def _in_span(known: FloatArray, others: FloatArray) -> BoolArray:
    """Return whether each other row is a combination of the known ones."""
    # Counts of keys and of anchors each sum to a constant: in their null space there is only rounding.
    weights = others @ np.linalg.pinv(known, rcond=max(known.shape) * np.finfo(np.float64).eps)
    remainder = np.abs(weights @ known - others).max(axis=1, initial=0)
    return np.asarray(remainder <= _IN_SPAN * np.abs(others).max(initial=1))


@checked
def one_mode_answers(population: CountPopulation) -> OneModeAnswers:
    r"""Return the answers of one mode plus the common part, with the widest margin on the training set.

    Logits :math:`m_y + s(X) v_y` give each label an interval of s, the sum of the tokens' scores. They can be
    right on all trained sequences if scores exist that sort them by label, here in the order of the labels'
    numbers. A linear programme finds those with the widest margin; where several have it, others tell
    whether they agree on the sequences that are not trained on.

    Raises
    ------
    InputError
        If the training set has fewer than two labels.
    """
    counts = (population.left[:, None] + population.right).reshape(-1, population.vocab_size)
    distributions = population.label_distributions.reshape(counts.shape)
    trained = population.weights.ravel() > 0
    labels = np.flatnonzero(distributions[trained].any(axis=0))
    if len(labels) < 2:
        raise InputError("population", len(labels), "fewer than two labels", "give a task with more")
    margin, scores = 0.0, np.full(population.vocab_size, np.nan)
    if (distributions[trained].max(axis=1) > 1 - _IN_SPAN).all():
        rank = np.searchsorted(labels, distributions[trained].argmax(axis=1))
        used = counts[trained].any(axis=0)
        widest = _Widest(counts[trained][:, used], rank, len(labels))
        margin, scores[used] = widest.margin, widest.scores
    if margin <= _IN_SPAN:
        return OneModeAnswers(0.0, np.full_like(scores, np.nan), dict.fromkeys(population.data_sets, np.nan))
    answers = np.searchsorted(widest.bounds, counts @ np.nan_to_num(scores))
    accuracy = _accuracy(population, labels[answers].reshape(population.weights.shape))
    in_span = _in_span(counts[trained], counts[~trained])
    others = counts[~trained][in_span][:, used], answers[~trained][in_span]
    undecided = ~trained
    undecided[~trained] = ~in_span if widest.fixes(*others) else True
    for name, share in population.data_sets.items():
        if (share.ravel()[undecided] > 0).any():
            accuracy[name] = float("nan")
    return OneModeAnswers(margin, scores, accuracy)


class _Widest:
    """The linear programme of the widest margin, over token scores, bounds between labels and the margin."""

    def __init__(self, counts: FloatArray, rank: npt.NDArray[np.integer], n_labels: int) -> None:
        n_tokens, n_bounds = counts.shape[1], n_labels - 1
        below, above = np.flatnonzero(rank < n_bounds), np.flatnonzero(rank > 0)
        self.rows = np.zeros((len(below) + len(above), n_tokens + n_bounds + 1))
        self.rows[:, -1] = 1
        self.rows[: len(below), :n_tokens] = counts[below]
        self.rows[np.arange(len(below)), n_tokens + rank[below]] = -1
        self.rows[len(below) :, :n_tokens] = -counts[above]
        self.rows[len(below) + np.arange(len(above)), n_tokens + rank[above] - 1] = 1
        self.limits: list[tuple[float | None, float | None]] = [(-1.0, 1.0)] * n_tokens
        self.limits += [(None, None)] * n_bounds
        solution = self._solved(-np.eye(n_tokens + n_bounds + 1)[-1], 0.0)
        self.margin = float(solution[-1])
        self.scores, self.bounds = solution[:n_tokens], solution[n_tokens:-1]

    def _solved(self, objective: FloatArray, margin: float) -> FloatArray:
        limits = [*self.limits, (margin, None)]
        return np.asarray(linprog(objective, self.rows, np.zeros(len(self.rows)), bounds=limits).x)

    def fixes(self, counts: FloatArray, answers: IntArray) -> bool:
        """Return whether all solutions of this margin put sequences equally far from their bounds."""
        if not len(counts):
            return True
        # A sum of distances with random weights is fixed only if each of them is.
        above, below = np.random.default_rng(0).uniform(1, 2, (2, len(counts)))
        above[answers == 0] = below[answers == len(self.bounds)] = 0  # The first and the last label have one.
        bounds = np.zeros(len(self.bounds) + 2)  # With one beyond each end.
        np.subtract.at(bounds, answers, above)
        np.add.at(bounds, answers + 1, below)
        total = np.concatenate([(above - below) @ counts, bounds[1:-1], [0.0]]) / len(counts)
        margin = self.margin * (1 - _IN_SPAN)
        least, most = (total @ self._solved(sign * total, margin) for sign in (1, -1))
        return bool(most - least <= _FIXED * self.margin)


def _accuracy(population: CountPopulation, answers: IntArray) -> dict[str, float]:
    right = np.take_along_axis(population.label_distributions, answers[:, :, None], axis=2)[:, :, 0]
    return {name: float(np.sum(share * right)) for name, share in population.data_sets.items()}
