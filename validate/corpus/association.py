"""Correlations between two cosine matrices of the same tokens, with intervals over the tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from theory.edge.arrays import FloatArray
from theory.edge.display import Shown, text_table
from validate.judge.measures.agreement import correlation, ranks
from validate.judge.stats import UNDEFINED, Estimate, Record
from validate.observe.language import cosines_of_gram
from validate.terminal.output import Table

N_GROUPS = 20
"""Groups of tokens; the jackknife leaves out one at a time."""
FEWEST = 10
"""The fewest tokens for which there is an interval."""
MEASURES = ("Pearson", "Spearman", "control", "gain", "mean", "observed")
NOTES = (
    "Pearson, Spearman: over all pairs of tokens; every interval: 95 % (jackknife over tokens)",
    "control: Pearson's correlation of the prediction from shuffled text",
    "gain: Pearson's correlation above the control's",
    "mean, observed: the mean cosine predicted and observed",
)


@dataclass(frozen=True)
class Association(Record):
    """Correlations of predicted and observed cosines over all pairs of tokens.

    ``pearson``, ``spearman``, ``control`` and ``gain`` are the correlations of values and of ranks, Pearson's
    of the control, and by how much the first exceeds it, with 95 % intervals of a jackknife over tokens; no
    interval for fewer than ten tokens.
    """

    pearson: Estimate
    spearman: Estimate
    control: Estimate
    gain: Estimate
    predicted_mean: float
    observed_mean: float
    n_tokens: int

    def cells(self) -> list[str]:
        """Return the measures as text, in the order of ``MEASURES``."""
        estimates = self.pearson, self.spearman, self.control, self.gain
        means = self.predicted_mean, self.observed_mean
        return [*map(str, estimates), *(UNDEFINED if math.isnan(m) else f"{m:z.3f}" for m in means)]


class Associations(Shown):
    """A result of several associations, printed as one table with the meaning of its columns."""

    def table(self) -> Table:
        """Return one line per association, with ``MEASURES`` among its columns."""
        raise NotImplementedError

    def __str__(self) -> str:
        table = self.table()
        return "\n".join([text_table(table.header, table.rows), *table.notes])

    def _shown(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        return self.table()[:3]


def named_json(row: Any) -> dict[str, Any]:
    """Return a named tuple that ends with an association as plain data; undefined values are null."""
    *values, association = row
    plain: dict[str, Any] = association.as_dict()
    return dict(zip(row._fields, values, strict=False)) | plain


def associate_rows(
    rows: FloatArray,
    tokens: npt.NDArray[np.int64],
    predicted: Sequence[FloatArray],
    mean_removed: bool,
    seed: int,
) -> Association:
    """Compare the cosines of tokens' rows with predicted inner products: the prediction first, then controls.

    Tokens whose observed or predicted row is zero are left out; for fewer than two, nothing is defined.
    """
    grams = [rows[tokens] @ rows[tokens].T, *predicted]
    defined = np.all([np.diagonal(gram) > 0 for gram in grams], axis=0)
    if (n := int(defined.sum())) < 2:
        none = Estimate(math.nan, None, None, 0)
        return Association(none, none, none, none, math.nan, math.nan, n)
    observed, first, *controls = (
        cosines_of_gram(gram[np.ix_(defined, defined)], mean_removed) for gram in grams
    )
    return associate(first, observed, controls, np.random.default_rng(seed))


def associate(
    predicted: FloatArray, observed: FloatArray, controls: Sequence[FloatArray], rng: np.random.Generator
) -> Association:
    """Compare cosine matrices of the same n tokens; several controls are averaged.

    Leaving out a group of tokens leaves out all their pairs, so the interval allows for correlated pairs that
    share a token. For independent pairs it is too wide by √2.
    """
    n = len(predicted)
    i, j = np.triu_indices(n, 1)
    p, o, *others = (matrix[i, j] for matrix in (predicted, observed, *controls))
    # Ranks are among all pairs, since leaving out a group hardly changes them; rounding makes equal ones tie.
    pairs = [(p, o), (ranks(p.round(10)), ranks(o.round(10))), *((other, o) for other in others)]
    values = [[float(correlation(first, second)) for first, second in pairs]]
    if n >= FEWEST:
        group = rng.permutation(n) % min(N_GROUPS, n)
        for g in range(group.max() + 1):
            keep = (group[i] != g) & (group[j] != g)
            values.append([float(correlation(first[keep], second[keep])) for first, second in pairs])
    linear, ranked, *each = np.array(values).T
    shuffled = np.mean(each, axis=0)
    pearson, spearman, control = (jackknife_estimate(r, bounded=True) for r in (linear, ranked, shuffled))
    gain = jackknife_estimate(linear - shuffled)
    return Association(pearson, spearman, control, gain, float(p.mean()), float(o.mean()), n)


def jackknife_estimate(values: FloatArray, *, bounded: bool = False) -> Estimate:
    """Return the first value with its 95 % interval; each other value leaves out one group of tokens."""
    value, g = float(values[0]), len(values) - 1
    if not np.isfinite(values).all() or g == 0:
        return Estimate(value, None, None, 0 if math.isnan(value) else 1)
    # On the scale of the inverse hyperbolic tangent a correlation's interval stays within ±1.
    inside = bounded and float(np.abs(values).max()) < 1 - 1e-12
    centre, *without = np.arctanh(values) if inside else values
    half = float(stdtrit(g - 1, 0.975)) * math.sqrt((g - 1) * float(np.var(without)))
    ends = np.array([centre - half, centre + half])
    low, high = np.tanh(ends) if inside else ends
    return Estimate(value, float(low), float(high), g)
