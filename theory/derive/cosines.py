"""Inner products and cosines of the Gaussian-minus-constant embeddings of Theorem 1 (eq. 12-14)."""

from __future__ import annotations

import sympy as sp

from theory.derive.algebra import D_M, symbolic
from theory.derive.derivation import Check, Derivation, Step, derived

C1, C2, WIDTH = sp.symbols("C1 C2 sigma", positive=True)
MU_I, MU_J, DELTA, K, T = sp.symbols("mu_i mu_j Delta k t", real=True)
NORMALISED = 1 / (WIDTH * sp.sqrt(2 * sp.pi))
ARGUMENTS = {
    C2: "the height of the Gaussian",
    WIDTH: "its standard deviation: σ_P, or √6 in eq. 14",
    DELTA: "the distance between the two means",
    D_M: "the embedding width",
}
ASSUMPTIONS = (
    "The noise of eq. 12 is left out: being independent, it adds nothing to the mean inner product of two "
    "tokens, and d_m^(1−2γ) to a vector's squared length.",
    "The Gaussians' sums run over all integers instead of the d_m coordinates (a remainder of the size of "
    "the tails outside, steps 5 and 6) and are replaced by integrals (a remainder of relative size "
    "2 exp(−π²σ²), step 7). The constants are still summed over d_m coordinates.",
)


@derived(
    "gaussian inner product",
    "Beyond the paper: inner products of eq. 12",
    "The inner product of two Gaussian-minus-constant embeddings",
    "inner product",
)
def gaussian_inner_product() -> Derivation:
    """Integrate the product of two Gaussian-minus-constant vectors (eq. 12)."""
    peak = sp.sqrt(sp.pi) * C2**2 * WIDTH * sp.exp(-(DELTA**2) / (4 * WIDTH**2))
    statement = C1**2 * (peak + (1 - 2 * sp.sqrt(2 * sp.pi) * C2 * WIDTH) / D_M)
    short = C1**2 * (sp.exp(-(DELTA**2) / (4 * WIDTH**2)) / (2 * sp.sqrt(sp.pi) * WIDTH) - 1 / D_M)
    return Derivation(
        quantity="<w_i, w_j> of eq. 12 without the noise",
        assumptions=ASSUMPTIONS,
        scope="Symbolic C1, C2, σ, d_m and distance. Tests compare it with plain sums.",
        steps=_steps(),
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With the height 1/(σ√(2π)) of a normal density it is C1² (e^{−Δ²/4σ²}/(2σ√π) − 1/d_m).",
                sp.simplify(statement.subs(C2, NORMALISED) - short),
            ),
        ),
        arguments={C1: "the common factor η r_s / L"} | ARGUMENTS,
    )


def _steps() -> tuple[Step, ...]:
    first, second = (C2 * sp.exp(-((K - mu) ** 2) / (2 * WIDTH**2)) for mu in (MU_I, MU_J))
    product = C1**2 * sp.expand((first - 1 / D_M) * (second - 1 / D_M))
    exponent = sum(-((K - mu) ** 2) / (2 * WIDTH**2) for mu in (MU_I, MU_J))
    about_middle = sp.expand(exponent.subs(K, (MU_I + MU_J) / 2 + T)).subs(MU_I, MU_J + DELTA)
    separated = sp.collect(sp.expand(about_middle), T)
    bell, alone = sp.exp(separated), sp.exp(-(T**2) / (2 * WIDTH**2))
    whole, single = (sp.integrate(e, (T, -sp.oo, sp.oo)) for e in (bell, alone))
    total = C1**2 * (C2**2 * whole - 2 * C2 * single / D_M + sp.Sum(1 / D_M**2, (K, 1, D_M)).doit())
    nu = sp.Symbol("nu", integer=True, positive=True)
    transform = sp.integrate(sp.powsimp(bell) * sp.cos(2 * sp.pi * nu * T), (T, -sp.oo, sp.oo))
    return (
        Step("The product at coordinate k, multiplied out.", product),
        Step(
            "The exponent of the product of the Gaussians, about the midpoint of their means, Δ apart.",
            separated,
        ),
        Step("Its integral over t.", whole),
        Step("The integral of one Gaussian.", single),
        Step("The part of the product beyond distance τ from the midpoint, on one side.", _tail(bell)),
        Step("The part of a single Gaussian beyond τ from its mean: the larger of the two.", _tail(alone)),
        Step(
            "Poisson's formula: the sum over all integers is the integral times 1 + 2 Σ_ν ρ_ν cos(2πνμ), "
            "where μ is the midpoint of the means and ν = 1, 2, …; this is ρ_ν.",
            sp.simplify(transform / whole),
        ),
        Step("Add the three terms: the sum of the constants has d_m equal terms.", sp.expand(total)),
    )


def _tail(bell: sp.Expr) -> sp.Expr:
    bound = sp.Symbol("tau", positive=True)
    return sp.simplify(sp.integrate(bell, (T, bound, sp.oo)).rewrite(sp.erfc))


@derived(
    "cosine",
    "Beyond the paper: the cosine of eq. 12, as plotted in Fig. 5C and 9",
    "The cosine of two Gaussian-minus-constant embeddings",
    *("eq 14", "theorem 1 cosine"),
)
def gaussian_cosine() -> Derivation:
    """Divide the inner product by a vector's squared length (Fig. 5C)."""
    inner = gaussian_inner_product().result
    square = inner.subs(DELTA, 0)
    contrast = sp.sqrt(sp.pi) * D_M * C2**2 * WIDTH
    offset = 1 - 2 * sp.sqrt(2 * sp.pi) * C2 * WIDTH
    statement = (contrast * sp.exp(-(DELTA**2) / (4 * WIDTH**2)) + offset) / (contrast + offset)
    small = D_M / (2 * sp.sqrt(sp.pi) * WIDTH)
    short = (small * sp.exp(-(DELTA**2) / (4 * WIDTH**2)) - 1) / (small - 1)
    return Derivation(
        quantity="cos(w_i, w_j) of eq. 12 without the noise",
        assumptions=ASSUMPTIONS,
        scope="Symbolic C2, σ, d_m and distance. Tests compare it with plain sums.",
        steps=(
            Step("The squared length of a vector: the inner product at distance 0.", square),
            Step("Both vectors have this squared length: divide.", sp.cancel(sp.simplify(inner / square))),
        ),
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With the height of a normal density and κ = d_m/(2σ√π) it is (κ e^{−Δ²/4σ²} − 1)/(κ − 1).",
                sp.simplify(statement.subs(C2, NORMALISED) - short),
            ),
        ),
        arguments=ARGUMENTS,
    )
