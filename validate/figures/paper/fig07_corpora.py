"""The two corpora apart, over γ.

A: the distance of the two losses over γ, relative as in the paper, and above what each corpus's own
entropies allow. B: the cosines of each corpus's most frequent words early in training, beside those that the
counts of the text predict before training, and those from shuffled text, which keeps frequencies alone.

The paper's claims: ΔL rises with γ; words of PrOntoQA stay apart and words of TinyStories align. The second
is judged on all tokens, whose mean cosines the caption gives; B shows the frequent words, where the two
corpora need not differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from theory.arrays import FloatArray
from validate.figures.context import about, missing_rates
from validate.figures.embedding import BAR
from validate.figures.findings import course
from validate.figures.panels.curves import Curve, Curves
from validate.figures.panels.heat_map import HeatMap, cosine_map
from validate.figures.paper.fig01_losses import language_settings
from validate.figures.paper.registry import paper_figure
from validate.figures.seeds import seeds_text
from validate.figures.selection import over_settings, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import MARKERS, PALETTE, Look
from validate.judge.groups import Setting
from validate.judge.measures.language import (
    KNOWN,
    early_epoch,
    learned_epoch,
    loss_gap,
    relative_gap,
    two_corpora,
)
from validate.judge.stats import COSINE
from validate.observe import Observations

WORDS = "word, by frequency"


@paper_figure(7, "The losses' distance over γ, and the corpora's embeddings", "language")
def corpora_apart(observations: Sequence[Observations]) -> Sheet:
    """Draw how far the losses lie apart over γ, and cosines of both corpora's words, early, at small γ."""
    settings = language_settings(observations, "Fig. 7")
    small = small_scale(settings)
    first, second = two_corpora(small.runs[0])
    relative = _gaps(settings, "relative, as in the paper", "ΔL = (L₂ − L₁)/L₁", {"ΔL": relative_gap})
    labels = {
        "nothing": "L₂ − L₁",
        "frequencies": "L₂ − L₁ minus the entropies of a token",
        "pairs": "L₂ − L₁ minus the bigram entropies",
    }
    nats = {labels[known]: partial(loss_gap, known=known) for known in KNOWN}
    gaps = [relative, _gaps(settings, "in nats, above the corpora's entropies", "gap (nats)", nats, 1)]
    gammas = [s.init_rate for s in settings]
    found = f"ΔL {course(gammas, np.nanmean(over_settings(_each(settings, relative_gap)), axis=0))}"
    names = f"L₁: loss on {first}, L₂: loss on {second}"
    rows = [PanelRow(f"A  Loss at the end of training; {names}", gaps, says=f"{found}.")]
    for name in (first, second):
        panels = [predicted_words(small, name), _control(small, name), observed_words(small, name)]
        rows.append(PanelRow(f"B  Words of {name}, γ = {small.init_rate:g}", panels, BAR))
    caption = (
        f"A: how far the losses of {first} (L₁) and {second} (L₂) lie apart, relative as in the paper, and "
        f"in nats above what their entropies allow. {found}; the paper has it rise with γ. B: cosines of "
        "each corpus's most frequent words, predicted from the counts before training (rows of C + C^T, and "
        f"of shuffled text) and observed early, {when_early([small])}. {_means(small)} "
        f"{missing_rates(settings)}"
    )
    return Sheet("fig07_language", caption.strip(), about(settings), rows)


def _each(settings: Sequence[Setting], measure: Callable[[Observations], float]) -> list[FloatArray]:
    return [np.array([measure(run) for run in s.runs]) for s in settings]


def _gaps(
    settings: Sequence[Setting],
    title: str,
    unit: str,
    measures: Mapping[str, Callable[[Observations], float]],
    first_colour: int = 0,
) -> Curves:
    """Return the second corpus's loss minus the first's at the end of training, over γ."""
    gammas = np.array([s.init_rate for s in settings])
    curves, told = {}, []
    for i, (name, measure) in enumerate(measures.items(), start=first_colour):
        each = _each(settings, measure)
        curves[name] = Curve(gammas, over_settings(each), Look(PALETTE[i], MARKERS[i]))
        told += [f"{name} at γ = {g:g}: {seeds_text(v)}" for g, v in zip(gammas, each, strict=True)]
    zero = {"_zero": (0.0, Look("0.5", width=0.8))}
    numbers = "; ".join(told)
    return Curves(title, curves, "initialisation rate γ", unit, levels=zero, bars=True, numbers=numbers)


def observed_words(setting: Setting, name: str, which: str = "") -> HeatMap:
    """Return each seed's cosines of a corpus's words at its own early snapshot."""
    epochs = [early_epoch(run) for run in setting.runs]
    matrices = np.array([r.at(f"cosine/{name}", e) for r, e in zip(setting.runs, epochs, strict=True)])
    when = " or ".join(map(str, sorted(set(epochs))))
    return _words(f"{which}training,\nepoch {when}", matrices)


def predicted_words(setting: Setting, name: str) -> HeatMap:
    """Return the cosines of a corpus's words that its counts predict."""
    return _words("predicted,\nrows of $C + C^T$", setting.array(f"predicted/tied/{name}"))


def _control(setting: Setting, name: str) -> HeatMap:
    return _words("predicted from\nshuffled text", setting.array(f"control/tied/{name}"))


def _words(title: str, matrices: FloatArray) -> HeatMap:
    return cosine_map(title, range(1, matrices.shape[-1] + 1), matrices, WORDS)


def when_early(settings: Sequence[Setting]) -> str:
    """Return which snapshot of each run is shown."""
    text = "at the first snapshot by which both losses are below their tokens' entropy"
    never = [(sum(learned_epoch(run) is None for run in s.runs), s) for s in settings]
    parts = [f"{count} of {s.seeds_text} at γ = {s.init_rate:g}" for count, s in never if count]
    return f"{text}, or at the last where there is none ({', '.join(parts)})" if parts else text


def _means(setting: Setting) -> str:
    """Return the mean cosines of each corpus's tokens, in words: of all, centred, and of equal frequency."""
    parts = []
    for name in two_corpora(setting.runs[0]):
        said = [f"{name} {_over(setting, f'mean_cosine/{name}')}"]
        said.append(f"{_over(setting, f'mean_cosine_centred/{name}')} with the common mean removed")
        if all(f"matched/{name}" in run.arrays for run in setting.runs):
            matched = _over(setting, f"mean_cosine_matched/{name}")
            said.append(f"{matched} over tokens that the other corpus lacks, in pairs of equal frequency")
        parts.append(", ".join(said))
    return f"Mean cosine of all tokens at that snapshot: {'; '.join(parts)}."


def _over(setting: Setting, array: str) -> str:
    """Return an estimate from each seed's own early snapshot, as the panels show it."""
    return seeds_text([float(run.at(array, early_epoch(run))) for run in setting.runs], COSINE)
