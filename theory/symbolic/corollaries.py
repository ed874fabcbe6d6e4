"""Proposition 1 with the label distributions put in: Corollaries 1 and 2."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import sympy as sp

from theory.symbolic.algebra import R_S, SIZES, D, at_sizes, entrywise, replaced, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import (
    DISTRIBUTION,
    RATIO_ARGUMENT,
    SIZE_ARGUMENT,
    UNIFORM,
    W1,
    W1_ARGUMENT,
    W2,
    W2_ARGUMENT,
    prop_1,
)
from theory.symbolic.generating import A_MIN, N_Z, Z_MIN, Q, R, coefficient
from theory.symbolic.labels import (
    LABEL,
    Q_ARGUMENT,
    SIZE_ARGUMENTS,
    S,
    equal_weight,
    label_formula,
    tables_residual,
)
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.stated import anchor_distribution

IS_KEY = sp.MatrixSymbol("z", 1, D)
MEMORY_DISTRIBUTION = IS_KEY / N_Z
MEMORY_ARGUMENTS = (
    Argument(IS_KEY, "1_Z, ones at the keys and zeros elsewhere, shape (1, d)"),
    Argument(N_Z, "the number of keys"),
)
REASONING_ARGUMENTS = (
    Argument(S, "the anchor"),
    Argument(Z_MIN, "the smallest key"),
    Argument(A_MIN, "the smallest reasoning anchor"),
    *SIZE_ARGUMENTS,
    Q_ARGUMENT,
)


class ReasoningDistribution(sp.Function):  # type: ignore[misc]
    """Eq. 22 as a function of (i, s, ζ_min, α_min, N_Z, N_A, q), written out by ``rewrite(Sum)``."""

    nargs = 7

    def _eval_rewrite_as_Sum(self, *args: sp.Expr, **_: object) -> sp.Expr:
        i, s, z_min, a_min, n_keys, n_anchors, q = args
        return anchor_distribution(i - s - z_min - (q - 1) * a_min, n_keys, n_anchors, q)

    def _latex(self, printer: Any) -> str:
        return rf"P^{{{printer._print(self.args[1])}}}_{{{printer._print(self.args[0])}}}"


REASONING_DISTRIBUTION = ReasoningDistribution(LABEL, *(a.symbol for a in REASONING_ARGUMENTS))
REASONING_ROW = sp.FunctionMatrix(1, D, sp.Lambda((sp.Symbol("a"), LABEL), REASONING_DISTRIBUTION))


@functools.cache
def array_modules() -> tuple[Any, ...]:
    """Return the function of eq. 22's derivation, which evaluates it for a whole row of labels."""
    distribution = label_formula().function()

    def at(i: int, s: int, z_min: int, a_min: int, n_keys: int, n_anchors: int, q: int) -> float:
        return float(distribution(i - s - z_min - (q - 1) * a_min, n_keys, n_anchors, q))

    return ({"ReasoningDistribution": np.vectorize(at, otypes=[float])}, "numpy")


def memory_steps() -> tuple[Step, Step]:
    """Compute the label distribution of a memory anchor: every entry of the table is uniform on Z."""
    weight, keys = equal_weight(), at_sizes(IS_KEY, SIZES)
    return (
        Step("The probability of each of N_Z equally likely labels, which sum to one.", weight),
        Step("The label distribution of a memory anchor: that at every key.", keys * weight),
    )


def reasoning_steps() -> tuple[Step, Step]:
    """Compute the label distribution of a reasoning anchor from its generating function."""
    distribution = coefficient(1, Q - 1).subs(R, LABEL - S - Z_MIN - (Q - 1) * A_MIN)
    row = sp.Matrix([[distribution.subs(LABEL, i) for i in range(SIZES[D])]])
    return (
        Step(
            "The label distribution of a reasoning anchor, collected from its generating function.",
            distribution,
        ),
        Step("Written as a row over the vocabulary.", row),
    )


def _put_in(distribution: tuple[Step, Step]) -> tuple[Step, ...]:
    """Put a label distribution, the last of two steps, into the last step of Proposition 1."""
    result = replaced(
        prop_1().result, (written_out(DISTRIBUTION, SIZES), sp.Matrix(distribution[-1].expression))
    )
    return (
        Step("The last step of Proposition 1.", prop_1().result),
        *distribution,
        Step("Put the distribution in.", result),
    )


@functools.cache
def cor_1() -> Derivation:
    """Put a memory anchor's label distribution into Proposition 1 (eq. 26)."""
    steps = _put_in(memory_steps())
    statement = R_S * (MEMORY_DISTRIBUTION - UNIFORM) * W2.T * W1.T
    return Derivation(
        name="cor 1",
        equation="Cor. 1, eq. 26 (with eq. 7, 21)",
        quantity="dw_s/dt for a memory anchor s",
        quantity_latex=r"\left.\frac{dw_s}{dt}\right|_{s \in \mathcal{A}_{\mathrm{mem}}}",
        assumptions=(
            "Those of Proposition 1.",
            "A memory anchor's labels are uniform on the N_Z keys (eq. 7), whichever anchor it is.",
        ),
        scope=prop_1().scope,
        steps=steps,
        result=steps[-1].expression,
        statement=statement,
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check("The weight, averaged over all 27 tables of three keys.", tables_residual()),
        ),
        arguments=(RATIO_ARGUMENT, *MEMORY_ARGUMENTS, W1_ARGUMENT, W2_ARGUMENT, SIZE_ARGUMENT),
    )


@functools.cache
def cor_2() -> Derivation:
    """Put a reasoning anchor's label distribution into Proposition 1 (eq. 27)."""
    steps = _put_in(reasoning_steps())
    statement = R_S * (REASONING_ROW - UNIFORM) * W2.T * W1.T
    return Derivation(
        name="cor 2",
        equation="Cor. 2, eq. 27 (with eq. 22)",
        quantity="dw_s/dt for a reasoning anchor s",
        quantity_latex=r"\left.\frac{dw_s}{dt}\right|_{s \in \mathcal{A}_{\mathrm{rsn}}}",
        assumptions=("Those of Proposition 1.", "Those of eq. 22."),
        scope=prop_1().scope + " The distribution has symbolic N_Z, N_A, q, ζ_min and α_min.",
        steps=steps,
        result=steps[-1].expression,
        statement=statement,
        compare=entrywise(SIZES),
        arguments=(RATIO_ARGUMENT, *REASONING_ARGUMENTS, W1_ARGUMENT, W2_ARGUMENT, SIZE_ARGUMENT),
        modules=array_modules(),
    )
