"""No derivation survives a fault: each is spoilt in its steps, and in every argument of its statement."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

from theory.symbolic import Derivation, Step, derivations, saddle
from theory.symbolic.algebra import written_out
from theory.symbolic.generating import N_Z, R
from theory.symbolic.registry import _BUILDERS

NAMES = list(derivations())
PACKAGE = "theory.symbolic."


def times(factor: Any) -> Callable[[Any], Any]:
    """Wrap a function so that what it returns is multiplied."""
    return lambda right: lambda *args, **options: factor * right(*args, **options)


def last_step(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a function that returns steps so that the last expression is changed."""

    def wrap(right: Any) -> Any:
        def spoilt(*args: Any) -> tuple[Step, ...]:
            steps = right(*args)
            return (*steps[:-1], dataclasses.replace(steps[-1], expression=change(steps[-1].expression)))

        return spoilt

    return wrap


def result(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a function that returns a derivation so that its result is changed."""
    return lambda right: lambda: dataclasses.replace(right(), result=change(right().result))


def one_anchor_too_few(right: Any) -> Any:
    return lambda n_keys, n_anchors: right(n_keys, n_anchors - 1)


def negated_first(right: Any) -> Any:
    return lambda: (-right()[0], *right()[1:])


def anything_left() -> sp.Matrix:
    return written_out(saddle.LEFT, saddle.SIZES)


def independent(row: sp.Matrix, moments: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
    return {a * b: moments[i, i] if a == b else sp.S.Zero for i, a in enumerate(row) for b in row}


SPOILERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "lemma 2": ("emb_mlp.negative_gradient", times(-1)),
    "prop 1": ("emb_mlp.softmax", times(2)),
    "cor 1": ("corollaries.equal_weight", lambda _: lambda: 1 / (N_Z + 1)),
    "cor 2": ("corollaries.coefficient", one_anchor_too_few),
    "next order": ("next_order._statement", times(2)),
    "eq 22": ("labels.coefficient", one_anchor_too_few),
    "trapezoid": ("labels.label_formula", result(lambda distribution: distribution.subs(R, R + 1))),
    "key distribution": ("labels._role_shares", lambda right: lambda: right()[::-1]),
    "mu_s": ("moments.uniform_moment", lambda right: lambda power: right(power) + 1),
    "sigma_p": ("moments.uniform_moment", times(2)),
    "lemma 1": ("attention.gaussian_moment", times(sp.Rational(1, 2))),
    "lemma 3": ("transformer.feed_forward_steps", last_step(lambda row: -row)),
    "eq 29": ("transformer.softmax", times(2)),
    "prop 2": ("corollaries.equal_weight", lambda _: lambda: 1 / (N_Z + 1)),
    "prop 2 exact": ("propositions.rho_anchor", result(lambda share: share / 2)),
    "prop 3": ("corollaries.coefficient", one_anchor_too_few),
    "prop 3 exact": ("propositions.rho_anchor", result(lambda share: share / 2)),
    "rho anchor": ("last_position._last_window", times(sp.Rational(1, 2))),
    "rho key": ("last_position._last_window", times(sp.Rational(1, 2))),
    "all small": ("propositions.eq_29", result(lambda row: -row)),
    "layer norm": ("layer_norm._slope_steps", last_step(lambda row: -row)),
    "normed drive": ("layer_norm._error_at_zero", times(-1)),
    "attention gain": ("gains.centred_mean", times(2)),
    "query key": ("query_key.softmax", times(2)),
    "two factors": ("growth.coupling", times(-1)),
    "lemma 4": ("value_matrix.feed_forward_steps", last_step(lambda row: -row)),
    "eq 38": ("value_matrix._small_steps", last_step(lambda row: -row)),
    "theorem 2": ("value_matrix._drives", times(2)),
    "theorem 1": ("normal_limit.log_of_one_uniform", times(2)),
    "eq 13": ("normal_limit._difference_steps", last_step(lambda both: 2 * both)),
    "gaussian inner product": ("geometry.MU_I", lambda right: right + 1),
    "cosine": ("geometry.gaussian_inner_product", result(lambda inner: inner + 1)),
    "conserved 1": ("flows.flow_of_product", negated_first),
    "conserved 2": ("flows.flow_of_product", lambda right: lambda: (*right()[:2], -right()[2])),
    "linearised": ("flows.taylor", lambda right: lambda e, variable, order: right(e, variable, order - 1)),
    "decay clock": ("decay.factor", times(2)),
    "decay blow up": ("decay.clock", result(lambda reached: 2 * reached)),
    "decay conserved": ("decay.flow_of_product", negated_first),
    "saddle": ("saddle.left_of_labels", lambda _: anything_left),
    "batch variance": ("batches.share_of_batches", lambda right: lambda members: right(1) ** members),
    "epoch variance": ("batches.pair_covariance", times(-1)),
    "reshuffled scatter": ("scatter.left_of_mean", times(2)),
    "sgd mean": ("sgd_moments.flowed", times(2)),
    "sgd covariance": ("sgd_moments._second_moments", lambda _: independent),
    "reshuffled covariance": ("reshuffled.correlation", times(2)),
    "reshuffled shift": ("reshuffled.common", times(2)),
    "adam step": ("adam.corrected", times(2)),
    "adam moment": ("adam.correction", lambda right: lambda: right() ** 2),
    "second moment": ("mean_training.after", times(2)),
    "clipped square": ("mean_training.divisor", times(2)),
    "mean course": ("mean_training.corrected", times(2)),
    "held out": ("held_out.shares", times(2)),
    "late frozen logits": ("held_out.centred_mean", times(2)),
    "one mode": ("held_out.key_range", times(2)),
    "explained share": ("explained.average", times(2)),
}


def reached_from(start: str) -> set[str]:
    """Return the derivations' modules that use a function of this module, directly or through others."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE)}
    uses = {
        name: {getattr(value, "__module__", "") for value in vars(module).values() if callable(value)}
        for name, module in modules.items()
    }
    reached: set[str] = set()
    new = {start}
    while new:
        reached |= new
        new = {name for name, used in uses.items() if used & new} - reached
    return reached


def empty_caches(of: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the cached functions of these modules empty caches; other tests keep what they derived."""
    fresh: dict[Any, Any] = {}
    for name, module in sys.modules.items():
        if name.startswith(PACKAGE):
            for attribute, value in list(vars(module).items()):
                if hasattr(value, "cache_clear") and value.__module__ in of:
                    fresh.setdefault(value, functools.cache(value.__wrapped__))
                    monkeypatch.setattr(module, attribute, fresh[value])


LONG = {
    "theorem 1",
    "eq 38",
    "gaussian inner product",
    "prop 3",
    "prop 3 exact",
    "key distribution",
    "next order",
    "eq 13",
}
"""Seconds each; outside the long suite the others stand for them."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in LONG else pytest.mark.slow) for n in NAMES]
)
def test_a_fault_in_the_steps_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new derivation has no spoiler yet: a KeyError here asks for one."""
    where, spoil = SPOILERS[name]
    module_name, attribute = where.split(".")
    module = importlib.import_module(PACKAGE + module_name)
    builder_module, builder = _BUILDERS[name].split(".")
    derive = getattr(importlib.import_module(PACKAGE + builder_module), builder).__wrapped__
    empty_caches(reached_from(module.__name__), monkeypatch)
    monkeypatch.setattr(module, attribute, spoil(getattr(module, attribute)))
    made: Derivation = derive()
    assert not all(check.passed for check in made.compare(made.result, made.statement))


def test_every_spoiler_belongs_to_a_derivation() -> None:
    assert set(SPOILERS) == set(NAMES)


def spoilt(made: Derivation, symbol: sp.Basic) -> sp.Basic:
    """Return the statement with an argument doubled, or raised by one where it counts something."""
    if isinstance(symbol, sp.MatrixSymbol):
        return made.statement.subs(symbol, 2 * symbol)
    changed = symbol + 1 if symbol.is_integer else 2 * symbol
    return made.statement.subs(symbol, changed)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_in_any_argument_of_the_statement_is_seen(name: str) -> None:
    made = derivations()[name]
    sizes = {n for m in made.statement.atoms(sp.MatrixSymbol) for n in m.shape}
    for argument in made.arguments:
        # The size of a matrix cannot be changed without its matrix.
        if argument.symbol not in sizes:
            wrong = made.compare(made.result, spoilt(made, argument.symbol))
            assert not all(check.passed for check in wrong), argument.symbol
