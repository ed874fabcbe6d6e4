"""Which of some runs a figure shows: by kind of model, and by γ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import InputError
from theory.arrays import FloatArray
from validate.judge.condition import SMALL
from validate.judge.groups import Setting, group_runs
from validate.observe import Observations

KINDS = {
    "emb-mlp": "Emb-MLP",
    "one-layer": "one-layer Transformer",
    "transformer": "Transformer",
    "gpt2": "GPT-2",
}
LARGEST = 0.5
"""The largest γ of large initial weights: the paper calls γ > 1/2 small."""


def of_kind(observations: Sequence[Observations], *kinds: str) -> list[Setting]:
    """Group the observations of some kinds of model; none is an empty list."""
    found = [o for o in observations if o.config.model.kind in kinds]
    return group_runs(found) if found else []


def required(
    settings: list[Setting], observations: Sequence[Observations], figure: str, about: str
) -> list[Setting]:
    """Return the settings of a figure; refuse runs that hold none of what it is ``about``."""
    if not settings:
        raise InputError("runs", len(observations), f"{figure} is about {about}", "give such runs")
    return settings


def over_gamma(settings: Sequence[Setting], of: Setting) -> list[Setting]:
    """Return the settings that equal one in all but γ and seed: only these make a curve over γ."""
    return [s for s in settings if without_gamma(s) == without_gamma(of)]


def without_gamma(setting: Setting) -> str:
    """Return a setting's configuration without γ and seed, as JSON."""
    return setting.config.model_dump_json(exclude={"seed", "init_rate"})


def small_scale(settings: Sequence[Setting]) -> Setting:
    """Return the setting whose γ is nearest to the paper's small scale, 0.8."""
    return min(settings, key=lambda s: abs(s.init_rate - SMALL))


def large_scales(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of large initial weights; refuse settings among which there is none."""
    found = [s for s in settings if s.init_rate <= LARGEST]
    if not found:
        rates = sorted({s.init_rate for s in settings})
        remedy = f"give runs at γ ≤ {LARGEST:g} too"
        raise InputError("init_rate", rates, "no large initial weights, which this figure shows", remedy)
    return found


def over_settings(each: Sequence[FloatArray]) -> FloatArray:
    """Return several settings' values of each seed as one array (n_seeds, n_settings), NaN where one is."""
    longest = max(len(values) for values in each)
    return np.array([np.pad(v.astype(float), (0, longest - len(v)), constant_values=np.nan) for v in each]).T
