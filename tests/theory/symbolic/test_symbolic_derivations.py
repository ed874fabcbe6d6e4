"""What every derivation has to fulfil, whatever it is about."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import sympy as sp

from theory.errors import InputError
from theory.symbolic import Check, derivations, derivations_page, find_derivation, show
from theory.symbolic.algebra import average

NAMES = list(derivations())
PAGE = Path(__file__).parents[3] / "docs" / "theory" / "derivations.md"


@pytest.mark.parametrize("name", NAMES)
def test_last_step_is_the_result_and_every_difference_vanishes(name: str) -> None:
    made = derivations()[name]
    assert made.name == name
    assert made.steps[-1].expression == made.result
    assert made.checks
    for check in made.checks:
        assert check.passed, (check.sentence, check.residual)
    assert made.passed


@pytest.mark.parametrize("name", NAMES)
def test_every_step_says_something_of_its_own(name: str) -> None:
    steps = derivations()[name].steps
    assert len({step.sentence for step in steps}) == len(steps)
    # That the two rates are the same expression is what "conserved" means.
    same = 1 if name.startswith("conserved") else 0
    assert sum(a.expression == b.expression for a, b in itertools.pairwise(steps)) == same


@pytest.mark.parametrize("name", NAMES)
def test_the_function_takes_exactly_the_symbols_of_the_statement(name: str) -> None:
    made = derivations()[name]
    taken = {argument.symbol for argument in made.arguments}
    free = made.statement.free_symbols - {sp.Symbol("a"), sp.Symbol("i", integer=True)}
    # A matrix brings its own sizes with it.
    sizes = {n for m in taken if isinstance(m, sp.MatrixSymbol) for n in m.shape}
    assert free - sizes <= taken
    doc = made.function().__doc__
    assert doc is not None
    assert all(argument.description in doc for argument in made.arguments)


@pytest.mark.parametrize("name", NAMES)
def test_text_and_latex_hold_every_sentence(name: str) -> None:
    made = derivations()[name]
    shown, latex = show(made), made.to_latex()
    text = " ".join(shown.split())
    assert str(made) == shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    for step in made.steps:
        assert step.sentence in text
    assert latex.count("$$") == 2 * (1 + len(made.steps))
    assert "NOT ZERO" not in text


def test_a_wrong_statement_does_not_pass() -> None:
    right = find_derivation("prop 1")
    wrong = right.statement.subs(sp.Symbol("r_s", positive=True), 2 * sp.Symbol("r_s", positive=True))
    assert right.passed
    assert not dataclasses.replace(right, statement=wrong).passed
    assert not Check("one is not zero", sp.S.One).passed
    assert not Check("nor is a matrix with a one", sp.Matrix([[0, 1]])).passed


def test_an_average_without_its_mean_is_refused() -> None:
    c, y = sp.symbols("c y")
    assert average(2 * c * y + 3, [c, y], {c * y: sp.Symbol("m")}) == 2 * sp.Symbol("m") + 3
    with pytest.raises(KeyError):
        average(c**2, [c, y], {c * y: sp.S.One})


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("prop 1", "prop 1"),
        ("Prop. 1", "prop 1"),
        ("PROPOSITION 1", "prop 1"),
        ("eq 5", "prop 1"),
        ("Eq. (4)", "prop 1"),
        ("lemma2", "lemma 2"),
        ("Lemma 2", "lemma 2"),
        ("corollary 2", "cor 2"),
        ("equation 22", "eq 22"),
        ("eq. 8", "trapezoid"),
        ("eq25", "key distribution"),
        ("Theorem 1", "theorem 1"),
        ("eq. 12", "theorem 1"),
        ("eq (13)", "eq 13"),
        ("Lemma 1", "lemma 1"),
        ("Theorem 2", "theorem 2"),
        ("eq 14", "cosine"),
        ("sigma_P^2", "sigma_p"),
        ("linearized", "linearised"),
        ("Prop. 3 exact", "prop 3 exact"),
        *((name, name) for name in NAMES),
    ],
)
def test_names_are_found_however_they_are_written(asked: str, found: str) -> None:
    assert find_derivation(asked).name == found


@pytest.mark.parametrize(
    ("asked", "near"), [("propp 1", "prop 1"), ("trapezium", "trapezoid"), ("lema 3", "lemma 3")]
)
def test_an_unknown_name_is_refused_with_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        find_derivation(asked)
    assert f"did you mean {near!r}" in str(caught.value)
    assert repr(asked) in str(caught.value)


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InputError):
        find_derivation("")


@pytest.mark.parametrize("name", NAMES)
def test_statements_are_printed_as_the_paper_writes_them(name: str) -> None:
    """No SymPy code on the terminal, no index walls, and nothing longer than a few lines for a step."""
    shown = show(derivations()[name])
    statement = shown.split("Assumptions")[0]
    for code in ("**", ".T*", "Matrix(", "CutBinomial", "[0, 0]", "epsilon", "sigma", "MatMul"):
        assert code not in statement, code
    assert "[0, 0]" not in shown
    assert "sigma(" not in shown
    assert "Matrix(" not in shown


def test_the_leading_flow_reads_as_in_the_paper() -> None:
    assert "rₛ (P − 𝟏/d) W₂ᵀ W₁ᵀ" in show(find_derivation("prop 1"))


def test_an_inverse_is_a_raised_minus_one() -> None:
    statement, _ = show(find_derivation("explained share")).split("Assumptions")
    assert "S⁻¹ G" in statement


def _loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_theory_and_listing_names_leaves_sympy_out() -> None:
    loaded = _loaded_after("import theory; from theory.symbolic import derivations; list(derivations())")
    assert "theory.symbolic" in loaded
    assert "sympy" not in loaded
    assert not {"torch", "sim", "validate"} & loaded


def test_building_one_derivation_does_not_load_the_others() -> None:
    loaded = _loaded_after("from theory.symbolic import find_derivation; find_derivation('lemma 2')")
    assert "theory.symbolic.emb_mlp" in loaded
    others = ("corollaries", "flows", "geometry", "labels", "next_order", "transformer", "value_matrix")
    assert not loaded & {f"theory.symbolic.{module}" for module in others}


def test_the_documentation_page_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    if f"SymPy {sp.__version__}; do not edit" not in written:
        pytest.skip(f"the page was made with another SymPy than {sp.__version__}, which prints differently")
    assert written == derivations_page(), (
        "regenerate: anchorflow derive --all --latex > docs/theory/derivations.md"
    )
