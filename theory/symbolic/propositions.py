"""Propositions 2 and 3: eq. 29 with the label laws put in, in the paper's form and exactly."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import EPS, R_S, at_sizes, replaced, statement_check
from theory.symbolic.corollaries import MEMORY_ARGUMENTS, MEMORY_LAW, REASONING_ARGUMENTS, REASONING_ROW, array_modules, law_step
from theory.symbolic.derivation import Argument, Check, Derivation, Step
from theory.symbolic.emb_mlp import RATIO_ARGUMENT, UNIFORM
from theory.symbolic.generating import N_Z, Q
from theory.symbolic.labels import Q_ARGUMENT
from theory.symbolic.transformer import (
    FEED_FORWARD,
    IDENTITY,
    LAST_LAW,
    LAW,
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

START = sp.Symbol("t", integer=True, positive=True)
SLOT = sp.Symbol("pi_s", positive=True)
COUNT_ARGUMENTS = (LENGTH_ARGUMENT, Q_ARGUMENT)
PLACES = "The first of the q + 1 consecutive tokens key, anchors stands anywhere with equal probability 1/(L−q)."


@functools.cache
def last_place_anchor() -> Derivation:
    """Count how often an anchor's occurrence is a sequence's last token."""
    anywhere = sp.Sum(SLOT, (sp.Symbol("k", integer=True), 1, Q)).doit()
    last = _last_window() * SLOT
    return _last_place(
        name="rho anchor",
        title="The share of an anchor's occurrences that stand in the last place",
        steps=(
            Step("Occurrences per sequence: each of q places holds s with probability pi_s.", anywhere),
            Step("The last token is an anchor only if the window starts at L − q, which it does with:", _last_window()),
            Step("Then it is s with probability pi_s.", last),
            Step("The share: divide.", sp.simplify(last / anywhere)),
        ),
        statement=1 / (Q * (LENGTH - Q)),
        assumption="Each of the q anchor places holds s with the same probability pi_s (nothing is held out).",
    )


@functools.cache
def last_place_key() -> Derivation:
    """Count how often a key token is a sequence's last token, where it is always noise."""
    anywhere = (1 + LENGTH - Q - 1) / N_Z
    last = sp.simplify((1 - _last_window()) / N_Z)
    return _last_place(
        name="rho key",
        title="The share of a key token's occurrences that stand in the last place, always as noise",
        steps=(
            Step("Occurrences per sequence: the key and L − q − 1 noise tokens, each uniform.", anywhere),
            Step("The window ends the sequence with this probability.", _last_window()),
            Step("Otherwise the last token is noise, and uniform.", last),
            Step("The share: divide.", sp.simplify(last / anywhere)),
        ),
        statement=(LENGTH - Q - 1) / (LENGTH - Q) ** 2,
        assumption="Keys and noise are uniform on the N_Z keys; the key itself is never last, anchors follow it.",
    )


def _last_window() -> sp.Expr:
    """Return the probability that the window ends the sequence."""
    n = sp.Symbol("n", integer=True, positive=True)
    hits = sp.Sum(sp.KroneckerDelta(START, n), (START, 1, n)).doit()
    return (sp.simplify(hits) / n).subs(n, LENGTH - Q)


def _last_place(
    name: str, title: str, steps: tuple[Step, ...], statement: sp.Expr, assumption: str
) -> Derivation:
    result = steps[-1].expression
    return Derivation(
        name=name,
        equation="beyond the paper: rho_s in eq. 28-29",
        title=title,
        quantity="rho_s",
        quantity_latex=r"\rho_s",
        assumptions=(PLACES, assumption),
        scope="Symbolic L, q.",
        steps=steps,
        result=result,
        statement=statement,
        checks=(Check("Last step minus statement, symbolic.", sp.simplify(result - statement)),),
        arguments=COUNT_ARGUMENTS,
        modules=("math",),
    )


def _flow(name: str, title: str, law: sp.Basic, *, exact: bool) -> Derivation:
    """Put a law into eq. 29, with the paper's share of the last place or with the true one."""
    share = last_place_anchor().statement if exact else 1 / LENGTH
    row = at_sizes(law, SIZES)
    one_law = replaced(eq_29().result, (small(LAST_LAW), small(LAW)))
    shared = one_law.subs(RHO, share)
    result = replaced(shared, (small(LAW), row))
    last = share * IDENTITY + W_O.T * W_V.T / LENGTH
    onward = last if exact else VALUE_OUTPUT / LENGTH
    statement = R_S * (law - UNIFORM) * FEED_FORWARD * onward
    memory = law == MEMORY_LAW
    number = "Prop. 2, eq. 10" if memory else "Prop. 3, eq. 11"
    group = "mem" if memory else "rsn"
    return Derivation(
        name=name,
        equation=number + (", with the true share of the last place" if exact else ""),
        title=title,
        quantity=f"dw_s/dt for a {'memory' if memory else 'reasoning'} anchor s",
        quantity_latex=rf"\frac{{dw_s}}{{dt}}, \quad s \in \mathcal{{A}}_{{\mathrm{{{group}}}}}",
        assumptions=(
            "Those of eq. 29.",
            "The label law of s is the same wherever s stands: P_L = P.",
            "rho_s = 1/(q(L−q)), its value for anchors." if exact else "rho_s = 1/L, as if s stood last as "
            "often as anywhere; its true value for anchors is 1/(q(L−q)).",
            "The labels of a memory anchor are uniform on the keys." if memory else "Those of eq. 22.",
        ),
        scope=SCOPE,
        steps=(
            Step("The last step of eq. 29 where P_L = P.", one_law),
            Step("Put the share of the last place in.", shared),
            *(() if memory else (law_step(),)),
            Step("The label law of s as a row over the vocabulary.", row),
            Step("Put the law in.", result),
        ),
        result=result,
        statement=statement,
        checks=(statement_check(result, statement, SIZES),),
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
    """Put a memory anchor's law into eq. 29, in the paper's form (eq. 10)."""
    title = "The leading flow of a memory anchor's embedding in the one-layer Transformer"
    return _flow("prop 2", title, MEMORY_LAW, exact=False)


@functools.cache
def prop_2_exact() -> Derivation:
    """Do the same with the share of the last place that anchors have."""
    title = "The same for the task's own placement of anchors"
    return _flow("prop 2 exact", title, MEMORY_LAW, exact=True)


@functools.cache
def prop_3() -> Derivation:
    """Put a reasoning anchor's law into eq. 29, in the paper's form (eq. 11)."""
    title = "The leading flow of a reasoning anchor's embedding in the one-layer Transformer"
    return _flow("prop 3", title, REASONING_ROW, exact=False)


@functools.cache
def prop_3_exact() -> Derivation:
    """Do the same with the share of the last place that anchors have."""
    title = "The same for the task's own placement of anchors"
    return _flow("prop 3 exact", title, REASONING_ROW, exact=True)


@functools.cache
def all_small() -> Derivation:
    """Let every matrix in eq. 29 be small, not only the embeddings."""
    weights = [small(m) for m in (W_F1, W_F2, W_V, W_O)]
    start = replaced(eq_29().result, *((m, EPS * m) for m in weights))
    result = start.subs(EPS, 0).applyfunc(sp.factor)
    statement = R_S * RHO * (LAST_LAW - UNIFORM)
    return Derivation(
        name="all small",
        equation="beyond the paper: eq. 29 with every matrix small",
        title="With all matrices small only the residual path from the last place is left",
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
        checks=(statement_check(result, statement, SIZES),),
        arguments=(
            RATIO_ARGUMENT,
            Argument(RHO, "the share of the occurrences of s that stand in the last place"),
            Argument(LAST_LAW, "the label law given that s stands last, shape (1, d_m)"),
            SIZE_ARGUMENT,
        ),
    )
