"""Figs. 1, 7 and 14: the losses of two corpora, their distance over γ, and the embedding of their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from theory import off_diagonal
from theory.edge.arrays import FloatArray
from validate.figures import footnote, runs
from validate.figures.curves import Curve, Curves, numbers_at
from validate.figures.embedding import BAR
from validate.figures.heat_map import HeatMap, cosine_map
from validate.figures.learning import accuracy_curves
from validate.figures.panel import seeds_text
from validate.figures.paper.registry import LIKELIEST_GPT2, paper_figure
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import MARKERS, PALETTE, ZERO, Look
from validate.judge.measures.language import (
    KNOWN,
    cosine_correlation,
    early_epoch,
    entropy,
    loss_gap,
    relative_gap,
    two_corpora,
)
from validate.judge.stats import COSINE, number
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.observe.store import shown_words

LEVELS = {"frequencies": ("entropy of a token", ":"), "pairs": ("entropy given the token before", "--")}
EARLY = (
    "at the paper's step 5000, or in runs without such a snapshot at the first by which both losses are "
    "below their tokens' entropy, or at the last"
)
WORDS_SHOWN = "cosines of each corpus's most frequent tokens, pieces of words among them, in the first seed"
GAPS = {
    "nothing": "L₂ − L₁",
    "frequencies": "L₂ − L₁ minus the token entropies",
    "pairs": "L₂ − L₁ minus the bigram entropies",
}


@paper_figure(1, "Loss on two corpora", LIKELIEST_GPT2)
def two_losses(observations: Sequence[Observations]) -> Sheet:
    """Draw the next-token losses of GPT-2 on two corpora, trained together, one column per γ."""
    settings = runs.of_kind(observations, runs.LANGUAGE, "Fig. 1 is about GPT-2")
    first, second = map(title_of, two_corpora(settings[0].runs[0]))
    caption = (
        f"Next-token loss of GPT-2 on {first} and {second}; it is trained on both, with equally many "
        "sequences of each. Dotted and dashed: the losses of the best model that knows only how often each "
        "token occurs, and of the best that also knows the token before, on the first seed's sequences. "
        f"{footnote.missing_rates(settings)}"
    )
    rows = [PanelRow("Loss on each corpus", [_losses(s) for s in settings], share_y="loss")]
    return Sheet("fig01_language", caption, footnote.about(settings), rows)


@paper_figure(7, "The losses' distance over γ, and the corpora's embeddings", LIKELIEST_GPT2)
def corpora_apart(observations: Sequence[Observations]) -> Sheet:
    """Draw how far the two losses lie apart over γ, and early cosines of both corpora's words at small γ."""
    every = runs.of_kind(observations, runs.LANGUAGE, "Fig. 7 is about GPT-2")
    small = runs.small_scale(every)
    settings = runs.over_gamma(every, small)
    names = two_corpora(small.runs[0])
    first, second = map(title_of, names)
    relative = _gaps(settings, "relative, as in the paper", "ΔL = (L₂ − L₁)/L₁", {"ΔL": relative_gap})
    nats = {GAPS[known]: partial(loss_gap, known=known) for known in KNOWN}
    gaps = [relative, _gaps(settings, "in nats, also above the corpora's entropies", "gap (nats)", nats, 1)]
    title = f"A  Loss at the end of training; L₁: loss on {first}, L₂: loss on {second}"
    rows = [PanelRow(title, gaps, says=f"ΔL {_course(relative.curves['ΔL'])}; in the paper it rises with γ.")]
    for name in names:
        panels = [_predicted_words(small, name), _predicted_words(small, name, "control")]
        title = f"B  Tokens of {title_of(name)}, γ = {small.init_rate:g}"
        rows.append(PanelRow(title, [*panels, _observed_words(small, name)], BAR))
    caption = (
        f"A: how far the losses of {first} (L₁) and {second} (L₂) lie apart, relative as in the paper, and "
        f"in nats above what their entropies allow. B: {WORDS_SHOWN}, predicted from counts before training "
        f"(rows of C + C^T, and of shuffled text) and observed early, {EARLY}. Mean cosine of all tokens at "
        f"that snapshot: {'; '.join(_means(small, name) for name in names)}. "
        f"{footnote.missing_rates(settings)}"
    )
    return Sheet("fig07_language", caption, footnote.about(settings), rows)


@paper_figure(14, "Embeddings of two corpora at larger initial scales", LIKELIEST_GPT2)
def larger_scales(observations: Sequence[Observations]) -> Sheet:
    """Draw cosines of both corpora's words: predicted, and early at every γ up to the small scale."""
    settings = runs.of_kind(observations, runs.LANGUAGE, "Fig. 14 is about GPT-2")
    shown = list({s.label: s for s in [*runs.large_scales(settings), runs.small_scale(settings)]}.values())
    rows = []
    for letter, name in zip("AB", two_corpora(shown[0].runs[0]), strict=True):
        maps = [_predicted_words(shown[-1], name), *(_observed_words(s, name, f"{s.label}, ") for s in shown)]
        likeness = {s.label: [cosine_correlation(run, name) for run in s.runs] for s in shown}
        found = ", ".join(f"{seeds_text(own, COSINE)} at {label}" for label, own in likeness.items())
        says = f"Pearson with the prediction: {found}."
        rows.append(PanelRow(f"{letter}  Tokens of {title_of(name)}", maps, BAR, says=says))
    caption = (
        f"{WORDS_SHOWN[:1].upper()}{WORDS_SHOWN[1:]}: predicted from the counts before training, and early "
        f"at each γ, {EARLY}. {footnote.missing_rates(settings)}"
    )
    return Sheet("fig14_language", caption, footnote.about(shown), rows)


def title_of(name: str) -> str:
    """Return a corpus's name as its authors write it; other names stay as they are."""
    return {"prontoqa": "PrOntoQA", "tinystories": "TinyStories"}.get(name, name)


def _losses(setting: Setting) -> Curves:
    names = two_corpora(setting.runs[0])
    levels, parts = {}, {}
    for name, colour in zip(names, PALETTE, strict=False):
        parts[name] = (title_of(name), Look(colour))
        for known, (what, line) in LEVELS.items():
            label = what if name == names[0] else f"_{name} {what}"
            levels[label] = (entropy(setting.runs[0], name, known), Look(colour, line=line, width=1))
    return accuracy_curves(setting, "loss", parts=parts, levels=levels)


def _gaps(
    settings: Sequence[Setting],
    title: str,
    unit: str,
    measures: Mapping[str, Callable[[Observations], float]],
    first_colour: int = 0,
) -> Curves:
    """Return the second corpus's loss minus the first's at the end of training, over γ."""
    gammas = np.array([s.init_rate for s in settings])
    curves = {}
    for i, (name, measure) in enumerate(measures.items(), start=first_colour):
        each = [np.array([measure(run) for run in s.runs]) for s in settings]
        curves[name] = Curve(gammas, runs.over_settings(each), Look(PALETTE[i], MARKERS[i]))
    numbers, x = numbers_at(curves, "γ ="), "initialisation rate γ"
    return Curves(title, curves, x, unit, levels=ZERO, bars=True, numbers=numbers)


def _course(curve: Curve) -> str:
    """Return in words whether the known means rise or fall with γ, or turn in between."""
    known = np.isfinite(curve.seeds).any(axis=0)
    gammas, means = np.asarray(curve.x)[known], np.nanmean(curve.seeds[:, known], axis=0)
    if len(means) < 2:
        return f"is shown at {('no', 'one')[len(means)]} γ"
    steps = np.sign(np.diff(means))
    if (steps >= 0).all() or (steps <= 0).all():
        return f"{'rises' if steps.sum() > 0 else 'falls'} with γ"
    shape, turn = ("least", int(means.argmin())) if steps[0] < 0 else ("greatest", int(means.argmax()))
    return f"is {shape} at γ = {gammas[turn]:g} ({number(means[turn])}), not monotonic in γ"


def _observed_words(setting: Setting, name: str, which: str = "") -> HeatMap:
    """Return the first seed's cosines of a corpus's words at its early snapshot."""
    matrices = [run.at(f"cosine/{name}", early_epoch(run)) for run in setting.runs]
    first = setting.runs[0]
    step = next(line["step"] for line in first.metrics if line["epoch"] == early_epoch(first))
    return _words(f"{which}training,\nstep {step}", setting, name, matrices)


def _predicted_words(setting: Setting, name: str, kind: str = "predicted") -> HeatMap:
    """Return the cosines of a corpus's words that its counts predict, or the ``control`` of shuffled text."""
    title = {"predicted": "predicted,\nrows of $C + C^T$", "control": "predicted from\nshuffled text"}[kind]
    return _words(title, setting, name, [run.array(f"{kind}/tied/{name}") for run in setting.runs])


def _words(title: str, setting: Setting, name: str, matrices: Sequence[FloatArray]) -> HeatMap:
    """Return the map of the first seed; other seeds have other words, and fewer if their text has few."""
    words = shown_words(setting.runs[0]).get(name) or range(1, len(matrices[0]) + 1)
    panel = cosine_map(title, words, matrices[0][None], "token, by frequency")
    means = [float(off_diagonal(matrix).mean()) for matrix in matrices]
    panel.numbers = f"{' '.join(title.split())}: mean cosine of pairs {seeds_text(means, COSINE)}"
    return panel


def _means(setting: Setting, name: str) -> str:
    """Return the mean cosine of a corpus's tokens: of all, centred, and of equal frequency."""
    found = []
    for array, words in (
        ("mean_cosine", ""),
        ("mean_cosine_centred", " with the common mean removed"),
        ("mean_cosine_matched", " over tokens that the other corpus lacks, in pairs of equal frequency"),
    ):
        if setting.has(f"{array}/{name}"):
            means = [float(run.at(f"{array}/{name}", early_epoch(run))) for run in setting.runs]
            found.append(seeds_text(means, COSINE) + words)
    return f"{title_of(name)} {', '.join(found)}"
