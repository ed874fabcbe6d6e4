"""How often a token's occurrence is the last of its sequence: rho_s of the exact eq. 29."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.generating import N_Z, Q
from theory.symbolic.labels import Q_ARGUMENT
from theory.symbolic.parts import Argument, Step

LENGTH = sp.Symbol("L", integer=True, positive=True)
START = sp.Symbol("t", integer=True, positive=True)
SLOT = sp.Symbol("pi_s", positive=True)
PLACES = "Key and anchors stand in a row; the key's position is uniform on the first L − q."


@functools.cache
def rho_anchor() -> Derivation:
    """Count how often an anchor's occurrence is a sequence's last token."""
    anywhere = sp.Sum(SLOT, (sp.Symbol("k", integer=True), 1, Q)).doit()
    last = _last_window() * SLOT
    return _last_position(
        name="rho anchor",
        steps=(
            Step("Occurrences per sequence: each of q positions holds s with probability pi_s.", anywhere),
            Step(
                "The last token is an anchor only if the window starts at L − q, which it does with:",
                _last_window(),
            ),
            Step("Then it is s with probability pi_s.", last),
            Step("The share: divide.", sp.simplify(last / anywhere)),
        ),
        statement=1 / (Q * (LENGTH - Q)),
        assumption="Each of the q anchor positions holds s with the same probability pi_s.",
    )


@functools.cache
def rho_key() -> Derivation:
    """Count how often a key token is a sequence's last token, where it is always noise."""
    anywhere = (1 + LENGTH - Q - 1) / N_Z
    last = sp.simplify((1 - _last_window()) / N_Z)
    return _last_position(
        name="rho key",
        steps=(
            Step("Occurrences per sequence: the key and L − q − 1 noise tokens, each uniform.", anywhere),
            Step("The window ends the sequence with this probability.", _last_window()),
            Step("Otherwise the last token is noise, and uniform.", last),
            Step("The share: divide.", sp.simplify(last / anywhere)),
        ),
        statement=(LENGTH - Q - 1) / (LENGTH - Q) ** 2,
        assumption="Keys and noise are uniform on the N_Z keys; the key is never last, anchors follow it.",
    )


def _last_window() -> sp.Expr:
    """Return the probability that the window ends the sequence."""
    n = sp.Symbol("n", integer=True, positive=True)
    hits = sp.Sum(sp.KroneckerDelta(START, n), (START, 1, n)).doit()
    return (sp.simplify(hits) / n).subs(n, LENGTH - Q)


def _last_position(name: str, steps: tuple[Step, ...], statement: sp.Expr, assumption: str) -> Derivation:
    result = steps[-1].expression
    return Derivation(
        name=name,
        equation="Beyond the paper: rho_s in eq. 28-29",
        quantity="rho_s",
        quantity_latex=r"\rho_s",
        assumptions=(PLACES, assumption),
        scope="Symbolic L, q.",
        steps=steps,
        result=result,
        statement=statement,
        compare=symbolic,
        arguments=(Argument(LENGTH, "tokens in a sequence"), Q_ARGUMENT),
        modules=("math",),
    )
