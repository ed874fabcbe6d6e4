"""Measures of the theory alone: no run is needed, and each "seed" is a random draw."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from itertools import product

import numpy as np

import theory
from theory.edge.arrays import FloatArray
from theory.flows.gradient import population_field
from validate.judge.measures.agreement import scrambled

D_M, D_F = 200, 512
"""Widths of the paper's Emb-MLP."""
QUARTER = 4
"""A law of scaling is no number of the paper: it is tested with a quarter of its keys and widths."""
SCALES = (0.05, 0.1, 0.2)
"""Factors on weights of γ = 1/2, at which the next order is small beside the leading error."""
MASS = 1e-3
WIDTHS = (400, 800, 1600)
NUMBERS = (4, 8, 16, 32)
"""The values of q, the number of anchors in a sequence, over which a power of q is fitted."""


# --- Proposition 1 --------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def population(part: int = 1) -> theory.CountPopulation:
    """Return the whole population of the Emb-MLP setting with one ``part`` in so many of its keys."""
    task = theory.Task.paper(length=3)
    return theory.count_population(dataclasses.replace(task, keys=task.keys[: len(task.keys) // part]))


def weights(gamma: float, draw: int, part: int = 1) -> theory.EmbMLPParameters:
    """Draw the paper's Emb-MLP, or one of a ``part`` of its widths, at an initialisation rate."""
    size, rng = population(part).vocab_size, np.random.default_rng(draw)
    return theory.EmbMLPParameters.draw(size, d_m=D_M // part, d_f=D_F // part, init_rate=gamma, rng=rng)


def leading_error(parameters: theory.EmbMLPParameters, part: int = 1, *, scramble: bool = False) -> float:
    """Return the relative error of eq. 5 against W_emb's gradient; ``scramble`` permutes the labels."""
    exact = population_field(population(part), theory.TANH)(parameters.matrices).W_emb
    C = population(part).token_label_matrix()
    leading = theory.frozen_direction(C[scrambled(len(C))] if scramble else C, parameters)
    return float(np.linalg.norm(leading - exact) / np.linalg.norm(exact))


def error_order(draw: int, *, scramble: bool = False) -> float:
    """Return the power of the scale with which the error of eq. 5 falls, at a quarter of the size."""
    drawn = weights(0.5, draw, QUARTER)
    errors = [leading_error(drawn.scaled(scale), QUARTER, scramble=scramble) for scale in SCALES]
    return theory.fit_exponent(SCALES, errors).value


def first_error(draw: int, gamma: float) -> float:
    """Return the relative error of eq. 5 at initialisation."""
    return leading_error(weights(gamma, draw))


# --- bound (13) -----------------------------------------------------------------------------------------


def bounded_task(width: int, q: int, *, skewed: bool = False) -> theory.Task:
    """Return a task whose labels fit any of the vocabularies, with ten keys and ten reasoning anchors.

    ``skewed`` anchors add 0, 0, 0, 1, 1, 2, 4, 5, 7 and 9 in place of 0 to 9.
    """
    shifts = [i * i // 9 for i in range(10)]
    rule = theory.Shift(dict(enumerate(shifts))) if skewed else theory.Sum()
    mapping = theory.Mapping(range(10), rule, "reasoning")
    return theory.Task(keys=range(100, 110), mappings=[mapping], n_anchors=q, length=q + 1, vocab_size=width)


def bound_ratio(width: int, q: int, gamma: float, draw: int, *, shape: bool = True) -> float:
    """Return the largest difference of inner products over the bound of (13), its constant left out.

    Both sides have noise of the initial weights' size. Without ``shape`` Theorem 1's side is noise alone.
    """
    normal, exact = _sides(width, q)
    normal = normal * shape
    noise = np.random.default_rng([draw, width, q]).standard_normal((2, *exact.shape)) * width**-gamma
    largest = np.abs(theory.inner_product_difference(normal + noise[0], exact + noise[1])).max()
    return float(largest / (width ** (1 - gamma) * q**-0.5 + width**-gamma))


@lru_cache(maxsize=16)
def _sides(width: int, q: int) -> tuple[FloatArray, FloatArray]:
    """Return the anchors' embeddings as Theorem 1 gives them and exactly, both with C1 = 1."""
    task = bounded_task(width, q)
    anchors = task.reasoning_anchors
    rate = task.length / theory.token_ratio(task, anchors[0])
    normal = theory.gaussian_embedding(task, anchors, learning_rate=rate)
    return normal, theory.label_distribution_embedding(task, anchors, learning_rate=rate)


def ratio_exponent_in_width(draw: int, gamma: float, *, shape: bool = True) -> float:
    """Return the power of d_m with which ``bound_ratio`` changes, at four anchors in a sequence."""
    return theory.fit_exponent(
        WIDTHS, [bound_ratio(width, 4, gamma, draw, shape=shape) for width in WIDTHS]
    ).value


def largest_ratio(draw: int, gamma: float, *, shape: bool = True) -> float:
    """Return the largest ratio over the widths and over 4 to 32 anchors in a sequence."""
    return max(bound_ratio(width, q, gamma, draw, shape=shape) for width in WIDTHS for q in NUMBERS)


def kolmogorov_power(*, skewed: bool) -> float:
    """Return the power of q with which the label distribution approaches the normal (Berry-Esseen)."""
    tasks = (bounded_task(WIDTHS[0], q, skewed=skewed) for q in NUMBERS)
    return theory.fit_exponent(NUMBERS, [theory.normal_distance(task, 0).kolmogorov for task in tasks]).value


def difference_power(*, shape: bool = True) -> float:
    """Return the power of q with which the relative error of Theorem 1's inner products falls, no noise.

    Without ``shape`` Theorem 1's side is zero.
    """
    shares = []
    for q in NUMBERS:
        normal, exact = _sides(WIDTHS[0], q)
        pair = (
            theory.inner_product_difference(side, exact) for side in (normal * shape, np.zeros_like(exact))
        )
        left, largest = (float(np.abs(difference).max()) for difference in pair)
        shares.append(left / largest)
    return theory.fit_exponent(NUMBERS, shares).value


def skewness_share() -> float:
    """Return the distance from the normal over the skewness term |λ|/(6√(2π)), skewed anchors, largest q."""
    task = bounded_task(WIDTHS[0], NUMBERS[-1], skewed=True)
    term = abs(theory.gaussian_shape(task, 0).skewness) / (6 * (2 * np.pi) ** 0.5)
    return float(theory.normal_distance(task, 0).kolmogorov / term)


# --- Lemma 5 and Appendix E -----------------------------------------------------------------------------


@lru_cache(maxsize=2)
def cliff_mass(*, steepness: float = 1.0) -> float:
    """Return the greatest mass outside the window over ε, of cliff sequences for all key positions.

    Over ε = 10^-1 to 10^-6, lengths to 32 and one to three anchors. ``steepness`` multiplies the sequences.
    """
    ratios = []
    for q, mass in product((1, 2, 3), 10.0 ** -np.arange(1, 7)):
        for length in range(q + 2, 33):
            keys = range(1, length - q + 1)
            rows = np.array([theory.cliff_sequence(mass, length, p, q) for p in keys])
            ratios.append(float(theory.mass_outside(steepness * rows, keys, q).max() / mass))
    return max(ratios)


def construction_mass(*, kind: str) -> float:
    """Return the greatest mass outside the window over ε of the construction for the paper's task.

    Over forty "reasoning" or "memory" sequences for every key position but the last, whose window ends them.
    """
    task = theory.Task.paper()
    anchors = task.reasoning_anchors if kind == "reasoning" else task.memory_anchors
    rng = np.random.default_rng(0)
    construction = theory.build_construction(task, mass=MASS)
    largest = 0.0
    for p in range(1, task.length - task.n_anchors):
        sequences = rng.choice(task.keys, (40, task.length))
        sequences[:, p : p + task.n_anchors] = rng.choice(anchors, (40, task.n_anchors))
        masses = theory.mass_outside(construction.last_row(sequences), np.full(40, p), task.n_anchors)
        largest = max(largest, float(masses.max()))
    return largest / MASS
