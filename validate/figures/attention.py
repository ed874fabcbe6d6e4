"""The first attention against the average 1/i (Lemma 1), as Figs. 6 and 12 show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory.arrays import FloatArray
from validate.figures.panels.curves import Curve, Curves
from validate.figures.panels.heat_map import HeatMap
from validate.figures.seeds import seeds_text
from validate.figures.selection import of_kind, over_settings, required
from validate.figures.sheet import Panel, PanelRow
from validate.figures.style import PALETTE, Look, sequential
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, number
from validate.observe import Observations
from validate.predict.lemma1 import predicted_average_share

ATTENTION = ("transformer", "one-layer")
"""The kinds of model that attend."""


def attention_settings(observations: Sequence[Observations], figure: str) -> list[Setting]:
    """Return the settings of Transformers; refuse runs that hold none."""
    return required(of_kind(observations, *ATTENTION), observations, figure, "Transformers")


def attention_row(title: str, setting: Setting, epochs: Sequence[int], says: str = "") -> PanelRow:
    """Return the first attention at some epochs, and its rows at the last of them."""
    panels: list[Panel] = [attention_map(setting, epoch) for epoch in epochs]
    return PanelRow(title, [*panels, attention_lines(setting, epochs[-1])], "attention", says=says)


def attention_map(setting: Setting, epoch: int) -> HeatMap:
    r"""Return the first attention, mean over probe sequences and seeds, and its largest \|A_ij − 1/i\|."""
    matrix = setting.array("first_attention", epoch).mean(axis=0)
    error = setting.array("first_attention_error", epoch)
    positions = range(1, len(matrix) + 1)
    return HeatMap(
        f"epoch {epoch}\nmax |A − 1/i| = {number(float(error.mean()))}",
        ("attended position j", positions),
        ("position i", positions),
        np.where(np.tril(np.ones_like(matrix)) > 0, matrix, np.nan),
        limits=SHARE,
        matrix=True,
        numbers=f"epoch {epoch}: max |A_ij − 1/i| = {seeds_text(error, SHARE)}",
    )


def attention_lines(setting: Setting, epoch: int) -> Curves:
    """Return some rows i ≥ 2 of the first attention against 1/i, with the spread over sequences."""
    rows = setting.array("first_attention", epoch)
    spread = setting.array("first_attention_sd", epoch).mean(axis=0)
    shown = spread_out(2, rows.shape[1], 3)
    looks = {i: Look(colour, "o") for i, colour in zip(shown, sequential(len(shown)), strict=True)}
    curves = {
        f"i = {i}": Curve(np.arange(1, i + 1), rows[:, i - 1, :i], look, SHARE, spread[i - 1, :i])
        for i, look in looks.items()
    }
    levels = {f"_1/{i}": (1 / i, Look(look.colour, line=":")) for i, look in looks.items()}
    levels["1/i (Lemma 1)"] = (float("nan"), Look("0.4", line=":"))
    return Curves(
        f"rows, epoch {epoch}",
        curves,
        "attended position j",
        "attention $A_{ij}$",
        ylim=(0, 1.03),
        levels=levels,
        whole=True,
    )


def average_over_gamma(
    settings: Sequence[Setting], epochs: Sequence[int], place: int | None = None
) -> Curves:
    r"""Return how near the first attention is to the average over γ: its largest \|A_ij − 1/i\|.

    With the ``place`` of an ε in ``LEMMA1_EPSILONS``, the share of entries within ε of 1/i, beside the share
    that Lemma 1 predicts at initialisation.
    """
    from validate.observe.attention import LEMMA1_EPSILONS

    gammas = np.array([s.init_rate for s in settings])
    curves, told = {}, []
    what = "max |$A_{ij}$ − 1/i|"
    if place is not None:
        what = f"share of |$A_{{ij}}$ − 1/i| ≤ {LEMMA1_EPSILONS[place]:g}"
    for epoch, colour in zip(epochs, PALETTE, strict=False):
        each = [_nearness(s, s.nearest(epoch), place) for s in settings]
        told += [
            f"{what.replace('$', '')} at γ = {gamma:g}, epoch {epoch}: {seeds_text(values, SHARE)}"
            for gamma, values in zip(gammas, each, strict=True)
        ]
        curves[f"epoch {epoch}"] = Curve(gammas, over_settings(each), Look(colour, "o"), SHARE)
    if place is not None:
        tolerance = LEMMA1_EPSILONS[place]
        lemma = np.array([[predicted_average_share(s.config, tolerance) for s in settings]])
        curves["Lemma 1, epoch 0"] = Curve(gammas, lemma, Look("black", "x", ":"))
    return Curves(
        "",
        curves,
        "initialisation rate γ",
        what,
        yscale="log" if place is None else "linear",
        ylim=None if place is None else (-0.03, 1.03),
        bars=True,
        numbers="; ".join(told),
    )


def _nearness(setting: Setting, epoch: int, place: int | None) -> FloatArray:
    if place is None:
        return setting.array("first_attention_error", epoch)
    return setting.array("lemma1_share", epoch)[:, place]


def spread_out(first: int, last: int, most: int) -> list[int]:
    """Return at most ``most`` whole numbers from first to last, evenly spread, both ends among them."""
    return sorted({round(x) for x in np.linspace(first, last, min(most, max(last - first + 1, 1)))})
