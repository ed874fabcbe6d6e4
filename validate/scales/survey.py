"""What every causal model type of an installed ``transformers`` starts with, beside what it configures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from torch import nn

from sim.data.text import require
from sim.modules.library import Start, library_models, model_of, pattern_of, starts_of

TOLERANCE = 0.01
"""A scale is as configured within this share and five standard errors."""
_KEYS = ("initializer_range", "init_std", "initializer_factor")
"""What a configuration calls its standard deviation; read, and compared with what is measured."""


class Surveyed(NamedTuple):
    """The tensors of one name in all layers of a model type, with its default configuration."""

    model_type: str
    model: str
    parameter: str
    shape: str
    measured: float | None
    """The root mean square of the standard deviations in the first and last layer, after its initialiser."""
    least: float | None
    greatest: float | None
    by: str
    """Who wrote it, as in ``sim.modules.library.Start``."""
    key: str
    configured: float | None
    """The standard deviation that the configuration has under this key."""
    agrees: bool | None
    """None where nothing is measured or nothing is configured."""


def model_types() -> list[str]:
    """Return the model types that have a causal language model."""
    auto: Any = require("transformers.models.auto.modeling_auto", "language")
    return sorted(auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def surveyed(model_type: str) -> list[Surveyed]:
    """Return the scales of all tensors of two or more axes; raise what the library raises."""
    library: Any = require("transformers", "language")
    model = model_of(library.AutoConfig.for_model(model_type))
    starts, groups = starts_of(model), dict[tuple[str, str], list[tuple[str, Start]]]()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            shape = " x ".join(map(str, parameter.shape))
            groups.setdefault((pattern_of(name), shape), [])
            if name in starts:
                groups[pattern_of(name), shape].append((name, starts[name]))
    return [_row(model_type, model, *key, found) for key, found in groups.items()]


def _row(
    model_type: str, model: nn.Module, parameter: str, shape: str, starts: list[tuple[str, Start]]
) -> Surveyed:
    """Return what tensors of one name start with; without numbers where one of them has none."""
    stds = [start.std for _, start in starts if start.std is not None]
    by = starts[0][1].by if starts else "unknown"
    key, configured = _configured(model, starts[0][0]) if starts else ("", None)
    measured = least = greatest = agrees = None
    if stds and len(stds) == len(starts):
        measured, least, greatest = math.sqrt(sum(s * s for s in stds) / len(stds)), min(stds), max(stds)
        if configured:
            error = TOLERANCE + 5 / math.sqrt(2 * starts[0][1].entries)
            agrees = all(abs(std - configured) <= error * configured for std in stds)
    numbers = measured, least, greatest
    return Surveyed(model_type, type(model).__name__, parameter, shape, *numbers, by, key, configured, agrees)


def _configured(model: nn.Module, name: str) -> tuple[str, float | None]:
    """Return the key and the standard deviation in the configuration of the part that has a tensor."""
    owners = [name.rpartition(".")[0].rsplit(".", i)[0] for i in range(name.count("."))]
    parts = dict(model.named_modules())
    inner = library_models(model)
    for part in (*(parts[owner] for owner in owners if parts[owner] in inner), model):
        config: Any = part.config
        for each in (config, config.get_text_config()):
            for key in _KEYS:
                if isinstance(value := getattr(each, key, None), float):
                    return key, value
    return "", None


def counts(rows: list[Surveyed]) -> Iterator[int]:
    """Yield how many tensors there are, how many are as configured, are not, and were written by nothing."""
    yield len(rows)
    yield from (sum(row.agrees is value for row in rows) for value in (True, False))
    yield sum(row.by == "nothing" for row in rows)
