"""Every row of cosines: theory against training.

cos(s, ·) for every reasoning anchor s: the prediction of the label distributions, that of eq. 14 with the
paper's width, and training. The paper plots eq. 14 alone and finds discrepancies for large s.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.attention import ATTENTION
from validate.figures.context import about, model_name, shown_epochs
from validate.figures.embedding import cosine_rows, reasoning_group
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.predicted import EQ14, MARGINAL, UNIFORM
from validate.figures.selection import of_kind, required, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.condition import SMALL
from validate.observe import Observations


@paper_figure(9, "Every row of cosines, theory against training", likeliest(SMALL))
def every_row(observations: Sequence[Observations]) -> Sheet:
    """Draw cos(s, ·) of every reasoning anchor, theory against training."""
    found = of_kind(observations, *ATTENTION) or of_kind(observations, "emb-mlp")
    setting = small_scale(required(found, observations, "Fig. 9", "the Transformer and the Emb-MLP"))
    tokens, epoch = reasoning_group(setting.task), shown_epochs(setting)[0]
    rows = cosine_rows(setting, tokens, epoch, (UNIFORM, MARGINAL, EQ14))
    columns = -(-len(rows) // -(-len(rows) // 5))  # At most five, and rows of nearly equal length.
    name = f"{model_name(setting)}, γ = {setting.init_rate:g}, epoch {epoch}"
    starts = range(0, len(rows), columns)
    sheet_rows = [
        PanelRow(
            "" if start else f"Reasoning anchors, {name}",
            rows[start : start + columns],
            legend=start == starts[-1],
            share_y="cosine",
        )
        for start in starts
    ]
    caption = f"Cosine of each reasoning anchor's embedding with all others, {name}: theory against training."
    return Sheet("fig09_rows", caption, about([setting], "early"), sheet_rows, width=1.6)
