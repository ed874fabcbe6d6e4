"""A study over axes: a variant for every combination of what the axes offer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from sim.config.presets import merge
from theory import InputError


def with_axes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's file with the product of its axes written out as variants.

    ``[axes.NAME]`` holds a table of overrides for each point of an axis. A variant is named by its points in
    the order of the axes, joined by "-"; where two axes set the same value, the later one decides.

    Raises
    ------
    InputError
        If an axis is not a table of tables or is empty, or there are variants besides.
    """
    if "axes" not in data:
        return dict(data)
    axes = data["axes"]
    if "variants" in data:
        raise InputError("axes", "axes", "the study has variants as well", "write one of the two")
    if not isinstance(axes, dict) or not all(map(_is_axis, axes.values())):
        raise InputError("axes", axes, "not tables of overrides", "write [axes.NAME] with POINT = { ... }")
    return {**data, "variants": dict(_products(axes.values()))}


def _is_axis(axis: Any) -> bool:
    return isinstance(axis, dict) and bool(axis) and all(isinstance(over, dict) for over in axis.values())


def _products(axes: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
    for points in itertools.product(*(axis.items() for axis in axes)):
        combined: dict[str, Any] = {}
        for _, over in points:
            combined = merge(combined, over)
        yield "-".join(name for name, _ in points), combined
