"""The figures of a report: those of the paper that runs fill, and how far prediction is from training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theory import InputError
from validate.compare import Row, group_title, groups_of
from validate.figures import AccuracyCurves, CosineMatrices, LabelDistributions, PredictionError, new_axes
from validate.figures.paper import FIGURES, PaperFigure
from validate.figures.sheet import Sheet
from validate.figures.style import fix_layout, rendered
from validate.observe import Observations
from validate.progress import track
from validate.rungs import STEPS, RungDistance
from validate.settings import Setting

FloatArray = npt.NDArray[np.float64]
MOST_PIXELS = 1300
"""The widest picture, in pixels: wide sheets are drawn at fewer pixels an inch."""
PIXELS_PER_INCH = 96
"""How large a page shows a figure: as CSS has it, at its size in inches."""
MOST_SETTINGS = 12
"""A figure of more settings would have panels too small to read."""
OVER_RATES = (10, 11, 12, 13)
"""The figures of large initial weights, beside small ones, and those over γ."""
_COLUMNS = 3
_MOST_LETTERS = 80


@dataclass
class ReportFigure:
    """A drawn figure and what it shows.

    Attributes
    ----------
    name : str
        The name of its files.
    caption : str
    figure : Figure
    title : str
        The paper's number and title, for a figure of the paper.
    note : str
        Seeds and intervals.
    numbers : list of str
        What its panels say in numbers, a line each.
    """

    name: str
    caption: str
    figure: Figure
    title: str = ""
    note: str = ""
    numbers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        fix_layout(self.figure)

    @classmethod
    def of(cls, sheet: Sheet, title: str = "") -> ReportFigure:
        """Draw a sheet without its footnote, which the page has as text."""
        figure = sheet.plot(footnote=False).figure_
        assert figure is not None
        return cls(sheet.name, sheet.caption, figure, title, sheet.note, sheet.summary())

    @property
    def alt(self) -> str:
        """What stands for the picture where it is not seen."""
        return ". ".join(text.rstrip(".") for text in (self.title, self.caption, self.note) if text) + "."

    @property
    def pixels(self) -> int:
        """The width at which a page shows it, in pixels."""
        return round(PIXELS_PER_INCH * self.figure.get_figwidth())

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG, rendered once for the page and the file."""
        return rendered(self.figure, "png", min(130.0, MOST_PIXELS / self.figure.get_figwidth()))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "note": self.note,
            "numbers": self.numbers,
        }


@dataclass(frozen=True)
class NotDrawn:
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"number": self.number, "title": self.title, "reason": self.reason}


def draw_paper_figures(observations: Sequence[Observations]) -> tuple[list[ReportFigure], list[NotDrawn]]:
    """Draw every figure of the paper that some runs can fill; name the others with the reason."""
    drawn: list[ReportFigure] = []
    missing: list[NotDrawn] = []
    for number, paper in track(FIGURES.items(), "drawing figures of the paper"):
        reason = _unfit(number, observations)
        if not reason:
            try:
                drawn.append(_paper_figure(paper, observations))
                continue
            except InputError as error:
                reason = f"{error.problem}; {error.remedy}"
        missing.append(NotDrawn(number, paper.title, reason))
    return drawn, missing


def _paper_figure(paper: PaperFigure, observations: Sequence[Observations]) -> ReportFigure:
    return ReportFigure.of(paper.build(observations), f"Fig. {paper.number}: {paper.title}")


def _unfit(number: int, observations: Sequence[Observations]) -> str:
    """Return why a figure would say nothing of these runs, though it could be drawn."""
    rates = {run.config.init_rate for run in observations}
    settings = {run.config.model_dump_json(exclude={"seed"}) for run in observations}
    if len(settings) > MOST_SETTINGS:
        return (
            f"{len(settings)} settings, and more than {MOST_SETTINGS} are too small to read; name fewer runs"
        )
    if number in OVER_RATES and len(rates) == 1:
        return "compares several γ; give runs at another γ too"
    if number == 17 and len({run.config.training.learning_rate for run in observations}) == 1:
        return "compares several learning rates; give runs at another one too"
    return ""


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
    shown = list(settings) if len(settings) <= _COLUMNS else [settings[0], settings[-1]]
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


def draw_errors(settings: Sequence[Setting], rows: Sequence[Row]) -> list[ReportFigure]:
    """Draw how far predictors are from training over time, a figure for each group of anchors."""
    return [_error_figure(settings, rows, group) for group in _all_groups(settings)]


def draw_overview(settings: Sequence[Setting]) -> ReportFigure:
    """Draw the whole story on one sheet: accuracies above, reasoning anchors predicted and observed below."""
    ends = (settings[0], settings[-1])
    tokens = settings[0].task.reasoning_anchors
    figure, axes = new_axes(2, 3, size=(3.1, 2.9))
    for ax, setting in zip(axes, ends, strict=False):
        AccuracyCurves.from_runs(setting).plot(ax)
    axes[0].legend(fontsize=7, frameon=False)
    LabelDistributions.from_task(settings[0].task, tokens, "label distributions").plot(axes[2])
    matrices = CosineMatrices.from_runs(ends[1], tokens, ends[1].epochs()[-1:], ["P^s - mean P"])
    matrices.panels[1:1] = CosineMatrices.from_runs(ends[0], tokens, ends[0].epochs()[-1:], []).panels
    matrices.plot([axes[5], axes[3], axes[4]])
    caption = (
        "What the label distributions of the reasoning anchors predict (right), and what training did with "
        "large (left) and small (middle) initial weights: accuracy, and cosine similarity at the end."
    )
    return ReportFigure("overview", caption, figure)


def draw_rungs(settings: Sequence[Setting], distances: Sequence[RungDistance]) -> list[ReportFigure]:
    """Draw the distances between neighbouring rungs over epochs, a sheet for each group of anchors."""
    steps = {f"{lower} → {upper}" for lower, upper, _ in STEPS}
    found = []
    for group in dict.fromkeys(d.group for d in distances):
        curves: dict[str, dict[str, list[tuple[int, Any]]]] = {}
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
            "rungs, each step one idealisation; shaded: 95 % interval over seeds (Student t)."
        )
        found.append(ReportFigure(f"rungs_{_slug(group)}", caption, figure))
    return found


def _accuracy_figure(settings: Sequence[Setting]) -> ReportFigure:
    figure, axes = new_axes(1, len(settings))
    for ax, setting in zip(axes, settings, strict=True):
        AccuracyCurves.from_runs(setting).plot(ax)
    axes[0].legend(fontsize=7, frameon=False)
    seeds = len(settings[0].runs)
    caption = (
        f"Fig. 3B. Accuracy over epochs; mean of {seeds} seed{'s' * (seeds > 1)}"
        f"{', shaded: 95 % interval (Student t)' * (seeds > 1)}."
    )
    return ReportFigure("fig3b_accuracy", caption, figure)


def draw_label_distributions(setting: Setting) -> list[ReportFigure]:
    """Draw the label distributions of a setting's task."""
    task = setting.task
    figure, axes = new_axes(1, len(task.mappings))
    for ax, mapping in zip(axes, task.mappings, strict=True):
        LabelDistributions.from_task(task, mapping.anchors, f"{mapping.name} anchors").plot(ax)
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
    return [ReportFigure(f"fig4_cosines_{_slug(setting.label)}_{_slug(group)}", caption, figure)]


def _stands_in(matrix: FloatArray, drawn: Sequence[FloatArray]) -> bool:
    """Return whether a matrix is drawn already; kept runs are rounded to some 2e-5."""
    return any(m.shape == matrix.shape and np.allclose(m, matrix, atol=1e-4, equal_nan=True) for m in drawn)


def _shown_epochs(setting: Setting, epochs: Sequence[int] | None) -> list[int]:
    """Return the epochs to show: those asked for that exist, or the one nearest half-way, and the last."""
    have = setting.epochs()
    wanted = [e for e in epochs or [] if e in have]
    half = min(have, key=lambda e: abs(e - have[-1] / 2))
    return wanted or sorted({half, have[-1]})


def _error_figure(settings: Sequence[Setting], rows: Sequence[Row], group: str) -> ReportFigure:
    having = [setting for setting in settings if group in groups_of(setting.task)]
    figure, axes = _grid(len(having))
    for ax, setting in zip(axes, having, strict=True):
        PredictionError.from_rows(rows, setting.label, group).plot(ax)
    _legend(figure, axes)
    caption = f"How far predictors are from training over time, {group_title(group)} (RMSE over pairs)."
    return ReportFigure(f"error_{_slug(group)}", caption, figure)


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


def _slug(text: str) -> str:
    plain = "".join(c if c.isalnum() or c in "._-" else " " for c in text.replace("γ = ", "gamma"))
    return "_".join(plain.split())[:_MOST_LETTERS]
