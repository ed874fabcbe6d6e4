"""Whether runs are those of a study: which keys of a configuration may differ, and what studies share."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sim.config.run import MemberConfig
from validate.studies.study import Study, load_study, members_of, study_names

LOOKS = frozenset({
    "training.evaluate_every", "training.evaluations_per_epoch", "training.evaluation_size",
    "training.snapshot_epochs", "training.snapshot_tensors", "training.checkpoint_every",
})  # fmt: skip
"""Settings of how often, and how closely, a run is looked at: they change no weight."""
AMOUNTS = frozenset({
    "data.n_sequences", "model.d_f", "model.d_k", "model.d_m", "model.n_heads", "training.batch_size",
    "training.dtype", "training.epochs", "training.learning_rate", "training.patience",
    "training.weight_decay",
})  # fmt: skip
"""Settings of how much is trained and how fast: runs may differ in them from the study they stand for."""


def differing_keys(own: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return the keys in which two configurations differ."""
    return sorted(k for k in own.keys() | wanted.keys() if own.get(k) != wanted.get(k))


def keys_of(config: MemberConfig) -> dict[str, str]:
    """Return what distinguishes runs besides γ, seed and how they were observed: setting → value as JSON."""
    data = config.model_dump(mode="json", exclude={"seed", "init_rate"})
    flat = {"task": json.dumps(data.pop("task"), sort_keys=True)}
    for section, values in data.items():
        flat |= {f"{section}.{key}": json.dumps(value, sort_keys=True) for key, value in values.items()}
    if data["data"]["source"] == "enumerate":
        del flat["data.n_sequences"]
    return {key: value for key, value in flat.items() if key not in LOOKS}


def identity(config: MemberConfig) -> str:
    """Return what decides a run: all but how it was looked at and, at a constant rate, its length."""
    data = config.model_dump(mode="json")
    looks = {name.removeprefix("training.") for name in LOOKS} | {"patience"}
    if config.training.schedule == "constant":
        looks.add("epochs")
    data["training"] = {key: value for key, value in data["training"].items() if key not in looks}
    return json.dumps(data, sort_keys=True)


def shared_runs(studies: Iterable[Study] | None = None) -> list[tuple[tuple[str, ...], int]]:
    """Return which studies (or variants, "study/variant") share runs, and how many.

    They start from the same numbers and see the same batches: they are one run, to the rounding of the
    engine, and no independent evidence.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for study in studies if studies is not None else map(load_study, study_names()):
        for member in members_of(study):
            name = f"{study.name}/{member.variant}" if member.variant else study.name
            named[identity(member.config)].add(name)
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for names in named.values():
        counts[tuple(sorted(names))] += len(names) > 1
    return sorted((names, n) for names, n in counts.items() if n)
