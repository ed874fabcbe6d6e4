"""The label distributions of anchors and keys (eq. 8, 22-25).

The functions ``anchor_law``, ``key_law`` and ``noise_law`` are the paper's forms, typed by hand: no step uses
or computes them, and only the checks compare them with the steps.
"""

from __future__ import annotations

import sympy as sp

from theory.derive import generating
from theory.derive.algebra import settled, symbolic
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.generating import (
    A_MIN,
    INTEGER_MODULES,
    N_A,
    N_Z,
    Z_MIN,
    CutBinomial,
    J,
    Q,
    R,
    coefficient,
    equal_weight,
)

S, LABEL, LENGTH = sp.Symbol("s", integer=True), sp.Symbol("i", integer=True), sp.Symbol("L", integer=True)
OFFSET_ARGUMENT = {R: "the label, counted from the smallest possible for s: i − s − ζ_min − (q−1) α_min"}
SIZE_ARGUMENTS = {N_Z: "the number of keys", N_A: "the number of reasoning anchors"}
Q_ARGUMENT = {Q: "anchors in a sequence"}
RANGE_ARGUMENTS = {Z_MIN: "the smallest key", A_MIN: "the smallest reasoning anchor"}
UNIFORMS = (
    "The key is uniform on N_Z consecutive integers, every reasoning anchor on N_A consecutive ones, all "
    "independent; nothing is held out.",
)


def anchor_law(r: sp.Expr, n_keys: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return eq. 22 at r = i − s − ζ_min − (q−1) α_min: a key and q − 1 anchors."""
    top = r - J * n_anchors + q - 1
    both = CutBinomial(top, q - 1) - CutBinomial(top - n_keys, q - 1)
    return sp.Sum((-1) ** J * sp.binomial(q - 1, J) * both, (J, 0, q - 1)) / (n_keys * n_anchors ** (q - 1))


def key_law(r: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return the reasoning part of eq. 23 at r = i − z − q α_min: q anchors, the key given."""
    summand = (-1) ** J * sp.binomial(q, J) * CutBinomial(r - J * n_anchors + q - 1, q - 1)
    return sp.Sum(summand, (J, 0, q)) / n_anchors**q


def noise_law(r: sp.Expr, n_keys: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return the reasoning part of eq. 25 at r = i − ζ_min − q α_min: any key and q anchors."""
    top = r - J * n_anchors + q
    both = CutBinomial(top, q) - CutBinomial(top - n_keys, q)
    return sp.Sum((-1) ** J * sp.binomial(q, J) * both, (J, 0, q)) / (n_keys * n_anchors**q)


@derived(
    "eq 22",
    "Eq. 22 (and 8)",
    "The label distribution of a reasoning anchor, in closed form",
    *("label distribution", "label law"),
)
def label_formula() -> Derivation:
    """Derive the closed form of a reasoning anchor's label distribution (eq. 22)."""
    result = coefficient(1, Q - 1)
    return Derivation(
        quantity="P(Y^s = s + ζ_min + (q−1) α_min + r)",
        assumptions=(
            *UNIFORMS,
            "A binomial marked + is 0 when its top is below its bottom; r is any integer.",
        ),
        scope="Symbolic N_Z, N_A, q and r. Tests compare it with counted sums for q = 1, 2, 3, 4.",
        steps=(
            Step(
                "The generating function of one uniform integer in 0..N−1, here N = N_Z.",
                generating.one_uniform(N_Z),
            ),
            Step("For a key plus q − 1 anchors: the product.", generating.of_sum(1, Q - 1)),
            Step(
                "Expand the anchors' numerators by the binomial theorem.", generating.binomial_theorem(Q - 1)
            ),
            Step("Expand 1/(1−x)^q as a power series.", generating.negative_power(Q)),
            Step(
                "Collect the coefficient of x^r: solve for the power m that completes each term to r.", result
            ),
        ),
        statement=anchor_law(R, N_Z, N_A, Q),
        compare=symbolic,
        further_checks=_sums_back,
        arguments=OFFSET_ARGUMENT | SIZE_ARGUMENTS | Q_ARGUMENT,
        modules=INTEGER_MODULES,
    )


def _sums_back() -> tuple[Check, ...]:
    theorem, series = generating.residuals()
    return (
        Check("The binomial theorem, summed back by SymPy for a symbolic power.", theorem),
        Check("The power series of (1−x)^−(n+1), summed back for symbolic n.", series),
    )


@derived(
    "trapezoid",
    "Eq. 8 and 22 at q = 2",
    "The label distribution of a reasoning anchor with two anchors is a trapezoid",
    "eq 8",
)
def trapezoid() -> Derivation:
    """Specialise the label distribution to two anchors (eq. 8)."""
    closed = label_formula().result.subs(Q, 2)
    result = closed.doit()
    swapped = result.subs({N_A: N_Z, N_Z: N_A}, simultaneous=True)
    return Derivation(
        quantity="P(Y^s = s + ζ_min + α_min + r)",
        assumptions=UNIFORMS,
        scope="Symbolic N_Z, N_A and r; the cases below, rising, level, falling, above are checked singly.",
        steps=(
            Step("Put q = 2 into eq. 22.", closed),
            Step("Write the two terms out; a cut binomial over 1 is a ramp.", result),
        ),
        statement=sp.Max(0, sp.Min(R + 1, N_A, N_Z, N_A + N_Z - 1 - R)) / (N_Z * N_A),
        compare=_trapezoid_checks,
        further_checks=lambda: (
            Check("Exchanging N_Z and N_A changes nothing.", sp.simplify(result - swapped)),
        ),
        arguments=OFFSET_ARGUMENT | SIZE_ARGUMENTS,
        modules=INTEGER_MODULES,
    )


def _trapezoid_checks(result: sp.Expr, statement: sp.Expr) -> tuple[Check, ...]:
    """Compare case by case; non-negative slack variables k, l, b turn every case into a set of equations."""
    k, slack, b = sp.symbols("k l b", integer=True, nonnegative=True)
    wide = {N_A: k + 1 + slack, N_Z: k + 1 + slack + b}
    narrow = {N_A: slack + 1, N_Z: slack + 1 + b}
    cases = {
        "below the support": {R: -1 - k, **narrow},
        "rising": {R: k, **wide},
        "level": {R: slack + k, N_A: slack + 1, N_Z: slack + 1 + k + b},
        "falling": {R: k + 1 + slack + b - 1 + k, **wide},
        "above the support": {R: 2 * slack + 1 + b + k, **narrow},
    }
    return tuple(
        Check(
            f"Last step minus statement, {name}, N_A ≤ N_Z.",
            settled((result - statement).subs(values, simultaneous=True)),
        )
        for name, values in cases.items()
    )


@derived(
    "key distribution",
    "Eq. 23-25",
    "The label distribution of a key token, in closed form",
    *("key law", "key", "eq 23", "eq 24", "eq 25"),
)
def key_formula() -> Derivation:
    """Derive the label distribution of a key, as the key and as noise (eq. 23-25)."""
    as_key = coefficient(0, Q).subs(R, LABEL - S - Q * A_MIN)
    anyone = coefficient(1, Q).subs(R, LABEL - Z_MIN - Q * A_MIN)
    on_keys = sp.And(LABEL >= Z_MIN, LABEL < Z_MIN + N_Z)
    memory = sp.Piecewise((equal_weight(), on_keys), (0, True))
    occurrences = [1 / N_Z, (LENGTH - Q - 1) / N_Z]
    roles = [sp.cancel(n / sum(occurrences)) for n in occurrences]
    result = sum(share * (memory + part) / 2 for share, part in zip(roles, (as_key, anyone), strict=True))
    stated_key = key_law(LABEL - S - Q * A_MIN, N_A, Q)
    stated_noise = noise_law(LABEL - Z_MIN - Q * A_MIN, N_Z, N_A, Q)
    short = {LENGTH: Q + 1}
    return Derivation(
        quantity="P(Y^z = i) for the key token z = s",
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
            Step("As noise in it: the distribution of all reasoning labels, a key plus q anchors.", anyone),
            Step("In a memory sequence, in either role: uniform on the keys.", memory),
            Step(
                "Expected occurrences are 1/N_Z as the key and (L−q−1)/N_Z as noise: their shares.",
                sp.Matrix([roles]),
            ),
            Step("Mix the two roles by their shares and, in each, the two mappings half and half.", result),
        ),
        statement=sp.Piecewise((1 / N_Z, on_keys), (0, True)) / 2
        + (stated_key + (LENGTH - Q - 1) * stated_noise) / (2 * (LENGTH - Q)),
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "Without noise (L = q + 1) only the key's role is left.",
                settled(result.subs(short) - (memory + as_key) / 2),
            ),
        ),
        arguments={
            LABEL: "the label",
            S: "the key token",
            **RANGE_ARGUMENTS,
            **SIZE_ARGUMENTS,
            **Q_ARGUMENT,
            LENGTH: "tokens in a sequence, at least q + 1",
        },
        modules=INTEGER_MODULES,
    )
