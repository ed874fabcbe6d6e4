"""Label statistics and predicted cosines of a task: counted, or sampled where the labels are too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from theory import (
    InputError,
    LabelMoments,
    SampledLabels,
    SampledValue,
    Task,
    TooManyEntriesError,
    label_distribution,
    marginal_distribution,
    off_diagonal,
    sample_labels,
    token_ratio,
)
from theory.edge.arrays import FloatArray
from theory.edge.errors import shown
from theory.edge.settled import falling
from theory.labels.finite_sample import finite_sample_cosines
from validate.observe.observations import UNDEFINED
from validate.predict.predictors import MARGINAL, UNIFORM, Tokens, groups_of, task_cosines

ONE_DATA_SET = "expected in one data set"
RESOLVED = 5.0
"""A sampled vector has a direction where its squared norm is more than this many standard errors."""
_ROUNDING = 1e-15
MOST_DISTANCES = 9
"""The smallest distances |s − t| at which means are shown."""
Statistic = Callable[[FloatArray], npt.ArrayLike]


class TokenStatistics(NamedTuple):
    """One token's label distribution in the training data, in numbers."""

    token: int
    kind: str
    ratio: float
    mean: float
    std: float
    norm2: float


@dataclass(frozen=True, eq=False)
class Cosines:
    """Cosines of some tokens' vectors; those without a direction, not ``resolved``, are NaN.

    ``over`` takes a statistic of the matrix of shape (n, n) and returns its value with its standard error.
    """

    over: Callable[[Statistic], SampledValue]
    resolved: npt.NDArray[np.bool_]
    sampled: bool

    @classmethod
    def exact(cls, matrix: FloatArray) -> Cosines:
        """Return cosines without error."""
        return cls(lambda statistic: _exact(statistic(matrix)), ~np.isnan(np.diagonal(matrix)), False)

    @classmethod
    def of_samples(cls, labels: SampledLabels, rows: list[int], weights: FloatArray | None = None) -> Cosines:
        """Return the cosines of P^s − c as ratios of unbiased inner products.

        c is the mean of the P^s with some weights, or u. The remaining bias is of the order of the squared
        relative error of a squared norm, at most a few percent where ``RESOLVED`` admits a cosine; an
        estimate may exceed 1.
        """

        def inner(moments: LabelMoments) -> FloatArray:
            return moments.centred(weights)[np.ix_(rows, rows)]

        def matrix(moments: LabelMoments) -> FloatArray:
            products = inner(moments)
            norms = np.sqrt(np.where(resolved, np.diagonal(products), np.nan))
            return np.asarray(products / norms[:, None] / norms)

        squares = labels.estimate(lambda moments: np.diagonal(inner(moments)))
        driven = weights is None or weights[rows] > 0  # False for a token that is never seen in training.
        resolved = np.asarray(squares.value > RESOLVED * squares.standard_error + _ROUNDING) & driven
        return cls(lambda statistic: labels.estimate(lambda m: statistic(matrix(m))), resolved, True)


@dataclass(frozen=True)
class Statistics:
    """Label statistics of a task by theory; standard errors are 0 where nothing was sampled.

    ``tokens`` are every anchor and the first, middle and last key; ``cosines`` are by group, then predictor;
    ``shares`` hold P^s of every anchor, shape (n_anchors, d), and ``marginal`` P̄, shape (d,). ``n_samples``
    sequences were drawn for each token that is not among ``exact_tokens``, because of ``why``.
    """

    tokens: list[TokenStatistics]
    token_errors: list[TokenStatistics]
    cosines: dict[str, dict[str, Cosines]]
    shares: SampledValue
    marginal: SampledValue
    n_samples: int = 0
    seed: int = 0
    exact_tokens: Sequence[int] = ()
    why: str = ""


def counted(task: Task) -> Statistics:
    """Count the labels of a task, or raise ``TooManyEntriesError``."""
    tokens = _shown_tokens(task)  # Anchors first.
    P = label_distribution(task, tokens, held_out=True)
    numbers = _token_numbers(P, ((P - 1 / task.vocab_size) ** 2).sum(axis=1))
    cosines = {group: _exact_cosines(task, own) for group, own in groups_of(task).items()}
    return Statistics(
        *_token_statistics(task, tokens, _exact(numbers)),
        cosines,
        _exact(P[: len(task.anchors)]),
        _exact(marginal_distribution(task, held_out=True)),
        exact_tokens=tokens,
    )


def sampled(task: Task, n_samples: int, seed: int, reason: TooManyEntriesError) -> Statistics:
    """Sample the label distributions of a task and estimate everything from them."""
    rng, tokens = np.random.default_rng(seed), _shown_tokens(task)
    labels = sample_labels(task, tokens, rng, n_samples=n_samples, held_out=True)
    rows = {s: labels.tokens.index(s) for s in tokens}
    anchors = [rows[s] for s in task.anchors]
    # Σ_s w_s P^s = P̄ with w_s = r_s / q, since every sequence holds q anchors.
    weights = np.zeros(len(tokens))
    weights[anchors] = [token_ratio(task, s, held_out=True) for s in task.anchors]
    weights /= weights.sum()
    cosines = {}
    for group, anchors_of_group in groups_of(task).items():
        of_group = [rows[s] for s in anchors_of_group]
        cosines[group] = {
            UNIFORM: Cosines.of_samples(labels, of_group),
            MARGINAL: Cosines.of_samples(labels, of_group, weights),
            **_exact_cosines(task, anchors_of_group, sums_only=True),
        }
    return Statistics(
        *_token_statistics(
            task, tokens, labels.estimate(lambda m: _token_numbers(m.shares, np.diagonal(m.centred())))
        ),
        cosines,
        labels.estimate(lambda m: m.shares[anchors]),
        labels.estimate(lambda m: weights @ m.shares),
        int(labels.n_samples.max()),
        seed,
        [s for s, n in zip(labels.tokens, labels.n_samples, strict=True) if not n],
        f"{reason.argument} = {shown(reason.value)}: {reason.problem}",
    )


def _exact(values: npt.ArrayLike) -> SampledValue:
    array = np.asarray(values, np.float64)
    return SampledValue(array, np.zeros_like(array))


def _exact_cosines(task: Task, tokens: Tokens, *, sums_only: bool = False) -> dict[str, Cosines]:
    """Return the cosines that need no samples; with ``sums_only``, only predictors that are closed forms."""
    cosines = task_cosines(task, tokens, sums_only=sums_only)
    partial = any(mapping.partial for mapping in task.mappings)
    # The printed prediction says that it is left out.
    with suppress(*[InputError] * partial, TooManyEntriesError):
        cosines[ONE_DATA_SET] = finite_sample_cosines(task, tokens, held_out=True).cosine
    return {name: Cosines.exact(matrix) for name, matrix in cosines.items()}


def _shown_tokens(task: Task) -> list[int]:
    keys = (task.keys[0], task.keys[len(task.keys) // 2], task.keys[-1])
    return [*task.anchors, *dict.fromkeys(keys)]


def _token_statistics(
    task: Task, tokens: Sequence[int], numbers: SampledValue
) -> tuple[list[TokenStatistics], list[TokenStatistics]]:
    """Return the statistics of some tokens, and their standard errors, from mean, std and norm², (n, 3)."""
    values, errors = [], []
    for token, value, error in zip(tokens, numbers.value, numbers.standard_error, strict=True):
        mapping = task.mapping_of(token)
        kind = "key" if mapping is None else f"{mapping.name} anchor"
        ratio = float(token_ratio(task, token, held_out=True))
        values.append(TokenStatistics(token, kind, ratio, *map(float, value)))
        errors.append(TokenStatistics(token, kind, 0.0, *map(float, error)))
    return values, errors


def _token_numbers(shares: FloatArray, norm2: FloatArray) -> FloatArray:
    """Return mean label, standard deviation and norm² of distributions (n, d), shape (n, 3)."""
    labels = np.arange(shares.shape[1])
    means = shares @ labels
    stds = np.sqrt((shares * (labels - means[:, None]) ** 2).sum(axis=1))
    return np.column_stack([means, stds, norm2])


# --- as text --------------------------------------------------------------------------------------------


def summary(cosines: Cosines, tokens: Tokens) -> list[str]:
    """Return the mean over pairs of tokens, the extreme pairs, and the means at each distance, as text."""
    distances, apart = _distances(tokens)[:MOST_DISTANCES], np.abs(np.subtract.outer(tokens, tokens))
    masks = [np.triu(apart == distance, 1) for distance in distances]

    def mean_pairs(matrix: FloatArray) -> list[float]:
        known = [pairs[~np.isnan(pairs)] for pairs in (off_diagonal(matrix), *(matrix[at] for at in masks))]
        return [float(pairs.mean()) if pairs.size else math.nan for pairs in known]

    means = cosines.over(mean_pairs)
    cells = [*map(known_digits, means.value[1:], means.standard_error[1:])]
    if _have_gaps(distances):
        cells = [f"{distance}:{cell}" for distance, cell in zip(distances, cells, strict=True)]
    of_pairs = cosines.over(off_diagonal)
    ends = [UNDEFINED, UNDEFINED]
    if not np.isnan(of_pairs.value).all():
        at = [int(falling(side)[0]) for side in (-of_pairs.value, of_pairs.value)]
        ends = [with_error(of_pairs.value[i], of_pairs.standard_error[i]) for i in at]
    return [with_error(means.value[0], means.standard_error[0]), *ends, " ".join(cells)]


def distance_notes(groups: Iterable[Tokens]) -> list[str]:
    """Return sentences on distances that do not occur or are not shown, if any group has such distances."""
    distances = [_distances(tokens) for tokens in groups]
    notes = []
    if any(_have_gaps(apart[:MOST_DISTANCES]) for apart in distances):
        shown = 'means are written with theirs, as "55:-0.770".'
        notes.append(f"If distances are missing between the anchors, {shown}")
    if any(len(apart) > MOST_DISTANCES for apart in distances):
        shown = f"the means at the {MOST_DISTANCES} smallest are shown; --json has the cosine of every pair."
        notes.append(f"Where anchors have more than {MOST_DISTANCES} distances, {shown}")
    return notes


def with_error(value: float, error: float, exact: str = ".3f") -> str:
    """Return an estimate and its standard error to two digits; in the given format if exact; NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    if error == 0:
        return f"{value:z{exact}}"
    if max(abs(value), error) < 1e-3:
        power = math.floor(math.log10(max(abs(value), error)))
        return f"({_plain(value / 10**power, error / 10**power)})e{power}"
    return _plain(value, error)


def known_digits(value: float, error: float) -> str:
    """Return an estimate with the decimals that its standard error supports, at most three; NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    decimals = 3 if error == 0 else min(3, max(0, -math.floor(math.log10(2 * error))))
    return f"{value:z.{decimals}f}"


def _plain(value: float, error: float) -> str:
    decimals = max(0, 1 - int(f"{error:.1e}".partition("e")[2]))  # 0.0999 is 0.10 to two digits.
    return f"{value:z.{decimals}f}±{error:.{decimals}f}"


def _distances(tokens: Tokens) -> npt.NDArray[np.int_]:
    apart = np.abs(np.subtract.outer(tokens, tokens))
    return np.unique(apart[np.triu_indices(len(tokens), 1)])


def _have_gaps(distances: npt.NDArray[np.int_]) -> bool:
    """Return whether ascending distances are other than 1, 2, ..."""
    return not np.array_equal(distances, np.arange(1, len(distances) + 1))
