"""Lemma 1 for a run: how many entries of its first attention should be near an average, at initialisation."""

from __future__ import annotations

import numpy as np

from sim.config.run import MemberConfig
from theory import average_attention_probability
from validate.observe import NotObservedError


def predicted_average_share(config: MemberConfig, tolerance: float) -> float:
    """Return Lemma 1's mean probability that |A_ij − 1/i| ≤ tolerance, over the entries of rows i ≥ 2.

    Parameters
    ----------
    config : MemberConfig
        A model with attention.
    tolerance : float
        ε of Lemma 1.

    Returns
    -------
    float
        NaN where the first attention does not start as Lemma 1 assumes: matrices at one scale, no biases.

    Raises
    ------
    NotObservedError
        If the model has no attention.
    """
    model, task = config.model, config.build_task()
    source = model.first_attention_reads
    if source is None:
        raise NotObservedError("observable", "lemma1_share", "no attention", "take a Transformer")
    if not model.one_initial_scale:
        return float("nan")
    width = model.width(task.vocab_size)
    rows = np.arange(2, task.length + 1)
    chances = [
        average_attention_probability(tolerance, width, config.init_rate, int(i), source=source) for i in rows
    ]
    return float(np.average(chances, weights=rows))
