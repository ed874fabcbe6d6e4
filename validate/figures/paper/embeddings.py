"""Figs. 4, 5, 9, 10 and 11: the embedding of each model, predicted and observed, at small and at large γ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import PrincipalComponents, eq14_embedding, off_diagonal, principal_components
from validate.figures import (
    Curves,
    PanelRow,
    Sheet,
    beforehand,
    cosine_map,
    embedding,
    footnote,
    label_curves,
    runs,
)
from validate.figures.embedding import BAR, eq14_panels, observed_maps, predicted_maps, token_map
from validate.figures.moments import Moment, at_each_epoch, moments, moments_text
from validate.figures.panel import Points, seeds_text
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
ROWS = (UNIFORM, MARGINAL, embedding.EQ14, beforehand.COURSE)
"""The predictions beside rows of cosines."""
MEANS = "Above each matrix: the mean cosine over pairs of different tokens."


@paper_figure(4, "The Emb-MLP's embedding and its label distributions", LIKELIEST_EMB_MLP)
def emb_mlp_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP, the label distributions, and what they predict (eq. 5, 7, 8).

    C shows P^s − u, a narrow network trained beforehand where one is kept, P^s − P̄ (the drive once the
    marginal distribution P̄ is fitted) and the late direction of the frozen flow with its own initial weights.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.EMB_MLP, "Fig. 4 is about the Emb-MLP"))
    shown, groups = moments(observations, setting), embedding.mapping_groups(setting.task)
    names, early = (UNIFORM, beforehand.NARROW, MARGINAL, embedding.FROZEN), shown[0].epoch
    rows = []
    for name, tokens in groups.items():
        maps = [
            cosine_map(f"training,\n{m.when}", tokens, m.setting.cosines(tokens, m.epoch), angles=True)
            for m in shown
        ]
        maps += predicted_maps(setting, tokens, early, names, angles=True)
        rows.append(PanelRow(f"A, C  Training, and predictions: {name} anchors", maps, ANGLE))
    labels = [label_curves(setting.task, tokens, f"{name} anchors") for name, tokens in groups.items()]
    rows.append(PanelRow("B  Label distributions $P^s - u$, known before training", labels, height=2.0))
    rules = [groups[m.name] for m in setting.task.mappings if m.name in groups and not m.is_table]
    if rules:
        # The others cannot be told from P^s − u here.
        middle = _middle_rows(shown, rules[0], (UNIFORM, MARGINAL, beforehand.NARROW))
        rows.append(PanelRow("C  Predictions against training, one row", middle, share_y="row"))
    caption = (
        f"A: angles between embeddings {runs.early_and_late(setting)}. B: the label distributions. "
        f"C: predicted angles. {'Last: one row of cosines.' * bool(rules)} {MEANS} Above each prediction: "
        f"its distance from training at epoch {early}. {beforehand.cost_text(setting, early)} "
        f"{_memory_anchors(setting)}"
    )
    return Sheet("fig04_emb_mlp_embedding", caption, footnote.about([setting]), rows)


@paper_figure(5, "The Transformer's embedding", likeliest(SMALL))
def transformer_embedding(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding, and of eq. 14's (Prop. 2, 3).

    The width of 12 in eq. 14 is the paper's, not the one that follows from the label distribution.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.ATTENTION, "Fig. 5 is about Transformers"))
    shown, (group, tokens) = moments(observations, setting), embedding.rule_group(setting.task)
    followed = embedding.followed(setting)
    middle = [*_middle_rows(followed, tokens, ROWS), *_middle_rows(shown, tokens, ROWS)]
    rows = []
    for name, own in embedding.mapping_groups(setting.task).items():
        maps = [cosine_map(m.when.replace(", ", ",\n"), own, m.setting.cosines(own, m.epoch)) for m in shown]
        rows.append(PanelRow(f"A  Training: {name} anchors", maps, BAR))
    rows += [
        PanelRow("B  Components of keys and anchors (first seed)", [token_map(m) for m in shown]),
        PanelRow("C  One row of cosines: theory against training", middle, share_y="cosine"),
    ]
    words = "C: one row of cosines against training." + _course_text(followed)
    if are_summed(setting.task, tokens):  # Eq. 14 covers no other rule.
        beside = _components_beside_eq14(shown[-1], tokens)
        words += f" D: cosines and components of eq. 14{', beside those of training' * bool(beside)}."
        title = f"D  Cosines and components of $\\tilde w$ (eq. 14); {group} anchors"
        rows.append(PanelRow(title, eq14_panels(setting.task, tokens, beside), BAR, height=1.9))
    caption = (
        f"A: cosine similarity of embeddings {runs.early_and_late(setting)}. B: the embedding's first two "
        f"principal components. {words}{moments_text(shown)} {MEANS} {_memory_anchors(setting)}"
    )
    return Sheet("fig05_transformer_embedding", caption, footnote.about([setting]), rows)


@paper_figure(9, "Every row of cosines, theory against training", likeliest(SMALL))
def every_row(observations: Sequence[Observations]) -> Sheet:
    """Draw cos(s, ·) of every reasoning anchor s: label distributions and eq. 14 against training."""
    needs = "Fig. 9 is about the Transformer and the Emb-MLP"
    transformers = runs.of_kind(observations, runs.ATTENTION)
    setting = runs.small_scale(transformers or runs.of_kind(observations, runs.EMB_MLP, needs))
    group, tokens = embedding.rule_group(setting.task)
    early, followed = at_each_epoch(moments(observations, setting))[0], embedding.followed(setting)
    name, rows = footnote.model_name(setting, rate=True), []
    for own in filter(None, (early, followed)):
        panels = embedding.cosine_rows(own, tokens, ROWS)
        columns = -(-len(panels) // -(-len(panels) // 5))  # At most five, and rows of nearly equal length.
        rows += in_rows(panels, columns, f"Rows of the {group} anchors, {name}, epoch {own[0].epoch}")
    caption = (
        f"Cosine of each {group} anchor's embedding with all others, {name}, epoch {early[0].epoch}: theory "
        f"against training.{moments_text(early)}{_course_text(followed)}"
    )
    return Sheet("fig09_rows", caption, footnote.about([setting]), rows)


@paper_figure(10, "The Emb-MLP's embedding at large weights", LIKELIEST_EMB_MLP, compares="γ")
def emb_mlp_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP at large initial weights, where the leading order says nothing."""
    settings = runs.large_scales(runs.of_kind(observations, runs.EMB_MLP, "Fig. 10 is about the Emb-MLP"))
    rows = []
    for i, s in enumerate(settings):
        maps = [panel for m in moments(observations, s) for panel in observed_maps(m)]
        rows.append(PanelRow(f"{letter(i)}  Emb-MLP, {s.label}", maps, BAR))
    caption = (
        f"Cosine similarity of the Emb-MLP's embedding at large initial weights. {MEANS} "
        f"{footnote.missing_rates(settings, LARGER)}"
    )
    return Sheet("fig10_emb_mlp_large", caption, footnote.about(settings), rows)


@paper_figure(11, "The Transformer's embedding at large weights", likeliest(LARGE), compares="γ")
def transformer_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding at large initial weights.

    The rank correlation above each map says how closely a component follows the keys' numerical order. No
    component shows that keys go round a ring in their order, so a ring is named.
    """
    settings = runs.large_scales(runs.of_kind(observations, runs.ATTENTION, "Fig. 11 is about Transformers"))
    rows, rings, late = [], [], list[Moment]()
    for i, setting in enumerate(settings):
        title, shown = (
            f"{letter(i)}  {footnote.model_name(setting)}, {setting.label}",
            moments(observations, setting),
        )
        # Where seeds go on, both epochs of the paper; elsewhere the late one.
        for m in at_each_epoch(shown)[-1]:
            components = token_map(m, "components (first seed),\n")
            rows.append(PanelRow(title, [*observed_maps(m), components], BAR, height=2.5))
            title = ""
            if "ring" in components.title:
                rings.append(f"{setting.label}, {m.when}")
        late += shown
    seen = f" At {' and '.join(rings)} the first seed's keys go round a ring in their order." * bool(rings)
    caption = (
        "Cosine similarity and components (|ρ|: of the keys' order) of the Transformer's embedding at large "
        f"initial weights. {MEANS}{seen}{moments_text(late)} {footnote.missing_rates(settings, LARGER)}"
    )
    return Sheet("fig11_transformer_large", caption, footnote.about(settings), rows)


def _middle_rows(shown: Sequence[Moment], tokens: Tokens, names: Sequence[str]) -> list[Curves]:
    """Return the row of the middle token (15 of 11..20, as in the paper) at each epoch."""
    middle = (len(tokens) - 1) // 2
    return [
        embedding.cosine_rows(own, tokens, names, f", epoch {own[0].epoch}")[middle]
        for own in at_each_epoch(shown)
    ]


def _course_text(followed: Sequence[Moment]) -> str:
    return "".join(f" {beforehand.course_text(m.setting, m.epoch)}" for m in followed)


def _memory_anchors(setting: Setting) -> str:
    """Return the mean cosine of the memory anchors, predicted and at the shown epochs."""
    tokens: Tokens = setting.task.memory_anchors
    if len(tokens) < 2:
        return ""
    predicted = seeds_text([off_diagonal(embedding.predictions(setting, tokens, 0)[UNIFORM][0]).mean()])
    seen = []
    for epoch in runs.shown_epochs(setting):
        means = [off_diagonal(matrix).mean() for matrix in setting.cosines(tokens, epoch)]
        seen.append(f"{seeds_text(means, COSINE)} at epoch {epoch}")
    name = setting.task.name_of_kind(True)
    return f"Mean cosine of {name} anchors: P^s − u predicts {predicted}; observed {', '.join(seen)}."


def _components_beside_eq14(moment: Moment, tokens: Tokens) -> list[Points]:
    """Return the first seed's components of the anchors, with the signs of those of eq. 14, if known."""
    setting = moment.setting
    if not setting.has("pca_anchors") or tokens != setting.task.reasoning_anchors:
        return []
    seen, explained = (moment.array(name)[0] for name in ("pca_anchors", "pca_anchors_variance"))
    theory = principal_components(eq14_embedding(setting.task, tokens)).coordinates
    # The sign of a component means nothing: training's is matched to the theory's.
    signs = np.where((seen[:, :2] * theory[:, :2]).sum(axis=0) < 0, -1, 1)
    observed = PrincipalComponents(coordinates=seen[:, :2] * signs, explained=explained[:2])
    title = f"training, epoch {moment.epoch} (first seed)"
    return [embedding.components_map(title, tokens, observed)]
