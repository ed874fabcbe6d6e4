"""The answer on one page: twelve statements of the paper, in its order, with the claims that judge them."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A statement, what its number is, and its claims; the number is the one that decides."""

    statement: str
    number: str
    claims: tuple[int, ...]


# N_Z is the number of keys; ln N_Z is the loss of guessing among them, 4.6 in the paper's task.
ROWS = (
    Row(
        "small weights, more bias",
        "share of the held-out sums that are right when half of the training sums are, γ = 0.8 minus 0.3",
        (25,),
    ),
    Row(
        "γ 0.8: sums before table",
        "doublings of steps from the fall of the sums' loss by ln(N_Z)/10 to that of the table's; 1 is asked",
        (2,),
    ),
    Row(
        "γ 0.3: sums with table",
        "the table's loss minus the training sums', mean over the run; within ±0.1 counts as together",
        (1,),
    ),
    Row(
        "γ 0.3: held-out loss flat",
        "held-out loss minus that of a guess when 0.9 of the training sums are right; ±0.1 is allowed",
        (40,),
    ),
    Row(
        "the bias lasts over a run",
        "held-out minus table accuracy, mean over the run, γ = 0.8 minus 0.3",
        (3,),
    ),
    Row("memory anchors align", "mean cosine among them at γ = 0.8 at the end; 0.5 is asked", (26,)),
    Row(
        "reasoning anchors ordered",
        "Spearman's ρ of distance and cosine at γ = 0.8 at the end; −0.5 is asked",
        (5,),
    ),
    Row(
        "geometry: P^s − u",
        "Δr: correlation of predicted and observed cosines minus that with P^s exchanged among reasoning "
        "anchors; within: their pairs, across: their pairs with memory anchors",
        (6,),
    ),
    Row(
        "averaging attention, W_V",
        "share of attention within 0.1 of the average at the start, where 0.9 is asked; W_V's first over "
        "its second singular value, where 2 is asked",
        (10, 11),
    ),
    Row(
        "Prop. 1; 2-3 as printed",
        "power of the weights' scale with which the error falls, without training: 3 is predicted for "
        "Prop. 1, and 1 for Props. 2 and 3",
        (7, 28),
    ),
    Row(
        "eq. 14, width 12",
        "RMS error of cosines over the nearer half of distances at the end; 0.1 is allowed",
        (9,),
    ),
    Row(
        "GPT-2: gap, trend, words",
        "ΔL, TinyStories' loss over PrOntoQA's minus 1, at γ = 0.8 minus 0.3; its least rise from one γ to "
        "the next; in two more claims, the gap above the corpora's entropies and the similarity of words",
        (33, 32, 34),
    ),
)

SENTENCES: tuple[tuple[str, dict[int, str]], ...] = (
    (
        "Its main point holds: when half of the training sums are right, small weights have more of the "
        "held-out sums right than large ones.",
        {25: "holds"},
    ),
    (
        "Its account of large weights was not reproduced: there, too, the sums come before the table, and "
        "the held-out loss falls.",
        {1: "fails", 40: "fails"},
    ),
    ("Reasoning anchors are ordered by distance; memory anchors do not align.", {5: "holds", 26: "fails"}),
    ("Proposition 1 is exact for small weights; 2 and 3 as printed are not.", {7: "holds", 28: "fails"}),
)
"""The answer in sentences, each said only while its claims have these verdicts."""


def rows_claims() -> tuple[int, ...]:
    """Return the numbers of the claims that the rows need."""
    return tuple(sorted(number for row in ROWS for number in row.claims))
