"""The sequences at which attention and outputs are observed: the same for every run of a task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.seeds import numpy_stream
from theory import Task
from theory.arrays import IntArray
from theory.task.population import assemble, draw_tables, labels_of

SEQUENCES = 512
"""Sequences of the probe, rounded up to equally many for each mapping and place of the key."""
SEED = 0
"""The probe has a stream of its own, so that it is not any run's data and the same for all."""


@dataclass(frozen=True)
class Probe:
    """Sequences of a task, shape (n, L), equally many for each mapping and each position of the key.

    ``mapping`` holds indices into ``task.mappings``, ``position`` the places of the keys from 0 to L − q − 1.
    """

    sequences: IntArray
    mapping: IntArray
    position: IntArray


def draw_probe(task: Task, size: int = SEQUENCES) -> Probe:
    """Draw the task's probe: anchors among the combinations that are trained, keys and noise uniform."""
    rng = numpy_stream(SEED, "observe/probe")
    n_mappings, n_places = len(task.mappings), task.length - task.n_anchors
    each = -(-size // (n_mappings * n_places))
    mapping = np.repeat(np.arange(n_mappings), n_places * each)
    position = np.tile(np.repeat(np.arange(n_places), each), n_mappings)
    n = len(mapping)
    combination = np.concatenate(
        [rng.choice(np.flatnonzero(~_held_out(task, m)), n_places * each) for m in range(n_mappings)]
    )
    key = rng.integers(len(task.keys), size=n)
    noise = rng.integers(len(task.keys), size=(n, task.n_noise))
    return Probe(assemble(task, mapping, combination, key, position, noise).sequences, mapping, position)


def draw_held_out(task: Task, size: int = SEQUENCES) -> tuple[IntArray, IntArray] | None:
    """Draw sequences with the held-out combinations of the task's rules, and the labels that the rules give.

    None if no rule has one. Keys, their positions and noise are uniform, from a stream of their own.
    """
    rng = numpy_stream(SEED, "observe/held out")
    pairs = [
        (index, int(combination))
        for index, mapping in enumerate(task.mappings)
        if not mapping.is_table
        for combination in np.flatnonzero(_held_out(task, index))
    ]
    if not pairs:
        return None
    mapping, combination = np.array(pairs)[rng.integers(len(pairs), size=size)].T
    key = rng.integers(len(task.keys), size=size)
    position = rng.integers(task.length - task.n_anchors, size=size)
    noise = rng.integers(len(task.keys), size=(size, task.n_noise))
    population = assemble(task, mapping, combination, key, position, noise)
    return population.sequences, labels_of(task, population, draw_tables(task, rng))


def _held_out(task: Task, index: int) -> npt.NDArray[np.bool_]:
    """Return for each of a mapping's combinations whether it is held out."""
    n = task.n_combinations(task.mappings[index])
    zero = np.zeros(n, np.int64)
    noise = np.zeros((n, task.n_noise), np.int64)
    return assemble(task, zero + index, np.arange(n), zero, zero, noise).held_out
