"""How far predictions are from training over time, and what each idealisation adds to it."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from validate.figures import PredictionError, new_axes
from validate.judge.compare import Row, group_title, groups_of
from validate.judge.groups import Setting
from validate.judge.rungs import STEPS, RungDistance
from validate.judge.stats import Estimate
from validate.report.figure import ReportFigure, slug

_COLUMNS = 3


def draw_errors(settings: Sequence[Setting], rows: Sequence[Row]) -> list[ReportFigure]:
    """Draw how far predictors are from training over time, a figure for each group of anchors."""
    return [_error_figure(settings, rows, group) for group in _all_groups(settings)]


def draw_rungs(settings: Sequence[Setting], distances: Sequence[RungDistance]) -> list[ReportFigure]:
    """Draw the distances between neighbouring rungs over epochs, a sheet for each group of anchors."""
    steps = {f"{lower} → {upper}" for lower, upper, _ in STEPS}
    found = []
    for group in dict.fromkeys(d.group for d in distances):
        curves: dict[str, dict[str, list[tuple[int, Estimate]]]] = {}
        for d in distances:
            if d.group == group and d.step in steps:
                curves.setdefault(d.setting, {}).setdefault(d.step, []).append((d.epoch, d.rmse))
        labels = [s.label for s in settings if s.label in curves]
        figure, axes = _grid(len(labels))
        for ax, label in zip(axes, labels, strict=True):
            PredictionError(label, curves[label]).plot(ax)
        _legend(figure, axes)
        caption = (
            f"The error budget over time, {group_title(group)}: RMSE of the cosines between neighbouring "
            f"rungs, each step one idealisation{_shades([s for s in settings if s.label in curves])}."
        )
        found.append(ReportFigure(f"rungs_{slug(group)}", caption, figure))
    return found


def _error_figure(settings: Sequence[Setting], rows: Sequence[Row], group: str) -> ReportFigure:
    having = [setting for setting in settings if group in groups_of(setting.task)]
    figure, axes = _grid(len(having))
    for ax, setting in zip(axes, having, strict=True):
        PredictionError.from_rows(rows, setting.label, group).plot(ax)
    _legend(figure, axes)
    caption = (
        f"How far predictors are from training over time, {group_title(group)} "
        f"(RMSE over pairs){_shades(having)}."
    )
    return ReportFigure(f"error_{slug(group)}", caption, figure)


def _shades(settings: Sequence[Setting]) -> str:
    """Return what is shaded; a single seed has no interval."""
    several = any(len(setting.runs) > 1 for setting in settings)
    return "; shaded: 95 % interval over seeds (Student t)" if several else ""


def _all_groups(settings: Sequence[Setting]) -> list[str]:
    return list(dict.fromkeys(group for setting in settings for group in groups_of(setting.task)))


def _grid(count: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``count`` axes in rows of at most three."""
    columns = min(count, _COLUMNS)
    figure, axes = new_axes(-(-count // columns), columns, size=(3.7, 3.0))
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put one legend below all panels, with every label once."""
    handles = {
        label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    columns = max(1, min(4, int(figure.get_figwidth() / 2.4)))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=columns,
        fontsize=7,
        frameon=False,
    )
