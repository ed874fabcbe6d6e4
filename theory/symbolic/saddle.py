"""Near a saddle of the linearised flow: modes not yet learned follow the coupled flow of the residual."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import D_F, D_M, EPS, D, at_sizes, replaced, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import W1, W2
from theory.symbolic.flows import DRIVE, W_EMB, flow_of_product
from theory.symbolic.parts import Argument, Check, Step

SIZES = {D: 3, D_M: 3, D_F: 2}
LEFT = sp.MatrixSymbol("G", D, D)
PAIRS = sp.MatrixSymbol("S", D, D)
REST_EMB = sp.MatrixSymbol("E", D, D_M)
REST_1 = sp.MatrixSymbol("w", D_M, D_F)
REST_2 = sp.MatrixSymbol("F", D_F, D)
TOKENS, LABELS = (sp.MatrixSymbol(name, 1, D) for name in ("P", "R"))
LENGTH = sp.Symbol("D", positive=True)


@functools.cache
def saddle() -> Derivation:
    """Expand the linearised flow at a saddle of rank one in the size of the modes not yet learned."""
    steps = _steps()
    return Derivation(
        name="saddle",
        equation="Beyond the paper: rung 3 near a saddle",
        quantity="dE/dt to the first order in ε",
        quantity_latex=r"\frac{dE}{dt}",
        assumptions=(
            "W_emb = P Xᵀ + ε E, W1 = X D Yᵀ + ε w, W2 = Y R + ε F: large modes, and a rest of size ε.",
            "The rest is in the complements: E X = 0, Xᵀ w = 0, w Y = 0, Yᵀ F = 0.",
            "G is what the modes leave of the labels, Pᵀ G = 0 and G Rᵀ = 0; the drive is "
            "G − S (B − P D R) (I − 𝟏/d)/d with B = W_emb W1 W2.",
        ),
        scope=(
            "Steps: one mode, general P, R, G, S and rest at d = d_m = 3, d_f = 2; X and Y are last unit "
            "vectors, which a rotation of the hidden units brings about. Statement: any sizes, any number of "
            "modes."
        ),
        steps=steps,
        result=steps[-1].expression,
        statement=EPS * LEFT * REST_2.T * REST_1.T,
        compare=_compare,
        further_checks=lambda: (
            _other("w", 1, EPS * REST_EMB.T * LEFT * REST_2.T),
            _other("F", 2, EPS * REST_1.T * REST_EMB.T * LEFT),
        ),
        arguments=(
            Argument(EPS, "the size of the rest"),
            Argument(LEFT, "what is left of the labels, shape (d, d)"),
            Argument(REST_2, "the rest of W2 over ε, shape (d_f, d)"),
            Argument(REST_1, "the rest of W1 over ε, shape (d_m, d_f)"),
        ),
    )


def left_of_labels() -> sp.Matrix:
    """Return G with Pᵀ G = 0 and G Rᵀ = 0: its last row and column follow from the others.

    The others are general numbers times the last entries of P and R, so that no entry has a quotient.
    """
    tokens, labels, left = (written_out(m, SIZES) for m in (TOKENS, LABELS, LEFT))
    inner, shares = left[:-1, :-1], labels[0, :-1].T
    above = (labels[-1] * inner).row_join(-inner * shares)
    return (tokens[-1] * above).col_join(-tokens[0, :-1] * above)


def _rest() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return E, w and F in the complements of the last unit vectors."""
    emb, first, second = (written_out(m, SIZES) for m in (REST_EMB, REST_1, REST_2))
    emb[:, -1] = sp.zeros(emb.rows, 1)
    first[-1, :], first[:, -1] = sp.zeros(1, first.cols), sp.zeros(first.rows, 1)
    second[-1, :] = sp.zeros(1, second.cols)
    return emb, first, second


def _matrices() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return W_emb, W1 and W2 near the saddle."""
    emb, first, second = (EPS * rest for rest in _rest())
    emb[:, -1] += written_out(TOKENS, SIZES).T
    first[-1, -1] += LENGTH
    second[-1, :] += written_out(LABELS, SIZES)
    return emb, first, second


def _kept(matrix: sp.Matrix, order: int) -> sp.Matrix:
    """Return a polynomial in ε without the orders above."""
    return matrix.applyfunc(lambda entry: sp.Add(*_terms_up_to(sp.expand(entry), order)))


def _terms_up_to(entry: sp.Expr, order: int) -> list[sp.Expr]:
    return [term for term in sp.Add.make_args(entry) if term.as_coeff_exponent(EPS)[1] <= order]


def _velocity(number: int) -> sp.Matrix:
    """Return the velocity of a matrix, its drive being G up to ε²."""
    flow = at_sizes(flow_of_product()[number], SIZES)
    near = [(written_out(m, SIZES), value) for m, value in zip((W_EMB, W1, W2), _matrices(), strict=True)]
    return sp.Matrix(replaced(flow, (written_out(DRIVE, SIZES), left_of_labels()), *near))


def _steps() -> tuple[Step, ...]:
    emb, first, second = _matrices()
    change = (emb * first * second).applyfunc(sp.expand) - (emb * first * second).subs(EPS, 0)
    centre = sp.eye(SIZES[D]) - sp.ones(SIZES[D], SIZES[D]) / SIZES[D]
    drive = left_of_labels() - written_out(PAIRS, SIZES) * change * centre / SIZES[D]
    velocity = _kept(_velocity(0), 2).applyfunc(sp.expand)
    return (
        Step("B less what it is at the saddle: the third order only.", change),
        Step("The drive, up to the second order: what is left of the labels.", _kept(drive, 2)),
        Step("The velocity of W_emb, up to the second order.", velocity),
        Step("That of E: over ε.", (velocity / EPS).applyfunc(sp.expand)),
    )


def _stated(statement: sp.Basic) -> sp.Matrix:
    rest = zip((REST_EMB, REST_1, REST_2), _rest(), strict=True)
    pairs = [(written_out(m, SIZES), value) for m, value in rest]
    return sp.Matrix(
        replaced(at_sizes(statement, SIZES), (written_out(LEFT, SIZES), left_of_labels()), *pairs)
    )


def _compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare where G and the rest are what a saddle has."""
    difference = (sp.Matrix(result) - _stated(statement)).applyfunc(sp.expand)
    return (Check("Last step minus statement, every entry, at d = d_m = 3, d_f = 2.", difference),)


def _other(name: str, number: int, statement: sp.Basic) -> Check:
    velocity = _kept(_velocity(number), 2).applyfunc(sp.expand)
    rest = (velocity / EPS - _stated(statement)).applyfunc(sp.expand)
    return Check(f"The velocity of {name} is that of the coupled flow with G as well.", rest)
