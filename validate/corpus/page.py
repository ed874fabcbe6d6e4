"""A corpus's prediction as a folder: JSON, pictures and one page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder
from theory.reading import PathLike, as_path
from validate.corpus.prediction import FILES, FOLDERS, FORMULAS, TOO_RARE_NOTE, CorpusPrediction
from validate.figures.style import DIVERGING, PALETTE, SMALL_TEXT, TEXT, TITLE, new_axes
from validate.report.figure import ReportFigure
from validate.report.page import page


def write(prediction: CorpusPrediction, out: PathLike) -> None:
    """Write prediction.json, the pictures (PNG and SVG) and prediction.html into a folder."""
    folder = OutputFolder(as_path("out", out))
    folder.check(FILES, FOLDERS)
    predictor = prediction.geometry.predictor
    caption = (
        f"Left: predicted cosines of {len(prediction.words)} words ({predictor}). Middle: when each "
        "embedding departs from its initial value, and when it is distinct from all others shown. Right: "
        "the largest singular values of C."
    )
    drawn = ReportFigure("geometry", caption, draw(prediction))
    folder.write("prediction.json", json.dumps(prediction.to_json(), indent=2, allow_nan=False) + "\n")
    drawn.write(folder)
    formula = FORMULAS[predictor]  # type: ignore[index]
    text = page(
        "corpus.html.j2", prediction=prediction, figure=drawn, formula=formula, too_rare=TOO_RARE_NOTE
    )
    folder.write("prediction.html", text)


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
