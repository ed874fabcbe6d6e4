"""The first attention at large initial weights, for which Lemma 1 promises little.

Its distance from the average over γ stands below. The dotted crosses are Lemma 1's own number for the share
of entries within 0.1 of 1/i at initialisation; it says nothing of later epochs.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.attention import attention_row, attention_settings, average_over_gamma
from validate.figures.context import about, missing_rates, model_name, shown_epochs
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.selection import large_scales, over_gamma, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.condition import LARGE, SMALL
from validate.observe import Observations


@paper_figure(12, "The first attention at large weights", likeliest(LARGE, SMALL), compares="γ")
def first_attention_large(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention at large initial weights, and its error over γ."""
    every = attention_settings(observations, "Fig. 12")
    small = small_scale(every)
    shown, own = shown_epochs(small), over_gamma(every, small)
    rows = [
        attention_row(
            f"{letter}  First attention, {model_name(s)}, γ = {s.init_rate:g}", s, (0, s.nearest(shown[0]))
        )
        for letter, s in zip("ABCDEFGH", large_scales(every), strict=False)
    ]
    of = "" if len(own) == len(every) else f", {model_name(small)}"
    curves = [average_over_gamma(own, [0, *shown], place) for place in (None, 0)]
    rows.append(PanelRow(f"{'ABCDEFGHI'[len(rows)]}  Distance from the average over γ{of}", curves))
    caption = (
        "The first attention at large initial weights, its rows beside 1/i (dotted); over γ, its largest "
        "distance from 1/i over sequences and positions, and the share of entries near 1/i. "
        f"{missing_rates(every)}"
    )
    # The paper's Fig. 12 is at epoch 200.
    runs = about(every, "both", small, (200,))
    return Sheet("fig12_first_attention_large", caption.strip(), runs, rows)
