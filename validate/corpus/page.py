"""Results on a corpus as a folder: JSON, pictures and one page of tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder
from theory.reading import PathLike, as_path
from validate.corpus.prediction import CorpusPrediction
from validate.figures.style import DIVERGING, PALETTE, SMALL_TEXT, TEXT, TITLE, new_axes
from validate.report.figure import ReportFigure
from validate.report.page import page
from validate.terminal.tables import Table


def write_page(
    out: PathLike,
    name: str,
    data: dict[str, Any],
    title: str,
    text: str,
    tables: Sequence[Table],
    figures: Sequence[ReportFigure],
) -> None:
    """Write NAME.json, the figures (PNG and SVG) and NAME.html, with the tables above the figures."""
    folder = OutputFolder(as_path("out", out))
    folder.check((f"{name}.json", f"{name}.html"), ("figures",))
    for figure in figures:
        figure.write(folder)
    folder.write(f"{name}.json", json.dumps(data, indent=2, allow_nan=False) + "\n")
    html = page("tables.html.j2", title=title, text=text, tables=tables, figures=figures)
    folder.write(f"{name}.html", html)


def write_prediction(prediction: CorpusPrediction, out: PathLike) -> None:
    """Write prediction.json, the pictures (PNG and SVG) and prediction.html into a folder."""
    caption = (
        f"Left: predicted cosines of {len(prediction.words)} words ({prediction.geometry.predictor}). "
        "Middle: when each embedding departs from its initial value, and when it is distinct from all others "
        "shown. Right: the largest singular values of C."
    )
    drawn = ReportFigure("geometry", caption, draw(prediction))
    title, text = "The prediction from this corpus", prediction.headline()
    write_page(out, "prediction", prediction.to_json(), title, text, prediction.tables(), [drawn])


def draw(prediction: CorpusPrediction) -> Figure:
    """Draw the cosines, the times and the spectrum."""
    g, rows = prediction.geometry, np.arange(len(prediction.words))
    figure, axes = new_axes(1, 3, size=(2.25, 2.4))
    left, middle, right = axes
    image = left.imshow(g.cosine.value, vmin=-1, vmax=1, cmap=DIVERGING)
    figure.colorbar(image, ax=left, shrink=0.7).ax.tick_params(labelsize=SMALL_TEXT)
    middle.semilogx(g.departs, rows, "o", color=PALETTE[0], markersize=3, label="departs")
    if len(rows) > 1:
        middle.semilogx(g.distinct_from_all, rows, "s", color=PALETTE[1], markersize=3, label="distinct")
    middle.invert_yaxis()
    middle.legend(frameon=False, fontsize=SMALL_TEXT)
    values = prediction.singular_values
    right.semilogy(np.arange(1, len(values) + 1), values, "o-", color=PALETTE[0], markersize=3)
    left.set(title="predicted cosine")
    middle.set(title="order in time", xlabel="time (first departure = 1)")
    right.set(title="singular values of C", xlabel="number", xticks=range(1, len(values) + 1))
    for ax in axes:
        ax.title.set_fontsize(TITLE)
        ax.xaxis.label.set_fontsize(TEXT)
        ax.tick_params(which="both", labelsize=SMALL_TEXT)
    # All words where they can be read, some of them elsewhere; a token with dollar signs is no formula.
    step = -(-len(rows) // 30)
    words, how = prediction.words[::step], dict[str, Any](fontsize=SMALL_TEXT, parse_math=False)
    left.set_xticks(rows[::step])
    left.set_xticklabels(words, rotation=90, **how)
    for ax in (left, middle):
        ax.set_yticks(rows[::step])
        ax.set_yticklabels(words, **how)
    return figure
