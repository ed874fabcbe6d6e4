"""What is trained when a task is all that is given: a whole experiment, of the demo's size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sim.config.presets import load_preset, merge, with_source
from sim.config.run import TrainingConfig, steps_in_epoch
from theory import Task
from theory.task.population import population_size

STEPS = 20_000
"""As many steps as the demo takes."""
MOST_SEQUENCES = 200_000
"""The paper's data set: a larger population is sampled."""
WITH_NOISE = "cpu"
"""The preset for a task with noise tokens, where the sum of the Emb-MLP cannot tell the key from them."""
_SNAPSHOTS = 10


def experiment_for(task: Task, epochs: int | None = None) -> dict[str, Any]:
    """Return the keys of a configuration that puts the theory to the test on a task.

    The Emb-MLP at both initial scales that the claims compare, with three seeds for an interval, ``STEPS``
    steps and ten snapshots on the way. A task with noise tokens gets the preset ``cpu``: a Transformer with
    one seed, for the preset's epochs. Over another length, evaluations and snapshots are spread; every key
    can be overridden.
    """
    if task.n_noise:
        preset = {key: value for key, value in load_preset(WITH_NOISE).items() if key != "task"}
        chosen: dict[str, Any] = {"data": {"source": "draw", "n_sequences": sample_size(task)}}
        if epochs is not None:
            chosen["training"] = _of_length(preset["training"], epochs)
        return merge(preset, with_source(chosen, "chosen"))
    data: dict[str, Any] = {"source": "enumerate"}
    size = population_size(task)
    if size > MOST_SEQUENCES:
        size = sample_size(task)
        data = {"source": "draw", "n_sequences": size}
    if epochs is None:
        epochs = max(_SNAPSHOTS, math.ceil(STEPS / steps_in_epoch(size, TrainingConfig().batch_size)))
    training = {
        "epochs": epochs,
        "evaluate_every": max(1, epochs // (2 * _SNAPSHOTS)),
        "snapshot_epochs": sorted({epochs * i // _SNAPSHOTS for i in range(1, _SNAPSHOTS)}),
        "checkpoint_every": max(1, epochs // 2),
    }
    chosen = with_source({"data": data, "training": training}, "chosen")
    return {"init_rates": [0.3, 0.8], "seeds": [0, 1, 2], **chosen}


def _of_length(training: Mapping[str, Any], epochs: int) -> dict[str, Any]:
    """Return the keys that spread as many evaluations, snapshots and checkpoints over another length."""
    before: int = training["epochs"]
    evaluations = before * training["evaluations_per_epoch"]
    return {
        "epochs": epochs,
        "evaluate_every": max(1, epochs // evaluations),
        "evaluations_per_epoch": max(1, evaluations // epochs),
        "snapshot_epochs": sorted({max(1, epochs * e // before) for e in training["snapshot_epochs"]}),
        "checkpoint_every": max(1, epochs * training["checkpoint_every"] // before),
    }


def sample_size(task: Task) -> int:
    """Return the largest sample up to ``MOST_SEQUENCES`` that has all anchor combinations equally often."""
    combinations = sum(task.n_combinations(mapping) for mapping in task.mappings)
    return max(1, MOST_SEQUENCES // combinations) * combinations
