"""The flow of the linear Emb-MLP: drive, conserved quantities, and the closure of the linearised rung."""

from __future__ import annotations

import functools
from collections.abc import Callable

import sympy as sp

from theory.derive import algebra
from theory.derive.algebra import D_M, EPS, SIZES, D, at_sizes, entrywise, replaced, written_out
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.emb_mlp import W1, W2, WEIGHT_ARGUMENTS

DRIVE = sp.MatrixSymbol("R", D, D)
W_EMB = sp.MatrixSymbol("W_emb", D, D_M)
TOKEN_LABEL, PAIRS, PRODUCT = (sp.MatrixSymbol(name, D, D) for name in ("C", "S", "B"))
COUNTS, LABEL, LOGITS, RATIOS = (sp.MatrixSymbol(name, 1, D) for name in ("c", "y", "o", "r"))
TIME = sp.Symbol("h")
MATRIX_ARGUMENTS = {W_EMB: "shape (d, d_m)"} | WEIGHT_ARGUMENTS
EQUATION = "Beyond the paper: a conserved quantity of the coupled flow"


@functools.cache
def flow_of_product() -> tuple[sp.MatrixExpr, ...]:
    """Return dW_emb, dW1, dW2: the gradient of ⟨R, W_emb W1 W2⟩, where R = −∂loss/∂(W_emb W1 W2)."""
    value = sp.Trace(DRIVE.T * W_EMB * W1 * W2)
    return tuple(sp.diff(value, m) for m in (W_EMB, W1, W2))


@derived("conserved 1", EQUATION, "What the joint flow of W_emb and W1 conserves", "coupled", "conserved")
def conserved_input() -> Derivation:
    """Differentiate W_embᵀ W_emb − W1 W1ᵀ along the flow."""
    return _conserved((W_EMB, W1), flow_of_product()[:2])


@derived("conserved 2", EQUATION, "What the joint flow of W1 and W2 conserves")
def conserved_output() -> Derivation:
    """Differentiate W1ᵀ W1 − W2 W2ᵀ along the flow."""
    return _conserved((W1, W2), flow_of_product()[1:])


def _rate(
    quantity: Callable[[sp.MatrixExpr], sp.MatrixExpr], matrix: sp.MatrixSymbol, by: sp.MatrixExpr
) -> sp.MatrixExpr:
    """Return the rate of change of a quantity of one matrix that moves with velocity ``by``."""
    return quantity(matrix + TIME * by).diff(TIME).subs(TIME, 0).doit()


def _conserved(
    matrices: tuple[sp.MatrixSymbol, sp.MatrixSymbol], flows: tuple[sp.MatrixExpr, ...]
) -> Derivation:
    first, second = matrices
    inner = _rate(lambda m: m.T * m, first, flows[0])
    outer = _rate(lambda m: m * m.T, second, flows[1])

    def compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
        moves = zip(matrices, flows, strict=True)
        pairs = [(at_sizes(m, SIZES), at_sizes(m + TIME * by, SIZES)) for m, by in moves]
        moved = sp.Matrix(replaced(at_sizes(statement, SIZES), *pairs))
        rate = moved.applyfunc(lambda entry: sp.expand(sp.diff(entry, TIME).subs(TIME, 0)))
        return (
            Check("The last step, for symbolic sizes.", result),
            Check("The rate of change of the stated Q, entry by entry at the small sizes.", rate),
        )

    name = first.name
    return Derivation(
        quantity="Q (and dQ/dt = 0)",
        assumptions=(
            "All matrices move, σ is the identity: the logits are c W_emb W1 W2.",
            "R is minus the loss's gradient with respect to the product W_emb W1 W2, in any form: C for the "
            "coupled flow, C − S B̄ for the linearised one, E[cᵀ(y − p)] for the population's.",
        ),
        scope="Steps: symbolic sizes d, d_m, d_f. The rate is also written out at d = 3, d_m = d_f = 2.",
        steps=(
            Step(f"The flow of {name}: the gradient of the trace of Rᵀ W_emb W1 W2.", flows[0]),
            Step(f"The flow of {second.name}.", flows[1]),
            Step(f"The rate of change of the first part of Q, {name}ᵀ {name}.", inner),
            Step(f"The rate of the second part, {second.name} {second.name}ᵀ.", outer),
            Step("Their difference, dQ/dt.", (inner - outer).expand().doit()),
        ),
        statement=first.T * first - second * second.T,
        compare=compare,
        arguments={m: MATRIX_ARGUMENTS[m] for m in matrices},
    )


@derived(
    "linearised",
    "Beyond the paper: the closure of the linearised flow",
    "To first order in the logits the drive needs only two statistics of the data",
    "closure",
)
def linearised() -> Derivation:
    """Expand the softmax about the uniform distribution to first order and average over the data."""
    steps, sizes = _closure_steps(), {D: SIZES[D]}
    matrix = written_out(TOKEN_LABEL, SIZES)
    sums = (sp.Matrix(steps[-1].expression) - matrix) * sp.ones(SIZES[D], 1)
    return Derivation(
        quantity="R = E[cᵀ (y − p)], to first order in the logits",
        assumptions=(
            "σ is the identity, the logits are o = c B, B = W_emb W1 W2; the softmax is linearised at 0.",
            "C = E[cᵀ (y − u)] and S = E[cᵀ c]; c are the token counts of a sequence. The three "
            "matrices follow the flows derived with the conserved quantities, with this R.",
        ),
        scope="Steps: general entries at d = 3. Statement: any size; tests compare it at real sizes.",
        steps=steps,
        statement=TOKEN_LABEL - PAIRS * PRODUCT * (sp.Identity(D) - sp.OneMatrix(D, D) / D) / D,
        compare=entrywise(sizes, _symmetric(written_out(PAIRS, SIZES))),
        further_checks=lambda: (
            Check(
                "Every row of the drive has the row sum of C: labels and softmax both sum to one.",
                sums.applyfunc(sp.expand),
            ),
        ),
        arguments={
            TOKEN_LABEL: "the token-label matrix C, shape (d, d)",
            PAIRS: "the pair matrix S, shape (d, d)",
            PRODUCT: "B = W_emb W1 W2, shape (d, d)",
            D: "the vocabulary size",
        },
    )


def _symmetric(matrix: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """Return a matrix and its symmetric form, which repeats the entries above the diagonal."""
    return matrix, sp.Matrix(*matrix.shape, lambda i, j: matrix[min(i, j), max(i, j)])


def _closure_steps() -> tuple[Step, ...]:
    o, c, y, product = (written_out(m, SIZES) for m in (LOGITS, COUNTS, LABEL, PRODUCT))
    moments = [written_out(m, SIZES) for m in (RATIOS, TOKEN_LABEL, PAIRS)]
    linear = algebra.softmax(EPS * o).applyfunc(lambda e: algebra.taylor(e, EPS, 1)).subs(EPS, 1)
    put_in = linear.subs(dict(zip(o, c * product, strict=True)), simultaneous=True)
    drive = c.T * (y - put_in)
    return (
        Step("The softmax to first order in the logits.", linear),
        Step("With the logits c B of one sequence.", put_in),
        Step("One sequence's drive cᵀ(y − p).", drive),
        Step(
            "Average over the data: products of two counts give S, counts times labels give C.",
            algebra.average_drive(drive, c, y, *moments),
        ),
    )
