"""From a run folder to observations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from sim.config.language import LanguageTask
from sim.config.model import ModelSection
from sim.config.run import MemberConfig
from sim.models.base import Model, model_of
from sim.models.initial import tensor_specs
from sim.runs.run import Run
from theory import Task, cosine_matrix, frozen_direction
from theory.arrays import ArrayLike, FloatArray, Integer
from theory.checked import check_tokens, checked
from validate.observe.attention import first_attention, last_row
from validate.observe.embedding import embedding_geometry, value_direction
from validate.observe.language import observe_language
from validate.observe.observations import LazyArrays, Observations, tokens_of
from validate.observe.outputs import held_out_deviations, mean_outputs
from validate.observe.probe import Probe, draw_held_out, draw_probe
from validate.observe.spectra import spectra

Parameters = Mapping[str, FloatArray]


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
    if isinstance(run.config.task, LanguageTask):
        return observe_language(run)
    probe = draw_probe(run.task)
    found = [_at_epoch(run, epoch, probe) for epoch in run.snapshot_epochs]
    shared = [name for name in found[0] if all(name in other for other in found)]
    return {name: np.stack([other[name] for other in found]) for name in shared} | _without_epochs(run)


def _at_epoch(run: Run, epoch: int, probe: Probe) -> dict[str, FloatArray]:
    parameters = {name: array.astype(np.float64) for name, array in run.snapshot(epoch).items()}
    return observe_parameters(parameters, run.config, probe)


def observe_parameters(parameters: Parameters, config: MemberConfig, probe: Probe) -> dict[str, FloatArray]:
    """Return the observables of one member's parameters, or of those of them that are given.

    Parameters
    ----------
    parameters : mapping of ndarray
        The embedding alone, or every tensor of the model, without a member axis.
    config : MemberConfig
        Whose they are.
    probe : Probe
        Sequences of its task.
    """
    task, model = config.build_task(), model_of(config.model)
    found = embedding_geometry(parameters[config.model.embedding], task) | spectra(parameters)
    if set(parameters) != set(tensor_specs(config, task.vocab_size)):
        return found
    found |= _of_held_out(parameters, model, task)
    if "attention" in model.shows:
        return found | _of_attention(parameters, model, task, probe)
    logits = model.logits(_tensors(parameters), _tokens(probe))[0]
    return found | mean_outputs(logits.numpy(), probe.mapping, task)


def _of_attention(
    parameters: Parameters, model: Model[ModelSection], task: Task, probe: Probe
) -> dict[str, FloatArray]:
    """Return what only models with attention have; of several heads, that of the first."""
    last = model.n_layers - 1
    names = ("0.attention", f"{last}.attention", f"{last}.attention_logits", "logits")
    seen = model.intermediates(_tensors(parameters), _tokens(probe), names)
    found = first_attention(_head(seen["0.attention"]))
    logits, attention = (_head(seen[f"{last}.{name}"])[:, -1] for name in ("attention_logits", "attention"))
    found |= last_row(logits, attention, probe.position)
    sums = ~np.array([mapping.is_table for mapping in task.mappings])[probe.mapping]
    if sums.any():
        rows = last_row(logits[sums], attention[sums], probe.position[sums])
        found["key_attention"] = np.diagonal(rows["last_attention"]).copy()
    if "positions" in model.shows:
        found["last_logits_positions"] = _positions_alone(parameters, model, task)
    anchors = task.reasoning_anchors or task.anchors
    found["wv_direction"] = value_direction(parameters["W_E"], parameters["0.W_V"], tokens_of(task), anchors)
    return found | mean_outputs(seen["logits"][0, :, -1].numpy(), probe.mapping, task)


def _of_held_out(parameters: Parameters, model: Model[ModelSection], task: Task) -> dict[str, FloatArray]:
    """Return by how much the answers to held-out combinations are off; nothing without any."""
    drawn = draw_held_out(task)
    if drawn is None:
        return {}
    sequences, labels = drawn
    logits = model.logits(_tensors(parameters), torch.from_numpy(sequences).unsqueeze(0))[0]
    return held_out_deviations(logits.numpy(), labels)


def _positions_alone(parameters: Parameters, model: Model[ModelSection], task: Task) -> FloatArray:
    """Return the last row of attention logits with all token embeddings zero (Fig. 15C), shape (L,)."""
    bare = {**parameters, "W_E": np.zeros_like(parameters["W_E"])}
    name = f"{model.n_layers - 1}.attention_logits"
    anything = torch.zeros((1, 1, task.length), dtype=torch.int64)
    logits = _head(model.intermediates(_tensors(bare), anything, [name])[name])
    return np.asarray(logits[0, -1])


def _without_epochs(run: Run) -> dict[str, FloatArray]:
    """Return what the training data say of the anchors, and the frozen flow of an Emb-MLP."""
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


def _tensors(parameters: Parameters) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array).unsqueeze(0) for name, array in parameters.items()}


def _tokens(probe: Probe) -> Tensor:
    return torch.from_numpy(probe.sequences).unsqueeze(0)


def _head(values: Tensor) -> FloatArray:
    """Return the only member's first head: (1, n, H, L, L) → (n, L, L)."""
    return np.asarray(values[0, :, 0].numpy(), dtype=np.float64)
