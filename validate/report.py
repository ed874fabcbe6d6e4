"""One report for some runs: tables, figures, settings and provenance, as HTML and JSON."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sim.config import sources
from sim.files import write_atomically, write_json
from validate.claims import Outcome
from validate.compare import MEASURES, Row, compare_runs, group_title, groups_of
from validate.figures import (
    AccuracyCurves,
    CosineMatrices,
    LabelDistributions,
    PredictionError,
    new_axes,
    save,
)
from validate.html import render
from validate.predictors import EQUATIONS
from validate.settings import Setting

SCHEMA = "anchorflow/report/1"


@dataclass
class ReportFigure:
    """A drawn figure and what it shows."""

    name: str
    caption: str
    figure: Figure

    def __post_init__(self) -> None:
        # The layout is solved once and kept: solving it again for every format costs most of a report.
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG, rendered once for the page and the file."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


@dataclass
class Report:
    """All that a comparison found.

    Attributes
    ----------
    title : str
    settings : list of Setting
    rows : list of Row
        The comparison.
    outcomes : list of Outcome
        Verdicts, where thresholds were set beforehand; empty otherwise.
    figures : list of ReportFigure
    """

    title: str
    settings: list[Setting]
    rows: list[Row]
    outcomes: list[Outcome] = field(default_factory=list)
    figures: list[ReportFigure] = field(default_factory=list)

    @classmethod
    def build(
        cls,
        title: str,
        settings: list[Setting],
        *,
        epochs: Sequence[int] | None = None,
        outcomes: Sequence[Outcome] = (),
    ) -> Report:
        """Compare the runs and draw the figures; ``epochs`` are those that the figures show."""
        rows = compare_runs(settings)
        return cls(title, settings, rows, list(outcomes), draw_figures(settings, rows, epochs))

    def final_rows(self) -> list[Row]:
        """Return the comparison over all pairs at each setting's last epoch."""
        last = {s.label: s.epochs()[-1] for s in self.settings}
        return [r for r in self.rows if r.anchor is None and r.epoch == last[r.setting]]

    def final_table(self, setting: str) -> list[list[str]]:
        """Return ``final_rows`` of one setting as text: group, predictor, and one cell a measure."""
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for row in self.final_rows():
            if row.setting == setting:
                cells.setdefault((row.group, row.predictor), {})[row.measure] = str(row.estimate)
        return [[group, name, *(found[m] for m in MEASURES)] for (group, name), found in cells.items()]

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "verdicts": [o.as_dict() for o in self.outcomes],
            "comparison": [r.as_dict() for r in self.rows],
            "runs": [
                {
                    "path": str(run.path),
                    "setting": setting.label,
                    "config": run.config.model_dump(mode="json"),
                    "provenance": run.provenance,
                    "metrics": run.metrics,
                }
                for setting in self.settings
                for run in setting.runs
            ],
            "sources": sources(self.settings[0].runs[0].config),
            "equations": [{"equation": e, "what": w, "function": f} for e, w, f in EQUATIONS],
            "figures": [{"name": f.name, "caption": f.caption} for f in self.figures],
        }

    def write(self, out: Path) -> tuple[Path, Path]:
        """Write report.html, report.json and the figures (PNG and SVG) into a folder."""
        out.mkdir(parents=True, exist_ok=True)
        for figure in self.figures:
            save(figure.figure, out / "figures" / f"{figure.name}.svg")
            write_atomically(out / "figures" / f"{figure.name}.png", figure.png)
        page, data = out / "report.html", out / "report.json"
        write_atomically(page, render(self))
        write_json(data, self.to_json())
        return page, data


def draw_figures(
    settings: Sequence[Setting], rows: Sequence[Row], epochs: Sequence[int] | None = None
) -> list[ReportFigure]:
    """Draw the figures of some runs: accuracy, label distributions, cosine matrices, errors."""
    return [
        _accuracy_figure(settings),
        *_label_figures(settings[-1]),
        *(figure for setting in reversed(settings) for figure in _cosine_figures(setting, epochs)),
        *_error_figures(settings, rows),
    ]


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


def _label_figures(setting: Setting) -> list[ReportFigure]:
    task = setting.task
    figure, axes = new_axes(1, len(task.mappings))
    for ax, mapping in zip(axes, task.mappings, strict=True):
        LabelDistributions.from_task(task, mapping.anchors, f"{mapping.name} anchors").plot(ax)
    caption = "Fig. 4B. P^s − u of every anchor (eq. 7, 8), known before training."
    return [ReportFigure("fig4b_label_distributions", caption, figure)]


def _cosine_figures(setting: Setting, epochs: Sequence[int] | None) -> list[ReportFigure]:
    found = []
    shown = _shown_epochs(setting, epochs)
    for group, tokens in groups_of(setting.task).items():
        predictors = ("P^s - u", "P^s - mean P")
        panels = len(predictors) + len(shown)
        figure, axes = new_axes(1, panels, size=(2.7, 2.9))
        CosineMatrices.from_runs(setting, tokens, shown, predictors).plot(axes)
        caption = (
            f"Fig. 4A, C. Cosine similarity of {group_title(group)}, {setting.label}: predicted from the "
            f"label distributions, and observed (mean of {len(setting.runs)} runs)."
        )
        slug = f"{setting.label.replace('γ = ', 'gamma')}_{group}".replace(" ", "_").replace(",", "")
        found.append(ReportFigure(f"fig4_cosines_{slug}", caption, figure))
    return found


def _shown_epochs(setting: Setting, epochs: Sequence[int] | None) -> list[int]:
    """Return the epochs to show: those asked for that exist, or the one nearest half-way, and the last."""
    have = setting.epochs()
    wanted = [e for e in epochs or [] if e in have]
    half = min(have, key=lambda e: abs(e - have[-1] / 2))
    return wanted or sorted({half, have[-1]})


def _error_figures(settings: Sequence[Setting], rows: Sequence[Row]) -> list[ReportFigure]:
    found = []
    for group in groups_of(settings[0].task):
        figure, axes = new_axes(1, len(settings), size=(4.2, 3.0))
        for ax, setting in zip(axes, settings, strict=True):
            PredictionError.from_rows(rows, setting.label, group).plot(ax)
        axes[-1].legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        caption = f"How far predictors are from training over time, {group_title(group)} (RMSE over pairs)."
        found.append(ReportFigure(f"error_{group.replace(' ', '_')}", caption, figure))
    return found
