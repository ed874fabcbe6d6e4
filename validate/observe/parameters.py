"""The observables of one member's parameters, computed with torch, which reading kept files does not need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sim.config.model import ModelSection
from sim.config.run import MemberConfig
from sim.models.base import Model, model_of
from sim.models.initial import tensor_specs
from sim.seeds import numpy_stream
from theory import Task
from theory.edge.arrays import FloatArray, IntArray
from theory.task.domain import Selection
from theory.task.population import assemble, draw_tables, labels_of
from validate.observe import observables
from validate.observe.observations import tokens_of

Parameters = Mapping[str, FloatArray]
SEQUENCES = 512
"""Sequences of the probe, rounded up to equally many for each mapping and place of the key."""
SEED = 0
"""The probe has a stream of its own, so it is no run's data and the same for all runs."""


def observe_parameters(parameters: Parameters, config: MemberConfig, probe: Probe) -> dict[str, FloatArray]:
    """Return the observables of one member's parameters: its embedding alone, or all tensors of its model."""
    task, model = config.build_task(), model_of(config.model)
    arrays = observables.embedding_geometry(parameters[config.model.embedding], task)
    arrays |= observables.spectra(parameters)
    if set(parameters) != set(tensor_specs(config)):
        return arrays
    if (held_out := draw_held_out(task)) is not None:
        sequences, labels = held_out
        logits = model.logits(_tensors(parameters), _batch(sequences))[0]
        arrays |= observables.held_out_deviations(logits.numpy(), labels)
    if "attention" in model.shows:
        return arrays | _of_attention(parameters, model, task, probe)
    logits = model.logits(_tensors(parameters), _batch(probe.sequences))[0]
    return arrays | observables.mean_outputs(logits.numpy(), probe.mapping, task)


def _of_attention(
    parameters: Parameters, model: Model[ModelSection], task: Task, probe: Probe
) -> dict[str, FloatArray]:
    """Return the observables of models with attention; of several heads, those of the first."""
    embedding, last = parameters[model.section.embedding], f"blocks.{model.n_layers - 1}.attn"
    first, scores, pattern = "blocks.0.attn.hook_pattern", f"{last}.hook_attn_scores", f"{last}.hook_pattern"
    names = (first, scores, pattern, "logits")
    seen = model.intermediates(_tensors(parameters), _batch(probe.sequences), names)
    arrays = observables.first_attention(_head(seen[first]))
    logits, attention = (_head(seen[name])[:, -1] for name in (scores, pattern))
    arrays |= observables.last_row(logits, attention, probe.position)
    sums = ~np.array([mapping.is_table for mapping in task.mappings])[probe.mapping]
    if sums.any():
        rows = observables.last_row(logits[sums], attention[sums], probe.position[sums])
        arrays["key_attention"] = np.diagonal(rows["last_attention"]).copy()
    if "positions" in model.shows:  # With all token embeddings zero (Fig. 15C), shape (L,).
        bare = {**parameters, model.section.embedding: np.zeros_like(embedding)}
        anything = torch.zeros((1, 1, task.length), dtype=torch.int64)
        alone = model.intermediates(_tensors(bare), anything, [scores])
        arrays["last_logits_positions"] = _head(alone[scores])[0, -1]
    if (W_V := parameters.get("0.W_V")) is not None:  # A user's own model may lack it.
        tokens, anchors = tokens_of(task), task.reasoning_anchors or task.anchors
        arrays["wv_direction"] = observables.value_direction(embedding, W_V, tokens, anchors)
    # ``Model.intermediates`` returns those of every position, or of the last one alone.
    outputs = seen["logits"][0].numpy().reshape(len(probe.sequences), -1, task.vocab_size)[:, -1]
    return arrays | observables.mean_outputs(outputs, probe.mapping, task)


def _tensors(parameters: Parameters) -> dict[str, Tensor]:
    return {name: _batch(array) for name, array in parameters.items()}


def _batch(of_one: npt.NDArray[Any]) -> Tensor:
    """Return one member's array with the axis of members, (...) → (1, ...)."""
    return torch.from_numpy(of_one).unsqueeze(0)


def _head(values: Tensor) -> FloatArray:
    """Return the only member's first head: (1, n, H, L, L) → (n, L, L)."""
    return np.asarray(values[0, :, 0].numpy(), dtype=np.float64)


# --- the sequences: the same for every run of a task -------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """Sequences of a task, shape (n, L), equally many for each mapping and each position of the key.

    ``mapping`` holds indices into ``task.mappings``, ``position`` the places of the keys from 0 to L − q − 1.
    """

    sequences: IntArray
    mapping: IntArray
    position: IntArray


def draw_probe(task: Task, size: int = SEQUENCES) -> Probe:
    """Draw the task's probe: anchors from the trained combinations, keys and noise uniform."""
    rng = numpy_stream(SEED, "observe/probe")
    n_mappings, n_places = len(task.mappings), task.length - task.n_anchors
    n_alike = -(-size // (n_mappings * n_places))
    mapping = np.repeat(np.arange(n_mappings), n_places * n_alike)
    position = np.tile(np.repeat(np.arange(n_places), n_alike), n_mappings)
    trained = [np.flatnonzero(~_held_out(task, index)) for index in range(n_mappings)]
    combination = np.concatenate([rng.choice(own, n_places * n_alike) for own in trained])
    key = rng.integers(len(task.keys), size=len(mapping))
    noise = rng.integers(len(task.keys), size=(len(mapping), task.n_noise))
    return Probe(assemble(task, mapping, combination, key, position, noise).sequences, mapping, position)


def draw_held_out(task: Task, size: int = SEQUENCES) -> tuple[IntArray, IntArray] | None:
    """Draw sequences with the held-out combinations of the task's rules, and the labels that the rules give.

    None if no rule has any. Keys, their positions and noise are uniform, from a stream of their own.
    """
    rng = numpy_stream(SEED, "observe/held out")
    rules = [index for index, mapping in enumerate(task.mappings) if not mapping.is_table]
    pairs = [(index, c) for index in rules for c in np.flatnonzero(_held_out(task, index))]
    if not pairs:
        return None
    mapping, combination = np.array(pairs)[rng.integers(len(pairs), size=size)].T
    key = rng.integers(len(task.keys), size=size)
    position = rng.integers(task.length - task.n_anchors, size=size)
    noise = rng.integers(len(task.keys), size=(size, task.n_noise))
    population = assemble(task, mapping, combination, key, position, noise)
    return population.sequences, labels_of(task, population, draw_tables(task, rng))


def _held_out(task: Task, index: int) -> npt.NDArray[np.bool_]:
    """Return for each of a mapping's combinations whether all of it is held out."""
    mapping = task.mappings[index]
    return np.asarray(task.domain(mapping).times(Selection(held_out=mapping.whole)) == 0)
