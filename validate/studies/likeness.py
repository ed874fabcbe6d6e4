"""Whether runs are those of a study: which keys of their configurations may differ.

γ and seed tell the runs of one study apart. Keys that say how a run is observed change no weight
(``LOOKS``). Those that say how much is trained and how fast may differ in runs that stand for a study
(``AMOUNTS``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sim.config.run import MemberConfig

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
