"""Embeddings of the two corpora at larger initial scales.

The cosines of each corpus's most frequent words early in training, at every initial scale, beside the
prediction from the counts of the text. The paper's claim: only small initial weights give the embedding a
structure.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.context import about, missing_rates
from validate.figures.embedding import BAR
from validate.figures.paper.fig01_losses import language_settings
from validate.figures.paper.fig07_corpora import observed_words, predicted_words, when_early
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import large_scales, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.measures.language import two_corpora
from validate.observe import Observations


@paper_figure(14, "Embeddings of two corpora at larger initial scales", "language")
def larger_scales(observations: Sequence[Observations]) -> Sheet:
    """Draw cosines of both corpora's words: predicted, and early at every γ up to the small scale."""
    settings = language_settings(observations, "Fig. 14")
    shown = list({s.label: s for s in [*large_scales(settings), small_scale(settings)]}.values())
    rows = [
        PanelRow(
            f"{letter}  Words of {name}",
            [
                predicted_words(shown[-1], name),
                *(observed_words(s, name, f"γ = {s.init_rate:g}, ") for s in shown),
            ],
            bar=BAR,
        )
        for letter, name in zip("AB", two_corpora(shown[0].runs[0]), strict=True)
    ]
    caption = (
        "Cosines of each corpus's most frequent words: predicted from the counts before training, and early "
        f"at each γ, {when_early(shown)}. Seeds are early at their own epochs. {missing_rates(settings)}"
    )
    return Sheet("fig14_language", caption.strip(), about(shown), rows, width=1.7)
