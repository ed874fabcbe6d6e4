"""How large what an attention adds is beside what it is added to, at initialisation."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import D_K, D_M, centred_mean, symbolic, written_out
from theory.symbolic.attention import GAMMA
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.transformer import LENGTH, LENGTH_ARGUMENT

SIZES = {LENGTH: 2, D_M: 2, D_K: 3}
ROWS = sp.MatrixSymbol("x", LENGTH, D_M)
VALUE, OUTPUT = sp.MatrixSymbol("W_V", D_M, D_K), sp.MatrixSymbol("W_O", D_K, D_M)
SPREAD = sp.Symbol("v", positive=True)
VALUE_VARIANCE, OUTPUT_VARIANCE = sp.symbols("a b", positive=True)


@functools.cache
def attention_gain() -> Derivation:
    """Average the square of an entry of an averaged attention's output over all its factors."""
    steps = _steps()
    return Derivation(
        name="attention gain",
        equation="Beyond the paper: the size of an attention's output at initialisation",
        quantity="mean square of what attention adds over that of the residual stream",
        quantity_latex=r"\frac{E|\bar x W_V W_O|^2}{E|x|^2}",
        assumptions=(
            "The attention is the average over L different tokens; x are their rows, without a norm.",
            "All entries are independent, of mean 0: variance v in x, d_m^−2γ in W_V, d_k^−2γ in W_O.",
        ),
        scope="Steps: L = d_m = 2, d_k = 3. Statement: any size.",
        steps=steps,
        result=steps[-1].expression,
        statement=(D_M * D_K) ** (1 - 2 * GAMMA) / LENGTH,
        compare=_compare,
        further_checks=lambda: (_half_of_a_relu(),),
        arguments=(
            Argument(D_M, "the embedding width"),
            Argument(D_K, "the width of the values"),
            LENGTH_ARGUMENT,
            Argument(GAMMA, "the initialisation rate"),
        ),
    )


def _steps() -> tuple[Step, ...]:
    rows, value, output = (written_out(m, SIZES) for m in (ROWS, VALUE, OUTPUT))
    mean = sp.ones(1, SIZES[LENGTH]) * rows / SIZES[LENGTH]
    entry = (mean * value * output)[0]
    variances = dict.fromkeys(rows, SPREAD) | dict.fromkeys(value, VALUE_VARIANCE)
    variances |= dict.fromkeys(output, OUTPUT_VARIANCE)
    square = centred_mean(entry**2, variances)
    return (
        Step("The mean row of the tokens.", mean),
        Step("An entry of what the attention adds.", entry),
        Step("The mean of its square, a and b being the variances of W_V and W_O.", square),
        Step("Over v.", square / SPREAD),
    )


def _compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare at the sizes of the steps, with the variances that γ gives the two matrices."""
    width, inner = (sp.Integer(SIZES[size]) for size in (D_M, D_K))
    named = result.subs({VALUE_VARIANCE: width ** (-2 * GAMMA), OUTPUT_VARIANCE: inner ** (-2 * GAMMA)})
    return symbolic(named, statement.subs(SIZES))


def _half_of_a_relu() -> Check:
    """Compare the mean square of a rectified normal entry with that of the entry itself."""
    entry = sp.Symbol("h", real=True)
    density = sp.exp(-(entry**2) / 2) / sp.sqrt(2 * sp.pi)
    whole, half = (sp.integrate(entry**2 * density, (entry, low, sp.oo)) for low in (-sp.oo, 0))
    return Check("A ReLU keeps half of the mean square, in a feed-forward branch.", half - whole / 2)
