"""The first attention and W_V at small initial weights.

Lemma 1 says that with small initial weights the first attention is nearly the average over all positions so
far, 1/i in row i, before any training. A shows it from the start on, B its rows at the last epoch of A.
Theorem 2 says that W_V then grows along one direction (C).

The paper finds the reasoning anchors aligned with it, and the memory anchors nearly orthogonal to it (D). D
holds Theorem 2's prediction twice: with u as the model's output while W_V grows, as in the paper, and with
the marginal label distribution P̄, which a model fits first. Whether these runs agree is said in the figure
and in its caption, computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import predict_value_growth
from theory.arrays import FloatArray
from validate.figures import findings
from validate.figures.attention import attention_row, attention_settings
from validate.figures.context import about, epoch_text, model_name, shown_epochs
from validate.figures.panels.curves import Curve, Curves
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.seeds import seeds_text
from validate.figures.selection import over_gamma, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import OBSERVED, PALETTE, Look, sequential
from validate.judge.condition import SMALL
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SHARE
from validate.observe import Observations


@paper_figure(6, "The first attention and W_V", likeliest(SMALL))
def first_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention and W_V at small initial weights."""
    every = attention_settings(observations, "Fig. 6")
    setting = small_scale(every)
    settings, epochs = over_gamma(every, setting), shown_epochs(setting)
    average, errors = findings.first_attention(setting, (0, *epochs))
    early = [s.nearest(epochs[0]) for s in settings]
    values = setting.array("singular/0.W_V", epochs[0])
    sizes = {epoch: anchor_sizes(setting, epoch) for epoch in epochs}
    first, along = findings.value_direction(values[:, 1] / values[:, 0], epochs[0], sizes)
    name = f"{model_name(setting)}, γ = {setting.init_rate:g}"
    lower = [
        singular_values(settings, "0.W_V", early, f"C: every γ, {epoch_text(early)}"),
        *(
            value_alignment(setting, epoch, f"D: γ = {setting.init_rate:g}, epoch {epoch}")
            for epoch in epochs
        ),
    ]
    title = "C, D  Singular values of $W_V$, and the first one's direction"
    rows = [
        attention_row(f"A, B  First attention, {name}", setting, (0, *epochs), f"{average}."),
        PanelRow(title, lower, height=2.4, says=first.replace("W_V", "$W_V$")),
    ]
    caption = (
        "A: the first attention. B: its rows beside 1/i (dotted). C: the singular values of W_V. D: the "
        "cosine of every anchor's embedding with the top left singular vector of W_V. "
        f"{average} ({errors}). {first} {along}"
    )
    return Sheet("fig06_first_attention", caption, about(settings, "both", setting), rows, width=1.7)


def singular_values(settings: Sequence[Setting], name: str, epochs: Sequence[int], title: str) -> Curves:
    """Return one matrix's singular values over the largest, one line for each setting at its epoch."""
    curves = {}
    for setting, epoch, colour in zip(settings, epochs, sequential(len(settings)), strict=True):
        values = setting.array(f"singular/{name}", epoch)
        index = np.arange(1, values.shape[1] + 1)
        curves[f"γ = {setting.init_rate:g}"] = Curve(index, values / values[:, :1], Look(colour), SHARE)
    smallest = min(float(curve.mean[curve.mean > 0].min()) for curve in curves.values())
    ylim = (max(smallest / 2, 1e-4), 1.3)
    return Curves(title, curves, "i", r"$\sigma_i / \sigma_1$", yscale="log", ylim=ylim, whole=True)


def value_alignment(setting: Setting, epoch: int, title: str) -> Curves:
    """Return the cosine of every anchor with the top left singular vector of W_V, beside Theorem 2's."""
    task = setting.task
    anchors = [*task.memory_anchors, *task.reasoning_anchors]
    x = np.arange(len(anchors))
    curves = {}
    if task.memory_anchors and task.reasoning_anchors:
        for (name, reference), colour, marker in zip(
            (("Theorem 2, u", "uniform"), (r"Theorem 2, $\bar P$", "marginal")), PALETTE, "os", strict=False
        ):
            growth = predict_value_growth(task, reference=reference, held_out=True)  # type: ignore[arg-type]
            curves[name] = Curve(x, growth.alignment[anchors][None], Look(colour, marker, "", hollow=True))
    look = Look(OBSERVED.colour, "o", "")
    curves["training"] = Curve(x, _alignments(setting, epoch, anchors), look, COSINE)
    step = max(1, len(anchors) // 10)
    told = [f"{kind} {seeds_text(size, SHARE)}" for kind, size in anchor_sizes(setting, epoch).items()]
    return Curves(
        title,
        curves,
        "memory | reasoning anchors",
        "cosine with $v_1(W_V)$",
        ylim=(-1.15, 1.15),
        levels={"_zero": (0.0, Look("0.7", width=0.8))},
        xticks=([int(i) for i in x[::step]], [str(s) for s in anchors[::step]]),
        verticals=[len(task.memory_anchors) - 0.5],
        bars=True,
        numbers=f"{title}: mean |cosine| with the top direction of W_V, {', '.join(told)}",
    )


def anchor_sizes(setting: Setting, epoch: int) -> dict[str, FloatArray]:
    """Return for each kind of anchor its mean |cosine| with the direction of W_V, one value a seed."""
    kinds = {
        "memory anchors": setting.task.memory_anchors,
        "reasoning anchors": setting.task.reasoning_anchors,
    }
    return {
        kind: np.asarray(np.abs(_alignments(setting, epoch, own)).mean(axis=1))
        for kind, own in kinds.items()
        if own
    }


def _alignments(setting: Setting, epoch: int, anchors: Sequence[int]) -> FloatArray:
    places = [setting.runs[0].tokens.index(s) for s in anchors]
    return setting.array("wv_direction", epoch)[:, places]
