r"""Inner products and cosines of the Gaussian-minus-constant embeddings of Theorem 1 (eq. 12-14)."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

C1, C2 = sp.symbols("C1 C2", positive=True)
WIDTH = sp.Symbol("sigma", positive=True)
D_M = sp.Symbol("d_m", integer=True, positive=True)
MU_I, MU_J, DELTA = sp.symbols("mu_i mu_j Delta", real=True)
K, T = sp.symbols("k t", real=True)
NORMALISED = 1 / (WIDTH * sp.sqrt(2 * sp.pi))
ARGUMENTS = (
    Argument(C2, "the height of the Gaussian"),
    Argument(WIDTH, "its standard deviation: σ_P, or √6 in eq. 14"),
    Argument(DELTA, "the distance of the two means"),
    Argument(D_M, "the embedding width"),
)
ASSUMPTIONS = (
    "The noise of eq. 12 is left out; it is independent, so that it adds nothing to the mean of an inner "
    "product of two tokens, and d_m^(1−2γ) to a vector's own square.",
    "The Gaussians' sums run over all integers instead of the d_m coordinates (a remainder of the size of "
    "the tails outside, steps 5 and 6) and are replaced by integrals (a remainder of relative size "
    "2 exp(−π²σ²), step 7). The sum of the constants stays finite.",
)


@functools.cache
def gaussian_inner_product() -> Derivation:
    """Integrate the product of two Gaussian-minus-constant vectors (eq. 12)."""
    steps = _steps()
    result = steps[-1].expression
    peak = sp.sqrt(sp.pi) * C2**2 * WIDTH * sp.exp(-(DELTA**2) / (4 * WIDTH**2))
    statement = C1**2 * (peak + (1 - 2 * sp.sqrt(2 * sp.pi) * C2 * WIDTH) / D_M)
    short = C1**2 * (sp.exp(-(DELTA**2) / (4 * WIDTH**2)) / (2 * sp.sqrt(sp.pi) * WIDTH) - 1 / D_M)
    return Derivation(
        name="gaussian inner product",
        equation="Beyond the paper: inner products of eq. 12",
        quantity="<w_i, w_j> of eq. 12, noise apart",
        quantity_latex=r"\langle \tilde w^{s_i}, \tilde w^{s_j} \rangle",
        assumptions=ASSUMPTIONS,
        scope="Symbolic C1, C2, σ, d_m and distance. Tests compare it with plain sums.",
        steps=steps,
        result=result,
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With the height 1/(σ√(2π)) of a normal density it is C1² (e^{−Δ²/4σ²}/(2σ√π) − 1/d_m).",
                sp.simplify(statement.subs(C2, NORMALISED) - short),
            ),
        ),
        arguments=(Argument(C1, "the common factor η r_s / L"), *ARGUMENTS),
        modules=("numpy",),
    )


def _steps() -> tuple[Step, ...]:
    first, second = (C2 * sp.exp(-((K - mu) ** 2) / (2 * WIDTH**2)) for mu in (MU_I, MU_J))
    product = C1**2 * sp.expand((first - 1 / D_M) * (second - 1 / D_M))
    middle = (MU_I + MU_J) / 2
    exponent = sum(-((K - mu) ** 2) / (2 * WIDTH**2) for mu in (MU_I, MU_J))
    about_middle = sp.expand(exponent.subs(K, middle + T)).subs(MU_I, MU_J + DELTA)
    separated = sp.collect(sp.expand(about_middle), T)
    bell = sp.exp(separated)
    whole = sp.integrate(bell, (T, -sp.oo, sp.oo))
    single = sp.integrate(sp.exp(-(T**2) / (2 * WIDTH**2)), (T, -sp.oo, sp.oo))
    total = C1**2 * (C2**2 * whole - 2 * C2 * single / D_M + sp.Sum(1 / D_M**2, (K, 1, D_M)).doit())
    return (
        Step("The product at coordinate k, multiplied out.", product),
        Step(
            "The exponent of the two Gaussians' product, about the middle of their means, Δ apart.", separated
        ),
        Step("Its integral over t.", whole),
        Step("The integral of one Gaussian.", single),
        Step("What a bound at distance τ from the middle cuts off the product, on one side.", _cut_off(bell)),
        Step(
            "What it cuts off a single Gaussian at distance τ from its mean: the larger part.",
            _cut_off(sp.exp(-(T**2) / (2 * WIDTH**2))),
        ),
        Step(
            "Poisson's formula: the sum over all integers is the integral times 1 + 2 Σ_ν ρ_ν cos(2πνμ), "
            "μ the middle of the means and ν = 1, 2, …; this is ρ_ν.",
            _poisson(bell, whole),
        ),
        Step("Add the three terms: the constants' sum has d_m equal summands.", sp.expand(total)),
    )


def _cut_off(bell: sp.Expr) -> sp.Expr:
    bound = sp.Symbol("tau", positive=True)
    return sp.simplify(sp.integrate(bell, (T, bound, sp.oo)).rewrite(sp.erfc))


def _poisson(bell: sp.Expr, whole: sp.Expr) -> sp.Expr:
    """Return the Fourier transform of the product at the integer frequency ν, over its integral."""
    nu = sp.Symbol("nu", integer=True, positive=True)
    transform = sp.integrate(sp.powsimp(bell) * sp.cos(2 * sp.pi * nu * T), (T, -sp.oo, sp.oo))
    return sp.simplify(transform / whole)


@functools.cache
def gaussian_cosine() -> Derivation:
    """Divide the inner product by the square of a vector (Fig. 5C)."""
    inner = gaussian_inner_product().result
    square = inner.subs(DELTA, 0)
    result = sp.cancel(sp.simplify(inner / square))
    contrast = sp.sqrt(sp.pi) * D_M * C2**2 * WIDTH
    offset = 1 - 2 * sp.sqrt(2 * sp.pi) * C2 * WIDTH
    statement = (contrast * sp.exp(-(DELTA**2) / (4 * WIDTH**2)) + offset) / (contrast + offset)
    small = D_M / (2 * sp.sqrt(sp.pi) * WIDTH)
    short = (small * sp.exp(-(DELTA**2) / (4 * WIDTH**2)) - 1) / (small - 1)
    return Derivation(
        name="cosine",
        equation="Beyond the paper: the cosine of eq. 12, as plotted in Fig. 5C and 9",
        quantity="cos(w_i, w_j) of eq. 12, noise apart",
        quantity_latex=r"\cos(\tilde w^{s_i}, \tilde w^{s_j})",
        assumptions=ASSUMPTIONS,
        scope="Symbolic C2, σ, d_m and distance. Tests compare it with plain sums.",
        steps=(
            Step("The square of a vector: the inner product at distance 0.", square),
            Step("Both vectors have that square: divide.", result),
        ),
        result=result,
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With the height of a normal density and κ = d_m/(2σ√π) it is (κ e^{−Δ²/4σ²} − 1)/(κ − 1).",
                sp.simplify(statement.subs(C2, NORMALISED) - short),
            ),
        ),
        arguments=ARGUMENTS,
        modules=("numpy",),
    )
