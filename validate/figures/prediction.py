"""Figures of the theory's predictions for a task, without any run."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from sim.runs.outputs import OutputFolder
from theory import InputError, LearningCurves, Task, cosine_matrix, gaussian_embedding
from theory.edge.reading import PathLike, as_path
from validate.figures.curves import Curve, Curves
from validate.figures.embedding import BAR, eq14_panels, excess_curves, rows_of
from validate.figures.heat_map import cosine_map
from validate.figures.panel import BasePanel
from validate.figures.sheet import PanelRow, Sheet, in_rows
from validate.figures.style import MARKERS, PALETTE, Look
from validate.predict.predictors import (
    Tokens,
    are_summed,
    eq14_cosines,
    group_title,
    groups_of,
    uniform_cosines,
)
from validate.predict.statistics import Statistics


def draw(task: Task, statistics: Statistics) -> list[Sheet]:
    """Draw Fig. 4B and 4C, and Fig. 5C, 5D and 9 for every mapping that is a sum."""
    labels: list[BasePanel] = []
    for mapping in task.mappings:
        places = [task.anchors.index(s) for s in mapping.anchors]
        excess = statistics.shares.value[places] - 1 / task.vocab_size
        how = "" if set(mapping.anchors) <= set(statistics.exact_tokens) else ", sampled"
        labels.append(excess_curves(mapping.anchors, excess, f"{mapping.name} anchors{how}"))
    rows = {"fig4b_label_distributions": [PanelRow("", labels)]}
    for group, tokens in groups_of(task).items():
        cosines = statistics.cosines[group].items()
        maps = [cosine_map(name, tokens, own.over(lambda m: m).value[None]) for name, own in cosines]
        rows.setdefault("fig4c_cosines", []).append(PanelRow(group_title(group), maps, BAR))
    for mapping in task.mappings:
        if are_summed(task, mapping.anchors) and len(mapping.anchors) > 2:
            for name, own in _of_a_sum(task, mapping.anchors, f"{mapping.name} anchors").items():
                rows.setdefault(name, []).extend(own)
    return [Sheet(name, "", "", own).plot(footnote=False) for name, own in rows.items()]


def write_curves(out: PathLike, learning: LearningCurves, title: str) -> None:
    """Write the picture of the predicted accuracy and loss of each data set over epochs into a folder."""
    epochs = np.asarray(learning.steps) / learning.steps_per_epoch
    panels = []
    for name, found, ylim in (
        ("accuracy", learning.accuracy, (-0.03, 1.03)),
        ("cross entropy (nats)", learning.loss, (0.0, None)),
    ):
        curves = {
            of: Curve(epochs, rows, Look(colour))
            for (of, rows), colour in zip(found.items(), cycle(PALETTE), strict=False)
        }
        panels.append(Curves("", curves, "epoch", name, "symlog", ylim=ylim))
    sheet = Sheet("learning_curves", "", "", [PanelRow(title, panels, height=2.2)]).plot(footnote=False)
    folder = OutputFolder(as_path("out", out))
    for suffix in ("png", "svg"):
        folder.write(f"figures/prediction/{sheet.name}.{suffix}", sheet.rendered(suffix))


def _of_a_sum(task: Task, tokens: Tokens, title: str) -> dict[str, list[PanelRow]]:
    """Return the rows of Fig. 5C, 5D and 9, if the vocabulary holds the normal distribution."""
    try:
        predicted = {
            "$P^s - u$ (eq. 8)": uniform_cosines(task, tokens),
            "normal, computed width (eq. 12)": cosine_matrix(gaussian_embedding(task, tokens)),
            "normal, width 12 (eq. 14)": eq14_cosines(task, tokens),
        }
        geometry = PanelRow(title, eq14_panels(task, tokens), BAR)
    except InputError:
        # Theorem 1 refuses a vocabulary that cuts off the normal; Fig. 4B draws the exact distributions.
        return {}
    lines = {
        name: (matrix[None], Look(colour, marker))
        for (name, matrix), colour, marker in zip(predicted.items(), PALETTE, MARKERS, strict=False)
    }
    return {"fig9_rows": in_rows(rows_of(tokens, lines), 5, title), "fig5cd_geometry": [geometry]}
