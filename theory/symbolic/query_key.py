"""What moves the logits of an attention that is still the average: the first step towards W_Q and W_K."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import entrywise, softmax, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Step
from theory.symbolic.transformer import LENGTH, LENGTH_ARGUMENT

SIZES = {LENGTH: 3}
WORTH, LOGITS = (sp.MatrixSymbol(name, 1, LENGTH) for name in ("a", "S"))


@functools.cache
def logit_drive() -> Derivation:
    """Differentiate the value of an attention row with respect to its logits, where they are equal."""
    steps = _steps()
    return Derivation(
        name="query key",
        equation="Beyond the paper: the first motion of W_Q and W_K",
        quantity="−∂ℓ/∂S of one sequence",
        quantity_latex=r"-\frac{\partial \ell}{\partial S}",
        assumptions=(
            "A = softmax(S) is the last row of an attention; its output is the sum of A_j v_j.",
            "g is minus the gradient of the loss by that output, and a_j = g v_jᵀ.",
            "The logits S are equal: the attention is the average.",
        ),
        scope="Steps: general entries at L = 3. Statement: any length.",
        steps=steps,
        result=steps[-1].expression,
        statement=(WORTH - WORTH * sp.OneMatrix(LENGTH, LENGTH) / LENGTH) / LENGTH,
        compare=entrywise(SIZES),
        arguments=(Argument(WORTH, "what each value is worth, shape (1, L)"), LENGTH_ARGUMENT),
    )


def _steps() -> tuple[Step, ...]:
    worth, logits = (written_out(m, SIZES) for m in (WORTH, LOGITS))
    gained = (softmax(logits) * worth.T)[0]
    slopes = sp.Matrix([[sp.diff(gained, logit) for logit in logits]])
    return (
        Step("What the row is worth: minus the loss to first order in its output.", gained),
        Step("Its derivative by the logits.", slopes),
        Step("Where they are equal.", slopes.subs(dict.fromkeys(logits, 0)).applyfunc(sp.expand)),
    )
