"""What a network with linear σ must answer on combinations that it never saw: three statements."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import (
    D_F,
    D_M,
    D,
    at_sizes,
    centred_mean,
    entrywise,
    replaced,
    symbolic,
    written_out,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.generating import N_Z
from theory.symbolic.parts import Argument, Check, Step

TRAINED, LABELS = sp.symbols("n k", integer=True, positive=True)
TOKENS = ("z", "a", "a'", "b", "b'")
"""A key, and two anchors for each of the two slots."""
SIZES = {TRAINED: 3, D: len(TOKENS), LABELS: 2}
SHARES = sp.MatrixSymbol("alpha", 1, TRAINED)
TRAINED_LOGITS = sp.MatrixSymbol("o", TRAINED, LABELS)
LOGIT_MAP = sp.MatrixSymbol("B", D, LABELS)


@functools.cache
def parallelogram() -> Derivation:
    """Eliminate the logit map between trained and held-out logits."""
    steps = _extension_steps()
    return Derivation(
        name="held out",
        equation="Beyond the paper: logits on held-out combinations",
        quantity="o(X) of a held-out sequence",
        quantity_latex=r"o(X)",
        assumptions=(
            "Logits are o(X) = c(X) B with the token counts c: σ is linear, B is anything.",
            "α writes the counts of the held-out sequence as a sum of those of trained ones.",
        ),
        scope="Steps: (z, a, b) from (z, a, b'), (z, a', b), (z, a', b'); general B, 2 labels. "
        "Statement: any sequences.",
        steps=steps,
        result=steps[-1].expression,
        statement=SHARES * TRAINED_LOGITS,
        compare=_compare_parallelogram,
        arguments=(
            Argument(SHARES, "what each trained sequence enters with, shape (1, n)"),
            Argument(TRAINED_LOGITS, "the logits on the trained sequences, shape (n, k)"),
        ),
    )


def counts(*tokens: str) -> sp.Matrix:
    """Return the row of counts of some tokens."""
    return sp.Matrix([[tokens.count(token) for token in TOKENS]])


def trained_counts() -> sp.Matrix:
    """Return the counts of the other three corners."""
    return sp.Matrix.vstack(counts("z", "a", "b'"), counts("z", "a'", "b"), counts("z", "a'", "b'"))


def shares() -> sp.Matrix:
    """Return the weights with which trained counts add up to the held-out ones."""
    unknown = written_out(SHARES, SIZES)
    found = sp.solve(list(unknown * trained_counts() - counts("z", "a", "b")), list(unknown), dict=True)
    return sp.Matrix(unknown.subs(found[0]))


def _extension_steps() -> tuple[Step, ...]:
    B, known = written_out(LOGIT_MAP, SIZES), written_out(TRAINED_LOGITS, SIZES)
    ours, trained = counts("z", "a", "b") * B, trained_counts() * B
    # As many entries of B as there are trained logits: the rows of a, a' and b.
    named = sp.solve(list(trained - known), list(B[1:4, :]), dict=True)[0]
    return (
        Step("The counts of the trained sequences, in the order z, a, a', b, b'.", trained_counts()),
        Step("The weights with which they add up to those of (z, a, b).", shares()),
        Step("The logits on (z, a, b).", ours),
        Step("Written by the trained logits: B has dropped out.", ours.subs(named).applyfunc(sp.expand)),
    )


def _compare_parallelogram(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare at the weights of the parallelogram."""
    stated = replaced(at_sizes(statement, SIZES), (written_out(SHARES, SIZES), shares()))
    rest = (sp.Matrix(result) - sp.Matrix(stated)).applyfunc(sp.expand)
    return (Check("Last step minus statement, every entry, at the weights found.", rest),)


LATE_SIZES = {D: 2, D_M: 2, D_F: 2}
DRIVE, START = sp.MatrixSymbol("C", D, D), sp.MatrixSymbol("W_emb", D, D_M)
FIRST, SECOND = sp.MatrixSymbol("W_1", D_M, D_F), sp.MatrixSymbol("W_2", D_F, D)
FIRST_STD, SECOND_STD = sp.symbols("s_1 s_2", positive=True)
TIME = sp.Symbol("t", positive=True)


@functools.cache
def late_logits() -> Derivation:
    """Follow the frozen rung to late times, and average over Gaussian weights."""
    steps = _late_steps()
    return Derivation(
        name="late frozen logits",
        equation="Beyond the paper: the frozen rung's answers",
        quantity="mean of B/t at late times",
        quantity_latex=r"E \lim_{t \to \infty} \frac{B}{t}",
        assumptions=(
            "Logits are o(X) = c(X) B, B = W_emb W1 W2, and W1, W2 stay at their initial values.",
            "dW_emb/dt = C W2ᵀ W1ᵀ (eq. 5). The row of a token x in C is r_x (P^x − u).",
            "The entries of W1 and W2 are independent, of mean 0 and variances s₁² and s₂².",
        ),
        scope="Steps: general entries at d = d_m = d_f = 2. Statement: any size.",
        steps=steps,
        result=steps[-1].expression,
        statement=D_M * D_F * FIRST_STD**2 * SECOND_STD**2 * DRIVE,
        compare=entrywise(LATE_SIZES),
        arguments=(
            Argument(DRIVE, "the drive C, shape (d, d)"),
            Argument(FIRST_STD, "the standard deviation of the entries of W1"),
            Argument(SECOND_STD, "that of the entries of W2"),
            Argument(D_M, "the embedding width"),
            Argument(D_F, "the hidden width"),
        ),
    )


def _late_steps() -> tuple[Step, ...]:
    C, start, first, second = (written_out(m, LATE_SIZES) for m in (DRIVE, START, FIRST, SECOND))
    moved = start + (C * second.T * first.T).applyfunc(lambda rate: sp.integrate(rate, (TIME, 0, TIME)))
    logit_map = (moved * first * second).applyfunc(sp.expand)
    late = logit_map.applyfunc(lambda entry: entry.coeff(TIME, 1))
    variances = dict.fromkeys(first, FIRST_STD**2) | dict.fromkeys(second, SECOND_STD**2)
    return (
        Step("The embedding at time t: its velocity does not change.", moved),
        Step("B, the map from counts to logits.", logit_map),
        Step("What B/t tends to: what t stands with.", late),
        Step("Its mean over W1 and W2.", late.applyfunc(lambda entry: centred_mean(entry, variances))),
    )


MARGIN = sp.Symbol("delta", positive=True)
KEY = sp.Symbol("z", integer=True, positive=True)


@functools.cache
def widest_margin() -> Derivation:
    """Add up the steps between the scores of neighbouring keys."""
    steps = _margin_steps()
    return Derivation(
        name="one mode",
        equation="Beyond the paper: the widest margin of one mode on sums",
        quantity="the widest margin δ",
        quantity_latex=r"\delta",
        assumptions=(
            "Logits are m_y + s(X) v_y, s(X) the sum of the tokens' scores, each in [−1, 1].",
            "δ is half the smallest gap between the scores of sequences with neighbouring labels.",
            "The labels are sums with N_Z consecutive keys: (z, a, b) and (z + 1, a, b) are neighbours.",
            "The anchors span no more than the keys, so that their scores fit into [−1, 1] too.",
        ),
        scope="Symbolic number of keys.",
        steps=steps,
        result=steps[-1].expression,
        statement=1 / (N_Z - 1),
        compare=symbolic,
        further_checks=lambda: (_attained(), _within_bounds()),
        arguments=(Argument(N_Z, "the number of keys"),),
    )


def key_range() -> sp.Expr:
    """Return how far the scores of the first and the last key are apart at least."""
    return sp.factor(sp.summation(2 * MARGIN, (KEY, 1, N_Z - 1)))


def score() -> sp.Expr:
    """Return the score of the z-th key that reaches the margin."""
    return (2 * KEY - N_Z - 1) / (N_Z - 1)


def _margin_steps() -> tuple[Step, ...]:
    return (
        Step("From one key to the next the score rises by 2 δ at least; over all keys.", key_range()),
        Step("Scores lie in [−1, 1]: at most 2.", sp.solve(sp.Eq(key_range(), 2), MARGIN)[0]),
    )


def _attained() -> Check:
    gap = score().subs(KEY, KEY + 1) - score()
    return Check(
        "Scores that rise by the same from key to key have it.",
        sp.simplify(gap / 2 - widest_margin().statement),
    )


def _within_bounds() -> Check:
    ends = sp.Matrix([[score().subs(KEY, 1) + 1, score().subs(KEY, N_Z) - 1]])
    return Check("They run from −1 to 1.", ends.applyfunc(sp.simplify))
