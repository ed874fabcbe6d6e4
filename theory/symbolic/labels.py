"""Label distributions of anchors and keys, and their mean and variance (eq. 8, 22-25, Theorem 1's σ_P)."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.algebra import settled, symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.generating import (
    A_MIN,
    INTEGER_MODULES,
    N_A,
    N_Z,
    Z_MIN,
    K,
    Q,
    R,
    X,
    binomial_theorem,
    binomial_theorem_residual,
    coefficient,
    negative_power,
    negative_power_residual,
    of_sum,
    one_uniform,
)
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.stated import (
    anchor_distribution,
    key_distribution,
    memory_distribution,
    noise_distribution,
)

S, LABEL, LENGTH = sp.Symbol("s", integer=True), sp.Symbol("i", integer=True), sp.Symbol("L", integer=True)
R_ARGUMENT = Argument(R, "the label, counted from the smallest that s can have: i − s − ζ_min − (q−1) α_min")
SIZE_ARGUMENTS = (Argument(N_Z, "the number of keys"), Argument(N_A, "the number of reasoning anchors"))
Q_ARGUMENT = Argument(Q, "anchors in a sequence")
UNIFORMS = (
    "The key is uniform on N_Z consecutive integers, every reasoning anchor on N_A consecutive ones, all "
    "independent; nothing is held out.",
)


def _sums_back() -> tuple[Check, ...]:
    return (
        Check(
            "The binomial theorem, summed back by SymPy for a symbolic power.", binomial_theorem_residual()
        ),
        Check("The power series of (1−x)^−(n+1), summed back for symbolic n.", negative_power_residual()),
    )


@functools.cache
def label_formula() -> Derivation:
    """Derive the closed form of a reasoning anchor's label distribution (eq. 22)."""
    result = coefficient(1, Q - 1)
    statement = anchor_distribution(R, N_Z, N_A, Q)
    return Derivation(
        name="eq 22",
        equation="Eq. 22 (and 8)",
        quantity="P(Y^s = s + ζ_min + (q−1) α_min + r)",
        quantity_latex=r"P\left(Y^s = s + \zeta_{\min} + (q-1)\,\alpha_{\min} + r\right)",
        assumptions=(
            *UNIFORMS,
            "A binomial marked + is 0 when its top is below its bottom; r is any integer.",
        ),
        scope="Symbolic N_Z, N_A, q and r; also compared with multiplied-out polynomials for q = 1, 2, 3, 4.",
        steps=(
            Step("The generating function of one uniform integer of 0..N−1, here N = N_Z.", one_uniform(N_Z)),
            Step("That of a key plus q − 1 anchors: the product.", of_sum(1, Q - 1)),
            Step("Expand the anchors' numerators by the binomial theorem.", binomial_theorem(Q - 1)),
            Step("Expand 1/(1−x)^q as a power series.", negative_power(Q)),
            Step(
                "Collect the coefficient of x^r: solve for the power m that completes each term to r.", result
            ),
        ),
        result=result,
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            *_sums_back(),
            *(_polynomial_check(result, q) for q in (1, 2, 3, 4)),
        ),
        arguments=(R_ARGUMENT, *SIZE_ARGUMENTS, Q_ARGUMENT),
        modules=INTEGER_MODULES,
    )


def _polynomial_check(distribution: sp.Expr, q: int) -> Check:
    """Compare with the expanded product of plain sums, below, in and above the support."""
    n_keys, n_anchors = 5, 3
    size = n_keys + (q - 1) * (n_anchors - 1)
    keys, anchors = (sum(X**k for k in range(n)) / sp.Integer(n) for n in (n_keys, n_anchors))
    product = sp.Poly(sp.expand(keys * anchors ** (q - 1)), X)
    at = distribution.subs({N_Z: n_keys, N_A: n_anchors, Q: q})
    wanted = [product.coeff_monomial(X**r) if r >= 0 else 0 for r in range(-2, size + 2)]
    found = [at.subs(R, r).doit() for r in range(-2, size + 2)]
    return Check(
        f"Coefficients of the multiplied-out polynomial, q = {q}, N_Z = 5, N_A = 3.", _row(found, wanted)
    )


def _row(found: list[sp.Expr], wanted: list[sp.Expr]) -> sp.Matrix:
    return sp.Matrix([[sp.simplify(a - b) for a, b in zip(found, wanted, strict=True)]])


@functools.cache
def trapezoid() -> Derivation:
    """Specialise the label distribution to two anchors (eq. 8)."""
    closed = label_formula().result.subs(Q, 2)
    result = closed.doit()
    statement = sp.Max(0, sp.Min(R + 1, N_A, N_Z, N_A + N_Z - 1 - R)) / (N_Z * N_A)
    swapped = result.subs({N_A: N_Z, N_Z: N_A}, simultaneous=True)
    return Derivation(
        name="trapezoid",
        equation="Eq. 8 and 22 at q = 2",
        quantity="P(Y^s = s + ζ_min + α_min + r)",
        quantity_latex=r"P\left(Y^s = s + \zeta_{\min} + \alpha_{\min} + r\right)",
        assumptions=UNIFORMS,
        scope="Symbolic N_Z, N_A and r; the cases below, up, level, down and above are checked one by one.",
        steps=(
            Step("Put q = 2 into eq. 22.", closed),
            Step("Write the two terms out; a cut binomial over 1 is a ramp.", result),
        ),
        result=result,
        statement=statement,
        compare=_trapezoid_checks,
        further_checks=lambda: (
            Check("Exchanging N_Z and N_A changes nothing.", sp.simplify(result - swapped)),
        ),
        arguments=(R_ARGUMENT, *SIZE_ARGUMENTS),
        modules=INTEGER_MODULES,
    )


def _trapezoid_checks(result: sp.Expr, statement: sp.Expr) -> tuple[Check, ...]:
    """Compare case by case; non-negative slack variables k, l, b make every case a set of equations."""
    k, slack, b = sp.symbols("k l b", integer=True, nonnegative=True)
    wide = {N_A: k + 1 + slack, N_Z: k + 1 + slack + b}
    cases = {
        "below the support": {R: -1 - k, N_A: slack + 1, N_Z: slack + 1 + b},
        "rising": {R: k, **wide},
        "level": {R: slack + k, N_A: slack + 1, N_Z: slack + 1 + k + b},
        "falling": {R: k + 1 + slack + b - 1 + k, **wide},
        "above the support": {R: 2 * slack + 1 + b + k, N_A: slack + 1, N_Z: slack + 1 + b},
    }
    return tuple(
        Check(
            f"Last step minus statement, {name}, N_A ≤ N_Z.",
            settled((result - statement).subs(values, simultaneous=True)),
        )
        for name, values in cases.items()
    )


@functools.cache
def key_formula() -> Derivation:
    """Derive the label distribution of a key, as the key and as noise (eq. 23-25)."""
    as_key = coefficient(0, Q).subs(R, LABEL - S - Q * A_MIN)
    anyone = coefficient(1, Q).subs(R, LABEL - Z_MIN - Q * A_MIN)
    memory = sp.Piecewise((equal_weight(), sp.And(LABEL >= Z_MIN, LABEL < Z_MIN + N_Z)), (0, True))
    roles = _role_shares()
    result = sum(share * (memory + part) / 2 for share, part in zip(roles, (as_key, anyone), strict=True))
    stated_key = key_distribution(LABEL - S - Q * A_MIN, N_A, Q)
    stated_noise = noise_distribution(LABEL - Z_MIN - Q * A_MIN, N_Z, N_A, Q)
    statement = memory_distribution(LABEL, Z_MIN, N_Z) / 2 + (
        stated_key + (LENGTH - Q - 1) * stated_noise
    ) / (2 * (LENGTH - Q))
    short = {LENGTH: Q + 1}
    return Derivation(
        name="key distribution",
        equation="Eq. 23-25",
        quantity="P(Y^z = i) for the key token z = s",
        quantity_latex=r"\left. P\left(Y^s = i\right)\right|_{s \in \mathcal{Z}}",
        assumptions=(
            *UNIFORMS,
            "Half of the sequences are memory sequences, whose labels are uniform on the keys.",
            "Each of the L − q − 1 noise tokens is uniform on the keys and tells nothing about the label.",
        ),
        scope="Symbolic N_Z, N_A, q, L, ζ_min and α_min.",
        steps=(
            Step(
                "As the key of a reasoning sequence: z plus q anchors, r = i − z − q α_min in the expansion.",
                as_key,
            ),
            Step("As noise in one: the distribution of any reasoning label, a key plus q anchors.", anyone),
            Step("In a memory sequence, in either role: uniform on the keys.", memory),
            Step(
                "Expected occurrences are 1/N_Z as the key and (L−q−1)/N_Z as noise: their shares.",
                sp.Matrix([roles]),
            ),
            Step("Mix the two roles by their shares, and in each the two mappings by halves.", result),
        ),
        result=result,
        statement=statement,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "Without noise (L = q + 1) only the key's role is left.",
                settled(result.subs(short) - (memory + as_key) / 2),
            ),
        ),
        arguments=(
            Argument(LABEL, "the label"),
            Argument(S, "the key token"),
            Argument(Z_MIN, "the smallest key"),
            Argument(A_MIN, "the smallest reasoning anchor"),
            *SIZE_ARGUMENTS,
            Q_ARGUMENT,
            Argument(LENGTH, "tokens in a sequence, at least q + 1"),
        ),
        modules=INTEGER_MODULES,
    )


def equal_weight() -> sp.Expr:
    """Return the probability of each of N_Z equally likely labels: that with which they sum to one."""
    p = sp.Symbol("p", positive=True)
    return sp.solve(sp.Sum(p, (K, 1, N_Z)).doit() - 1, p)[0]


def tables_residual() -> sp.Expr:
    """Average over every memory table of three keys how often the first is the label, less the weight."""
    tables = list(itertools.product(range(3), repeat=3))
    share = sp.Rational(sum(table.count(0) for table in tables), 3 * len(tables))
    return share - equal_weight().subs(N_Z, 3)


def _role_shares() -> list[sp.Expr]:
    """Return a key token's shares of occurrences as the key and as noise."""
    occurrences = [1 / N_Z, (LENGTH - Q - 1) / N_Z]
    return [sp.cancel(n / sum(occurrences)) for n in occurrences]
