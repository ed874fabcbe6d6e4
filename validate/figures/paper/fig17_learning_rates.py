"""Learning over learning rates: Fig. 3A at several of them (Appendix G).

A conclusion that holds at one rate only is one about that rate. All panels of A and B have the same axes.
The last row has the largest rise of each loss above its lowest value before it; the paper reports severe
spikes at its largest rate. The theory is one of gradient flow and knows no spikes. The runs are of the
likeliest setting at a quarter of the size, over the peak of its schedule; where these are not kept, shorter
ones at full size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import InputError
from validate.figures.attention import attention_settings
from validate.figures.context import about, missing_rates
from validate.figures.learning import accuracy_curves, level_text, unlearned_levels
from validate.figures.panels.curves import Curve, Curves
from validate.figures.paper.registry import Source, paper_figure
from validate.figures.seeds import seeds_text
from validate.figures.selection import over_settings
from validate.figures.sheet import NoRuns, Panel, PanelRow, Sheet
from validate.figures.style import MARKERS, PARTS, Look, sequential
from validate.judge.bounds import ends
from validate.judge.condition import LARGE, SMALL
from validate.judge.groups import Setting
from validate.judge.stats import SIZE
from validate.judge.times import curve, largest_rise
from validate.observe import Observations

OVER_RATES = Source(("group-rates", "learning-rates"), (LARGE, SMALL))


@paper_figure(17, "Loss over learning rates", OVER_RATES, compares="learning rate")
def over_learning_rates(observations: Sequence[Observations]) -> Sheet:
    """Draw loss over epochs, one column per learning rate, and the largest rises of the losses."""
    settings = attention_settings(observations, "Fig. 17")
    rates = sorted({learning_rate(s) for s in settings})
    by_rate = {(s.init_rate, learning_rate(s)): s for s in settings}
    if len(by_rate) < len(settings):
        labels = [s.label for s in settings]
        raise InputError("runs", labels, "differ in more than γ and learning rate", "give fewer runs")
    gammas = sorted({s.init_rate for s in settings})
    rows = [
        PanelRow(
            f"{letter}  γ = {gamma:g}: loss",
            [_at_rate(by_rate.get((gamma, rate)), rate) for rate in rates],
            legend=gamma == gammas[-1],
            share_y="loss",
        )
        for letter, gamma in zip("ABCDEFGH", gammas, strict=False)
    ]
    have = settings[0].runs[0].metrics[0]["loss"]
    spikes = [largest_rises(settings, part, name) for part, (name, _) in PARTS.items() if part in have]
    title = f"{'ABCDEFGHI'[len(gammas)]}  Largest rise of the loss above its lowest value before"
    rows.append(PanelRow(title, spikes, share_y="rise"))
    caption = (
        "Loss over epochs at several initialisation rates and learning rates, each the highest of its "
        "schedule, and how far the loss jumps back up on the way. "
        f"{level_text(settings)} {missing_rates(settings)}"
    )
    return Sheet("fig17_learning_rates", caption.strip(), about(settings), rows, width=1.5)


def learning_rate(setting: Setting) -> float:
    """Return the learning rate of a setting's runs, the highest that its schedule reaches."""
    return setting.config.training.peak_learning_rate


def largest_rises(settings: Sequence[Setting], part: str, title: str) -> Curves:
    """Return the largest rise of a data set's loss above its lowest value before, over the learning rate.

    A loss that overflowed counts with the rise that was seen.
    """
    curves, told = {}, []
    gammas = sorted({s.init_rate for s in settings})
    for gamma, colour, marker in zip(gammas, sequential(len(gammas)), MARKERS, strict=False):
        own = sorted((s for s in settings if s.init_rate == gamma), key=learning_rate)
        rates = [learning_rate(s) for s in own]
        rises = [np.array([ends(largest_rise(curve(r, "loss", part)[1]))[0] for r in s.runs]) for s in own]
        curves[f"γ = {gamma:g}"] = Curve(rates, over_settings(rises), Look(colour, marker), SIZE)
        told += [
            f"γ = {gamma:g}, rate {rate:g}: {seeds_text(rise, SIZE)}"
            for rate, rise in zip(rates, rises, strict=True)
        ]
    return Curves(
        title,
        curves,
        "peak learning rate",
        "largest rise (nats)",
        "log",
        bars=True,
        numbers=f"{title}, largest rise: {'; '.join(told)}",
    )


def _at_rate(setting: Setting | None, rate: float) -> Panel:
    title = f"rate {rate:g}"
    if setting is None:
        return NoRuns(title)
    levels = unlearned_levels(setting.task)
    return accuracy_curves(setting, "loss", levels=levels, title=title, log=True, each=True, xscale="symlog")
