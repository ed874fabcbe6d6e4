"""What every derivation has to fulfil, and that none survives a fault in its steps or its statement."""

import inspect

import pytest
import sympy as sp

from theory import InputError
from theory.derive import derivations, find_derivation

NAMES = list(derivations())
LONG = {"theorem 1", "eq 38", "gaussian inner product", "prop 3 exact", "key distribution"}
LONG |= {"prop 3", "eq 13", "saddle", "eq 29", "lemma 3", "prop 2 exact", "theorem 2 matrix", "sigma_p"}
"""Seconds each; outside the long suite the others stand for them."""
MARKED = [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in NAMES]


@pytest.mark.parametrize("name", MARKED)
def test_every_difference_vanishes_and_every_sentence_is_shown(name: str) -> None:
    made = derivations()[name]
    assert made.name == name
    assert made.passed, [check.sentence for check in made.checks if not check.passed]
    assert len({step.sentence for step in made.steps}) == len(made.steps)
    shown, latex = str(made), made.to_latex()
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert all(step.sentence in " ".join(shown.split()) for step in made.steps)
    assert latex.count("$$") == 2 * (1 + len(made.steps))
    assert "NOT ZERO" not in shown


@pytest.mark.parametrize("name", MARKED)
def test_the_function_takes_exactly_the_symbols_of_the_statement(name: str) -> None:
    made = derivations()[name]
    free = made.statement.free_symbols - {sp.Symbol("a"), sp.Symbol("i", integer=True)}
    # A matrix brings its own sizes with it.
    sizes = {n for m in made.arguments if isinstance(m, sp.MatrixSymbol) for n in m.shape}
    assert free - sizes <= set(made.arguments) <= made.statement.free_symbols
    function = made.function()
    assert all(text in str(function.__doc__) for text in made.arguments.values())
    # SymPy calls a parameter whose name Python does not allow "Dummy_" and a number that differs each time.
    names = list(inspect.signature(function).parameters)
    assert [name.rstrip("_") for name in names] == [str(symbol) for symbol in made.arguments]
    assert all(f"\n{name} : " in str(function.__doc__) for name in names)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        *(("Prop. 1", "prop 1"), ("PROPOSITION 1", "prop 1"), ("Eq. (4)", "prop 1"), ("lemma2", "lemma 2")),
        *(("corollary 2", "cor 2"), ("equation 22", "eq 22"), ("eq. 8", "trapezoid"), ("eq 14", "cosine")),
        *(("eq25", "key distribution"), ("sigma_P^2", "sigma_p"), ("linearized", "linearised")),
        *((name, name) for name in NAMES if name not in LONG),
    ],
)
def test_names_are_found_however_they_are_written(asked: str, name: str) -> None:
    assert find_derivation(asked).name == name


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    for asked, near in (("propp 1", "prop 1"), ("trapezium", "trapezoid"), ("", "choose one")):
        with pytest.raises(InputError, match=near) as caught:
            find_derivation(asked)
        assert caught.value.argument == "name"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_in_any_argument_of_the_statement_is_seen(name: str) -> None:
    made = derivations()[name]
    sizes = {n for m in made.statement.atoms(sp.MatrixSymbol) for n in m.shape}
    for symbol in made.arguments:
        if symbol in sizes:  # It cannot be changed without its matrix.
            continue
        doubled = isinstance(symbol, sp.MatrixSymbol) or not symbol.is_integer
        wrong = made.statement.subs(symbol, 2 * symbol if doubled else symbol + 1)
        assert not all(check.passed for check in made.compare(made.result, wrong)), symbol
