"""The Emb-MLP's embedding and its label distributions.

To leading order an embedding grows along P^s − u, the label distribution of its token against the uniform
one (eq. 5, 7, 8). Memory anchors share one distribution, so their cosines are predicted near 1. Those of
reasoning anchors are shifted copies, so their cosines are predicted to fall with distance.

A shows training, B the distributions, C the cosines that follow from P^s − u, from P^s − P̄ (the drive once
the marginal distribution P̄ is fitted), from the run's own label counts, and from the late direction of the
frozen flow with the run's own initial weights. Neither distributions nor counts know anything of training.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.context import about, early_and_late, shown_epochs
from validate.figures.embedding import (
    BAR,
    cosine_rows,
    label_curves,
    mapping_groups,
    predicted_maps,
    reasoning_group,
)
from validate.figures.findings import memory_anchors
from validate.figures.panels.curves import Curves
from validate.figures.panels.heat_map import cosine_map
from validate.figures.paper.registry import paper_figure
from validate.figures.predicted import FROZEN, MARGINAL, SAMPLE, UNIFORM
from validate.figures.selection import of_kind, required, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.groups import Setting
from validate.observe import Observations
from validate.predict.predictors import Tokens

NAMES = (UNIFORM, MARGINAL, SAMPLE, FROZEN)


@paper_figure(4, "The Emb-MLP's embedding and its label distributions", "emb-mlp")
def emb_mlp_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP, the label distributions, and what they predict."""
    setting = small_scale(emb_mlp_settings(observations, "Fig. 4"))
    epochs, groups = shown_epochs(setting), mapping_groups(setting.task)
    rows = []
    for name, tokens in groups.items():
        seen = [cosine_map(f"training,\nepoch {e}", tokens, setting.cosines(tokens, e)) for e in epochs]
        title = f"A, C  {name.capitalize()} anchors: training, and predictions"
        rows.append(PanelRow(title, [*seen, *predicted_maps(setting, tokens, NAMES)], BAR))
    labels = [label_curves(setting.task, tokens, f"{name} anchors") for name, tokens in groups.items()]
    rows.append(PanelRow("B  Label distributions $P^s - u$, known before training", labels, height=2.0))
    if setting.task.reasoning_anchors:
        middle = middle_rows(setting, reasoning_group(setting.task), epochs, NAMES)
        rows.append(PanelRow("C  Predictions against training, one row", middle, share_y="row"))
    caption = (
        f"A: cosine similarity of embeddings {early_and_late(setting)}. B: the label distributions. "
        "C: the cosines that they predict. Last: one row of cosines. Above each matrix: the mean over pairs "
        "of different tokens. " + memory_anchors(setting, epochs)
    )
    runs = about([setting], "both", paper=(50, 900))
    return Sheet("fig04_emb_mlp_embedding", caption.strip(), runs, rows)


def emb_mlp_settings(observations: Sequence[Observations], figure: str) -> list[Setting]:
    """Return the settings of Emb-MLPs; refuse runs that hold none."""
    return required(of_kind(observations, "emb-mlp"), observations, figure, "the Emb-MLP")


def middle_rows(
    setting: Setting, tokens: Tokens, epochs: Sequence[int], names: Sequence[str]
) -> list[Curves]:
    """Return the row of a token in the middle (15 of 11..20, as in the paper) at some epochs."""
    middle = (len(tokens) - 1) // 2
    found = [cosine_rows(setting, tokens, epoch, names)[middle] for epoch in epochs]
    for panel, epoch in zip(found, epochs, strict=True):
        panel.numbers = panel.numbers.replace(panel.title, f"{panel.title}, epoch {epoch}", 1)
        panel.title += f", epoch {epoch}"
    return found
