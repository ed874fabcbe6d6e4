"""Fig. 1, 7, 14: a language model on two corpora."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validate.claims.measures.language import early_epoch, entropy, learned_epoch, two_corpora
from validate.figures.context import about, missing_rates
from validate.figures.panels.accuracy import AccuracyCurves, Look
from validate.figures.panels.cosines import CosineMatrix
from validate.figures.panels.loss_gap import LossGaps
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import large_scales, of_kind, required, small_scale
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE
from validate.judge.groups import Setting
from validate.judge.stats import Estimate, over_seeds
from validate.observe import Observations
from validate.predict.predictors import Tokens

FIGURES_OF_LANGUAGE = (1, 7, 14)
"""The figures of the paper that this module builds."""
BAR = "cosine similarity"
_LEVELS = {"frequencies": ("entropy of a token", ":"), "pairs": ("given the one before", "--")}


@paper_figure(1, "Loss on two corpora", "language")
def two_losses(observations: Sequence[Observations]) -> Sheet:
    """Fig. 1: the two corpora's losses over epochs, one column per γ."""
    settings = language_settings(observations, "Fig. 1")
    rows = [PanelRow("Loss on each corpus", [_curves(s) for s in settings], share_y="loss", height=2.4)]
    first, second = two_corpora(settings[0].runs[0])
    caption = (
        f"Next-token loss of GPT-2, trained on {first} and {second} together, as many sequences of each. "
        "Dotted and dashed: the losses of the best model that knows how often each token occurs, and of the "
        f"best that knows the token before, on the first seed's sequences. {missing_rates(settings)}"
    )
    return Sheet("fig01_language", caption.strip(), about(settings), rows)


@paper_figure(7, "The losses' distance over γ, and the corpora's embeddings", "language")
def corpora_apart(observations: Sequence[Observations]) -> Sheet:
    """Fig. 7: how far the losses lie apart over γ, and cosines of both corpora's words, early, at small γ."""
    settings = language_settings(observations, "Fig. 7")
    small = small_scale(settings)
    gaps = [LossGaps.relative(settings), LossGaps.above_entropies(settings)]
    rows = [PanelRow("A  Loss at the end of training, second corpus less first", gaps, height=2.4)]
    for name in two_corpora(small.runs[0]):
        panels = [_predicted(small, name), _control(small, name), _observed(small, name)]
        rows.append(PanelRow(f"B  Words of {name}, γ = {small.init_rate:g}", panels, bar=BAR, legend=False))
    caption = (
        "A: how far the losses of the two corpora lie apart, relative as in the paper, and in nats above "
        "what their entropies allow. B: cosines of each corpus's most frequent words, predicted from the "
        "counts before training (rows of C + C^T, and the same from shuffled text) and observed early, "
        f"{_when([small])}. {_means(small)} {missing_rates(settings)}"
    )
    return Sheet("fig07_language", caption.strip(), about(settings), rows)


@paper_figure(14, "Embeddings of two corpora at larger initial scales", "language")
def larger_scales(observations: Sequence[Observations]) -> Sheet:
    """Fig. 14: cosines of both corpora's words, early, at every γ that is larger than the small one."""
    settings = language_settings(observations, "Fig. 14")
    shown = [*large_scales(settings), small_scale(settings)]
    shown = list({s.label: s for s in shown}.values())
    rows = [
        PanelRow(
            f"Words of {name}",
            [_observed(s, name, f"γ = {s.init_rate:g}, ") for s in shown],
            bar=BAR,
            legend=False,
        )
        for name in two_corpora(shown[0].runs[0])
    ]
    caption = (
        f"Cosines of each corpus's most frequent words, early, {_when(shown)}. {missing_rates(settings)}"
    )
    return Sheet("fig14_language", caption.strip(), about(shown), rows)


def language_settings(observations: Sequence[Observations], figure: str) -> list[Setting]:
    """Return the settings of language models; refuse runs that hold none."""
    return required(of_kind(observations, "gpt2"), observations, figure, "GPT-2")


def _curves(setting: Setting) -> AccuracyCurves:
    names = two_corpora(setting.runs[0])
    parts: dict[str, Look] = {name: (name, colour, "-") for name, colour in zip(names, PALETTE, strict=False)}
    levels, looks = {}, {}
    for (name, colour), hidden in zip(zip(names, PALETTE, strict=False), ("", "_"), strict=True):
        for known, (what, style) in _LEVELS.items():
            levels[f"{name}: {what}"] = entropy(setting.runs[0], name, known)
            looks[f"{name}: {what}"] = (hidden + what, colour, style)
    return AccuracyCurves.from_runs(
        setting, "loss", parts=parts, levels=levels, level_looks=looks, title=setting.label
    )


def _tokens(setting: Setting, name: str) -> Tokens:
    """Return the words' ranks by frequency, from 1 on."""
    return tuple(range(1, len(setting.runs[0].array(f"predicted/tied/{name}")) + 1))


def _observed(setting: Setting, name: str, which: str = "") -> CosineMatrix:
    """Take each seed's cosines at its own early snapshot."""
    epochs = [early_epoch(run) for run in setting.runs]
    matrices = np.array([r.at(f"cosine/{name}", e) for r, e in zip(setting.runs, epochs, strict=True)])
    when = " or ".join(map(str, sorted(set(epochs))))
    return CosineMatrix.of(f"{which}training,\nepoch {when}", _tokens(setting, name), matrices)


def _predicted(setting: Setting, name: str) -> CosineMatrix:
    matrices = setting.array(f"predicted/tied/{name}")
    return CosineMatrix.of("predicted,\nrows of $C + C^T$", _tokens(setting, name), matrices)


def _control(setting: Setting, name: str) -> CosineMatrix:
    matrices = setting.array(f"control/tied/{name}")
    return CosineMatrix.of("the same from\nshuffled text", _tokens(setting, name), matrices)


def _when(settings: Sequence[Setting]) -> str:
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


def _over(setting: Setting, array: str) -> Estimate:
    """Return an estimate from each seed's own early snapshot, as the panels show it."""
    return over_seeds([float(run.at(array, early_epoch(run))) for run in setting.runs], (-1.0, 1.0))
