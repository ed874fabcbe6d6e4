"""A study over axes: a variant for every combination of what the axes offer, or for each row of a list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sim.config.presets import merge
from theory import InputError
from validate.studies.settings import override, point_name

Overrides = dict[str, Any]
Point = tuple[str, Callable[[Mapping[str, Any]], Overrides]]
"""A point of an axis: its name, and from a configuration to what it overrides there."""


def variants_of(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Overrides]:
    """Return a study's variants: those that its file writes out, or those that its axes make.

    An axis is a list of values, ``learning_rate = [1e-4, 1e-3]`` under ``[axes]``, or a table
    ``[axes.NAME]`` of overrides for each point. Variants are the product of the axes; with
    ``combine = "zip"`` the first one has the first point of every axis, and so on. A variant is named by its
    points in the order of the axes, joined by "-"; where two axes set the same value, the later one decides.

    Parameters
    ----------
    data : mapping
        A study's file.
    base : mapping
        The configuration that the variants override.

    Raises
    ------
    InputError
        If an axis offers nothing or is neither list nor table, axes that are zipped differ in length, or
        there are variants besides.
    """
    if "axes" not in data:
        return _written(data)
    if "variants" in data:
        raise InputError("axes", "axes", "the study has variants as well", "write one of the two")
    axes = data["axes"]
    if not isinstance(axes, dict) or not axes:
        raise InputError("axes", axes, "no table of axes", "write NAME = [values] under [axes]")
    points = {name: _points(name, axis) for name, axis in axes.items()}
    combined = [_joined(parts, base) for parts in _combinations(points, data.get("combine", "product"))]
    named = dict(combined)
    if len(named) < len(combined):
        raise InputError("axes", list(axes), "give the same name to two variants", "list each value once")
    return named


def _written(data: Mapping[str, Any]) -> dict[str, Overrides]:
    """Return the variants that a file writes out."""
    variants = data.get("variants", {})
    if not isinstance(variants, dict):
        raise InputError("variants", variants, "not a table", "write [variants.NAME] for each")
    for name, over in variants.items():
        if not isinstance(over, dict):
            raise InputError("variants", name, "not a table", f"write [variants.{name}]")
    return variants


def _points(name: str, axis: Any) -> list[Point]:
    """Return the points of one axis."""
    if isinstance(axis, list) and axis:
        return [(point_name(name, value), partial(override, name, value)) for value in axis]
    if isinstance(axis, dict) and axis and all(isinstance(over, dict) for over in axis.values()):
        return [(point, partial(_as_written, over)) for point, over in axis.items()]
    problem = "neither a list of values nor a table of overrides"
    raise InputError(f"axes.{name}", axis, problem, "write NAME = [values], or POINT = { ... } for each")


def _as_written(over: Overrides, base: Mapping[str, Any]) -> Overrides:
    return over


def _combinations(points: Mapping[str, list[Point]], combine: Any) -> Iterable[Sequence[Point]]:
    if combine == "product":
        return itertools.product(*points.values())
    if combine != "zip":
        raise InputError("combine", combine, "unknown", 'write "product" or "zip"')
    lengths = {name: len(axis) for name, axis in points.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("axes", lengths, "differ in length", 'give as many values each, or use "product"')
    return zip(*points.values(), strict=True)


def _joined(parts: Sequence[Point], base: Mapping[str, Any]) -> tuple[str, Overrides]:
    """Return a variant's name and what it overrides; a point sees what the points before it changed."""
    combined: Overrides = {}
    for _, change in parts:
        combined = merge(combined, change(merge(base, combined)))
    return "-".join(name for name, _ in parts), combined
