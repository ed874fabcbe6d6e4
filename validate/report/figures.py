"""Figures of a report beside the paper's: accuracies, label distributions, cosines, an overview."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from theory.arrays import FloatArray
from validate.figures import AccuracyCurves, CosineMatrices, LabelDistributions, new_axes
from validate.figures.context import seed_count
from validate.judge.compare import Row, group_title, groups_of
from validate.judge.groups import Setting
from validate.report.errors import draw_errors
from validate.report.figure import ReportFigure, slug

_MOST_SHOWN = 3


def draw_figures(
    settings: Sequence[Setting], rows: Sequence[Row], epochs: Sequence[int] | None = None
) -> list[ReportFigure]:
    """Draw accuracies, label distributions, cosine matrices and errors of some runs."""
    return [
        _accuracy_figure(settings),
        *draw_label_distributions(settings[-1]),
        *draw_cosines(settings, epochs or []),
        *draw_errors(settings, rows),
    ]


def draw_cosines(
    settings: Sequence[Setting], epochs: Sequence[int], beside: Sequence[ReportFigure] = ()
) -> list[ReportFigure]:
    """Draw each group's cosine matrices, predicted and observed, at some epochs.

    Of more than three settings only the first and the last are shown, and no matrix that is in one of the
    figures ``beside``.
    """
    shown = list(settings) if len(settings) <= _MOST_SHOWN else [settings[0], settings[-1]]
    found: list[ReportFigure] = []
    for setting in reversed(shown):
        for group in groups_of(setting.task):
            # Alone, each figure is complete; in a report nothing stands twice.
            drawn = heat_maps([*beside, *found]) if beside else []
            found += _cosine_figure(setting, group, epochs, drawn)
    return found


def heat_maps(figures: Sequence[ReportFigure]) -> list[FloatArray]:
    """Return the values of every image in some figures."""
    axes = [ax for figure in figures for ax in figure.figure.axes]
    return [np.asarray(image.get_array()) for ax in axes for image in ax.images]


def draw_overview(settings: Sequence[Setting]) -> ReportFigure:
    """Draw the whole story on one sheet: accuracies above, reasoning anchors below."""
    ends = (settings[0], settings[-1])
    tokens = settings[0].task.reasoning_anchors
    figure, axes = new_axes(2, 3, size=(3.1, 2.9))
    for ax, setting in zip(axes, ends, strict=False):
        AccuracyCurves.from_runs(setting).plot(ax)
    axes[0].legend(fontsize=7, frameon=False)
    title = "label distributions"
    LabelDistributions.from_task(settings[0].task, tokens, title, held_out=True).plot(axes[2])
    matrices = CosineMatrices.from_runs(ends[1], tokens, ends[1].epochs()[-1:], ["P^s - mean P"])
    matrices.panels[1:1] = CosineMatrices.from_runs(ends[0], tokens, ends[0].epochs()[-1:], []).panels
    matrices.plot([axes[5], axes[3], axes[4]])
    caption = (
        "What the label distributions of the reasoning anchors predict (right), and what training did with "
        "large (left) and small (middle) initial weights: accuracy, and cosine similarity at the end."
    )
    return ReportFigure("overview", caption, figure)


def _accuracy_figure(settings: Sequence[Setting]) -> ReportFigure:
    figure, axes = new_axes(1, len(settings))
    for ax, setting in zip(axes, settings, strict=True):
        AccuracyCurves.from_runs(setting).plot(ax)
    axes[0].legend(fontsize=7, frameon=False)
    shaded = any(len(setting.runs) > 1 for setting in settings)
    caption = (
        f"Fig. 3B. Accuracy over epochs; mean of {seed_count(settings)}"
        f"{', shaded: 95 % interval (Student t)' * shaded}."
    )
    return ReportFigure("fig3b_accuracy", caption, figure)


def draw_label_distributions(setting: Setting) -> list[ReportFigure]:
    """Draw the label distributions of a setting's task."""
    task = setting.task
    figure, axes = new_axes(1, len(task.mappings))
    for ax, mapping in zip(axes, task.mappings, strict=True):
        title = f"{mapping.name} anchors"
        LabelDistributions.from_task(task, mapping.anchors, title, held_out=True).plot(ax)
    caption = "P^s − u of every anchor (eq. 7, 8), known before training."
    return [ReportFigure("fig4b_label_distributions", caption, figure)]


def _cosine_figure(
    setting: Setting, group: str, epochs: Sequence[int] | None, drawn: Sequence[FloatArray]
) -> list[ReportFigure]:
    """Draw the matrices of a group that are not drawn yet, or nothing."""
    tokens = groups_of(setting.task)[group]
    predictors = ("P^s - u", "P^s - mean P")
    matrices = CosineMatrices.from_runs(setting, tokens, _shown_epochs(setting, epochs), predictors)
    matrices.panels = [panel for panel in matrices.panels if not _stands_in(panel[1], drawn)]
    if not matrices.panels:
        return []
    matrices.plot(new_axes(1, len(matrices.panels), size=(2.7, 2.9))[1])
    n = len(setting.runs)
    caption = (
        f"Cosine similarity of {group_title(group)}, {setting.label}: predicted from the label "
        f"distributions, and observed ({f'mean of {n} runs' if n > 1 else 'one run'})"
        + (", where no figure above shows it." if drawn else ".")
    )
    figure = matrices.axes_[0].figure
    assert isinstance(figure, Figure)
    return [ReportFigure(f"fig4_cosines_{slug(setting.label)}_{slug(group)}", caption, figure)]


def _stands_in(matrix: FloatArray, drawn: Sequence[FloatArray]) -> bool:
    """Return whether a matrix is drawn already; kept runs are rounded to some 2e-5."""
    return any(m.shape == matrix.shape and np.allclose(m, matrix, atol=1e-4, equal_nan=True) for m in drawn)


def _shown_epochs(setting: Setting, epochs: Sequence[int] | None) -> list[int]:
    """Return the epochs to show: those asked for that exist, or the one nearest half-way, and the last."""
    have = setting.epochs()
    wanted = [e for e in epochs or [] if e in have]
    half = min(have, key=lambda e: abs(e - have[-1] / 2))
    return wanted or sorted({half, have[-1]})
