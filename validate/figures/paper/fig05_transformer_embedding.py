"""The Transformer's embedding (Prop. 2, 3, Theorem 1).

A has cosine matrices, B the first two principal components of anchors and keys, C one row of cosines against
the label distributions and against eq. 14 with the paper's width, D the cosines and components of eq. 14's
w̃, which lie on an arc in numerical order, beside those of training.

The paper finds memory anchors aligned here too; the caption says what these runs show. Eq. 14's width of 12
is the paper's and is not the one that follows from the variance of the label distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import PrincipalComponents, cosine_matrix, eq14_embedding, principal_components
from validate.figures.attention import attention_settings
from validate.figures.context import about, early_and_late, shown_epochs
from validate.figures.embedding import (
    BAR,
    components_map,
    observed_maps,
    reasoning_group,
    token_map,
)
from validate.figures.findings import memory_anchors
from validate.figures.panels.heat_map import cosine_map
from validate.figures.panels.panel import BasePanel
from validate.figures.paper.fig04_emb_mlp_embedding import middle_rows
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.predicted import EQ14, MARGINAL, UNIFORM
from validate.figures.selection import small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.condition import SMALL
from validate.judge.groups import Setting
from validate.observe import Observations
from validate.predict.predictors import Tokens, are_summed


@paper_figure(5, "The Transformer's embedding", likeliest(SMALL))
def transformer_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding, and of eq. 14's."""
    setting = small_scale(attention_settings(observations, "Fig. 5"))
    epochs, task = shown_epochs(setting), setting.task
    tokens = reasoning_group(task)
    middle = middle_rows(setting, tokens, epochs, (UNIFORM, MARGINAL, EQ14))
    rows = [
        PanelRow("A  Training", observed_maps(setting, epochs), BAR),
        PanelRow(
            "B  Components of the embedding, keys and anchors (first seed)",
            [token_map(setting, epoch, f"epoch {epoch}") for epoch in epochs],
        ),
        PanelRow("C  One row of cosines: theory against training", middle, share_y="cosine"),
    ]
    words = "C: one row of cosines against training."
    if are_summed(task, tokens):  # Eq. 14 knows no other rule.
        title = "D  Reasoning anchors: cosines and components of $\\tilde w$ (eq. 14), and of training"
        rows.append(PanelRow(title, _eq14_beside_training(setting, tokens, epochs[-1]), BAR, height=1.9))
        words += " D: cosines and components of eq. 14, beside those of training."
    caption = (
        f"A: cosine similarity of embeddings {early_and_late(setting)}. B: the embedding's first two "
        f"principal components. {words} Above each matrix: the mean over pairs of different tokens. "
        + memory_anchors(setting, epochs)
    )
    runs = about([setting], "both", paper=(200, 900))
    return Sheet("fig05_transformer_embedding", caption.strip(), runs, rows)


def _eq14_beside_training(setting: Setting, tokens: Tokens, epoch: int) -> list[BasePanel]:
    embedding = eq14_embedding(setting.task, tokens)
    theory = principal_components(embedding)
    panels: list[BasePanel] = [
        cosine_map("eq. 14, width 12", tokens, cosine_matrix(embedding)[None]),
        components_map("eq. 14", tokens, theory),
        components_map(
            "eq. 14, keys",
            setting.task.keys,
            principal_components(eq14_embedding(setting.task, setting.task.keys)),
        ),
    ]
    if setting.has("pca_anchors") and tokens == setting.task.reasoning_anchors:
        seen = setting.array("pca_anchors", epoch)[0]
        # The sign of a component means nothing: training's is turned to the theory's.
        signs = np.where((seen[:, :2] * theory.coordinates[:, :2]).sum(axis=0) < 0, -1, 1)
        explained = setting.array("pca_anchors_variance", epoch)[0]
        observed = PrincipalComponents(coordinates=seen[:, :2] * signs, explained=explained[:2])
        panels.insert(2, components_map(f"training, epoch {epoch} (first seed)", tokens, observed))
    return panels
