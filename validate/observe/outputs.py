"""What a model puts out for each mapping's sequences, on average."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from theory import Task
from theory.arrays import FloatArray, IntArray

FARTHEST = 10
"""How far off an answer may be to be counted by its deviation."""


def mean_outputs(logits: FloatArray, mapping: IntArray, task: Task) -> dict[str, FloatArray]:
    """Return each mapping's mean output distribution and its mass on the mapping's labels (Fig. 8 right).

    Parameters
    ----------
    logits : ndarray, shape (n, d)
        Of the label.
    mapping : ndarray of int64, shape (n,)
        Index into ``task.mappings``; every mapping occurs.
    task : Task

    Returns
    -------
    dict of ndarray
        For each mapping "outputs/NAME" (d,), the mean softmax, and "label_mass/NAME" (), its sum over the
        range of labels that the mapping can have.
    """
    probabilities = softmax(logits, axis=1)
    found: dict[str, FloatArray] = {}
    for index, own in enumerate(task.mappings):
        mean = probabilities[mapping == index].mean(axis=0)
        labels = task.label_range(own)
        found[f"outputs/{own.name}"] = mean
        found[f"label_mass/{own.name}"] = np.asarray(mean[labels.start : labels.stop].sum())
    return found


def held_out_deviations(logits: FloatArray, labels: IntArray) -> dict[str, FloatArray]:
    """Return the shares of answers that are off by −10 to 10, as "held_out_deviations" (21,).

    Parameters
    ----------
    logits : ndarray, shape (n, d)
        Of sequences with a held-out combination of anchors.
    labels : ndarray of int64, shape (n,)
        What their rule gives.
    """
    off = logits.argmax(axis=1) - labels
    near = off[np.abs(off) <= FARTHEST] + FARTHEST
    return {"held_out_deviations": np.bincount(near, minlength=2 * FARTHEST + 1) / len(labels)}
