"""Near a saddle of the linearised flow: modes not yet learned follow the coupled flow of the residual."""

from __future__ import annotations

import sympy as sp

from theory.derive.algebra import D_F, D_M, EPS, D, at_sizes, entrywise, replaced, truncated, written_out
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.emb_mlp import W1, W2
from theory.derive.flows import DRIVE, PAIRS, W_EMB, flow_of_product

SIZES = {D: 3, D_M: 3, D_F: 2}
RESIDUAL = sp.MatrixSymbol("G", D, D)
REST_EMB, REST_1 = sp.MatrixSymbol("E", D, D_M), sp.MatrixSymbol("w", D_M, D_F)
REST_2 = sp.MatrixSymbol("F", D_F, D)
TOKENS, LABELS = (sp.MatrixSymbol(name, 1, D) for name in ("P", "R"))
LENGTH = sp.Symbol("D", positive=True)
CENTRE = sp.eye(SIZES[D]) - sp.ones(SIZES[D], SIZES[D]) / SIZES[D]


@derived(
    "saddle",
    "Beyond the paper: rung 3 near a saddle",
    "At a saddle the modes not yet learned follow the coupled flow of the residual",
)
def saddle() -> Derivation:
    """Expand the linearised flow at a saddle of rank one in the size of the modes not yet learned."""
    whole = velocity(0)
    second = truncated(whole, EPS, 2)
    steps = (
        Step("B minus its value at the saddle: only the third order is left.", change_of_product()),
        Step("The drive of the linearised flow.", drive()),
        Step("The velocity of W_emb.", whole),
        Step("Up to the second order.", second),
        Step("Divided by ε: the velocity of E.", (second / EPS).applyfunc(sp.expand)),
    )
    return Derivation(
        quantity="dE/dt to the first order in ε",
        assumptions=(
            "W_emb = P Xᵀ + ε E, W1 = X D Yᵀ + ε w, W2 = Y R + ε F: large modes, plus a rest of size ε.",
            "The rest is in the complements: E X = 0, Xᵀ w = 0, w Y = 0, Yᵀ F = 0.",
            "G is the part of the labels that the modes leave, Pᵀ G = 0 and G Rᵀ = 0; the drive is "
            "G − S (B − P D R) (I − 𝟏/d)/d with B = W_emb W1 W2.",
        ),
        scope=(
            "Steps: one mode, general P, R, G, S and rest at d = d_m = 3, d_f = 2; X and Y are the last "
            "unit vectors, as a rotation of the hidden units can arrange. Statement: any sizes, any number "
            "of modes."
        ),
        steps=steps,
        statement=EPS * RESIDUAL * REST_2.T * REST_1.T,
        compare=entrywise(SIZES, *_constraints()),
        further_checks=lambda: (
            _coupled("w", 1, EPS * REST_EMB.T * RESIDUAL * REST_2.T),
            _coupled("F", 2, EPS * REST_1.T * REST_EMB.T * RESIDUAL),
            _third_order_of_product(),
            _pull_on_the_mode(whole),
        ),
        arguments={
            EPS: "the size of the rest",
            RESIDUAL: "the part of the labels that is left, shape (d, d)",
            REST_2: "the rest of W2 divided by ε, shape (d_f, d)",
            REST_1: "the rest of W1 divided by ε, shape (d_m, d_f)",
        },
    )


def residual() -> sp.Matrix:
    """Return G with Pᵀ G = 0 and G Rᵀ = 0: its last row and column follow from the others.

    The others are general numbers times the last entries of P and R, so that no entry is a quotient.
    """
    tokens, labels, left = (written_out(m, SIZES) for m in (TOKENS, LABELS, RESIDUAL))
    inner, shares = left[:-1, :-1], labels[0, :-1].T
    above = (labels[-1] * inner).row_join(-inner * shares)
    return (tokens[-1] * above).col_join(-tokens[0, :-1] * above)


def rest() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return E, w and F in the complements of the last unit vectors."""
    emb, first, second = (written_out(m, SIZES) for m in (REST_EMB, REST_1, REST_2))
    emb[:, -1] = sp.zeros(emb.rows, 1)
    first[-1, :], first[:, -1] = sp.zeros(1, first.cols), sp.zeros(first.rows, 1)
    second[-1, :] = sp.zeros(1, second.cols)
    return emb, first, second


def _matrices() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return W_emb, W1 and W2 near the saddle."""
    emb, first, second = (EPS * part for part in rest())
    emb[:, -1] += written_out(TOKENS, SIZES).T
    first[-1, -1] += LENGTH
    second[-1, :] += written_out(LABELS, SIZES)
    return emb, first, second


def change_of_product() -> sp.Matrix:
    """Return B − P D R."""
    emb, first, second = _matrices()
    product = (emb * first * second).applyfunc(sp.expand)
    return product - product.subs(EPS, 0)


def drive() -> sp.Matrix:
    """Return the drive of the linearised flow near the saddle."""
    return residual() - written_out(PAIRS, SIZES) * change_of_product() * CENTRE / SIZES[D]


def velocity(number: int) -> sp.Matrix:
    """Return the velocity of W_emb, W1 or W2 under the drive."""
    flow = at_sizes(flow_of_product()[number], SIZES)
    near = [(written_out(m, SIZES), value) for m, value in zip((W_EMB, W1, W2), _matrices(), strict=True)]
    return sp.Matrix(replaced(flow, (written_out(DRIVE, SIZES), drive()), *near)).applyfunc(sp.expand)


def _constraints() -> list[tuple[sp.Matrix, sp.Matrix]]:
    """Return the entries of G and of the rest, each with its value at a saddle."""
    symbols = (written_out(m, SIZES) for m in (RESIDUAL, REST_EMB, REST_1, REST_2))
    return list(zip(symbols, (residual(), *rest()), strict=True))


def _coupled(name: str, number: int, statement: sp.Basic) -> Check:
    found = (truncated(velocity(number), EPS, 2) / EPS).applyfunc(sp.expand)
    compare = entrywise(SIZES, *_constraints())
    return Check(
        f"The velocity of {name} also follows the coupled flow with G.",
        compare(found, statement)[0].residual,
    )


def _third_order_of_product() -> Check:
    emb, first, second = rest()
    left = (change_of_product() - EPS**3 * emb * first * second).applyfunc(sp.expand)
    return Check("B − P D R is ε³ E w F: no other product of the rest and the modes is left.", left)


def _pull_on_the_mode(whole: sp.Matrix) -> Check:
    """Compare the third order of the velocity, the first in which S enters, with its own formula."""
    emb, first, second = rest()
    onto = sp.Matrix([[0] * (SIZES[D_M] - 1) + [LENGTH]])
    labels = written_out(LABELS, SIZES)
    pull = -written_out(PAIRS, SIZES) * emb * first * second * CENTRE * labels.T * onto / SIZES[D]
    third = whole.applyfunc(lambda entry: sp.expand(entry).coeff(EPS, 3))
    return Check(
        "The third order is −S E w F (I − 𝟏/d) Rᵀ D Xᵀ/d: the drive slows the large mode.",
        (third - pull).applyfunc(sp.expand),
    )
