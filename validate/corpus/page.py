"""A corpus's prediction as a folder: JSON, pictures and one page."""

from __future__ import annotations

import json

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder
from theory.paths import PathLike, as_path
from validate.corpus.prediction import FILES, FOLDERS, FORMULAS, CorpusPrediction
from validate.figures.style import DIVERGING, PALETTE, SMALL_TEXT, TEXT, TITLE, new_axes
from validate.report.figure import ReportFigure
from validate.report.page import page


def write(prediction: CorpusPrediction, out: PathLike) -> None:
    """Write prediction.json, the pictures (PNG and SVG) and prediction.html into a folder."""
    folder = OutputFolder(as_path("out", out))
    folder.check(FILES, FOLDERS)
    drawn = ReportFigure("geometry", caption(prediction), draw(prediction))
    folder.write("prediction.json", json.dumps(prediction.to_json(), indent=2, allow_nan=False) + "\n")
    drawn.write(folder)
    formula = FORMULAS[prediction.geometry.predictor]  # type: ignore[index]
    text = page("corpus.html.j2", prediction=prediction, figure=drawn, formula=formula)
    folder.write("prediction.html", text)


def caption(prediction: CorpusPrediction) -> str:
    """Return the picture's caption."""
    return (
        f"Left: predicted cosines of {len(prediction.words)} words ({prediction.geometry.predictor}). "
        "Middle: when each embedding departs from its initial value, and when it is distinct from all others "
        "shown. Right: the largest singular values of C."
    )


def draw(prediction: CorpusPrediction) -> Figure:
    """Draw the cosines, the times and the spectrum."""
    figure, (left, middle, right) = new_axes(1, 3, size=(2.25, 2.4))
    _draw_cosines(left, prediction)
    _draw_times(middle, prediction)
    values = prediction.singular_values
    right.semilogy(np.arange(1, len(values) + 1), values, "o-", color=PALETTE[0], markersize=3)
    right.set(title="singular values of C", xlabel="number", xticks=range(1, len(values) + 1))
    for ax in (left, middle, right):
        ax.title.set_fontsize(TITLE)
        ax.xaxis.label.set_fontsize(TEXT)
        ax.tick_params(which="both", labelsize=SMALL_TEXT)
    return figure


def _draw_cosines(ax: Axes, prediction: CorpusPrediction) -> None:
    image = ax.imshow(prediction.geometry.cosine.value, vmin=-1, vmax=1, cmap=DIVERGING)
    # All words where they can be read; a tick for some of them elsewhere.
    step = -(-len(prediction.words) // 30)
    ticks = range(0, len(prediction.words), step)
    names = [prediction.words[i] for i in ticks]
    # A token with dollar signs is no formula.
    ax.set_xticks(ticks, names, rotation=90, fontsize=SMALL_TEXT, parse_math=False)
    ax.set_yticks(ticks, names, fontsize=SMALL_TEXT, parse_math=False)
    ax.set_title("predicted cosine")
    figure = ax.figure
    figure.colorbar(image, ax=ax, shrink=0.7).ax.tick_params(labelsize=SMALL_TEXT)


def _draw_times(ax: Axes, prediction: CorpusPrediction) -> None:
    g = prediction.geometry
    rows = np.arange(len(g.tokens))
    ax.semilogx(g.departs, rows, "o", color=PALETTE[0], markersize=3, label="departs")
    if len(rows) > 1:
        ax.semilogx(g.distinct_from_all, rows, "s", color=PALETTE[1], markersize=3, label="distinct")
    step = -(-len(rows) // 30)
    ax.set_yticks(rows[::step], prediction.words[::step], fontsize=SMALL_TEXT, parse_math=False)
    ax.invert_yaxis()
    ax.set(title="order in time", xlabel="time (first departure = 1)")
    ax.legend(frameon=False, fontsize=SMALL_TEXT)
