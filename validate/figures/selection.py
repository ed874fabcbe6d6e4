"""Which of some runs a figure shows: by kind of model, and by γ."""

from __future__ import annotations

from collections.abc import Sequence

from validate.claims.statements import SMALL
from validate.groups import Setting, group_runs
from validate.observe import Observations

KINDS = {
    "emb-mlp": "Emb-MLP",
    "one-layer": "one-layer Transformer",
    "transformer": "Transformer",
    "gpt2": "GPT-2",
}


def of_kind(observations: Sequence[Observations], *kinds: str) -> list[Setting]:
    """Group the observations of some kinds of model; none is an empty list."""
    found = [o for o in observations if o.config.model.kind in kinds]
    return group_runs(found) if found else []


def small_scale(settings: Sequence[Setting]) -> Setting:
    """Return the setting whose γ is nearest to the paper's small scale, 0.8."""
    return min(settings, key=lambda s: abs(s.init_rate - SMALL))


def large_scales(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of larger initial weights, or the only one there is."""
    small = small_scale(settings)
    return [s for s in settings if s.init_rate < small.init_rate] or [small]
