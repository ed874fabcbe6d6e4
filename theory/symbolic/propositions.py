"""Propositions 2 and 3: eq. 29 with the label distributions put in, in the paper's form and exactly."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import EPS, R_S, entrywise, replaced
from theory.symbolic.corollaries import (
    MEMORY_ARGUMENTS,
    MEMORY_DISTRIBUTION,
    REASONING_ARGUMENTS,
    REASONING_ROW,
    array_modules,
    memory_steps,
    reasoning_steps,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import DISTRIBUTION, RATIO_ARGUMENT, UNIFORM
from theory.symbolic.generating import Q
from theory.symbolic.labels import Q_ARGUMENT
from theory.symbolic.last_position import rho_anchor
from theory.symbolic.parts import Argument, Step
from theory.symbolic.transformer import (
    FEED_FORWARD,
    IDENTITY,
    LAST_DISTRIBUTION,
    LENGTH,
    LENGTH_ARGUMENT,
    RHO,
    SCOPE,
    SIZE_ARGUMENT,
    SIZES,
    VALUE_OUTPUT,
    W_F1,
    W_F2,
    W_O,
    W_V,
    WEIGHTS,
    eq_29,
    small,
)


def _flow(name: str, labels: sp.Basic, *, exact: bool) -> Derivation:
    """Put a label distribution into eq. 29, with the paper's share of the last position or the true one."""
    memory = labels == MEMORY_DISTRIBUTION
    distribution = memory_steps() if memory else reasoning_steps()
    share = rho_anchor().result if exact else 1 / LENGTH
    one_distribution = replaced(eq_29().result, (small(LAST_DISTRIBUTION), small(DISTRIBUTION)))
    shared = one_distribution.subs(RHO, share)
    result = replaced(shared, (small(DISTRIBUTION), sp.Matrix(distribution[-1].expression)))
    last = IDENTITY / (Q * (LENGTH - Q)) + W_O.T * W_V.T / LENGTH
    onward = last if exact else VALUE_OUTPUT / LENGTH
    statement = R_S * (labels - UNIFORM) * FEED_FORWARD * onward
    number = "Prop. 2, eq. 10" if memory else "Prop. 3, eq. 11"
    group = "mem" if memory else "rsn"
    return Derivation(
        name=name,
        equation=number + (", with the true share of the last position" if exact else ""),
        quantity=f"dw_s/dt for a {'memory' if memory else 'reasoning'} anchor s",
        quantity_latex=rf"\left.\frac{{dw_s}}{{dt}}\right|_{{s \in \mathcal{{A}}_{{\mathrm{{{group}}}}}}}",
        assumptions=(
            "Those of eq. 29.",
            "The label distribution of s is the same wherever s stands: P_L = P.",
            "rho_s = 1/(q(L−q)), its value for anchors."
            if exact
            else "rho_s = 1/L, as if s stood last as "
            "often as anywhere; its true value for anchors is 1/(q(L−q)).",
            "The labels of a memory anchor are uniform on the keys." if memory else "Those of eq. 22.",
        ),
        scope=SCOPE,
        steps=(
            Step("The last step of eq. 29 where P_L = P.", one_distribution),
            Step("Put the share of the last position in.", shared),
            *distribution,
            Step("Put the distribution in.", result),
        ),
        result=result,
        statement=statement,
        compare=entrywise(SIZES),
        arguments=(
            RATIO_ARGUMENT,
            *(MEMORY_ARGUMENTS if memory else REASONING_ARGUMENTS),
            *((Q_ARGUMENT,) if exact and memory else ()),
            LENGTH_ARGUMENT,
            *WEIGHTS,
            SIZE_ARGUMENT,
        ),
        modules=("numpy",) if memory else array_modules(),
    )


@functools.cache
def prop_2() -> Derivation:
    """Put a memory anchor's distribution into eq. 29, in the paper's form (eq. 10)."""
    return _flow("prop 2", MEMORY_DISTRIBUTION, exact=False)


@functools.cache
def prop_2_exact() -> Derivation:
    """Do the same with the share of the last position that anchors have."""
    return _flow("prop 2 exact", MEMORY_DISTRIBUTION, exact=True)


@functools.cache
def prop_3() -> Derivation:
    """Put a reasoning anchor's distribution into eq. 29, in the paper's form (eq. 11)."""
    return _flow("prop 3", REASONING_ROW, exact=False)


@functools.cache
def prop_3_exact() -> Derivation:
    """Do the same with the share of the last position that anchors have."""
    return _flow("prop 3 exact", REASONING_ROW, exact=True)


@functools.cache
def all_small() -> Derivation:
    """Let every matrix in eq. 29 be small, not only the embeddings."""
    weights = [small(m) for m in (W_F1, W_F2, W_V, W_O)]
    start = replaced(eq_29().result, *((m, EPS * m) for m in weights))
    result = start.subs(EPS, 0).applyfunc(sp.factor)
    statement = R_S * RHO * (LAST_DISTRIBUTION - UNIFORM)
    return Derivation(
        name="all small",
        equation="Beyond the paper: eq. 29 with every matrix small",
        quantity="dw_s/dt",
        quantity_latex=r"\frac{dw_s}{dt}",
        assumptions=("Those of eq. 29.", "W_f1, W_f2, W_V and W_O carry the factor ε → 0 too."),
        scope=SCOPE,
        steps=(
            Step("Eq. 29 where every matrix carries a factor ε.", start),
            Step("Let ε → 0: a token is moved only by the sequences that end with it.", result),
        ),
        result=result,
        statement=statement,
        compare=entrywise(SIZES),
        arguments=(
            RATIO_ARGUMENT,
            Argument(RHO, "the share of the occurrences of s that stand in the last position"),
            Argument(LAST_DISTRIBUTION, "the label distribution given that s stands last, shape (1, d_m)"),
            SIZE_ARGUMENT,
        ),
    )
