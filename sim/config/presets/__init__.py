"""Where configurations begin: presets, and the experiment for a task given alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.config.model import kind_of
from sim.config.run import SECTIONS, TrainingConfig, steps_in_epoch
from theory import Task
from theory.edge.checked import checked
from theory.edge.errors import unknown_name
from theory.edge.reading import load_toml
from theory.task.population import population_size

FOLDER = Path(__file__).resolve().parent
STEPS = 20_000
"""The number of steps that the demo takes."""
MOST_SEQUENCES = 200_000
"""The paper's data set: a larger population is sampled."""
WITH_NOISE = "cpu"
"""The preset for a task with noise tokens, from which the Emb-MLP's sum cannot tell the key."""
_SNAPSHOTS = 10


@checked
def load_preset(name: str) -> dict[str, Any]:
    """Return the keys of a configuration that a preset's file holds, to be overridden with ``merge``.

    A file may name another preset, ``preset = "group-2024"``, and say only what differs.
    """
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    data = load_toml(FOLDER / f"{name}.toml")
    base = data.pop("preset", None)
    return data if base is None else merge(load_preset(base), data)


def preset_names() -> list[str]:
    """Return the names of all presets, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the keys of ``over`` in place of its own, tables merged key by key.

    A table that names another ``kind`` (of model) replaces the one in ``base``: their keys differ. Values
    that are replaced lose the sources that ``base`` gave for them.
    """

    def is_kept(name: str) -> bool:
        section, _, key = name.partition(".")
        table = over.get(section)
        replaced = isinstance(table, Mapping) and (key in table or _other_kind(base.get(section, {}), table))
        return name in over.get("sources", {}) or not replaced

    merged = _merged(base, over)
    if isinstance(tags := merged.get("sources"), Mapping):
        merged["sources"] = {name: tag for name, tag in tags.items() if is_kept(name)}
    return merged


def over_preset(preset: Mapping[str, Any], file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset with the keys of a file over it: as ``merge``, but the file's task replaces its own.

    Keys that the file's task leaves out have their defaults, not another task's values.
    """
    return merge({key: value for key, value in preset.items() if key != "task" or "task" not in file}, file)


def with_source(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the keys of a configuration with a source for each setting that has none yet."""
    tables = {name: data[name] for name in SECTIONS if isinstance(data.get(name), Mapping)}
    tags = {f"{name}.{key}": source for name, table in tables.items() for key in table}
    return dict(data) | {"sources": tags | dict(data.get("sources", {}))}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping) and not _other_kind(below, value):
            value = _merged(below, value)
        merged[key] = value
    return merged


def _other_kind(below: Any, above: Mapping[str, Any]) -> bool:
    kind = kind_of(below)
    return bool(above.get("kind", kind) != kind)


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
        if epochs is not None:  # As many evaluations, snapshots and checkpoints as in the preset.
            of_preset = preset["training"]
            before, snapshots = of_preset["epochs"], of_preset["snapshot_epochs"]
            evaluations = before * of_preset["evaluations_per_epoch"]
            chosen["training"] = {
                "epochs": epochs,
                "evaluate_every": max(1, epochs // evaluations),
                "evaluations_per_epoch": max(1, evaluations // epochs),
                "snapshot_epochs": sorted({max(1, epochs * e // before) for e in snapshots}),
                "checkpoint_every": max(1, epochs * of_preset["checkpoint_every"] // before),
            }
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


def sample_size(task: Task) -> int:
    """Return the largest sample up to ``MOST_SEQUENCES`` that has all anchor combinations equally often."""
    combinations = sum(task.n_combinations(mapping) for mapping in task.mappings)
    return max(1, MOST_SEQUENCES // combinations) * combinations
