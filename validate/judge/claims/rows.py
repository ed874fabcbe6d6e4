"""The answer on one page: twelve statements of the paper, in its order, with the claims that judge them."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A statement, what its number is, and its claims; the number is the first one's primary endpoint."""

    statement: str
    number: str
    claims: tuple[int, ...]


# Δ: the value at γ = 0.8 minus the value at γ = 0.3.
# fmt: off
ROWS = (
    Row("small weights, more bias", "Δ of held-out accuracy when half of the training sums are right", (25,)),
    Row("γ 0.8: sums before table", "Δ of the doublings of training steps from the first fall of the sums' "
        "loss to the first fall of the table's", (2,)),
    Row("γ 0.3: sums with table", "table's loss minus the sums', at equal training accuracy, in units of ln "
        "N_Z (the loss of guessing among the N_Z keys); within ±0.1 counts as together", (1,)),
    Row("γ 0.3: held-out loss flat", "held-out loss, when nine tenths of the training sums are right, minus "
        "that of guessing, in units of ln N_Z; within ±0.1 counts as unchanged", (40,)),
    Row("the bias lasts over a run", "Δ of held-out minus table accuracy, averaged over the run", (3,)),
    Row("memory anchors align", "Δ of the mean cosine among memory anchors early in training; at least 0.5 "
        "is required, early and late", (26,)),
    Row("reasoning anchors ordered", "Δ of the Spearman correlation of numerical distance and cosine, "
        "early: negative if the order is stronger at γ = 0.8", (5,)),
    Row("the geometry is P^s − u", "share of the squared error of the best simple guess that "
        "P^s − u avoids", (6,)),
    Row("averaging attention, W_V", "share of attention weights within 0.1 of the average, early (at least "
        "0.9 required); a second claim: the top direction of W_V is that of the reasoning "
        "anchors alone", (10, 11)),
    Row("Prop. 1; 2-3 as printed", "power of the weights' scale with which the error of eq. 5 falls (3 "
        "predicted), computed without training; a second claim: Props. 2 and 3 as printed", (7, 28)),
    Row("eq. 14, width 12", "share of the squared error of −|i − j| that eq. 14 avoids: negative if eq. 14 "
        "is the worse guess", (9,)),
    Row("GPT-2: gap, growth, words", "Δ of the relative gap between the losses on PrOntoQA and TinyStories; "
        "two more claims: the gap above the corpora's entropies, and the similarity of words", (33, 32, 34)),
)
# fmt: on


def rows_claims() -> tuple[int, ...]:
    """Return the numbers of the claims that the rows need."""
    return tuple(sorted(number for row in ROWS for number in row.claims))
