"""The effect of the label distribution alone.

A has two memory mappings that differ in their label distributions alone (the paper's left): the first with
labels uniform on all keys, the second with labels uniform in a window around the key, whose width depends on
the anchors; of each network the longest runs are shown. B has four memory mappings with nested label ranges
(the paper's right). The paper finds that early in training, when accuracy is low, the outputs stay inside
each range: the label distribution of a token is learned before any single label. The mass inside its range
stands above each panel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import InputError, Lookup, Mapping, Task, Window, label_distribution
from validate.figures.context import about, model_name
from validate.figures.learning import accuracy_curves
from validate.figures.panels.curves import Curve, Curves
from validate.figures.paper.registry import paper_figure
from validate.figures.seeds import seeds_text
from validate.figures.selection import KINDS, of_kind
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE, Look
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, number
from validate.observe import Observations

EARLY_ACCURACY = 0.3
"""B is early: the last snapshot before any seed's memory accuracy passes this."""


@paper_figure(8, "The effect of the label distribution", "fig8-memory", "fig8-memory-long", "fig8-ranges")
def label_distributions(observations: Sequence[Observations]) -> Sheet:
    """Draw two memory mappings whose label distributions differ, and outputs inside four label ranges."""
    tables = [o for o in observations if sum(m.is_table for m in o.task.mappings) > 1]
    windows = [o for o in tables if any(m.rule.kind == "window" for m in o.task.mappings)]
    compared = longest(of_kind(windows, *KINDS))
    ranges = of_kind([o for o in tables if all(m.rule.kind == "lookup" for m in o.task.mappings)], *KINDS)
    rows = [_mapping_curves(f"A  {_name(setting)}: two memory mappings", setting) for setting in compared]
    for setting in ranges:
        epoch = early_epoch(setting)
        reached = f"memory accuracy up to {_accuracy(setting, epoch):.3f}"
        title = f"B  {_name(setting)}: outputs at epoch {epoch}, {reached}"
        last = setting is ranges[-1]
        rows.append(PanelRow(title, output_curves(setting, epoch), share_y=title, legend=last, height=1.75))
    if not rows:
        raise InputError(
            "runs", len(observations), "none has several memory mappings", "give runs of Fig. 8's tasks"
        )
    first = "A: loss and accuracy of memory mappings whose label distributions differ. " * bool(compared)
    second = f"B: the mean output for each memory mapping beside its label distribution, {_when(ranges)}."
    caption = first + second * bool(ranges)
    return Sheet("fig08_label_distributions", caption.strip(), about([*compared, *ranges]), rows, width=1.7)


def longest(settings: Sequence[Setting]) -> list[Setting]:
    """Return of each network and γ the setting with the longest runs: shorter ones fit less of the tables."""
    by_length = sorted(settings, key=lambda setting: setting.runs[0].config.training.epochs)
    last = {_name(setting): setting for setting in by_length}
    return [setting for setting in settings if setting is last[_name(setting)]]


def output_curves(setting: Setting, epoch: int) -> list[Curves]:
    """Return the mean output for each mapping's sequences, beside the label distribution of its anchors."""
    task, panels = setting.task, []
    for m in task.mappings:
        words, mass = label_words(task, m), setting.array(f"label_mass/{m.name}", epoch)
        labels = np.arange(task.vocab_size)
        distribution = np.mean([label_distribution(task, s, held_out=True) for s in m.anchors], axis=0)
        output = setting.array(f"outputs/{m.name}", epoch)
        curves = {
            "mean output": Curve(labels, output, Look(PALETTE[1], width=0.8), SHARE),
            "label distribution $P^s$": Curve(labels, distribution[None], Look(PALETTE[0], width=1.0)),
        }
        title = f"{words}\nmass inside: {number(float(mass.mean()))}"
        numbers = f"{words}: output mass on its own labels {seeds_text(mass, SHARE)}"
        panels.append(Curves(title, curves, "label i", "probability", ylim=(0, None), numbers=numbers))
    return panels


def early_epoch(setting: Setting) -> int:
    """Return the last snapshot before any seed's memory accuracy passes 0.3, but after the start."""
    return _early(setting)[0]


def _early(setting: Setting) -> tuple[int, str]:
    """Return the early epoch, and in words when it is."""
    after = [e for e in setting.epochs() if e > 0]
    passed = next((i for i, e in enumerate(after) if _accuracy(setting, e) >= EARLY_ACCURACY), None)
    if passed is None:
        return after[-1], f"at the end, as memory accuracy stays below {EARLY_ACCURACY:g}"
    if passed == 0:
        return after[0], f"at the first snapshot, where memory accuracy is already above {EARLY_ACCURACY:g}"
    return after[passed - 1], f"at the last snapshot before memory accuracy passes {EARLY_ACCURACY:g}"


def _when(settings: Sequence[Setting]) -> str:
    """Return when outputs are shown, for each model where that differs."""
    names: dict[str, list[str]] = {}
    for setting in settings:
        names.setdefault(_early(setting)[1], []).append(_name(setting))
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"for {' and '.join(own)} {when}" for when, own in names.items())


def _accuracy(setting: Setting, epoch: int) -> float:
    """Return the largest memory accuracy of any seed at the evaluation next to an epoch."""
    nearest = [min(run.metrics, key=lambda line: abs(line["epoch"] - epoch)) for run in setting.runs]
    return max(float(line["accuracy"]["mem"]) for line in nearest)


def _name(setting: Setting) -> str:
    return f"{model_name(setting)}, γ = {setting.init_rate:g}"


def _mapping_curves(title: str, setting: Setting) -> PanelRow:
    parts = {
        m.name: (label_words(setting.task, m), Look(colour, line=line))
        for m, colour, line in zip(setting.task.mappings, PALETTE, ("-", "--", "-.", ":"), strict=False)
        if m.is_table
    }
    loss = accuracy_curves(setting, "loss", parts=parts, title="loss")
    return PanelRow(title, [loss, accuracy_curves(setting, "accuracy", parts=parts, title="accuracy")])


def label_words(task: Task, mapping: Mapping) -> str:
    """Return a memory mapping's labels in words: "labels 30 to 49", "labels within 40 of the key"."""
    rule, domain = mapping.rule, task.domain(mapping)
    if isinstance(rule, Window):
        widths = domain.totals(domain.anchors)
        nearest, furthest = int(widths.min()), int(widths.max())
        within = f"{nearest} to {furthest}" if nearest < furthest else f"{furthest}"
        return f"labels within {within} of the key"
    if isinstance(rule, Lookup) and rule.low is None:
        return f"labels uniform on all {len(task.keys)} keys"
    labels = task.label_range(mapping)
    return f"labels {labels[0]} to {labels[-1]}"
