"""Lemma 1: how close the attention is to an average at initialisation."""

from __future__ import annotations

import sympy as sp

from theory.derive.algebra import D_K, D_M, EPS, symbolic
from theory.derive.derivation import Check, Derivation, Step, derived

GAMMA = sp.Symbol("gamma", real=True)
LENGTH, ROW = sp.symbols("L i", integer=True, positive=True)
SCALE, WEIGHT_SCALE, VARIANCE, ENTRY = sp.symbols("s t V a", positive=True)
SQUARE, OTHER = sp.symbols("X Y", positive=True)


@derived("lemma 1", "Lemma 1", "At initialisation the attention is nearly an average")
def lemma_1() -> Derivation:
    """Bound the probability that a row of attention strays from 1/i."""
    logits, self_factor = _logit_steps()
    steepest = _steepest_entry()
    row = VARIANCE * self_factor * ROW * steepest[-1].expression / EPS**2
    every = sp.factor(sp.Sum(row, (ROW, 2, LENGTH)).doit())
    return Derivation(
        quantity="a lower bound of P(|A_ij − 1/i| ≤ ε for all j ≤ i ≤ L)",
        assumptions=(
            "The entries of X, W_Q and W_K are independent N(0, d_m^−2γ) (Section 2.4): the embedding alone, "
            "no layer norm. A token may occur twice in a sequence. The paper's proof draws W_Q and W_K at "
            "d_k^−γ; one step shows the variance for that.",
            "Given X, the entries of a query x W_Q are independent with variance t² |x|², as are a key's.",
            "Markov's inequality for |S_i|², and the union bound over the rows 2, …, L.",
        ),
        scope="Symbolic ε, γ, d_m, d_k and L; the bound does not depend on d_k.",
        steps=(
            *logits,
            *steepest,
            Step("Markov's inequality for row i: E|S_i|² is at most i times the largest of its terms.", row),
            Step("The sum over the rows 2, …, L.", every),
            Step(
                "One minus this, with the variance put in.", 1 - every.subs(VARIANCE, logits[-1].expression)
            ),
        ),
        statement=1 - (LENGTH - 1) * (LENGTH + 2) / (16 * EPS**2) * D_M ** (2 - 8 * GAMMA) * (1 + 2 / D_M),
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "An entry of a softmax of two is steepest at 1/2, with |∇a|² = 1/8.",
                steepest[-1].expression - _steepest_of_two(),
            ),
            Check(
                "With W_Q, W_K at d_k^−γ the variance is (d_k/d_m)^−4γ times as large.",
                sp.simplify(logits[-2].expression / logits[-1].expression - (D_K / D_M) ** (-4 * GAMMA)),
            ),
        ),
        arguments={
            EPS: "the tolerance",
            GAMMA: "the initialisation rate",
            D_M: "the embedding width",
            LENGTH: "tokens in a sequence",
        },
    )


def _logit_steps() -> tuple[tuple[Step, ...], sp.Expr]:
    """Return the steps to the variance of a logit, and the factor for a token paired with itself."""
    k = sp.Symbol("k", integer=True, positive=True)
    given = sp.Sum(WEIGHT_SCALE**2 * SQUARE * WEIGHT_SCALE**2 * OTHER / D_K, (k, 1, D_K)).doit()
    second, fourth = (gaussian_moment(n) for n in (2, 4))
    length = D_M * second
    apart = given.subs({SQUARE: length, OTHER: length})
    square = D_M * fourth + D_M * (D_M - 1) * second**2
    factor = sp.expand(sp.cancel(square / length**2))
    embedded = apart.subs(SCALE, D_M**-GAMMA)
    by_proof, by_section = (sp.powsimp(embedded.subs(WEIGHT_SCALE, fan_in**-GAMMA)) for fan_in in (D_K, D_M))
    steps = (
        Step("E[S_ij²] given X, with X = |x_i|² and Y = |x_j|²: d_k products, each divided by d_k.", given),
        Step("E|x|², the sum of d_m second moments, with s the standard deviation of an entry.", length),
        Step("The variance V of a logit of two tokens.", apart),
        Step("A token paired with itself has E|x|⁴ instead: the ratio to (E|x|²)².", factor),
        Step("With s = d_m^−γ, and t = d_k^−γ as in the paper's proof.", by_proof),
        Step("With s = t = d_m^−γ, the fan-in of Section 2.4.", by_section),
    )
    return steps, factor


def gaussian_moment(order: int) -> sp.Expr:
    """Integrate x^n against the normal density of standard deviation s."""
    x = sp.Symbol("x", real=True)
    density = sp.exp(-(x**2) / (2 * SCALE**2)) / (SCALE * sp.sqrt(2 * sp.pi))
    return sp.simplify(sp.integrate(x**order * density, (x, -sp.oo, sp.oo)))


def _steepest_entry() -> tuple[Step, ...]:
    """Return the steps to the largest squared gradient of a softmax entry a."""
    # ∂a/∂S_j = a (δ_aj − A_j), and the squares of the other entries sum to at most (1 − a)².
    square = ENTRY**2 * ((1 - ENTRY) ** 2 + (1 - ENTRY) ** 2)
    turns = sp.solve(sp.diff(square, ENTRY), ENTRY)
    largest = max(square.subs(ENTRY, turn) for turn in turns)
    return (
        Step("A bound on |∇a|² of a softmax entry a: the others' squares sum to at most (1 − a)².", square),
        Step("Its largest value: |A_ij − 1/i|² is at most this times |S_i|².", sp.sympify(largest)),
    )


def _steepest_of_two() -> sp.Expr:
    u, v = sp.symbols("u v", real=True)
    entry = sp.exp(u) / (sp.exp(u) + sp.exp(v))
    return sum(sp.diff(entry, s).subs({u: 0, v: 0}) ** 2 for s in (u, v))
