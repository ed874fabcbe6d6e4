"""What a figure shows, in words chosen by its numbers: a caption cannot say what the picture denies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from validate.figures.panels.cosines import CosineMatrix
from validate.figures.panels.spectra import SingularValues, ValueAlignment
from validate.figures.predicted import UNIFORM, predictions
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, Estimate, band_text, over_seeds
from validate.predict.predictors import Tokens

AVERAGE = 0.1
"""A first attention is called an average if no entry is further than this from 1/i, Lemma 1's larger ε."""
PARALLEL, ALIGNED, WEAKLY = 0.9, 0.5, 0.2
"""From which mean cosine embeddings are called parallel, aligned and weakly aligned."""
STANDS_OUT = 0.5
"""The first singular value stands out if the second is at most this much of it."""


def direction(cosine: float) -> str:
    """Return a mean cosine in words; that of embeddings without a direction is NaN."""
    if math.isnan(cosine):
        return "without a direction"
    if cosine >= PARALLEL:
        return "nearly parallel"
    if cosine >= ALIGNED:
        return "aligned"
    if cosine >= WEAKLY:
        return "weakly aligned"
    return "nearly orthogonal" if cosine > -WEAKLY else "opposed"


def memory_anchors(setting: Setting, epochs: Sequence[int]) -> str:
    """Return what the memory anchors do beside what P^s − u says of them."""
    tokens: Tokens = setting.task.memory_anchors
    if len(tokens) < 2:
        return ""
    said = CosineMatrix.of("", tokens, predictions(setting, tokens)[UNIFORM]).pairs.mean
    seen = [CosineMatrix.from_runs(setting, tokens, epoch, "").pairs for epoch in epochs]
    parts = [
        f"{direction(pairs.mean)} at epoch {epoch} (mean cosine {pairs})"
        for epoch, pairs in zip(epochs, seen, strict=True)
    ]
    predicted = f"P^s − u predicts to be {direction(said)} ({said:.3f})"
    return f"Memory anchors, which {predicted}, are {' and '.join(parts)}."


def first_attention(setting: Setting, epochs: Sequence[int]) -> str:
    """Return when the first attention is the average over positions."""
    found = {
        epoch: over_seeds(setting.array("first_attention_error", epoch).tolist(), SHARE) for epoch in epochs
    }
    near = [str(epoch) for epoch, error in found.items() if error.mean <= AVERAGE]
    numbers = ", ".join(f"{error.mean:.3f} at epoch {epoch}" for epoch, error in found.items())
    if len(near) == len(found):
        words = "The first attention is close to the average at every epoch shown"
    elif near:
        words = f"The first attention is close to the average at epoch {', '.join(near)} and not afterwards"
        if near != [str(epoch) for epoch in epochs[: len(near)]]:
            words = f"The first attention is close to the average at epoch {', '.join(near)} alone"
    else:
        words = "The first attention is at no epoch close to the average"
    return f"{words} (largest |A_ij − 1/i|: {numbers})."


def value_direction(
    values: SingularValues, label: str, epoch: int, alignments: Sequence[ValueAlignment]
) -> str:
    """Return whether one singular value of W_V stands out, and which anchors point along its direction.

    ``values`` are those of one epoch, ``alignments`` say theirs in their titles.
    """
    second = values.curves[label][:, 1]
    stands = "stands out" if second[0] <= STANDS_OUT else "does not stand out"
    words = [f"At epoch {epoch} the first singular value of W_V {stands} (σ2/σ1 = {band_text(second)})."]
    for panel in alignments:
        sizes = [_along(kind, size) for kind, size in panel.sizes.items()]
        words.append(f"At {panel.title} {' and '.join(sizes)}.")
    return " ".join(words)


def _along(kind: str, size: Estimate) -> str:
    """Return how some anchors lie to the first direction of W_V."""
    words = direction(size.mean)
    link = "" if math.isnan(size.mean) else " to it" if abs(size.mean) < WEAKLY else " with it"
    return f"{kind} are {words}{link} (mean |cosine| {size})"
