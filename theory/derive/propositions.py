"""Propositions 2 and 3: the share of the last position, and the label distributions put into eq. 29."""

from __future__ import annotations

import sympy as sp

from theory.derive import corollaries, transformer
from theory.derive.algebra import R_S, entrywise, replaced, symbolic
from theory.derive.corollaries import MEMORY_ROW, REASONING_ROW
from theory.derive.derivation import Derivation, Step, derived
from theory.derive.emb_mlp import DISTRIBUTION, RATIO_ARGUMENT, UNIFORM
from theory.derive.generating import N_Z, Q
from theory.derive.labels import Q_ARGUMENT
from theory.derive.transformer import FEED_FORWARD, IDENTITY, LAST_DISTRIBUTION, LENGTH, W_O, W_V, small

SLOT = sp.Symbol("pi_s", positive=True)
LAST_EQUATION = "Beyond the paper: rho_s in eq. 28-29"


def last_window() -> sp.Expr:
    """Return the probability that the window ends the sequence: its start is uniform on 1..L − q."""
    start, n = sp.symbols("t n", integer=True, positive=True)
    hits = sp.Sum(sp.KroneckerDelta(start, n), (start, 1, n)).doit()
    return (sp.simplify(hits) / n).subs(n, LENGTH - Q)


@derived("rho anchor", LAST_EQUATION, "The share of an anchor's occurrences that stand in the last position")
def rho_anchor() -> Derivation:
    """Count how often an occurrence of an anchor is a sequence's last token."""
    anywhere = sp.Sum(SLOT, (sp.Symbol("k", integer=True), 1, Q)).doit()
    last = last_window() * SLOT
    return _share(
        Step("Occurrences per sequence: each of q positions holds s with probability pi_s.", anywhere),
        Step(
            "The last token is an anchor only if the window starts at L − q, which it does with:",
            last_window(),
        ),
        Step("Then it is s with probability pi_s.", last),
        Step("The share: divide.", sp.simplify(last / anywhere)),
        statement=1 / (Q * (LENGTH - Q)),
        assumption="Each of the q anchor positions holds s with the same probability pi_s.",
    )


@derived(
    "rho key",
    LAST_EQUATION,
    "The share of a key token's occurrences that stand in the last position, always as noise",
)
def rho_key() -> Derivation:
    """Count how often a key token is a sequence's last token, where it is always noise."""
    anywhere = (1 + LENGTH - Q - 1) / N_Z
    last = sp.simplify((1 - last_window()) / N_Z)
    return _share(
        Step("Occurrences per sequence: the key and L − q − 1 noise tokens, each uniform.", anywhere),
        Step("The window ends the sequence with this probability.", last_window()),
        Step("Otherwise the last token is noise, and uniform.", last),
        Step("The share: divide.", sp.simplify(last / anywhere)),
        statement=(LENGTH - Q - 1) / (LENGTH - Q) ** 2,
        assumption="Keys and noise are uniform on the N_Z keys; the key is never last, as anchors follow it.",
    )


def _share(*steps: Step, statement: sp.Expr, assumption: str) -> Derivation:
    return Derivation(
        quantity="rho_s",
        assumptions=(
            "Key and anchors are consecutive; the key's position is uniform on the first L − q.",
            assumption,
        ),
        scope="Symbolic L, q.",
        steps=steps,
        statement=statement,
        compare=symbolic,
        arguments=transformer.LENGTH_ARGUMENT | Q_ARGUMENT,
        modules=("math",),
    )


TRUE_SHARE = "with the true share of the last position"


def _flow(*, memory: bool, exact: bool) -> Derivation:
    """Put a label distribution into eq. 29, with the paper's share of the last position or the true one."""
    distribution = corollaries.memory_steps() if memory else corollaries.reasoning_steps()
    share = rho_anchor().result if exact else 1 / LENGTH
    alike = replaced(transformer.eq_29().result, tuple(small(LAST_DISTRIBUTION, DISTRIBUTION)))
    shared = alike.subs(transformer.RHO, share)
    result = replaced(shared, (small(DISTRIBUTION)[0], sp.Matrix(distribution[-1].expression)))
    last = IDENTITY / (Q * (LENGTH - Q)) + W_O.T * W_V.T / LENGTH
    onward = last if exact else transformer.VALUE_OUTPUT / LENGTH
    labels = MEMORY_ROW if memory else REASONING_ROW
    return Derivation(
        quantity=f"dw_s/dt for a {'memory' if memory else 'reasoning'} anchor s",
        assumptions=(
            "Those of eq. 29.",
            "The label distribution of s is the same wherever s stands: P_L = P.",
            "rho_s = 1/(q(L−q)), its value for anchors."
            if exact
            else "rho_s = 1/L, as if s stood last as often as anywhere else; its true value for anchors is "
            "1/(q(L−q)).",
            "The labels of a memory anchor are uniform on the keys." if memory else "Those of eq. 22.",
        ),
        scope=transformer.SCOPE,
        steps=(
            Step("The last step of eq. 29 where P_L = P.", alike),
            Step("Insert the share of the last position.", shared),
            *distribution,
            Step("Insert the distribution.", result),
        ),
        statement=R_S * (labels - UNIFORM) * FEED_FORWARD * onward,
        compare=entrywise(transformer.SIZES),
        arguments={
            **RATIO_ARGUMENT,
            **(corollaries.MEMORY_ARGUMENTS if memory else corollaries.REASONING_ARGUMENTS),
            **(Q_ARGUMENT if exact else {}),
            **transformer.LENGTH_ARGUMENT,
            **transformer.WEIGHT_ARGUMENTS,
            **transformer.SIZE_ARGUMENT,
        },
        modules=("numpy",) if memory else corollaries.array_modules(),
    )


@derived(
    "prop 2",
    "Prop. 2, eq. 10",
    "The leading flow of a memory anchor's embedding in the one-layer Transformer",
    "eq 10",
)
def prop_2() -> Derivation:
    """Put a memory anchor's distribution into eq. 29, in the paper's form (eq. 10)."""
    return _flow(memory=True, exact=False)


@derived("prop 2 exact", f"Prop. 2, eq. 10, {TRUE_SHARE}", "Prop. 2 for the task's own placement of anchors")
def prop_2_exact() -> Derivation:
    """Put a memory anchor's distribution into eq. 29, with the true share of the last position."""
    return _flow(memory=True, exact=True)


@derived(
    "prop 3",
    "Prop. 3, eq. 11",
    "The leading flow of a reasoning anchor's embedding in the one-layer Transformer",
    "eq 11",
)
def prop_3() -> Derivation:
    """Put a reasoning anchor's distribution into eq. 29, in the paper's form (eq. 11)."""
    return _flow(memory=False, exact=False)


@derived("prop 3 exact", f"Prop. 3, eq. 11, {TRUE_SHARE}", "Prop. 3 for the task's own placement of anchors")
def prop_3_exact() -> Derivation:
    """Put a reasoning anchor's distribution into eq. 29, with the true share of the last position."""
    return _flow(memory=False, exact=True)
