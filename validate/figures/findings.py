"""What a figure shows, in words chosen by its numbers: a caption cannot say what the picture denies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from theory import off_diagonal
from theory.arrays import FloatArray
from validate.figures.predicted import UNIFORM, predictions
from validate.figures.seeds import seeds_text
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SHARE, number
from validate.predict.predictors import Tokens

AVERAGE = 0.1
"""A first attention is called an average if no entry is further than this from 1/i, Lemma 1's larger ε."""
DIRECTIONS = (
    (0.9, "nearly parallel"),
    (0.5, "aligned"),
    (0.2, "weakly aligned"),
    (-0.2, "nearly orthogonal"),
)
"""From which mean cosine on embeddings are called so."""
STANDS_OUT = 0.5
"""The first singular value stands out if the second is at most this much of it."""


def direction(cosine: float) -> str:
    """Return a mean cosine in words; NaN stands for embeddings without a direction."""
    if math.isnan(cosine):
        return "without a direction"
    return next((words for least, words in DIRECTIONS if cosine >= least), "opposed")


def pair_means(matrices: FloatArray) -> FloatArray:
    """Return the mean over pairs of each seed's cosine matrix."""
    return np.array([off_diagonal(matrix).mean() for matrix in matrices])


def memory_anchors(setting: Setting, epochs: Sequence[int]) -> str:
    """Return what the memory anchors do beside the prediction of P^s − u."""
    tokens: Tokens = setting.task.memory_anchors
    if len(tokens) < 2:
        return ""
    predicted = float(pair_means(predictions(setting, tokens)[UNIFORM]).mean())
    seen = {epoch: pair_means(setting.cosines(tokens, epoch)) for epoch in epochs}
    parts = [
        f"{direction(float(means.mean()))} at epoch {epoch} (mean cosine {seeds_text(means, COSINE)})"
        for epoch, means in seen.items()
    ]
    return (
        f"Memory anchors, which P^s − u predicts to be {direction(predicted)} ({predicted:.3f}), are "
        f"{' and '.join(parts)}."
    )


def first_attention(setting: Setting, epochs: Sequence[int]) -> tuple[str, str]:
    """Return when the first attention is the average over positions, and the numbers that say so."""
    errors = {epoch: setting.array("first_attention_error", epoch) for epoch in epochs}
    near = [epoch for epoch, values in errors.items() if values.mean() <= AVERAGE]
    numbers = ", ".join(f"{seeds_text(v, SHARE)} at epoch {e}" for e, v in errors.items())
    listed = ", ".join(map(str, near))
    if len(near) == len(errors):
        words = "close to the average at every epoch shown"
    elif not near:
        words = "at no epoch close to the average"
    elif near == list(epochs[: len(near)]):
        words = f"close to the average at epoch {listed} and not afterwards"
    else:
        words = f"close to the average at epoch {listed} alone"
    return f"The first attention is {words}", f"largest |A_ij − 1/i|: {numbers}"


def value_direction(
    ratios: FloatArray, epoch: int, alignments: dict[int, dict[str, FloatArray]]
) -> tuple[str, str]:
    """Return whether one singular value of W_V stands out, and which anchors point along its direction.

    Parameters
    ----------
    ratios : ndarray, shape (n_seeds,)
        σ2/σ1 at an epoch.
    epoch : int
    alignments : dict
        Epoch → kind of anchor → its mean |cosine| with the first direction for each seed.
    """
    stands = "stands out" if ratios.mean() <= STANDS_OUT else "does not stand out"
    first = (
        f"At epoch {epoch} the first singular value of W_V {stands} (σ2/σ1 = {seeds_text(ratios, SHARE)})."
    )
    rest = []
    for at, kinds in alignments.items():
        sizes = [_along(kind, values) for kind, values in kinds.items()]
        rest.append(f"At epoch {at} {' and '.join(sizes)}.")
    return first, " ".join(rest)


def _along(kind: str, values: FloatArray) -> str:
    """Return how some anchors lie to the first direction of W_V."""
    mean = float(values.mean())
    words = direction(mean)
    link = "" if math.isnan(mean) else " to it" if abs(mean) < DIRECTIONS[2][0] else " with it"
    return f"{kind} are {words}{link} (mean |cosine| {seeds_text(values, SHARE)})"


def course(gammas: Sequence[float], values: npt.ArrayLike) -> str:
    """Return how some means run over γ: rise, fall, or have their least or greatest value inside."""
    means = np.asarray(values, np.float64)
    steps = np.sign(np.diff(means))
    if len(steps) == 0:
        return "is shown at one γ"
    if (steps >= 0).all() or (steps <= 0).all():
        return f"{'rises' if steps.sum() > 0 else 'falls'} with γ"
    turn = int(means.argmin()) if steps[0] < 0 else int(means.argmax())
    shape = "is least" if steps[0] < 0 else "is greatest"
    return f"{shape} at γ = {gammas[turn]:g} ({number(float(means[turn]))}), with no single direction over γ"


def ring(keys: FloatArray) -> str:
    """Return whether points in the plane go round a ring, or an arc of it, in their order; nothing if not.

    They do where their distances from the middle spread by less than two fifths of the mean, and at
    least three quarters of the steps from one to the next turn the same way.
    """
    offsets = keys - (keys.max(axis=0) + keys.min(axis=0)) / 2
    offsets /= np.maximum(np.abs(offsets).max(axis=0), 1e-300)
    radii, angles = np.hypot(*offsets.T), np.arctan2(offsets[:, 1], offsets[:, 0])
    steps = (np.diff(angles) + np.pi) % (2 * np.pi) - np.pi
    regular = max((steps > 0).mean(), (steps < 0).mean())
    turns = abs(steps.sum()) / (2 * np.pi)
    if radii.std() > 0.4 * radii.mean() or regular < 0.75 or turns < 0.75:
        return ""
    return f"{'ring' if turns >= 1 else 'arc'}, {turns:.1f} turns"
