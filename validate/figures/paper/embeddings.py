"""Fig. 4, 5, 9, 10, 11: what an embedding looks like, predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence

from theory import InputError, Task, cosine_matrix, eq14_embedding
from validate.compare import ALL, groups_of
from validate.figures.cosines import CosineMatrix
from validate.figures.embedding import CosineRows, EmbeddingPCA
from validate.figures.labels import LabelDistributions
from validate.figures.members import KINDS, Members, large_scales, of_kind, seeds_note, small_scale
from validate.figures.paper.training import ATTENTION, attention_settings
from validate.figures.predicted import EQ14, FROZEN, MARGINAL, SAMPLE, UNIFORM
from validate.figures.sheet import Panel, PanelRow, Sheet
from validate.figures.token_map import EmbeddingMap
from validate.observe import Observations
from validate.predictors import Tokens

BAR = "cosine similarity"
EARLY_SHARE = {"emb-mlp": 0.05}
LATE_SHARE = 0.9
"""The paper shows epochs 50 (Emb-MLP), 200 (Transformer) and 900 of 1000: the snapshots nearest to these."""


def emb_mlp_embedding(observations: Sequence[Observations]) -> Sheet:
    """Fig. 4: cosine matrices of the Emb-MLP, the label laws, and what they predict."""
    setting = small_scale(_emb_mlp(observations, "Fig. 4"))
    early, late = shown_epochs(setting)
    groups = mapping_groups(setting.task)
    rows = [PanelRow("A  Training", _observed(setting, groups, (early, late)), BAR, height=3.0)]
    laws: list[Panel] = [
        LabelDistributions.from_task(setting.task, tokens, f"{name} anchors", held_out=True)
        for name, tokens in groups.items()
    ]
    rows.append(PanelRow("B  Label laws $P^s - u$, known before training", laws, legend=False))
    names = (UNIFORM, MARGINAL, SAMPLE, FROZEN)
    for name, tokens in groups.items():
        predicted = CosineMatrix.from_theory(setting, tokens, names)
        rows.append(PanelRow(f"C  Predicted, {name} anchors", predicted, BAR, height=3.0))
    if setting.task.reasoning_anchors:
        middle = _middle_rows(setting, reasoning_group(setting.task), (early, late), names)
        rows.append(PanelRow("C  Predictions against training, one row", middle))
    caption = (
        f"Emb-MLP, {setting.label}. A: cosine similarity of embeddings at two epochs. B: the label laws. "
        "C: the cosines that they predict. Last: one row of cosines, predictions against training."
    )
    return Sheet("fig04_emb_mlp_embedding", caption, seeds_note([setting]), rows, width=2.7)


def transformer_embedding(observations: Sequence[Observations]) -> Sheet:
    """Fig. 5: cosine matrices and components of the Transformer's embedding, and of eq. 14's."""
    setting = small_scale(attention_settings(observations, "Fig. 5"))
    early, late = shown_epochs(setting)
    task, groups = setting.task, mapping_groups(setting.task)
    tokens = reasoning_group(task)
    row, row_late = _middle_rows(setting, tokens, (early, late), (UNIFORM, MARGINAL, EQ14))
    eq14 = CosineMatrix.of("eq. 14, width 12", tokens, cosine_matrix(eq14_embedding(task, tokens))[None])
    rows = [
        PanelRow("A  Training", _observed(setting, groups, (early, late)), BAR, height=3.0),
        PanelRow(
            "B  Components of the embedding, keys and anchors (first seed)",
            [EmbeddingMap.from_runs(setting, epoch, f"epoch {epoch}") for epoch in (early, late)],
            height=3.0,
        ),
        PanelRow("C  Theory against training", [eq14, row, row_late], BAR),
        PanelRow("D  Components of $\\tilde w$ (eq. 14)", _eq14_panels(task, tokens)),
    ]
    caption = (
        f"Transformer, {setting.label}. A: cosine similarity of embeddings at two epochs. B: the embedding's "
        "first two principal components. C: cosines of eq. 14, and one row against training. D: components "
        "of eq. 14."
    )
    return Sheet("fig05_transformer_embedding", caption, seeds_note([setting]), rows, width=2.8)


def every_row(observations: Sequence[Observations]) -> Sheet:
    """Fig. 9: cos(s, ·) of every reasoning anchor, theory against training."""
    setting = small_scale(of_kind(observations, *ATTENTION) or of_kind(observations, "emb-mlp"))
    tokens = reasoning_group(setting.task)
    epoch = shown_epochs(setting)[0]
    rows = CosineRows.from_runs(setting, tokens, epoch, (UNIFORM, MARGINAL, EQ14))
    columns = min(5, len(rows))
    sheet_rows = [
        PanelRow(f"{'Reasoning anchors' if start == 0 else ''}", rows[start : start + columns], height=2.3)
        for start in range(0, len(rows), columns)
    ]
    caption = (
        f"Cosine of each reasoning anchor's embedding with all others, {KINDS[setting.kind]}, "
        f"{setting.label}, epoch {epoch}: theory against training."
    )
    return Sheet("fig09_rows", caption, seeds_note([setting]), sheet_rows, width=2.2)


def emb_mlp_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 10: cosine matrices of the Emb-MLP at large initial weights."""
    settings = large_scales(_emb_mlp(observations, "Fig. 10"))
    rows = [
        PanelRow(
            f"{letter}  Emb-MLP, {setting.label}",
            _observed(setting, mapping_groups(setting.task), shown_epochs(setting)),
            BAR,
            height=3.0,
        )
        for letter, setting in zip("ABCDEFGH", settings, strict=False)
    ]
    caption = "Cosine similarity of the Emb-MLP's embedding at large initial weights."
    return Sheet("fig10_emb_mlp_large", caption, seeds_note(settings), rows, width=2.7)


def transformer_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 11: cosine matrices and components of the Transformer's embedding at large initial weights."""
    settings = large_scales(attention_settings(observations, "Fig. 11"))
    rows = []
    for letter, setting in zip("ABCDEFGH", settings, strict=False):
        late = shown_epochs(setting)[1]
        panels = [
            *_observed(setting, mapping_groups(setting.task), (late,)),
            EmbeddingMap.from_runs(setting, late, f"components, epoch {late}"),
        ]
        rows.append(PanelRow(f"{letter}  Transformer, {setting.label}", panels, BAR, height=3.1))
    caption = "Cosine similarity and components of the Transformer's embedding at large initial weights."
    return Sheet("fig11_transformer_large", caption, seeds_note(settings), rows, width=3.1)


def shown_epochs(setting: Members) -> tuple[int, int]:
    """Return the snapshots nearest to the paper's early and late epochs, by their share of the run."""
    after = [e for e in setting.epochs() if e > 0]
    early, late = (share * after[-1] for share in (EARLY_SHARE.get(setting.kind, 0.2), LATE_SHARE))
    return min(after, key=lambda e: abs(e - early)), min(after, key=lambda e: abs(e - late))


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


def _emb_mlp(observations: Sequence[Observations], figure: str) -> list[Members]:
    settings = of_kind(observations, "emb-mlp")
    if not settings:
        raise InputError("runs", len(observations), f"{figure} is about the Emb-MLP", "give such runs")
    return settings


def _observed(setting: Members, groups: dict[str, Tokens], epochs: Sequence[int]) -> list[Panel]:
    return [
        CosineMatrix.from_runs(setting, tokens, epoch, f"{name} anchors, epoch {epoch}")
        for epoch in epochs
        for name, tokens in groups.items()
    ]


def _middle_rows(
    setting: Members, tokens: Tokens, epochs: Sequence[int], names: Sequence[str]
) -> list[CosineRows]:
    """Return the row of a token in the middle (15 of 11..20, as in the paper) at some epochs."""
    middle = (len(tokens) - 1) // 2
    found = [CosineRows.from_runs(setting, tokens, epoch, names)[middle] for epoch in epochs]
    for panel, epoch in zip(found, epochs, strict=True):
        panel.title = f"cos({panel.token}, ·), epoch {epoch}"
    return found


def _eq14_panels(task: Task, tokens: Tokens) -> list[Panel]:
    shown = {"keys": task.keys, "reasoning anchors": tokens}
    return [EmbeddingPCA.from_task(task, group, name) for name, group in shown.items()]
