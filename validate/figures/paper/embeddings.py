"""Figs. 4, 5, 9, 10 and 11: the embedding of each model, predicted and observed, at small and at large γ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import PrincipalComponents, cosine_matrix, eq14_embedding, off_diagonal, principal_components
from validate.figures import Curves, PanelRow, Sheet, cosine_map, embedding, label_curves, runs, token_map
from validate.figures.embedding import BAR, components_map, observed_maps, predicted_maps
from validate.figures.panels.panel import BasePanel, seeds_text
from validate.figures.paper.registry import LIKELIEST_EMB_MLP, likeliest, paper_figure
from validate.figures.sheet import in_rows, letter
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import COSINE
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.predict.predictors import MARGINAL, UNIFORM, Tokens, are_summed

LARGER = (LARGE, 0.5)
"""The γ of Figs. 10 and 11."""
ANGLE = "angle (degrees)"
MEANS = "Above each matrix: the mean cosine over pairs of different tokens."


@paper_figure(4, "The Emb-MLP's embedding and its label distributions", LIKELIEST_EMB_MLP)
def emb_mlp_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP, the label distributions, and what they predict (eq. 5, 7, 8).

    C shows the cosines of P^s − u, of P^s − P̄ (the drive once the marginal distribution P̄ is fitted), of the
    run's own label counts, and of the late direction of the frozen flow with its own initial weights.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.EMB_MLP, "Fig. 4 is about the Emb-MLP"))
    names = (UNIFORM, MARGINAL, embedding.SAMPLE, embedding.FROZEN)
    epochs, groups = runs.shown_epochs(setting), embedding.mapping_groups(setting.task)
    rows = []
    for name, tokens in groups.items():
        seen = [
            cosine_map(f"training,\nepoch {e}", tokens, setting.cosines(tokens, e), angles=True)
            for e in epochs
        ]
        title = f"A, C  Training, and predictions: {name} anchors"
        rows.append(PanelRow(title, [*seen, *predicted_maps(setting, tokens, names, angles=True)], ANGLE))
    labels = [label_curves(setting.task, tokens, f"{name} anchors") for name, tokens in groups.items()]
    rows.append(PanelRow("B  Label distributions $P^s - u$, known before training", labels, height=2.0))
    rules = [groups[m.name] for m in setting.task.mappings if m.name in groups and not m.is_table]
    if rules:
        # The others cannot be told from P^s − u here.
        middle = _middle_rows(setting, rules[0], epochs, (UNIFORM, MARGINAL))
        rows.append(PanelRow("C  Predictions against training, one row", middle, share_y="row"))
    caption = (
        f"A: angles between embeddings {runs.early_and_late(setting)}. B: the label distributions. "
        f"C: the angles that they predict. {'Last: one row of cosines.' * bool(rules)} {MEANS} "
        f"{_memory_anchors(setting)}"
    )
    return Sheet("fig04_emb_mlp_embedding", caption, runs.about([setting]), rows)


@paper_figure(5, "The Transformer's embedding", likeliest(SMALL))
def transformer_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding, and of eq. 14's (Prop. 2, 3).

    The width of 12 in eq. 14 is the paper's, not the one that follows from the label distribution.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.ATTENTION, "Fig. 5 is about Transformers"))
    epochs, (group, tokens) = runs.shown_epochs(setting), embedding.rule_group(setting.task)
    late = runs.later(observations, setting)
    middle = _middle_rows(setting, tokens, epochs, (UNIFORM, MARGINAL, embedding.EQ14), late)
    maps = observed_maps(setting, epochs)
    components: list[BasePanel] = [token_map(setting, epoch, f"epoch {epoch}") for epoch in epochs]
    if late is not None:
        maps += observed_maps(late, [late_epoch := runs.late_epoch(late)], f" ({late.seeds_text})")
        components.append(token_map(late, late_epoch, f"epoch {late_epoch}"))
    rows = [
        PanelRow("A  Training", maps, BAR),
        PanelRow("B  Components of keys and anchors (first seed)", components),
        PanelRow("C  One row of cosines: theory against training", middle, share_y="cosine"),
    ]
    words = "C: one row of cosines against training."
    if are_summed(setting.task, tokens):  # Eq. 14 covers no other rule.
        panels = _eq14_beside_training(setting, tokens, epochs[-1])
        beside = ", these beside those of training" * any(p.title.startswith("training") for p in panels)
        title = f"D  Cosines and components of $\\tilde w$ (eq. 14){beside}; {group} anchors"
        rows.append(PanelRow(title, panels, BAR, height=1.9))
        words += f" D: cosines and components of eq. 14{beside}."
    caption = (
        f"A: cosine similarity of embeddings {runs.early_and_late(setting)}{runs.later_words(late)}. B: the "
        f"embedding's first two principal components. {words}{runs.mechanism_words(setting)} {MEANS} "
        f"{_memory_anchors(setting)}"
    )
    return Sheet("fig05_transformer_embedding", caption, runs.about([setting]), rows)


@paper_figure(9, "Every row of cosines, theory against training", likeliest(SMALL))
def every_row(observations: Sequence[Observations]) -> Sheet:
    """Draw cos(s, ·) of every reasoning anchor s: label distributions and eq. 14 against training."""
    needs = "Fig. 9 is about the Transformer and the Emb-MLP"
    transformers = runs.of_kind(observations, runs.ATTENTION)
    setting = runs.small_scale(transformers or runs.of_kind(observations, runs.EMB_MLP, needs))
    (group, tokens), epoch = embedding.rule_group(setting.task), runs.shown_epochs(setting)[0]
    late = runs.later(observations, setting)
    names = (UNIFORM, MARGINAL, embedding.EQ14)
    beside = (late, runs.late_epoch(late)) if late else None
    panels = embedding.cosine_rows(setting, tokens, epoch, names, late=beside)
    columns = -(-len(panels) // -(-len(panels) // 5))  # At most five, and rows of nearly equal length.
    name = f"{runs.model_name(setting, rate=True)}, epoch {epoch}"
    rows = in_rows(panels, columns, f"Rows of the {group} anchors, {name}")
    caption = (
        f"Cosine of each {group} anchor's embedding with all others, {name}: theory against "
        f"training{runs.later_words(late)}.{runs.mechanism_words(setting)}"
    )
    return Sheet("fig09_rows", caption, runs.about([setting]), rows)


@paper_figure(10, "The Emb-MLP's embedding at large weights", LIKELIEST_EMB_MLP, compares="γ")
def emb_mlp_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP at large initial weights, where the leading order says nothing."""
    settings = runs.large_scales(runs.of_kind(observations, runs.EMB_MLP, "Fig. 10 is about the Emb-MLP"))
    rows = [
        PanelRow(f"{letter(i)}  Emb-MLP, {s.label}", observed_maps(s, runs.shown_epochs(s)), BAR)
        for i, s in enumerate(settings)
    ]
    caption = (
        f"Cosine similarity of the Emb-MLP's embedding at large initial weights. {MEANS} "
        f"{runs.missing_rates(settings, LARGER)}"
    )
    return Sheet("fig10_emb_mlp_large", caption, runs.about(settings), rows)


@paper_figure(11, "The Transformer's embedding at large weights", likeliest(LARGE), compares="γ")
def transformer_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding at large initial weights.

    The rank correlation above each map says how closely a component follows the keys' numerical order. No
    component shows that keys go round a ring in their order, so a ring is named.
    """
    settings = runs.large_scales(runs.of_kind(observations, runs.ATTENTION, "Fig. 11 is about Transformers"))
    rows, rings = [], []
    for i, setting in enumerate(settings):
        late = runs.shown_epochs(setting)[-1]
        components = token_map(setting, late, f"components (first seed),\nepoch {late}")
        title = f"{letter(i)}  {runs.model_name(setting)}, {setting.label}"
        rows.append(PanelRow(title, [*observed_maps(setting, (late,)), components], BAR, height=2.5))
        if "ring" in components.title:
            rings.append(setting.label)
    seen = f" At {' and '.join(rings)} the first seed's keys go round a ring in their order." * bool(rings)
    caption = (
        "Cosine similarity and components (|ρ|: of the keys' order) of the Transformer's embedding at large "
        f"initial weights. {MEANS}{seen} {runs.missing_rates(settings, LARGER)}"
    )
    return Sheet("fig11_transformer_large", caption, runs.about(settings), rows)


def _middle_rows(
    setting: Setting,
    tokens: Tokens,
    epochs: Sequence[int],
    names: Sequence[str],
    late: Setting | None = None,
) -> list[Curves]:
    """Return the row of the middle token (15 of 11..20, as in the paper) at some epochs."""
    middle = (len(tokens) - 1) // 2
    beside = (late, runs.late_epoch(late)) if late else None
    return [embedding.cosine_rows(setting, tokens, e, names, f", epoch {e}", beside)[middle] for e in epochs]


def _memory_anchors(setting: Setting) -> str:
    """Return the mean cosine of the memory anchors, predicted and at the shown epochs."""
    tokens: Tokens = setting.task.memory_anchors
    if len(tokens) < 2:
        return ""
    predicted = seeds_text([off_diagonal(embedding.predictions(setting, tokens)[UNIFORM][0]).mean()])
    seen = []
    for epoch in runs.shown_epochs(setting):
        means = [off_diagonal(matrix).mean() for matrix in setting.cosines(tokens, epoch)]
        seen.append(f"{seeds_text(means, COSINE)} at epoch {epoch}")
    return f"Mean cosine of memory anchors: P^s − u predicts {predicted}; observed {', '.join(seen)}."


def _eq14_beside_training(setting: Setting, tokens: Tokens, epoch: int) -> list[BasePanel]:
    task, keys = setting.task, setting.task.keys
    eq14 = eq14_embedding(task, tokens)
    theory = principal_components(eq14)
    panels: list[BasePanel] = [
        cosine_map("eq. 14, width 12", tokens, cosine_matrix(eq14)[None]),
        components_map("eq. 14", tokens, theory),
    ]
    if setting.has("pca_anchors") and tokens == task.reasoning_anchors:
        seen = setting.array("pca_anchors", epoch)[0]
        # The sign of a component means nothing: training's is matched to the theory's.
        signs = np.where((seen[:, :2] * theory.coordinates[:, :2]).sum(axis=0) < 0, -1, 1)
        explained = setting.array("pca_anchors_variance", epoch)[0]
        observed = PrincipalComponents(coordinates=seen[:, :2] * signs, explained=explained[:2])
        panels.append(components_map(f"training, epoch {epoch} (first seed)", tokens, observed))
    if len(keys) > 1:
        panels.append(components_map("eq. 14, keys", keys, principal_components(eq14_embedding(task, keys))))
    return panels
