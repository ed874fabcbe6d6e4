"""Fig. 4, 5, 9, 10, 11: what an embedding looks like, predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theory import InputError, Task, cosine_matrix, eq14_embedding
from validate.claims.statements import LARGE, SMALL
from validate.figures.context import about, early_and_late, missing_rates, model_name, shown_epochs
from validate.figures.findings import memory_anchors
from validate.figures.panels.cosines import CosineMatrix
from validate.figures.panels.embedding import CosineRows, EmbeddingPCA
from validate.figures.panels.labels import LabelDistributions
from validate.figures.panels.token_map import EmbeddingMap
from validate.figures.paper.registry import paper_figure
from validate.figures.paper.sources import likeliest
from validate.figures.paper.training import ATTENTION, attention_settings
from validate.figures.predicted import EQ14, FROZEN, MARGINAL, SAMPLE, UNIFORM
from validate.figures.selection import large_scales, of_kind, required, small_scale
from validate.figures.sheet import Panel, PanelRow, Sheet
from validate.judge.compare import ALL, groups_of
from validate.judge.groups import Setting
from validate.observe import Observations
from validate.predict.predictors import Tokens, are_summed

BAR = "cosine similarity"
LARGER = (LARGE, 0.5)
"""The γ of Figs. 10 and 11."""
MEANS = "Above each matrix: the mean over pairs of different tokens."


@paper_figure(4, "The Emb-MLP's embedding and its label distributions", "emb-mlp")
def emb_mlp_embedding(observations: Sequence[Observations]) -> Sheet:
    """Fig. 4: cosine matrices of the Emb-MLP, the label distributions, and what they predict."""
    setting = small_scale(_emb_mlp(observations, "Fig. 4"))
    epochs = shown_epochs(setting)
    groups = mapping_groups(setting.task)
    names = (UNIFORM, MARGINAL, SAMPLE, FROZEN)
    rows = []
    for name, tokens in groups.items():
        panels = [CosineMatrix.from_runs(setting, tokens, e, f"training,\nepoch {e}") for e in epochs]
        panels += CosineMatrix.from_theory(setting, tokens, names)
        title = f"A, C  {name.capitalize()} anchors: training, and what is predicted"
        rows.append(replace(_matrices(title, panels, scale=name), share_y=name))
    distributions: list[Panel] = [
        LabelDistributions.from_task(setting.task, tokens, f"{name} anchors", held_out=True)
        for name, tokens in groups.items()
    ]
    rows.append(
        PanelRow("B  Label distributions $P^s - u$, known before training", distributions, legend=False)
    )
    if setting.task.reasoning_anchors:
        middle = _middle_rows(setting, reasoning_group(setting.task), epochs, names)
        rows.append(PanelRow("C  Predictions against training, one row", middle, share_y="row"))
    caption = (
        f"A: cosine similarity of embeddings {early_and_late(setting)}. B: the label distributions. "
        "C: the cosines that they predict; each group of anchors has one colour scale, fitted to its values. "
        f"Last: one row of cosines. {MEANS} " + memory_anchors(setting, epochs)
    )
    runs = about([setting], "both", paper=(50, 900))
    return Sheet("fig04_emb_mlp_embedding", caption.strip(), runs, rows)


@paper_figure(5, "The Transformer's embedding", likeliest(SMALL))
def transformer_embedding(observations: Sequence[Observations]) -> Sheet:
    """Fig. 5: cosine matrices and components of the Transformer's embedding, and of eq. 14's."""
    setting = small_scale(attention_settings(observations, "Fig. 5"))
    epochs = shown_epochs(setting)
    task, tokens = setting.task, reasoning_group(setting.task)
    middle = _middle_rows(setting, tokens, epochs, (UNIFORM, MARGINAL, EQ14))
    summed = are_summed(task, tokens)  # Eq. 14 knows no other rule.
    rows = [
        _matrices("A  Training", _observed(setting, mapping_groups(task), epochs)),
        PanelRow(
            "B  Components of the embedding, keys and anchors (first seed)",
            [EmbeddingMap.from_runs(setting, epoch, f"epoch {epoch}") for epoch in epochs],
            height=2.4,
        ),
        *(_eq14_rows(task, tokens, middle) if summed else [_one_row(middle)]),
    ]
    eq14 = "cosines of eq. 14, and one row against training. D: components of eq. 14."
    caption = (
        f"A: cosine similarity of embeddings {early_and_late(setting)}. B: the embedding's first two "
        f"principal components. C: {eq14 if summed else 'one row of cosines against training.'} "
        f"{MEANS} " + memory_anchors(setting, epochs)
    )
    runs = about([setting], "both", paper=(200, 900))
    return Sheet("fig05_transformer_embedding", caption.strip(), runs, rows)


@paper_figure(9, "Every row of cosines, theory against training", likeliest(SMALL))
def every_row(observations: Sequence[Observations]) -> Sheet:
    """Fig. 9: cos(s, ·) of every reasoning anchor, theory against training."""
    found = of_kind(observations, *ATTENTION) or of_kind(observations, "emb-mlp")
    setting = small_scale(required(found, observations, "Fig. 9", "the Transformer and the Emb-MLP"))
    tokens = reasoning_group(setting.task)
    epoch = shown_epochs(setting)[0]
    rows = CosineRows.from_runs(setting, tokens, epoch, (UNIFORM, MARGINAL, EQ14))
    columns = -(-len(rows) // -(-len(rows) // 5))  # At most five, and rows of nearly equal length.
    starts = range(0, len(rows), columns)
    title = f"Reasoning anchors, {model_name(setting)}, γ = {setting.init_rate:g}, epoch {epoch}"
    sheet_rows = [
        PanelRow(
            "" if start else title,
            rows[start : start + columns],
            height=2.1 if start == starts[-1] else 1.8,
            legend=start == starts[-1],
            share_y="cosine",
        )
        for start in starts
    ]
    caption = (
        f"Cosine of each reasoning anchor's embedding with all others, {model_name(setting)}, "
        f"γ = {setting.init_rate:g}, epoch {epoch}: theory against training."
    )
    return Sheet("fig09_rows", caption, about([setting], "early"), sheet_rows, width=1.6)


@paper_figure(10, "The Emb-MLP's embedding at large weights", "emb-mlp", compares="γ")
def emb_mlp_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 10: cosine matrices of the Emb-MLP at large initial weights."""
    settings = large_scales(_emb_mlp(observations, "Fig. 10"))
    rows = [
        _matrices(
            f"{letter}  Emb-MLP, γ = {setting.init_rate:g}",
            _observed(setting, mapping_groups(setting.task), shown_epochs(setting)),
        )
        for letter, setting in zip("ABCDEFGH", settings, strict=False)
    ]
    caption = (
        f"Cosine similarity of the Emb-MLP's embedding at large initial weights. {MEANS} "
        f"{missing_rates(settings, LARGER)}"
    )
    return Sheet("fig10_emb_mlp_large", caption.strip(), about(settings, "both"), rows)


@paper_figure(11, "The Transformer's embedding at large weights", likeliest(LARGE), compares="γ")
def transformer_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 11: cosine matrices and components of the Transformer's embedding at large initial weights."""
    settings = large_scales(attention_settings(observations, "Fig. 11"))
    rows = []
    for letter, setting in zip("ABCDEFGH", settings, strict=False):
        late = shown_epochs(setting)[-1]
        panels: list[Panel] = [
            *_observed(setting, mapping_groups(setting.task), (late,)),
            EmbeddingMap.from_runs(setting, late, f"components (first seed),\nepoch {late}"),
        ]
        title = f"{letter}  {model_name(setting)}, γ = {setting.init_rate:g}"
        rows.append(_matrices(title, panels, legend=True))
    caption = (
        "Cosine similarity and components of the Transformer's embedding at large initial weights. "
        f"{MEANS} {missing_rates(settings, LARGER)}"
    )
    return Sheet("fig11_transformer_large", caption.strip(), about(settings, "late"), rows)


def mapping_groups(task: Task) -> dict[str, Tokens]:
    """Return the anchors of each mapping that has more than two."""
    return {name: tokens for name, tokens in groups_of(task).items() if name != ALL}


def reasoning_group(task: Task) -> Tokens:
    """Return the anchors of the first mapping that adds; refuse a task without one."""
    for mapping in task.mappings:
        if not mapping.is_table and len(mapping.anchors) > 2:
            return mapping.anchors
    raise InputError(
        "runs", [m.name for m in task.mappings], "no reasoning anchors to show", "give runs of another task"
    )


def _emb_mlp(observations: Sequence[Observations], figure: str) -> list[Setting]:
    return required(of_kind(observations, "emb-mlp"), observations, figure, "the Emb-MLP")


def _matrices(title: str, panels: Sequence[Panel], *, scale: str = "all", legend: bool = False) -> PanelRow:
    return PanelRow(title, panels, BAR, height=2.2, legend=legend, scale=scale)


def _observed(setting: Setting, groups: dict[str, Tokens], epochs: Sequence[int]) -> list[Panel]:
    return [
        CosineMatrix.from_runs(setting, tokens, epoch, f"{name} anchors,\nepoch {epoch}")
        for epoch in epochs
        for name, tokens in groups.items()
    ]


def _middle_rows(
    setting: Setting, tokens: Tokens, epochs: Sequence[int], names: Sequence[str]
) -> list[CosineRows]:
    """Return the row of a token in the middle (15 of 11..20, as in the paper) at some epochs."""
    middle = (len(tokens) - 1) // 2
    found = [CosineRows.from_runs(setting, tokens, epoch, names)[middle] for epoch in epochs]
    for panel, epoch in zip(found, epochs, strict=True):
        panel.title = f"cos({panel.token}, ·), epoch {epoch}"
    return found


def _one_row(middle: Sequence[CosineRows]) -> PanelRow:
    return _matrices("C  One row of cosines against training", middle, legend=True)


def _eq14_rows(task: Task, tokens: Tokens, middle: Sequence[CosineRows]) -> list[PanelRow]:
    """Return what eq. 14 says of anchors that are summed and of keys, the cosines beside one row."""
    cosines = CosineMatrix.of("eq. 14,\nwidth 12", tokens, cosine_matrix(eq14_embedding(task, tokens))[None])
    shown = {"keys": task.keys, "reasoning anchors": tokens}
    components = [EmbeddingPCA.from_task(task, group, name) for name, group in shown.items()]
    title = "C  Theory: eq. 14's cosines, and one row against training"
    return [
        _matrices(title, [cosines, *middle], legend=True),
        PanelRow("D  Components of $\\tilde w$ (eq. 14)", components),
    ]
