r"""Theorem 1: the normal shape of a reasoning anchor's embedding (eq. 12).

After a step of size η the embedding of s is :math:`w^s = w^s(0) + C_1 (P^s - 1/d_m)` with
:math:`C_1 = \eta r_s / L`, up to the matrix W of eq. 29. Theorem 1 replaces P^s, the distribution of
a sum of independent uniform variables, by a normal density. All constants are computed from the task: a label
is Y^s = g(s) + Z + the shifts of the other q − 1 anchors, and each independent term a ``Summand``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.edge.checked import Rate, Share, checked
from theory.edge.checks import check_tokens
from theory.edge.errors import InputError
from theory.labels.distribution import label_distribution, token_ratio
from theory.task.rules.additive import Additive
from theory.task.task import Task

MAX_LOST_MASS = 0.01
"""The normal mass that may lie outside the vocabulary before Theorem 1 is refused."""


@dataclass(frozen=True)
class Summand:
    """A variable that takes each of the listed integers equally often, and how often it is added."""

    values: tuple[int, ...]  # with multiplicity
    count: int  # of independent copies in the sum

    @property
    def mean(self) -> float:
        """E X."""
        return float(np.mean(self.values))

    @property
    def variance(self) -> float:
        """The variance v of one copy."""
        return self.moment(2)

    @property
    def third_cumulant(self) -> float:
        """The third cumulant of one copy, its third central moment."""
        return self.moment(3)

    @property
    def fourth_cumulant(self) -> float:
        """The fourth cumulant of one copy."""
        return self.moment(4) - 3 * self.variance**2

    @property
    def largest_mass(self) -> float:
        """The largest probability of a value."""
        return float(np.unique(self.values, return_counts=True)[1].max() / len(self.values))

    def moment(self, order: int) -> float:
        """Return the central moment of the given order."""
        return float(np.mean(self._centred**order))

    def absolute_moment(self, order: int) -> float:
        r"""Return :math:`E|X - EX|^n`."""
        return float(np.mean(np.abs(self._centred) ** order))

    def squared_modulus(self, frequencies: FloatArray) -> FloatArray:
        r"""Return :math:`|E e^{itX}|^2` at frequencies t, shape (n,)."""
        centred = self._centred  # one frequency at a time: a task may have a hundred thousand keys
        return np.array([np.abs(np.exp(1j * t * centred).mean()) for t in frequencies]) ** 2

    @property
    def _centred(self) -> FloatArray:
        return np.array(self.values, dtype=np.float64) - self.mean


def total(summands: Sequence[Summand], cumulant: str) -> float:
    """Return the cumulant of the sum that an attribute of ``Summand`` names: cumulants add."""
    return float(sum(s.count * getattr(s, cumulant) for s in summands))


@dataclass(frozen=True)
class GaussianShape:
    r"""The constants of eq. 12 for one anchor.

    Attributes
    ----------
    C1 : float
        η r_s / L.
    C2 : float
        :math:`1/(\sigma_P\sqrt{2\pi})`.
    mu : float
        μ_s, the mean of Y^s.
    sigma_P : float
        The standard deviation of Y^s, the same for all anchors of a mapping.
    skewness : float
        Of Y^s: 0 where keys and shifts are symmetric, as consecutive ones are; otherwise the first
        correction to the normal, of order q^-1/2.
    excess_kurtosis : float
        Of Y^s: 0 for a normal distribution, −1.2 for a wide uniform one; a correction of order 1/q.
    lost_mass : float
        The normal's mass outside the vocabulary.
    """

    C1: float
    C2: float
    mu: float
    sigma_P: float  # noqa: N815 (the paper's letter)
    skewness: float
    excess_kurtosis: float
    lost_mass: float


@checked
def gaussian_shape(
    task: Task,
    anchor: int,
    *,
    learning_rate: float = 1.0,
    max_lost_mass: Share = MAX_LOST_MASS,
) -> GaussianShape:
    r"""Return C1, C2, μ_s and σ_P of a reasoning anchor (Theorem 1), computed from the task.

    For consecutive keys and anchors μ_s = s + E Z + (q − 1) E A and
    σ_P² = (N_Z² − 1)/12 + (q − 1)(N_A² − 1)/12; the moments of any other keys or shifts work as well.

    Parameters
    ----------
    task : Task
    anchor : int
        s, an anchor of a deterministic mapping (``Sum`` or ``Shift``).
    learning_rate : float, optional
        η, of the one step that eq. 12 takes.
    max_lost_mass : float, optional
        The normal mass allowed to lie outside the vocabulary.

    Raises
    ------
    InputError
        If the anchor's rule is not additive, or the vocabulary cuts off too much of the normal.
    """
    terms = summands_of(task, anchor)
    variance = total(terms, "variance")
    if variance == 0:
        raise InputError("task", f"anchor {anchor}", "its label never varies", "give at least two keys")
    mu, sigma = total(terms, "mean"), variance**0.5
    low, high = (-0.5 - mu) / sigma, (task.vocab_size - 0.5 - mu) / sigma
    lost = float(ndtr(low) + ndtr(-high))
    if lost > max_lost_mass:
        normal = f"mean {mu:.1f}, deviation {sigma:.1f}"
        problem = f"cuts off {lost:.2g} of the normal of anchor {anchor} ({normal})"
        reach = -sigma * float(ndtri(max_lost_mass / 2))
        remedy = f"let 0..vocab_size − 1 hold {mu - reach:.0f}..{mu + reach:.0f}, or use label_distribution"
        if mu < reach:
            remedy = f"raise the keys by {math.ceil(reach - mu)} or more, or use label_distribution"
        raise InputError("vocab_size", task.vocab_size, problem, remedy)
    C1 = learning_rate * token_ratio(task, anchor) / task.length
    skewness, kurtosis = total(terms, "third_cumulant") / sigma**3, total(terms, "fourth_cumulant") / sigma**4
    return GaussianShape(C1, 1 / (sigma * (2 * np.pi) ** 0.5), mu, sigma, skewness, kurtosis, lost)


def summands_of(task: Task, anchor: int) -> tuple[Summand, Summand, Summand]:
    """Return the terms of a reasoning anchor's label: its own shift, the key, the other anchors' shifts."""
    mapping = task.mapping_of(anchor)
    if mapping is None or not isinstance(mapping.rule, Additive):
        problem = "its label is not the key plus a shift for each anchor, so Theorem 1 does not cover it"
        remedy = f"choose one of {list(task.additive_anchors) or 'another task'}"
        raise InputError("anchor", anchor, problem, remedy)
    shifts = tuple(mapping.rule.shift(a) for a in mapping.anchors)
    own = Summand((mapping.rule.shift(anchor),), 1)
    return own, Summand(tuple(task.keys), 1), Summand(shifts, task.n_anchors - 1)


@checked
def gaussian_embedding(
    task: Task,
    anchors: Integer[ArrayLike, " n"],
    *,
    learning_rate: float = 1.0,
    init_rate: Rate | None = None,
    rng: np.random.Generator | None = None,
    max_lost_mass: Share = MAX_LOST_MASS,
) -> Float64[FloatArray, "n {task.vocab_size}"]:
    r"""Return w̃^s of eq. 12, :math:`C_1 (C_2 e^{-(j-\mu_s)^2/2\sigma_P^2} - 1/d_m) + \varepsilon_j`.

    The paper moves the axis so that μ_s = s; here the coordinate j is the label j, so that the rows can
    be compared with ``label_distribution`` and with embeddings. d_m is the vocabulary size
    (Definition 2). The paper plots ``eq14_embedding`` instead, with a width of its own.

    Parameters
    ----------
    task : Task
    anchors : array_like of int, shape (n,)
        Reasoning anchors, one row each. A key's distribution is a mixture with a uniform part and not normal.
    learning_rate, max_lost_mass
        As in ``gaussian_shape``.
    init_rate : float, optional
        γ: adds ε ~ N(0, d_m^-2γ). None: no noise.
    rng : numpy.random.Generator, optional
        Draws ε; needed with ``init_rate``.

    Raises
    ------
    InputError
        If a token is not a reasoning anchor, the vocabulary is too small, or only one of ``init_rate`` and
        ``rng`` is given.
    """
    if (init_rate is None) != (rng is None):
        raise InputError("init_rate, rng", (init_rate, rng), "only one of them", "give both or neither")
    options = {"learning_rate": learning_rate, "max_lost_mass": max_lost_mass}
    shapes = [
        gaussian_shape(task, int(s), **options) for s in check_tokens("anchors", anchors, task.vocab_size)
    ]
    rows = np.stack([shape.C1 * (density(task, shape) - 1 / task.vocab_size) for shape in shapes])
    if init_rate is None or rng is None:
        return rows
    return np.asarray(rows + rng.standard_normal(rows.shape) * task.vocab_size**-init_rate)


@checked
def label_distribution_embedding(
    task: Task,
    anchors: Integer[ArrayLike, " n"],
    *,
    learning_rate: float = 1.0,
    W: Real[ArrayLike, "{task.vocab_size} k"] | None = None,
) -> Float64[FloatArray, "n k"]:
    r"""Return the embedding that eq. 12 approximates, :math:`C_1 (P^s - 1/d_m) W` (eq. 30-33).

    Without noise. ``W`` is the matrix of eq. 29, by default I; the rest as in ``gaussian_embedding``.
    """
    tokens = check_tokens("anchors", anchors, task.vocab_size)
    ratios = np.array([token_ratio(task, s) for s in tokens.tolist()])
    drives = ratios[:, None] * (label_distribution(task, tokens) - 1 / task.vocab_size)
    rows = learning_rate / task.length * drives
    if W is None:
        return rows
    matrix = np.asarray(W, dtype=np.float64)
    if len(matrix) != task.vocab_size:
        raise InputError("W", matrix, "not a row for each label", f"give shape ({task.vocab_size}, k)")
    return np.asarray(rows @ matrix)


def density(task: Task, shape: GaussianShape) -> FloatArray:
    """Return the normal density of eq. 12 at every label, shape (d,)."""
    j = np.arange(task.vocab_size)
    return np.asarray(shape.C2 * np.exp(-((j - shape.mu) ** 2) / (2 * shape.sigma_P**2)))
