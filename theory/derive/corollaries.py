"""Proposition 1 with the label distributions inserted: Corollaries 1 and 2."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.pretty.stringpict import prettyForm

from theory.derive.algebra import R_S, SIZES, D, at_sizes, entrywise, replaced, written_out
from theory.derive.derivation import Derivation, Step, derived
from theory.derive.emb_mlp import (
    DISTRIBUTION,
    RATIO_ARGUMENT,
    SIZE_ARGUMENT,
    UNIFORM,
    W1,
    W2,
    WEIGHT_ARGUMENTS,
    prop_1,
)
from theory.derive.generating import A_MIN, N_Z, Z_MIN, Q, R, coefficient, equal_weight
from theory.derive.labels import (
    LABEL,
    Q_ARGUMENT,
    RANGE_ARGUMENTS,
    SIZE_ARGUMENTS,
    S,
    anchor_law,
    label_formula,
)

IS_KEY = sp.MatrixSymbol("z", 1, D)
MEMORY_ROW = IS_KEY / N_Z
MEMORY_ARGUMENTS = {
    IS_KEY: "1_Z, ones at the keys and zeros elsewhere, shape (1, d)",
    N_Z: "the number of keys",
}
REASONING_ARGUMENTS = {S: "the anchor"} | RANGE_ARGUMENTS | SIZE_ARGUMENTS | Q_ARGUMENT


class ReasoningDistribution(sp.Function):  # type: ignore[misc]
    """Eq. 22 as a function of (i, s, ζ_min, α_min, N_Z, N_A, q), written out by ``rewrite(Sum)``."""

    nargs = 7

    def _eval_rewrite_as_Sum(self, *args: sp.Expr, **_: object) -> sp.Expr:
        i, s, z_min, a_min, n_keys, n_anchors, q = args
        return anchor_law(i - s - z_min - (q - 1) * a_min, n_keys, n_anchors, q)


class _ReasoningRow(sp.FunctionMatrix):  # type: ignore[misc]
    """The label distribution of a reasoning anchor as a row, printed as P^s."""

    def _latex(self, printer: Any, **_: object) -> str:
        return r"\mathbf{P}^{s}"

    def _pretty(self, printer: Any) -> Any:
        return prettyForm("Pˢ")


REASONING_ROW = _ReasoningRow(
    1, D, sp.Lambda((sp.Symbol("a"), LABEL), ReasoningDistribution(LABEL, *REASONING_ARGUMENTS))
)


@functools.cache
def array_modules() -> tuple[Any, ...]:
    """Return modules for ``lambdify``: eq. 22's derived function, for a whole row of labels, and NumPy."""
    law = label_formula().function()

    def at(i: int, s: int, z_min: int, a_min: int, n_keys: int, n_anchors: int, q: int) -> float:
        return float(law(i - s - z_min - (q - 1) * a_min, n_keys, n_anchors, q))

    return ({"ReasoningDistribution": np.vectorize(at, otypes=[float])}, "numpy")


def memory_steps() -> tuple[Step, Step]:
    """Compute the label distribution of a memory anchor: every entry of the table is uniform on Z."""
    weight, keys = equal_weight(), at_sizes(IS_KEY, SIZES)
    return (
        Step("The probability of each of N_Z equally likely labels: N_Z times it is one.", weight),
        Step("The label distribution of a memory anchor: this probability at every key.", keys * weight),
    )


def reasoning_steps() -> tuple[Step, Step]:
    """Compute the label distribution of a reasoning anchor from its generating function."""
    law = coefficient(1, Q - 1).subs(R, LABEL - S - Z_MIN - (Q - 1) * A_MIN)
    row = sp.Matrix([[law.subs(LABEL, i) for i in range(SIZES[D])]])
    return (
        Step("The label distribution of a reasoning anchor, collected from its generating function.", law),
        Step("Written as a row over the vocabulary.", row),
    )


def _put_in(distribution: tuple[Step, Step]) -> tuple[Step, ...]:
    """Insert a label distribution, the second of two steps, into the last step of Proposition 1."""
    row = sp.Matrix(distribution[-1].expression)
    return (
        Step("The last step of Proposition 1.", prop_1().result),
        *distribution,
        Step("Insert the distribution.", replaced(prop_1().result, (written_out(DISTRIBUTION, SIZES), row))),
    )


@derived(
    "cor 1",
    "Cor. 1, eq. 26 (with eq. 7, 21)",
    "The leading flow of a memory anchor's embedding",
    *("eq 7", "eq 21", "eq 26", "memory anchor"),
)
def cor_1() -> Derivation:
    """Put a memory anchor's label distribution into Proposition 1 (eq. 26)."""
    return Derivation(
        quantity="dw_s/dt for a memory anchor s",
        assumptions=(
            "Those of Proposition 1.",
            "A memory anchor's labels are uniform on the N_Z keys (eq. 7), whichever anchor it is.",
        ),
        scope=prop_1().scope,
        steps=_put_in(memory_steps()),
        statement=R_S * (MEMORY_ROW - UNIFORM) * W2.T * W1.T,
        compare=entrywise(SIZES),
        arguments=RATIO_ARGUMENT | MEMORY_ARGUMENTS | WEIGHT_ARGUMENTS | SIZE_ARGUMENT,
    )


@derived(
    "cor 2",
    "Cor. 2, eq. 27 (with eq. 22)",
    "The leading flow of a reasoning anchor's embedding",
    *("eq 27", "reasoning anchor"),
)
def cor_2() -> Derivation:
    """Put a reasoning anchor's label distribution into Proposition 1 (eq. 27)."""
    return Derivation(
        quantity="dw_s/dt for a reasoning anchor s",
        assumptions=("Those of Proposition 1.", "Those of eq. 22."),
        scope=prop_1().scope + " The distribution has symbolic N_Z, N_A, q, ζ_min and α_min.",
        steps=_put_in(reasoning_steps()),
        statement=R_S * (REASONING_ROW - UNIFORM) * W2.T * W1.T,
        compare=entrywise(SIZES),
        arguments=RATIO_ARGUMENT | REASONING_ARGUMENTS | WEIGHT_ARGUMENTS | SIZE_ARGUMENT,
        modules=array_modules(),
    )
