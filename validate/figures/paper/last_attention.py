"""Fig. 15: the last attention, by position of the key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validate.figures import Curve, Curves, HeatMap, Look, PanelRow, Sheet
from validate.figures.panels.panel import BasePanel, seeds_text
from validate.figures.paper.attention import spread_out
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.runs import ATTENTION, about, model_name, of_kind, shown_epochs, small_scale
from validate.figures.style import OBSERVED, sequential
from validate.judge.condition import SMALL
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, number
from validate.observe import Observations


@paper_figure(15, "The second attention", likeliest(SMALL))
def second_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the last row of the last layer's attention, by position p of the key, and with positions alone.

    Each seed is drawn thin: a mean of logits hides that seeds may find different ways.
    """
    setting = small_scale(of_kind(observations, ATTENTION, "Fig. 15 is about Transformers"))
    has_positions = setting.has("last_logits_positions")
    rows = []
    for letter, epoch in zip("AB", shown_epochs(setting), strict=False):
        panels: list[BasePanel] = [_last_logits(setting, epoch), _last_attention(setting, epoch)]
        if has_positions:
            panels.append(_position_logits(setting, epoch))
        title = f"{letter}  Last row, {model_name(setting, rate=True)}, epoch {epoch}"
        rows.append(PanelRow(title, panels, "attention", height=2.4))
    alone = ", and before it with all token embeddings set to zero" * has_positions
    caption = (
        "The last row of the last layer's attention, by position p of the key (ring; anchors dots): before "
        f"and after the softmax{alone}."
    )
    return Sheet("fig15_second_attention", caption, about([setting]), rows)


def _last_logits(setting: Setting, epoch: int) -> Curves:
    """Return the logits of the last row for some positions of the key, relative to the key's own.

    The softmax sees differences only.
    """
    logits = setting.array("last_logits", epoch)
    _, n_places, length = logits.shape
    curves = {}
    shown = spread_out(1, n_places, 4)
    for p, colour in zip(shown, sequential(len(shown)), strict=True):
        seeds = logits[:, p - 1] - logits[:, p - 1, p - 1][:, None]
        places, mean = np.arange(1, length + 1), seeds.mean(axis=0)[None]
        key, window = slice(p - 1, p), slice(p - 1, p + setting.task.n_anchors)
        curves[f"key at p = {p}"] = Curve(places, seeds, Look(colour))
        curves[f"_anchors of p = {p}"] = Curve(places[window], mean[:, window], Look(colour, "o", ""))
        curves[f"_key of p = {p}"] = Curve(places[key], mean[:, key], Look(colour, "o", "", hollow=True))
    return Curves("logits", curves, "position j", "logit − logit at the key", whole=True, each=True)


def _last_attention(setting: Setting, epoch: int) -> HeatMap:
    """Return the last row after the softmax by position of the key, with a frame round key and anchors.

    The mass outside the frames, mean over positions, is small at a cliff (Lemma 5).
    """
    attention, q = setting.array("last_attention", epoch), setting.task.n_anchors
    n_places, length = attention.shape[1:]
    outside = [np.mean([1 - seed[p, p : p + q + 1].sum() for p in range(n_places)]) for seed in attention]
    return HeatMap(
        f"after the softmax\noutside the frames: {number(float(np.mean(outside)))}",
        ("position j", range(1, length + 1)),
        ("position p of the key", range(1, n_places + 1)),
        attention.mean(axis=0),
        limits=SHARE,
        frames=[(p, p, p + q) for p in range(n_places)],
        matrix=True,
        numbers=f"after the softmax: attention outside key and anchors {seeds_text(outside, SHARE)}",
    )


def _position_logits(setting: Setting, epoch: int) -> Curves:
    """Return the last row of logits with all token embeddings zero, relative to the first position.

    The last position, where no key stands, is left out.
    """
    logits = setting.array("last_logits_positions", epoch)[:, :-1]
    places = np.arange(1, logits.shape[1] + 1)
    curve = Curve(places, logits - logits[:, :1], Look(OBSERVED.colour, "o"))
    ylabel = "logit − logit at 1"
    return Curves("positions alone", {"_mean": curve}, "position j", ylabel, whole=True, each=True)
