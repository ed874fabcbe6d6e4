"""The Transformer's embedding at large initial weights.

Cosine matrices, and the principal components of anchors and keys. The rank correlation above each map says
how far a component puts the keys in numerical order; it is the larger of two components' and so above zero
by chance as well. Keys that go round a ring in their order are a structure that no component shows: where
they do, the ring and its turns are named.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.attention import attention_settings
from validate.figures.context import about, missing_rates, model_name, shown_epochs
from validate.figures.embedding import BAR, observed_maps, token_map
from validate.figures.paper.fig10_emb_mlp_large import LARGER
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.selection import large_scales
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.condition import LARGE
from validate.observe import Observations


@paper_figure(11, "The Transformer's embedding at large weights", likeliest(LARGE), compares="γ")
def transformer_large(observations: Sequence[Observations]) -> Sheet:
    """Draw cosine matrices and components of the Transformer's embedding at large initial weights."""
    settings = large_scales(attention_settings(observations, "Fig. 11"))
    rows, rings = [], []
    for letter, setting in zip("ABCDEFGH", settings, strict=False):
        late = shown_epochs(setting)[-1]
        components = token_map(setting, late, f"components (first seed), epoch {late}")
        title = f"{letter}  {model_name(setting)}, γ = {setting.init_rate:g}"
        rows.append(PanelRow(title, [*observed_maps(setting, (late,)), components], BAR, height=2.5))
        if "ring" in components.title:
            rings.append(f"{setting.init_rate:g}")
    seen = f" At γ = {', '.join(rings)} the keys go round a ring in their order." * bool(rings)
    caption = (
        "Cosine similarity and components of the Transformer's embedding at large initial weights. Above "
        f"each matrix: the mean over pairs of different tokens.{seen} {missing_rates(settings, LARGER)}"
    )
    return Sheet("fig11_transformer_large", caption.strip(), about(settings, "late"), rows)
