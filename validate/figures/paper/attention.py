"""Fig. 6, 12, 15: the first attention and W_V, and the last attention."""

from __future__ import annotations

from collections.abc import Sequence

from validate.claims.statements import LARGE, SMALL
from validate.figures import findings
from validate.figures.context import about, epoch_text, missing_rates, model_name, shown_epochs
from validate.figures.panels.attention import (
    AttentionMatrix,
    AttentionRows,
    LastAttention,
    LastLogits,
    PositionLogits,
)
from validate.figures.panels.average import AverageOverGamma
from validate.figures.panels.spectra import SingularValues, ValueAlignment
from validate.figures.paper.registry import paper_figure
from validate.figures.paper.sources import likeliest
from validate.figures.paper.training import attention_settings
from validate.figures.selection import large_scales, over_gamma, small_scale
from validate.figures.sheet import Panel, PanelRow, Sheet
from validate.judge.groups import Setting
from validate.observe import Observations

BAR = "attention"
PAPER_EPOCHS = (200,)
"""At which the paper's Fig. 12 shows its runs; of Figs. 6 and 15 it does not say."""


@paper_figure(6, "The first attention and W_V", likeliest(SMALL))
def first_attention(observations: Sequence[Observations]) -> Sheet:
    """Fig. 6: the first attention and W_V at small initial weights."""
    every = attention_settings(observations, "Fig. 6")
    setting = small_scale(every)
    settings, epochs = over_gamma(every, setting), shown_epochs(setting)
    title = f"A, B  First attention, {model_name(setting)}, γ = {setting.init_rate:g}"
    rows = [_attention_row(title, setting, (0, *epochs))]
    early = [s.nearest(epochs[0]) for s in settings]
    values = SingularValues.from_runs(settings, "0.W_V", early, f"C: every γ, {epoch_text(early)}")
    alignments = [ValueAlignment.from_runs(setting, e, f"epoch {e}") for e in epochs]
    seen = " ".join(
        (
            findings.first_attention(setting, (0, *epochs)),
            findings.value_direction(values, f"γ = {setting.init_rate:g}", epochs[0], alignments),
        )
    )
    for panel in alignments:
        panel.title = f"D: γ = {setting.init_rate:g}, {panel.title}"
    row = PanelRow(
        "C, D  Singular values of $W_V$, and the first one's direction", [values, *alignments], height=2.3
    )
    caption = (
        "A: the first attention. B: its rows beside 1/i (dotted). C: the singular values of W_V. D: the "
        f"cosine of every anchor's embedding with the top left singular vector of W_V. {seen}"
    )
    return Sheet("fig06_first_attention", caption, about(settings, "both", setting), [*rows, row], width=1.7)


@paper_figure(12, "The first attention at large weights", likeliest(LARGE, SMALL), compares="γ")
def first_attention_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 12: the first attention at large initial weights, and its error over γ."""
    every = attention_settings(observations, "Fig. 12")
    small = small_scale(every)
    shown = shown_epochs(small)
    rows = []
    for letter, setting in zip("ABCDEFGH", large_scales(every), strict=False):
        title = f"{letter}  First attention, {model_name(setting)}, γ = {setting.init_rate:g}"
        rows.append(_attention_row(title, setting, (0, shown[0])))
    own = over_gamma(every, small)
    curves = [make(own, [0, *shown]) for make in (AverageOverGamma.error, AverageOverGamma.share)]
    of = "" if len(own) == len(every) else f", {model_name(small)}"
    rows.append(PanelRow(f"Distance from the average over γ{of}", curves, height=2.3))
    caption = (
        "The first attention at large initial weights, its rows beside 1/i (dotted); over γ, its largest "
        "distance from 1/i over sequences and positions, and the share of entries near 1/i. "
        f"{missing_rates(every)}"
    )
    return Sheet(
        "fig12_first_attention_large", caption.strip(), about(every, "both", small, PAPER_EPOCHS), rows
    )


@paper_figure(15, "The second attention", likeliest(SMALL))
def second_attention(observations: Sequence[Observations]) -> Sheet:
    """Fig. 15: the last row of the last attention by position of the key, and with positions only."""
    setting = small_scale(attention_settings(observations, "Fig. 15"))
    has_positions = setting.has("last_logits_positions")
    rows = []
    for letter, epoch in zip("AB", shown_epochs(setting), strict=False):
        panels: list[Panel] = [
            LastLogits.from_runs(setting, epoch, "logits"),
            LastAttention.from_runs(setting, epoch, "after the softmax"),
        ]
        if has_positions:
            panels.append(PositionLogits.from_runs(setting, epoch, "positions alone"))
        title = f"{letter}  Last row, {model_name(setting)}, γ = {setting.init_rate:g}, epoch {epoch}"
        rows.append(PanelRow(title, panels, BAR, height=2.4))
    caption = (
        "The last row of the last layer's attention, by position p of the key (hollow; anchors full): before "
        "and after the softmax"
        + (", and before it with all token embeddings set to zero." if has_positions else ".")
    )
    return Sheet("fig15_second_attention", caption, about([setting], "both"), rows)


def _attention_row(title: str, setting: Setting, epochs: Sequence[int]) -> PanelRow:
    panels: list[Panel] = [AttentionMatrix.from_runs(setting, e, f"epoch {e}") for e in epochs]
    last = epochs[-1]
    panels.append(AttentionRows.from_runs(setting, last, f"rows, epoch {last}"))
    return PanelRow(title, panels, BAR, height=2.3)
