"""Figures of a report beside the paper's: an overview, cosines, label distributions, errors over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validate.figures.embedding import BAR, COLOURS, label_curves, predicted_maps
from validate.figures.learning import accuracy_curves
from validate.figures.panels.curves import Curve, Curves
from validate.figures.panels.heat_map import HeatMap, cosine_map
from validate.figures.panels.panel import FEW
from validate.figures.runs import about
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE, Look
from validate.judge.compare import Row
from validate.judge.groups import Setting
from validate.judge.rungs import STEPS, RungDistance
from validate.judge.stats import Estimate
from validate.predict.predictors import MARGINAL, UNIFORM, Tokens
from validate.predict.tokens import group_title, groups_of
from validate.report.figure import ReportFigure

_MOST_SHOWN, _MOST_LETTERS = 3, 80
Points = dict[str, list[tuple[int, Estimate]]]
"""Epochs and errors by the name of a line."""


def draw_overview(settings: Sequence[Setting]) -> ReportFigure:
    """Draw the whole story on one sheet: accuracies above, reasoning anchors below."""
    large, small = settings[0], settings[-1]
    tokens = small.task.reasoning_anchors
    labels = label_curves(small.task, tokens, "label distributions of\nreasoning anchors")
    curves = [accuracy_curves(large), accuracy_curves(small), labels]
    maps = [_observed(s, tokens, s.epochs()[-1]) for s in (large, small)]
    maps += predicted_maps(small, tokens, [UNIFORM])
    rows = [
        PanelRow("A  Accuracy, and label distributions", curves, height=2.4),
        PanelRow("B  Cosines of the reasoning anchors", maps, BAR, 2.6),
    ]
    caption = (
        "Label distributions of the reasoning anchors predict their cosines (right). Training with large "
        "(left) and small (middle) initial weights: accuracy, and cosine similarity at the end."
    )
    return ReportFigure.of(Sheet("overview", caption, about([large, small]), rows))


def draw_label_distributions(setting: Setting) -> ReportFigure:
    """Draw the label distributions of a setting's task."""
    panels = [label_curves(setting.task, m.anchors, f"{m.name} anchors") for m in setting.task.mappings]
    caption = "P^s − u of every anchor (eq. 7, 8), known before training."
    rows = [PanelRow("Label distributions", panels)]
    return ReportFigure.of(Sheet("fig4b_label_distributions", caption, "", rows))


def draw_cosines(settings: Sequence[Setting], epochs: Sequence[int]) -> list[ReportFigure]:
    """Draw each group's cosine matrices, predicted and observed, at some epochs.

    Of more than three settings only the first and the last are shown.
    """
    shown = list(settings) if len(settings) <= _MOST_SHOWN else [settings[0], settings[-1]]
    found: list[ReportFigure] = []
    for setting in reversed(shown):
        for group, tokens in groups_of(setting.task).items():
            observed = [_observed(setting, tokens, epoch) for epoch in epochs if epoch in setting.epochs()]
            maps = [*predicted_maps(setting, tokens, (UNIFORM, MARGINAL)), *observed]
            caption = (
                f"Cosine similarity of {group_title(group)}, {setting.label}: predicted from the label "
                "distributions, and observed."
            )
            name = f"fig4_cosines_{_slug(setting.label)}_{_slug(group)}"
            found.append(
                ReportFigure.of(Sheet(name, caption, about([setting]), [PanelRow("Cosines", maps, BAR)]))
            )
    return found


def draw_errors(settings: Sequence[Setting], rows: Sequence[Row]) -> list[ReportFigure]:
    """Draw how far predictors are from training over time, a figure for each group of anchors."""
    found = []
    for group in dict.fromkeys(group for setting in settings for group in groups_of(setting.task)):
        panels = []
        for setting in (s for s in settings if group in groups_of(s.task)):
            points: Points = {}
            for row in rows:
                if (row.setting, row.group, row.anchor, row.measure) == (setting.label, group, None, "rmse"):
                    points.setdefault(row.predictor, []).append((row.epoch, row.estimate))
            panels.append(_errors(setting, points))
        caption = f"How far predictors are from training over time, {group_title(group)} (RMSE over pairs)."
        found.append(_in_rows(f"error_{_slug(group)}", caption, panels))
    return found


def draw_rungs(settings: Sequence[Setting], distances: Sequence[RungDistance]) -> list[ReportFigure]:
    """Draw the distances between neighbouring rungs over epochs, a sheet for each group of anchors."""
    steps = {f"{lower} → {upper}" for lower, upper, _ in STEPS}
    found = []
    for group in dict.fromkeys(d.group for d in distances):
        points: dict[str, Points] = {}
        for d in distances:
            if d.group == group and d.step in steps:
                points.setdefault(d.setting, {}).setdefault(d.step, []).append((d.epoch, d.rmse))
        panels = [_errors(s, points[s.label]) for s in settings if s.label in points]
        caption = (
            f"The error budget over time, {group_title(group)}: RMSE of the cosines between neighbouring "
            "rungs, each step one idealisation."
        )
        found.append(_in_rows(f"rungs_{_slug(group)}", caption, panels))
    return found


def _errors(setting: Setting, points: Points) -> Curves:
    """Return the RMSE of predicted cosines over epochs, a line for each prediction or step of the ladder."""
    curves = {}
    for i, (name, own) in enumerate(points.items()):
        means = np.array([[e.mean for _, e in own]])
        ends = np.array([[e.low, e.high] for _, e in own], dtype=float).T
        look = Look(COLOURS.get(name, PALETTE[i % len(PALETTE)]), "o")
        interval = ends if len(setting.runs) >= FEW else None
        curves[name] = Curve([epoch for epoch, _ in own], means, look, interval=interval)
    return Curves(setting.label, curves, "epoch", "RMSE of the cosine", ylim=(0, None))


def _in_rows(name: str, caption: str, panels: Sequence[Curves]) -> ReportFigure:
    rows = [panels[i : i + _MOST_SHOWN] for i in range(0, len(panels), _MOST_SHOWN)]
    drawn = [PanelRow("", list(row), share_y="rmse") for row in rows]
    return ReportFigure.of(Sheet(name, caption, "", drawn))


def _observed(setting: Setting, tokens: Tokens, epoch: int) -> HeatMap:
    return cosine_map(f"observed, {setting.label},\nepoch {epoch}", tokens, setting.cosines(tokens, epoch))


def _slug(text: str) -> str:
    """Return a label or a group as part of a file's name."""
    plain = "".join(c if c.isalnum() or c in "._-" else " " for c in text.replace("γ = ", "gamma"))
    return "_".join(plain.split())[:_MOST_LETTERS]
