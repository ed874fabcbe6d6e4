"""Results on a corpus as a folder: JSON, pictures and one page of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.runs.files import json_text
from sim.runs.outputs import OutputFolder
from theory.reading import PathLike, as_path
from validate.corpus.prediction import CorpusPrediction
from validate.figures.embedding import BAR
from validate.figures.panels.curves import Curve, Curves
from validate.figures.panels.heat_map import HeatMap
from validate.figures.sheet import PanelRow, Sheet, write_figures
from validate.figures.style import PALETTE, Look
from validate.judge.stats import COSINE
from validate.report.page import page
from validate.terminal.tables import Table

_MOST_WORDS = 20
"""Words that there is room for below a panel."""
_LONGEST = 20
"""Letters of a word in a picture; a longer one would leave its panel no room."""


def write_page(
    out: PathLike,
    name: str,
    data: dict[str, Any],
    title: str,
    text: str,
    tables: Sequence[Table],
    figures: Sequence[Sheet],
) -> None:
    """Write NAME.json, the figures (PNG and SVG) and NAME.html, with the tables above the figures."""
    folder = OutputFolder(as_path("out", out))
    folder.check((f"{name}.json", f"{name}.html"), ("figures",))
    shown = {"tables": tables, "figures": [sheet.plot(footnote=False) for sheet in figures]}
    pictures = write_figures(figures, folder)
    folder.write(f"{name}.json", json_text(data))
    html = page("tables.html.j2", title=title, text=text, pictures=pictures, **shown)
    folder.write(f"{name}.html", html)


def write_prediction(prediction: CorpusPrediction, out: PathLike) -> None:
    """Write prediction.json, a figure of cosines, times and spectrum, and prediction.html into a folder."""
    g = prediction.geometry
    words = [w if len(w) <= _LONGEST else f"{w[: _LONGEST - 1]}…" for w in prediction.words]
    places = np.arange(len(words))
    times = {"departs": g.departs} | ({"distinct": g.distinct_from_all} if len(words) > 1 else {})
    curves = {
        name: Curve(places, own[None], Look(colour, marker, ""))
        for (name, own), colour, marker in zip(times.items(), PALETTE, "os", strict=False)
    }
    step = -(-len(words) // _MOST_WORDS)
    xticks = places[::step].tolist(), words[::step]
    values = prediction.singular_values
    spectrum = {"_": Curve(np.arange(1, len(values) + 1), values[None], Look(PALETTE[0], "o"))}
    axis, unit = ("word", words), "time (first departure = 1)"
    panels = [
        HeatMap("predicted cosine", axis, axis, g.cosine.value, limits=COSINE, matrix=True),
        Curves("order in time", curves, "word", unit, yscale="log", xticks=xticks),
        Curves("singular values of C", spectrum, "number", "", yscale="log", whole=True),
    ]
    caption = (
        f"Left: predicted cosines of {len(words)} words ({g.predictor}). Middle: when each embedding departs "
        "from its initial value, and when it is distinct from all others shown. Right: the largest singular "
        "values of C."
    )
    sheet = Sheet("geometry", caption, "", [PanelRow("", panels, BAR, 2.5)])
    title, text = "The prediction from this corpus", prediction.headline()
    write_page(out, "prediction", prediction.to_json(), title, text, prediction.tables(), [sheet])
