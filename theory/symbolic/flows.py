"""The flow of the linear Emb-MLP: its drive, what it conserves, and the closure of the linearised rung."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import sympy as sp

from theory.symbolic.algebra import (
    D_M,
    EPS,
    SIZES,
    D,
    at_sizes,
    average,
    entrywise,
    replaced,
    softmax,
    taylor,
    written_out,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import W1, W1_ARGUMENT, W2, W2_ARGUMENT
from theory.symbolic.parts import Argument, Check, Compare, Step

DRIVE = sp.MatrixSymbol("R", D, D)
W_EMB = sp.MatrixSymbol("W_emb", D, D_M)
TOKEN_LABEL, PAIRS, PRODUCT = (sp.MatrixSymbol(name, D, D) for name in ("C", "S", "B"))
COUNTS, LABEL, LOGITS, RATIOS = (sp.MatrixSymbol(name, 1, D) for name in ("c", "y", "o", "r"))
TIME = sp.Symbol("h")
EMBEDDING_ARGUMENT = Argument(W_EMB, "shape (d, d_m)")


@functools.cache
def flow_of_product() -> tuple[sp.MatrixExpr, sp.MatrixExpr, sp.MatrixExpr]:
    """Return dW_emb, dW1, dW2: the gradient of ⟨R, W_emb W1 W2⟩, where R = −∂loss/∂(W_emb W1 W2)."""
    value = sp.Trace(DRIVE.T * W_EMB * W1 * W2)
    gradients = [sp.diff(value, m) for m in (W_EMB, W1, W2)]
    return gradients[0], gradients[1], gradients[2]


def _moved(
    quantity: Callable[[sp.MatrixExpr], sp.MatrixExpr], matrix: sp.MatrixSymbol, by: sp.MatrixExpr
) -> sp.MatrixExpr:
    """Return the rate of change of a quantity of one matrix that moves with velocity ``by``."""
    return quantity(matrix + TIME * by).diff(TIME).subs(TIME, 0).doit()


@functools.cache
def conserved_input() -> Derivation:
    """Differentiate W_embᵀ W_emb − W1 W1ᵀ along the flow."""
    d_emb, d_1, _ = flow_of_product()
    return _conserved("conserved 1", (W_EMB, W1), (d_emb, d_1))


@functools.cache
def conserved_output() -> Derivation:
    """Differentiate W1ᵀ W1 − W2 W2ᵀ along the flow."""
    _, d_1, d_2 = flow_of_product()
    return _conserved("conserved 2", (W1, W2), (d_1, d_2))


def _conserved(
    name: str,
    matrices: tuple[sp.MatrixSymbol, sp.MatrixSymbol],
    flows: tuple[sp.MatrixExpr, sp.MatrixExpr],
) -> Derivation:
    first, second = matrices
    inner = _moved(lambda m: m.T * m, first, flows[0])
    outer = _moved(lambda m: m * m.T, second, flows[1])
    result = (inner - outer).expand().doit()
    explicit = (at_sizes(inner, SIZES) - at_sizes(outer, SIZES)).applyfunc(sp.expand)
    arguments = {W_EMB: EMBEDDING_ARGUMENT, W1: W1_ARGUMENT, W2: W2_ARGUMENT}
    return Derivation(
        name=name,
        equation="Beyond the paper: a conserved quantity of the coupled flow",
        quantity="Q (and dQ/dt = 0)",
        quantity_latex=r"Q",
        assumptions=(
            "All matrices move, σ is the identity: the logits are c W_emb W1 W2.",
            "R is minus the loss's gradient by the product W_emb W1 W2, whatever it is: C for the coupled "
            "flow, C − S B̄ for the linearised one, E[cᵀ(y − p)] for the population's.",
        ),
        scope="Steps: symbolic sizes d, d_m, d_f. The rate is also written out at d = 3, d_m = d_f = 2.",
        steps=(
            Step(f"The flow of {first.name}: the gradient of the trace of Rᵀ W_emb W1 W2.", flows[0]),
            Step(f"The flow of {second.name}.", flows[1]),
            Step(
                f"The rate of change of the first part of Q, the product of {first.name}ᵀ and {first.name}.",
                inner,
            ),
            Step(f"That of the second part, the product of {second.name} and {second.name}ᵀ.", outer),
            Step("Their difference, dQ/dt.", result),
        ),
        result=result,
        statement=first.T * first - second * second.T,
        compare=_conserved_by(dict(zip(matrices, flows, strict=True))),
        further_checks=lambda: (Check("The rate of change, entry by entry at the small sizes.", explicit),),
        arguments=(arguments[first], arguments[second]),
    )


def _conserved_by(flows: Mapping[sp.MatrixSymbol, sp.MatrixExpr]) -> Compare:
    """Return what moves every matrix of a stated Q along its flow and differentiates Q."""

    def compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
        pairs = [(at_sizes(m, SIZES), at_sizes(m + TIME * by, SIZES)) for m, by in flows.items()]
        moved = replaced(at_sizes(statement, SIZES), *pairs)
        rate = moved.applyfunc(lambda entry: sp.expand(sp.diff(entry, TIME).subs(TIME, 0)))
        return (
            Check("The last step, for symbolic sizes.", result),
            Check("The rate of change of the stated Q, entry by entry at the small sizes.", rate),
        )

    return compare


@functools.cache
def linearised() -> Derivation:
    """Expand the softmax about the uniform distribution to first order and average over the data."""
    steps = _closure_steps()
    result = steps[-1].expression
    statement = TOKEN_LABEL - PAIRS * PRODUCT * (sp.Identity(D) - sp.OneMatrix(D, D) / D) / D
    return Derivation(
        name="linearised",
        equation="Beyond the paper: the closure of the linearised flow",
        quantity="R = E[cᵀ (y − p)], to first order in the logits",
        quantity_latex=r"R = \mathrm{E}\left[c^{T}(y - p)\right]",
        assumptions=(
            "σ is the identity, the logits are o = c B B = W_emb W1 W2; the softmax is linearised at 0.",
            "C = E[cᵀ (y − u)] and S = E[cᵀ c]; c are the token counts of a sequence. The flows of the three "
            "matrices are those of the conserved quantities' derivations with this R.",
        ),
        scope="Steps: general entries at d = 3. Statement: any size; tests compare it at real sizes.",
        steps=steps,
        result=result,
        statement=statement,
        compare=entrywise({D: SIZES[D]}),
        further_checks=lambda: (
            Check(
                "Every row of the drive has the row sum of C: labels and softmax both sum to one.",
                _row_sums(result),
            ),
        ),
        arguments=(
            Argument(TOKEN_LABEL, "the token-label matrix C, shape (d, d)"),
            Argument(PAIRS, "the pair matrix S, shape (d, d)"),
            Argument(PRODUCT, "B = W_emb W1 W2, shape (d, d)"),
            Argument(D, "the vocabulary size"),
        ),
    )


def _row_sums(result: sp.Matrix) -> sp.Matrix:
    """Return the row sums of the drive less those of C: the labels' and the softmax's sums cancel."""
    matrix = written_out(TOKEN_LABEL, SIZES)
    return ((result - matrix) * sp.ones(SIZES[D], 1)).applyfunc(sp.expand)


def _closure_steps() -> tuple[Step, ...]:
    o, c, y, product = (written_out(m, SIZES) for m in (LOGITS, COUNTS, LABEL, PRODUCT))
    linear = softmax(EPS * o).applyfunc(lambda e: taylor(e, EPS, 1)).subs(EPS, 1)
    put_in = linear.subs(dict(zip(o, c * product, strict=True)), simultaneous=True)
    drive = c.T * (y - put_in)
    return (
        Step("The softmax to first order in the logits.", linear),
        Step("With the logits c B of one sequence.", put_in),
        Step("One sequence's drive cᵀ(y − p).", drive),
        Step(
            "Average over the data: products of two counts give S, counts times labels give C.", _mean(drive)
        ),
    )


def _mean(drive: sp.Matrix) -> sp.Matrix:
    """Average a drive over the data: in row x, c_x y_k gives C and c_x c_z gives S."""
    c, y, ratios, matrix, pairs = (written_out(m, SIZES) for m in (COUNTS, LABEL, RATIOS, TOKEN_LABEL, PAIRS))

    def entry(x: int, k: int) -> sp.Expr:
        means = {c[x]: ratios[x]}
        means |= {c[x] * y[i]: matrix[x, i] + ratios[x] / len(y) for i in range(len(y))}
        means |= {c[x] * other: pairs[x, z] for z, other in enumerate(c)}
        return sp.expand(average(drive[x, k], [*c, *y], means))

    return sp.Matrix(*drive.shape, entry)
