"""Measures of a language model's run on two corpora: their losses, and the cosines of their words.

The first corpus of a task is the one that is expected to be learned first (PrOntoQA), the second the other
(TinyStories).
"""

from __future__ import annotations

import math

import numpy as np

from sim.config.language import LanguageTask
from theory import InputError
from validate.judge.measures.agreement import pearson
from validate.observe import Observations
from validate.observe.times import curve

KNOWN = ("nothing", "frequencies", "pairs")
"""The entropy that is subtracted from a loss: none, a token's, or a token's given the one before."""
PRINTED_STEPS = 4950, 5050
"""Around step 5000, where the paper takes the cosines of Figs. 7 and 14; an epoch may end beside it."""


def two_corpora(run: Observations) -> tuple[str, str]:
    """Return the names of a run's first two corpora; a run with fewer is refused."""
    task = run.config.task
    if not isinstance(task, LanguageTask) or len(task.corpora) < 2:
        remedy = "name runs of: anchorflow corpus train FILE FILE"
        raise InputError("run", run.source, "not trained on two corpora", remedy)
    first, second, *_ = task.names
    return first, second


def loss_gap(run: Observations, known: str = "nothing", line: int = -1) -> float:
    """Return the second corpus's loss less the first's at a line of the metrics, each above an entropy."""
    first, second = (
        float(curve(run, "loss", name)[1][line]) - (0.0 if known == "nothing" else entropy(run, name, known))
        for name in two_corpora(run)
    )
    return second - first


def relative_gap(run: Observations) -> float:
    """Return ΔL of the paper: (L₂ − L₁)/L₁."""
    return loss_gap(run) / float(curve(run, "loss", two_corpora(run)[0])[1][-1])


def entropy(run: Observations, corpus: str, known: str) -> float:
    """Return the entropy of a corpus's next token with "frequencies" or "pairs" known, in nats."""
    return float(run.array(f"entropy/{corpus}")[KNOWN.index(known) - 1])


def learned_epoch(run: Observations) -> int | None:
    """Return the first snapshot at which no corpus's loss is above its tokens' entropy, if there is one."""
    below = [curve(run, "loss", name)[1] <= entropy(run, name, "frequencies") for name in two_corpora(run)]
    learned = {line["epoch"] for line, *flags in zip(run.metrics, *below, strict=True) if all(flags)}
    return next((epoch for epoch in run.epochs if epoch in learned), None)


def compared_epoch(run: Observations) -> int | None:
    """Return the snapshot at the paper's step, or without one the first at which both corpora are learned."""
    (low, high), steps = PRINTED_STEPS, {line["epoch"]: line["step"] for line in run.metrics}
    printed = next((epoch for epoch in run.epochs if low <= steps.get(epoch, 0) <= high), None)
    return learned_epoch(run) if printed is None else printed


def early_epoch(run: Observations) -> int:
    """Return that snapshot, or else the last one: figures show it, while measures are undefined."""
    compared = compared_epoch(run)
    return run.epochs[-1] if compared is None else compared


def cosine_correlation(
    run: Observations,
    corpus: str | int,
    predictor: str = "tied",
    *,
    control: bool = False,
    centred: bool = False,
    epoch: int | None = None,
) -> float:
    """Return Pearson's correlation of predicted and observed cosines over pairs of a corpus's words.

    ``corpus`` is a name, or 0 for the first of the two; ``control`` takes the prediction of the shuffled
    text, ``centred`` removes the mean row first. At ``compared_epoch`` by default; NaN if there is none.
    """
    epoch = compared_epoch(run) if epoch is None else epoch
    if epoch is None:
        return math.nan
    corpus = two_corpora(run)[corpus] if isinstance(corpus, int) else corpus
    which = f"centred/{corpus}" if centred else corpus
    predicted = run.array(f"{'control' if control else 'predicted'}/{predictor}/{which}")
    observed = run.at(f"cosine/{which}", epoch)
    pairs = np.triu_indices(len(predicted), 1)
    return pearson(predicted[pairs], observed[pairs])


def cosine_contrast(run: Observations, *, matched: bool = False) -> float:
    """Return the mean cosine of the second corpus's tokens less that of the first's, early (Fig. 7B).

    ``matched`` takes tokens of one corpus alone, in pairs of equal frequency; NaN for fewer than two pairs.
    """
    kind = "mean_cosine_matched" if matched else "mean_cosine"
    names = [f"{kind}/{name}" for name in two_corpora(run)]
    epoch = compared_epoch(run)
    if epoch is None or (matched and names[0] not in run.arrays):
        return math.nan
    first, second = (run.at(name, epoch) for name in names)
    return float(second - first)


def correlation_gain(
    run: Observations, corpus: str | int, predictor: str = "tied", *, centred: bool = False
) -> float:
    """Return by how much the correlation exceeds that of the prediction from shuffled text."""
    correlation = cosine_correlation(run, corpus, predictor, centred=centred)
    return correlation - cosine_correlation(run, corpus, predictor, control=True, centred=centred)
