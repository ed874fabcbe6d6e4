"""Mean and variance of a reasoning anchor's label distribution: the σ_P of Theorem 1."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.generating import N_A, N_Z, K, Q
from theory.symbolic.labels import Q_ARGUMENT, SIZE_ARGUMENTS, UNIFORMS
from theory.symbolic.parts import Argument, Check, Step

N = sp.Symbol("N", integer=True, positive=True)


@functools.cache
def label_variance() -> Derivation:
    """Add the variances of one key and q − 1 anchors, each uniform (Theorem 1)."""
    mean, square = uniform_moment(1), uniform_moment(2)
    one = sp.factor(square - mean**2)
    result = one.subs(N, N_Z) + (Q - 1) * one.subs(N, N_A)
    statement = (N_Z**2 - 1) / 12 + (Q - 1) * (N_A**2 - 1) / 12
    return Derivation(
        name="sigma_p",
        equation="Theorem 1, σ_P² (App. B.6)",
        quantity="σ_P², the variance of Y^s",
        quantity_latex=r"\sigma_P^2",
        assumptions=UNIFORMS,
        scope="Symbolic N_Z, N_A and q. The mean, μ_s = s + E[Z] + (q−1) E[A], follows from the first step.",
        steps=(
            Step("The mean of a uniform integer of 0..N−1.", mean),
            Step("Its mean square.", square),
            Step("Its variance; moving the range changes nothing.", one),
            Step("Variances of independent terms add; the given anchor s adds none.", result),
        ),
        result=result,
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check("The second cumulant from the moment generating function.", sp.simplify(_cumulant() - one)),
        ),
        arguments=(*SIZE_ARGUMENTS, Q_ARGUMENT),
        modules=("math",),
    )


def uniform_moment(power: int) -> sp.Expr:
    """Return the mean of k^power over 0..N−1."""
    return sp.factor(sp.Sum(K**power, (K, 0, N - 1)).doit() / N)


def _cumulant() -> sp.Expr:
    """Return the variance of one uniform integer from log E[e^{tk}], expanded about t = 0."""
    t = sp.Symbol("t")
    generating = sp.log((sp.exp(N * t) - 1) / (N * (sp.exp(t) - 1)))
    return 2 * sp.series(generating, t, 0, 3).removeO().coeff(t, 2)


@functools.cache
def label_mean() -> Derivation:
    """Add the means of the given anchor, one key and q − 1 anchors (Theorem 1)."""
    s, z_min, a_min = sp.symbols("s zeta_min alpha_min", integer=True)
    mean = uniform_moment(1)
    result = s + z_min + mean.subs(N, N_Z) + (Q - 1) * (a_min + mean.subs(N, N_A))
    z_max, a_max = z_min + N_Z - 1, a_min + N_A - 1
    statement = s + (z_min + z_max) / 2 + (Q - 1) * (a_min + a_max) / 2
    return Derivation(
        name="mu_s",
        equation="Theorem 1, μ_s (App. B.6)",
        quantity="μ_s, the mean of Y^s",
        quantity_latex=r"\mu_s",
        assumptions=UNIFORMS,
        scope="Symbolic throughout.",
        steps=(
            Step("The mean of a uniform integer of 0..N−1.", mean),
            Step("Add the anchor itself, a key and q − 1 anchors, each range moved to its place.", result),
        ),
        result=result,
        statement=statement,
        compare=symbolic,
        arguments=(
            Argument(s, "the anchor"),
            Argument(z_min, "the smallest key"),
            Argument(a_min, "the smallest reasoning anchor"),
            *SIZE_ARGUMENTS,
            Q_ARGUMENT,
        ),
        modules=("math",),
    )
