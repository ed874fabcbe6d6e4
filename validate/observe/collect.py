"""From a run folder to observations."""

from __future__ import annotations

from functools import partial

import numpy as np

from sim.config.language import LanguageTask
from sim.runs.run import Run
from theory import cosine_matrix, frozen_direction
from theory.arrays import ArrayLike, FloatArray, Integer
from theory.checked import check_tokens, checked
from validate.observe.observations import LazyArrays, Observations
from validate.observe.probe import draw_probe


def observe(run: Run) -> Observations:
    """Return what claims and figures need of a finished run.

    All arrays are computed in float64 from the snapshots, when the first of them is needed. What needs
    matrices that a snapshot does not hold is absent: train with ``training.snapshot_tensors = "all"`` to
    observe attention, outputs and every spectrum.
    """
    arrays = LazyArrays(partial(_arrays, run))
    return Observations(run.config, run.provenance, run.metrics, run.snapshot_epochs, arrays, run.path)


@checked
def observed_cosines(run: Run | Observations, epoch: int, tokens: Integer[ArrayLike, " n"]) -> FloatArray:
    """Return the cosine matrix of a run's embedding at an epoch, shape (n, n).

    Of a run any tokens can be named, of observations anchors.
    """
    chosen = check_tokens("tokens", tokens, run.task.vocab_size)
    if isinstance(run, Run):
        return cosine_matrix(run.embedding(epoch)[chosen])
    return run.cosines(chosen.tolist(), epoch)


def _arrays(run: Run) -> dict[str, FloatArray]:
    # Both with torch, which kept files do without.
    if isinstance(run.config.task, LanguageTask):
        from validate.observe.language import observe_language

        return observe_language(run)
    from validate.observe.parameters import observe_parameters

    probe, found = draw_probe(run.task), []
    for epoch in run.snapshot_epochs:
        parameters = {name: array.astype(np.float64) for name, array in run.snapshot(epoch).items()}
        found.append(observe_parameters(parameters, run.config, probe))
    shared = [name for name in found[0] if all(name in other for other in found)]
    return {name: np.stack([other[name] for other in found]) for name in shared} | _without_epochs(run)


def _without_epochs(run: Run) -> dict[str, FloatArray]:
    """Return what the training data say of the anchors, and the frozen flow of an Emb-MLP."""
    from sim.models.base import model_of

    anchors = list(run.task.anchors)
    counts, n_sequences = run.token_label_counts()
    C = run.token_label_matrix
    found = {
        "token_label_matrix_anchors": C[anchors],
        "token_ratio": counts[anchors].sum(axis=1) / n_sequences,
    }
    if "frozen flow" in model_of(run.config.model).shows:
        direction = frozen_direction(C, run.initial())[anchors]
        found["frozen_direction"] = direction @ direction.T
        found["frozen_start"] = run.embedding(0)[anchors] @ direction.T
    return found
