r"""How far eq. 12 is from the true embedding: the normal's distance, the difference in (13), and its bound.

The bound is proven on the documentation's page "Bound (13)". The label distributions of two anchors are
shifts of one distribution P, so that their inner product is :math:`P(Y - Y' = \Delta)` for two independent
copies: a symmetric variable, whose skewness is 0. The noise multiplies P − N, where N is the normal; there
the skewness stays. Both differences are integrals of characteristic functions over :math:`|t| \le \pi`. Up
to a cut T they are bounded by Taylor's remainders, beyond it by the modulus of each term; every T gives a
bound, and the best of a grid is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Annotated

import numpy as np
from scipy.special import erfc, gamma, ndtr, ndtri

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Real
from theory.edge.checked import Rate, Share, checked
from theory.edge.checks import Between
from theory.edge.errors import InputError
from theory.labels.distribution import label_distribution
from theory.shapes.gaussian import MAX_LOST_MASS, GaussianShape, Summand, density, gaussian_shape, summands_of
from theory.task.task import Task

ROOT_PI, ROOT_TWO_PI = sqrt(pi), sqrt(2 * pi)
_CUTS = np.linspace(0, pi, 1025)[1:]


@dataclass(frozen=True)
class InnerProductBound:
    r"""Bound (13) for the anchors of one mapping, which share their noise with eq. 12.

    Attributes
    ----------
    shape : float
        Proven: no pair differs by more without the noise. Falls as :math:`q^{-3/2}`.
    noise : float
        Proven, with the requested probability: no pair differs by more than ``shape + noise``. Falls as
        :math:`d_m^{-\gamma} q^{-3/4}`, or :math:`d_m^{-\gamma} q^{-5/4}` for symmetric keys and shifts.
    shape_leading, noise_leading : float
        The two to leading order for large q, not bounds:
        :math:`C_1^2 |\kappa| / (32 \sqrt{\pi} \sigma_P)` with the excess kurtosis κ, and ``noise``'s
        multiple of ‖P − N‖, with P − N to first order in skewness and kurtosis.
    """

    shape: float
    noise: float
    shape_leading: float
    noise_leading: float

    @property
    def total(self) -> float:
        """``shape + noise``, the right side of (13)."""
        return self.shape + self.noise


@dataclass(frozen=True)
class NormalDistance:
    r"""Distance of an anchor's label distribution from the normal density of eq. 12.

    Attributes
    ----------
    kolmogorov : float
        The largest difference of the distribution functions, with a continuity correction of one half.
    total_variation : float
        Half the sum over the vocabulary of the absolute differences.
    l2 : float
        ‖P − N‖, which scales the noise term of bound (13).
    """

    kolmogorov: float
    total_variation: float
    l2: float


@checked
def inner_product_difference(
    approximate: Real[ArrayLike, "n d_m"], exact: Real[ArrayLike, "n d_m"]
) -> Float64[FloatArray, "n n"]:
    r"""Return ⟨w̃_i, w̃_j⟩ − ⟨w_i, w_j⟩ for all pairs of tokens (13).

    The largest absolute entry is the left side of the bound.

    Parameters
    ----------
    approximate, exact : array_like, shape (n, d_m)
        The embeddings of the same n tokens, with whatever noise they have.
    """
    a, b = np.asarray(approximate, dtype=np.float64), np.asarray(exact, dtype=np.float64)
    return np.asarray(a @ a.T - b @ b.T, dtype=np.float64)


@checked
def normal_distance(task: Task, anchor: int, *, max_lost_mass: Share = MAX_LOST_MASS) -> NormalDistance:
    """Return how far P^s is from the normal of eq. 12; parameters as in ``gaussian_shape``."""
    shape = gaussian_shape(task, anchor, max_lost_mass=max_lost_mass)
    distribution, normal = label_distribution(task, anchor), density(task, shape)
    steps = ndtr((np.arange(task.vocab_size + 1) - 0.5 - shape.mu) / shape.sigma_P)
    difference = distribution - normal
    return NormalDistance(
        kolmogorov=float(np.abs(np.cumsum([0.0, *distribution]) - steps).max()),
        total_variation=float(np.abs(difference).sum() / 2),
        l2=float(np.linalg.norm(difference)),
    )


@checked
def inner_product_bound(
    task: Task,
    anchors: Sequence[int],
    *,
    learning_rate: Annotated[float, Between(0, 1e100)] = 1.0,
    init_rate: Rate | None = None,
    confidence: Share = 0.99,
    max_lost_mass: Share = MAX_LOST_MASS,
) -> InnerProductBound:
    r"""Return a proven right side of (13), with all constants.

    It bounds :math:`\sup_{i,j} |\langle\tilde w^{s_i}, \tilde w^{s_j}\rangle - \langle w^{s_i},
    w^{s_j}\rangle|`, with w̃ from ``gaussian_embedding`` and w from ``label_distribution_embedding`` plus the
    same noise, the embedding's value at initialisation.

    Parameters
    ----------
    task : Task
        The task; held-out combinations are included, as in eq. 12.
    anchors : sequence of int
        Anchors of one mapping that adds (``Sum`` or ``Shift``); every pair of them is covered.
    learning_rate, max_lost_mass
        As in ``gaussian_shape``.
    init_rate : float, optional
        γ, the noise being N(0, d_m^-2γ). None: no noise.
    confidence : float, optional
        The probability with which ``noise`` holds for all pairs at once, in (0, 1).

    Raises
    ------
    InputError
        If the anchors do not share an additive mapping, or the vocabulary is too small for the normal.
    """
    if len({id(task.mapping_of(s)) for s in anchors}) != 1:
        remedy = f"choose from {list(task.additive_anchors)}, of one mapping"
        raise InputError("anchors", list(anchors), "not of one mapping", remedy)
    shapes = [
        gaussian_shape(task, s, learning_rate=learning_rate, max_lost_mass=max_lost_mass) for s in anchors
    ]
    terms = [s for s in summands_of(task, anchors[0]) if s.count and s.variance]
    C1, sigma, d = shapes[0].C1, shapes[0].sigma_P, task.vocab_size
    # ‖P − N‖ to first order in skewness and in kurtosis: ∫He₃²φ² is 15/(16√π), ∫He₄²φ² 105/(32√π).
    squares = shapes[0].skewness ** 2 / 36 * 15 / 16 + shapes[0].excess_kurtosis ** 2 / 576 * 105 / 32
    deviations = 0.0
    if init_rate is not None:
        # n(n + 1)/2 pairs with two sides each; an entry's deviation is at most 2 C1 d^-γ ‖P − N‖.
        tail = (1 - confidence) / (len(anchors) * (len(anchors) + 1))
        deviations = -2 * C1 * d**-init_rate * float(ndtri(tail))
    return InnerProductBound(
        shape=C1**2 * (_local_bound(terms, sigma) + _edges(shapes, d)),
        noise=deviations * _distance_bound(terms, sigma),
        shape_leading=C1**2 * abs(shapes[0].excess_kurtosis) / (32 * ROOT_PI * sigma),
        noise_leading=deviations * float((squares / ROOT_PI / sigma) ** 0.5),
    )


def _local_bound(terms: list[Summand], sigma: float) -> float:
    r"""Bound :math:`|P(Y - Y' = \Delta) - n(\Delta)|` over all Δ, n the normal density of variance 2σ²."""
    inner = np.zeros_like(_CUTS)
    for term, rest in zip(terms, _remaining_variances(terms), strict=True):
        v = term.variance
        sixth = 2 * term.moment(6) + 30 * term.moment(4) * v - 20 * term.moment(3) ** 2
        for order, coefficient in (
            (4, abs(term.fourth_cumulant) / 12),
            (6, max(sixth / 720, v**3 / 6)),
        ):
            inner += term.count * _times(coefficient, _gaussian_moment(order, rest))
    outer = (1 - _CUTS / pi) * _modulus_beyond(terms)
    outer += erfc(sigma * _CUTS) / (2 * sigma * ROOT_PI)
    peak = 1 / (2 * sigma * ROOT_PI)
    # Two non-negative numbers differ by no more than the larger.
    return min(float((inner / (2 * pi) + outer).min()), max(min(t.largest_mass for t in terms), peak))


def _distance_bound(terms: list[Summand], sigma: float) -> float:
    """Bound ‖P − N‖ over all integers, by Minkowski's inequality for the pieces of its transform."""
    inner = np.zeros_like(_CUTS)
    for term, rest in zip(terms, _remaining_variances(terms), strict=True):
        for order, coefficient in (
            (3, abs(term.third_cumulant) / 6),
            (4, abs(term.fourth_cumulant) / 24),
            (5, term.absolute_moment(5) / 120),
            (6, term.variance**3 / 48),
        ):
            inner += term.count * _times(coefficient, np.sqrt(_gaussian_moment(2 * order, rest)))
    outer = np.sqrt(2 * (pi - _CUTS) * _modulus_beyond(terms))
    outer += np.sqrt(ROOT_PI / sigma * erfc(sigma * _CUTS))
    aliases = 2 * ROOT_TWO_PI * np.exp(-((pi * sigma) ** 2) / 2) / -np.expm1(-4 * (pi * sigma) ** 2)
    best = float((inner + outer + aliases).min() / ROOT_TWO_PI)
    norm = (1 + _poisson(sigma)) / (2 * sigma * ROOT_PI)
    return min(best, sqrt(min(t.largest_mass for t in terms) + norm))


def _remaining_variances(terms: list[Summand]) -> list[FloatArray]:
    r"""Return A for each term: without one factor of it, the modulus is below :math:`e^{-A t^2/2}` up to T.

    As :math:`|f|^2 \le 1 - vt^2 + E(X - X')^4 t^4/24 \le e^{-cvt^2}` for :math:`|t| \le T`, with
    :math:`c = 1 - T^2 E(X - X')^4/24v`, or c = 0 where that is negative.
    """
    falls = []
    for term in terms:
        fourth = 2 * term.fourth_cumulant + 12 * term.variance**2
        falls.append(np.maximum(0, term.variance - _CUTS**2 * fourth / 24))
    together = sum(term.count * fall for term, fall in zip(terms, falls, strict=True))
    return [np.maximum(0, together - fall) for fall in falls]


def _times(coefficient: float, integrals: FloatArray) -> FloatArray:
    """Multiply; a coefficient of 0 wins over an infinite integral."""
    return coefficient * integrals if coefficient else np.zeros_like(integrals)


def _gaussian_moment(order: int, A: FloatArray) -> FloatArray:
    r"""Return :math:`\int t^n e^{-At^2} dt` over the real line, infinite where A = 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(gamma((order + 1) / 2) * A ** (-(order + 1) / 2), dtype=np.float64)


def _modulus_beyond(terms: list[Summand]) -> FloatArray:
    r"""Bound :math:`\prod_k |f_k(t)|^2` over :math:`T \le t \le \pi`, for every cut T.

    Between two points of the grid, h apart, a maximum exceeds both by at most h²v/4, since the second
    derivative of :math:`|f|^2` is at most 2v.
    """
    out = np.ones_like(_CUTS)
    for term in terms:
        largest = np.maximum.accumulate(term.squared_modulus(_CUTS)[::-1])[::-1]
        out *= np.minimum(1, largest + (_CUTS[1] - _CUTS[0]) ** 2 * term.variance / 4) ** term.count
    return out


def _poisson(sigma: float) -> float:
    """Bound the relative difference of Σ exp(−k²/σ²) from its integral (Poisson's formula)."""
    ratio = float(np.exp(-((pi * sigma) ** 2)))
    return 2 * ratio / (1 - ratio)


def _edges(shapes: list[GaussianShape], d: int) -> float:
    """Bound the change of an inner product by a finite vocabulary and by sums in place of integrals."""
    shape = shapes[0]
    # The density falls away from the mean: a sum beyond an edge is below the integral one step earlier.
    outside = max(float(ndtr(-s.mu / s.sigma_P) + ndtr((s.mu - (d - 1)) / s.sigma_P)) for s in shapes)
    mass = outside + _poisson(2**0.5 * shape.sigma_P)
    return _poisson(shape.sigma_P) / (2 * shape.sigma_P * ROOT_PI) + shape.C2 * outside + 2 * mass / d
