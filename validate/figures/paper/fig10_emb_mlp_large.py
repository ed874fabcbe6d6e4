"""The Emb-MLP's embedding at large initial weights.

The paper finds embeddings nearly orthogonal at γ = 0.3, so that the label distributions leave little trace.
At γ = 0.5 (B) they may leave more. For these weights the leading order of the theory says nothing: the
initial embedding is not small against what it learns.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.context import about, missing_rates, shown_epochs
from validate.figures.embedding import BAR, observed_maps
from validate.figures.paper.fig04_emb_mlp_embedding import emb_mlp_settings
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import large_scales
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.condition import LARGE
from validate.observe import Observations

LARGER = (LARGE, 0.5)
"""The γ of Figs. 10 and 11."""


@paper_figure(10, "The Emb-MLP's embedding at large weights", "emb-mlp", compares="γ")
def emb_mlp_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices of the Emb-MLP at large initial weights."""
    settings = large_scales(emb_mlp_settings(observations, "Fig. 10"))
    rows = [
        PanelRow(f"{letter}  Emb-MLP, γ = {s.init_rate:g}", observed_maps(s, shown_epochs(s)), BAR)
        for letter, s in zip("ABCDEFGH", settings, strict=False)
    ]
    caption = (
        "Cosine similarity of the Emb-MLP's embedding at large initial weights. Above each matrix: the mean "
        f"over pairs of different tokens. {missing_rates(settings, LARGER)}"
    )
    return Sheet("fig10_emb_mlp_large", caption.strip(), about(settings, "both"), rows)
