"""Figs. 3, 16 and 17: when memory and reasoning are learned; without layer norm; over learning rates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, zip_longest
from typing import Literal

import numpy as np

from sim.runs.table import shown_name
from theory import InputError
from theory.edge.display import spread
from validate.figures import Curve, Curves, Look, PanelRow, Sheet, accuracy_curves, footnote, runs
from validate.figures.beforehand import is_usual
from validate.figures.curves import numbers_at
from validate.figures.learning import level_text, predicted_curves, unlearned_levels
from validate.figures.panel import BasePanel, NoRuns
from validate.figures.paper.registry import LIKELIEST_EMB_MLP, Source, likeliest, paper_figure
from validate.figures.sheet import letter
from validate.figures.style import MARKERS, PARTS, sequential
from validate.judge.measures.learning_times import load_predictions, prediction_for
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import SIZE
from validate.observe import Observations
from validate.observe.bounds import ends
from validate.observe.groups import Setting
from validate.observe.times import curve, largest_rise
from validate.predict.ceiling import order_blind_ceiling

WITHOUT_NORM = Source(("group-no-norm", "group-no-norm-small", "no-norm-all"), (LARGE, SMALL))
PAPER_RATES = (1e-5, 5e-4)
"""The learning rates of Appendix G at which training is said to be stable."""
LARGEST_LOSS = 10.5
"""The top of the losses' axis in Figs. 3 and 16, in nats."""
OVER_RATES = Source(("group-rates", "learning-rates"), (LARGE, SMALL))


@paper_figure(3, "Loss and accuracy over epochs", likeliest(LARGE, SMALL), LIKELIEST_EMB_MLP)
def learning(observations: Sequence[Observations]) -> Sheet:
    """Draw loss and accuracy over epochs on a logarithmic axis, the Transformer (A) above the Emb-MLP (B).

    Two dotted lines are computed from the task: in A, the entropy of a memory anchor's label distribution; in
    B, the memory accuracy that no sum of embeddings can exceed in expectation. Dots are the theory's kept
    predictions of the Emb-MLP's curves, made without any run.
    """
    needs = "Fig. 3 is about the Transformer and the Emb-MLP"
    transformer = runs.of_kind(observations, runs.ATTENTION)
    emb_mlp = runs.of_kind(observations, runs.EMB_MLP, "" if transformer else needs)
    rows, sentences = list[PanelRow](), list[str]()
    if transformer:
        name = " and ".join(dict.fromkeys(map(footnote.model_name, transformer)))
        rows += [_row(f"A  {name}: loss", transformer, "loss", legend=False, inset=True)]
        rows += [_row(f"A  {name}: accuracy", transformer, "accuracy")]
        sentences += ["A: loss and accuracy of the Transformer over epochs; inset: the loss on linear axes."]
        sentences += [level_text(transformer), footnote.missing_rates(transformer)]
    if emb_mlp:
        predicted, at = [_predicted(setting) for setting in emb_mlp], letter(bool(transformer))
        rows += [_row(f"{at}  Emb-MLP: accuracy", emb_mlp, "accuracy", beside=predicted)]
        sentences += [f"{at}: accuracy of the Emb-MLP over epochs."]
        if ceilings := {f"{level:.4f}" for setting in emb_mlp for level in _ceilings(setting).values()}:
            sentences += [
                f"Dotted, {' or '.join(sorted(ceilings))}: the expected ceiling of its accuracy on a "
                "table: it sees a sum of embeddings, equal for (z, a, b) and (z, b, a), whose labels are "
                "independent."
            ]
        if any(predicted):
            apart = [line["epoch"] for line in emb_mlp[0].runs[0].metrics[1:2]]
            sentences += [f"Dots in {at}: predicted by a flow from other initial weights, without a run."]
            sentences += [f"Lines join evaluations, which are {n:g} epochs apart." for n in apart if n > 1]
    return Sheet("fig03_learning", " ".join(sentences), footnote.about([*transformer, *emb_mlp]), rows)


@paper_figure(16, "Loss and accuracy without layer norm", WITHOUT_NORM)
def without_norm(observations: Sequence[Observations]) -> Sheet:
    """Draw loss and accuracy of the Transformer without layer norm (Appendix F), each seed a thin line.

    The axes are those of Fig. 3.
    """
    needs = "Fig. 16 is about Transformers without norm (--model.norm none)"
    settings = runs.of_kind(observations, runs.ATTENTION, needs, norm="none")
    rows = [
        _row("A  Transformer without layer norm: loss", settings, "loss", legend=False, singly=True),
        _row("B  Transformer without layer norm: accuracy", settings, "accuracy", singly=True),
    ]
    sentences = ["Loss and accuracy over epochs without layer norm.", level_text(settings)]
    caption = " ".join([*sentences, footnote.missing_rates(settings)])
    return Sheet("fig16_no_norm", caption, footnote.about(settings), rows)


@paper_figure(17, "Loss over learning rates", OVER_RATES, compares="learning rate")
def over_learning_rates(observations: Sequence[Observations]) -> Sheet:
    """Draw the largest rises of the losses over learning rates, and losses over epochs (Appendix G).

    A narrower model takes a rate as many times larger; the titles have the rate at the paper's width. All
    panels of the losses have the same vertical axis.
    """
    settings = runs.of_kind(observations, runs.ATTENTION, "Fig. 17 is about Transformers")
    rates = sorted({_peak(s) for s in settings})
    gammas = sorted({s.init_rate for s in settings})
    by_rate = {(s.init_rate, _peak(s)): s for s in settings}
    models = {s.config.model_dump_json(include={"model", "task"}) for s in settings}
    if len(by_rate) < len(settings) or len(models) > 1:
        labels = [s.label for s in settings]
        raise InputError("runs", labels, "differ in more than γ and learning rate", "give fewer runs")
    have, width = settings[0].runs[0].metrics[0]["loss"], footnote.width_ratio(settings[0])
    spikes = [_largest_rises(settings, part) for part in PARTS if part in have]
    for spike in spikes:
        spike.span = (PAPER_RATES[0] / width, PAPER_RATES[1] / width)
    rows = [PanelRow("A  Largest rise of the loss above its lowest value before", spikes, share_y="rise")]
    for i, gamma in enumerate(gammas, start=1):
        panels: list[BasePanel] = []
        for rate in [rates[k] for k in spread(len(rates), 3)]:
            own, title = by_rate.get((gamma, rate)), f"rate {rate:g}"
            title += f"\nfor {rate * width:g} at the paper's width" * (width != 1)
            panels.append(_panel(own, "loss", title, singly=True, log=True) if own else NoRuns(title))
        last = gamma == gammas[-1]
        rows.append(PanelRow(f"{letter(i)}  γ = {gamma:g}: loss", panels, legend=last, share_y="loss"))
    caption = (
        "A: how far the loss jumps back up on the way, over the peak learning rate; grey: the paper's rates, "
        f"{PAPER_RATES[0]:g} to {PAPER_RATES[1]:g}"
        f"{', times the ratio of the widths, as such runs need' * (width != 1)}. Below: loss over epochs at "
        "some of these rates. "
        f"{level_text(settings)} {footnote.missing_rates(settings)}"
    )
    return Sheet("fig17_learning_rates", caption, footnote.about(settings), rows)


def _row(
    title: str,
    settings: Sequence[Setting],
    measure: Literal["loss", "accuracy"],
    *,
    legend: bool = True,
    singly: bool = False,
    beside: Sequence[dict[str, Curve]] = (),
    inset: bool = False,
) -> PanelRow:
    """Return loss or accuracy over epochs, one panel for each setting, with predicted curves ``beside``.

    A loss has the axis of Figs. 3 and 16, where all of it but the beginning fits.
    """
    panels = [_panel(s, measure, singly=singly) for s in settings]
    for panel, predicted in zip_longest(panels, beside, fillvalue=None):
        assert panel is not None
        every = np.concatenate([curve.seeds for curve in panel.curves.values()])
        start, later = np.nanmax(every[:, 0]), every[:, every.shape[1] // 2 :]
        if measure == "loss" and np.nanmax(later, initial=0.0) < LARGEST_LOSS:
            panel.ylim, panel.corner = (0, LARGEST_LOSS), f"start: {start:.2g}" * bool(start > LARGEST_LOSS)
        panel.curves |= predicted or {}
        panel.inset = inset
    return PanelRow(title, panels, share_y=title, legend=legend)


def _panel(
    setting: Setting,
    measure: Literal["loss", "accuracy"],
    title: str = "",
    *,
    singly: bool,
    log: bool = False,
) -> Curves:
    """Return loss or accuracy of a setting, with ``singly`` a line for each seed; ``log`` as on its axis."""
    levels = unlearned_levels(setting.task) if measure == "loss" else _ceilings(setting)
    panel = accuracy_curves(setting, measure, levels=levels, title=title, log=log)
    panel.xscale, panel.singly = "symlog", singly
    return panel


def _predicted(setting: Setting) -> dict[str, Curve]:
    """Return the kept predictions of the Emb-MLP's accuracies; they are for one task, network and batch."""
    config = setting.config
    training = config.training.model_dump(include={"optimizer", "learning_rate"})
    kept = prediction_for(config, load_predictions())
    if kept is None or not is_usual(config, **training):
        return {}
    return predicted_curves(setting, kept.curves)


def _ceilings(setting: Setting) -> dict[str, float]:
    """Return the accuracy that no sum of embeddings exceeds, for the model that sums them."""
    ceiling = order_blind_ceiling(setting.task) if setting.kind == "emb-mlp" else None
    return (
        {}
        if ceiling is None
        else {f"{setting.task.name_of_kind(True)}: ceiling of a sum of embeddings, {ceiling:.4f}": ceiling}
    )


def _peak(setting: Setting) -> float:
    return setting.config.training.peak_learning_rate


def _largest_rises(settings: Sequence[Setting], part: str) -> Curves:
    """Return the largest rise of a data set's loss above its lowest value before, over the learning rate.

    A loss that overflowed counts with the rise that was observed.
    """
    curves, title = {}, shown_name(settings[0].config, part)
    gammas = sorted({s.init_rate for s in settings})
    for gamma, colour, marker in zip(gammas, sequential(len(gammas)), cycle(MARKERS), strict=False):
        own = sorted((s for s in settings if s.init_rate == gamma), key=_peak)
        rises = [np.array([ends(largest_rise(curve(r, "loss", part)[1]))[0] for r in s.runs]) for s in own]
        rates, look = [_peak(s) for s in own], Look(colour, marker)
        curves[f"γ = {gamma:g}"] = Curve(rates, runs.over_settings(rises), look, SIZE)
    numbers = f"{title}, largest rise: {numbers_at(curves, 'rate')}"
    unit = "largest rise (nats)"
    return Curves(title, curves, "peak learning rate", unit, "log", bars=True, numbers=numbers)
