"""Theorem 1: mean, variance and normal shape (eq. 12), and the leading order of the difference in (13)."""

from __future__ import annotations

import functools

import sympy as sp

from theory.derive.algebra import D_M, R_S, settled, symbolic
from theory.derive.attention import GAMMA
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.generating import A_MIN, N_A, N_Z, Z_MIN, K, Q
from theory.derive.labels import Q_ARGUMENT, RANGE_ARGUMENTS, SIZE_ARGUMENTS, UNIFORMS, S

N, LENGTH = sp.symbols("N L", integer=True, positive=True)
T, X, COORDINATE = sp.symbols("t x j", real=True)
RATE, SIGMA, C1, QUANTILE = sp.symbols("eta sigma_P C_1 z", positive=True)
SKEWNESS, KURTOSIS = sp.symbols("lambda kappa", real=True)


def uniform_moment(power: int) -> sp.Expr:
    """Return the mean of k^power over 0..N−1."""
    return sp.factor(sp.Sum(K**power, (K, 0, N - 1)).doit() / N)


@derived("mu_s", "Theorem 1, μ_s (App. B.6)", "The mean of a reasoning anchor's label", "mean")
def label_mean() -> Derivation:
    """Add the means of the given anchor, one key and q − 1 anchors (Theorem 1)."""
    mean = uniform_moment(1)
    z_max, a_max = Z_MIN + N_Z - 1, A_MIN + N_A - 1
    return Derivation(
        quantity="μ_s, the mean of Y^s",
        assumptions=UNIFORMS,
        scope="Symbolic throughout.",
        steps=(
            Step("The mean of a uniform integer in 0..N−1.", mean),
            Step(
                "Add the anchor itself, a key and q − 1 anchors, each range shifted to its place.",
                S + Z_MIN + mean.subs(N, N_Z) + (Q - 1) * (A_MIN + mean.subs(N, N_A)),
            ),
        ),
        statement=S + (Z_MIN + z_max) / 2 + (Q - 1) * (A_MIN + a_max) / 2,
        compare=symbolic,
        arguments={S: "the anchor"} | RANGE_ARGUMENTS | SIZE_ARGUMENTS | Q_ARGUMENT,
        modules=("math",),
    )


@derived(
    "sigma_p",
    "Theorem 1, σ_P² (App. B.6)",
    "The variance of a reasoning anchor's label",
    *("variance", "sigma_p^2"),
)
def label_variance() -> Derivation:
    """Add the variances of one key and q − 1 anchors, each uniform (Theorem 1)."""
    mean, square = uniform_moment(1), uniform_moment(2)
    one = sp.factor(square - mean**2)
    return Derivation(
        quantity="σ_P², the variance of Y^s",
        assumptions=UNIFORMS,
        scope="Symbolic N_Z, N_A and q. The mean, μ_s = s + E[Z] + (q−1) E[A], follows from the first step.",
        steps=(
            Step("The mean of a uniform integer in 0..N−1.", mean),
            Step("Its mean square.", square),
            Step("Its variance; shifting the range changes nothing.", one),
            Step(
                "Variances of independent terms add; the given anchor s adds none.",
                one.subs(N, N_Z) + (Q - 1) * one.subs(N, N_A),
            ),
        ),
        statement=(N_Z**2 - 1) / 12 + (Q - 1) * (N_A**2 - 1) / 12,
        compare=symbolic,
        arguments=SIZE_ARGUMENTS | Q_ARGUMENT,
        modules=("math",),
    )


@derived(
    "theorem 1",
    "Theorem 1, eq. 12",
    "The normal shape of a reasoning anchor's embedding after one step",
    "eq 12",
)
def theorem_1() -> Derivation:
    """Let q grow in the label distribution of a reasoning anchor, and take one step of size η (eq. 12)."""
    mu = S + Z_MIN + (N_Z - 1) / 2 + (Q - 1) * (A_MIN + (N_A - 1) / 2)
    variance = (N_Z**2 - 1) / 12 + (Q - 1) * (N_A**2 - 1) / 12
    bell = sp.exp(-((COORDINATE - mu) ** 2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
    return Derivation(
        quantity="w̃^s_j without the noise",
        assumptions=(
            *UNIFORMS,
            "q → ∞ at fixed N_Z and N_A: the central limit theorem. By the local limit theorem for "
            "integers the probabilities of single labels converge uniformly as well.",
            "One step of size η along r_s (P − u)/L: eq. 29 in the paper's form with W = I.",
        ),
        scope="Symbolic throughout; how far the limit is at a finite q is the subject of eq. 13.",
        steps=_limit_steps(),
        statement=RATE * R_S / LENGTH * (bell - 1 / D_M),
        compare=_same_shape,
        arguments={
            COORDINATE: "the coordinate, a label",
            S: "the anchor",
            **RANGE_ARGUMENTS,
            **SIZE_ARGUMENTS,
            **Q_ARGUMENT,
            RATE: "η, the size of the step",
            R_S: "occurrences of s per sequence",
            LENGTH: "tokens in a sequence",
            D_M: "the embedding width, here the vocabulary size",
        },
    )


def _same_shape(result: sp.Expr, statement: sp.Expr) -> tuple[Check, ...]:
    """Compare two normal densities by the slope of their logarithm, their height and their offset."""
    shares = [sp.expand(e / (RATE * R_S / LENGTH)) for e in (result, statement)]
    bells = [share.subs(D_M, sp.oo) for share in shares]
    # Of the logarithms: factors that do not depend on the coordinate drop out at once.
    slopes = [sp.diff(sp.expand_log(sp.log(bell), force=True), COORDINATE) for bell in bells]
    heights = [bell.subs(COORDINATE, label_mean().statement) ** 2 for bell in bells]
    return (
        Check("The slopes of the logarithms: mean and variance.", settled(slopes[0] - slopes[1])),
        Check("The squared heights at the mean.", settled(heights[0] - heights[1])),
        Check("The constant that is subtracted.", shares[0] - bells[0] - shares[1] + bells[1]),
    )


def _limit_steps() -> tuple[Step, ...]:
    one = log_of_one_uniform()
    summed = one.subs(sp.Symbol("N"), N_Z) + (Q - 1) * one.subs(sp.Symbol("N"), N_A)
    variance, mean = label_variance().result, label_mean().result
    scaled = summed.subs(T, T / sp.sqrt(variance))
    # A ratio of polynomials in q of the same degree tends to the ratio of their leading coefficients.
    parts = (sp.Poly(sp.expand(part), Q) for part in sp.fraction(sp.factor(sp.together(scaled))))
    limit = sp.simplify(functools.reduce(lambda a, b: a.LC() / b.LC(), parts))
    density = sp.integrate(sp.exp(limit) * sp.cos(T * X), (T, -sp.oo, sp.oo)) / (2 * sp.pi)
    at_label = density.subs(X, (COORDINATE - mean) / sp.sqrt(variance)) / sp.sqrt(variance)
    return (
        Step("Log of the characteristic function of a centred uniform variable on N integers, to t⁴.", one),
        Step("For a key plus q − 1 anchors: logarithms add.", summed),
        Step("At t/σ_P, with q → ∞: every power above the second drops out.", limit),
        Step("Fourier inversion: the density x standard deviations from the mean.", density),
        Step("At the label j, with the mean and variance of the label.", at_label),
        Step(
            "One step of size η along r_s (P − u)/L, u = 1/d_m.", RATE * R_S / LENGTH * (at_label - 1 / D_M)
        ),
    )


def log_of_one_uniform() -> sp.Expr:
    """Expand log[sin(Nt/2) / (N sin(t/2))], the sum of N equal phases, to fourth order."""
    n, y = sp.Symbol("N"), sp.Symbol("y", positive=True)
    series = sp.series(sp.log(sp.sin(y) / y), y, 0, 6).removeO()
    return sp.factor(series.subs(y, n * T / 2) - series.subs(y, T / 2))


@derived(
    "eq 13",
    "Eq. 13, its leading order",
    "The leading order of both parts of bound (13)",
    *("eq 34", "bound 13"),
)
def eq_13() -> Derivation:
    """Expand the two parts of the difference of inner products: without the noise, and due to it."""
    squares = SKEWNESS**2 / 36 * sp.Rational(15, 16) + KURTOSIS**2 / 576 * sp.Rational(105, 32)
    distance = sp.sqrt(squares / (sp.sqrt(sp.pi) * SIGMA))
    still = C1**2 * sp.Abs(KURTOSIS) / (32 * sp.sqrt(sp.pi) * SIGMA)
    return Derivation(
        quantity="sup |<w̃_i, w̃_j> − <w_i, w_j>|, to leading order in q",
        assumptions=(
            "The label is a sum of many independent terms; λ and κ are its skewness and excess kurtosis. "
            "Higher cumulants, and products of these, are of higher order in 1/q.",
            "w and w̃ share their noise, N(0, d_m^−2γ); z is the quantile of the union bound over pairs.",
            "An expansion, not a bound: the inequality, with constants, is proven on the page on bound (13).",
        ),
        scope="Symbolic. Compared with inner_product_bound, which is compared with the plain sums.",
        steps=_difference_steps(),
        statement=still + 2 * C1 * D_M**-GAMMA * QUANTILE * distance,
        compare=symbolic,
        arguments={
            C1: "η r_s / L",
            SIGMA: "the label's standard deviation",
            SKEWNESS: "its skewness",
            KURTOSIS: "its excess kurtosis",
            D_M: "the embedding width",
            GAMMA: "the initialisation rate",
            QUANTILE: "the normal quantile",
        },
    )


def _difference_steps() -> tuple[Step, ...]:
    cumulants = {3: SKEWNESS * SIGMA**3, 4: KURTOSIS * SIGMA**4}
    correction = sum(value * (sp.I * T) ** n / sp.factorial(n) for n, value in cumulants.items())
    symmetric = sp.expand(correction + correction.subs(T, -T))
    bell = sp.exp(-(SIGMA**2) * T**2)
    at_zero = sp.integrate(bell * symmetric, (T, -sp.oo, sp.oo)) / (2 * sp.pi)
    modulus = sp.expand(correction * correction.subs(T, -T))
    norm = sp.simplify(sp.integrate(bell * modulus, (T, -sp.oo, sp.oo)) / (2 * sp.pi))
    noise = 2 * C1 * D_M**-GAMMA * QUANTILE * sp.sqrt(norm)
    return (
        Step("log E exp(it(Y − μ)) beyond −σ²t²/2, from the third and fourth cumulants.", correction),
        Step("For Y − Y′, whose probability at Δ is ⟨P_i, P_j⟩, the odd part cancels.", symmetric),
        Step("Its Fourier integral to first order at Δ = 0, where it is largest.", at_zero),
        Step("|P − N|² by Parseval: the squared modulus of the first-order difference.", modulus),
        Step("Its integral.", norm),
        Step("A pair's noise has a standard deviation of at most 2 C₁ d_m^−γ |P − N|.", noise),
        Step("Both parts.", C1**2 * sp.Abs(at_zero) + noise),
    )
