"""Which sides of a matrix grow with the width of the model: asked of wider models of one configuration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import reduce
from typing import Any

import torch
from torch import nn

from sim.modules.roles import fans_of

Sides = dict[tuple[str, str], int]
"""The fan-in, ("in", name), and the number of outputs, ("out", name), of each matrix."""


def growth(module: nn.Module) -> dict[str, tuple[bool, bool]] | None:
    """Return whether fan-in and number of outputs of each matrix grow with the width, by name.

    The numbers of the configuration, those of its parts included, are doubled one at a time. One that changes
    a fan-in and a number of outputs is a width, as those of hidden layers and heads; the number of experts or
    words changes outputs only, the size of a convolution's kernel fan-ins only. None for a module without a
    configuration of ``transformers``, and where the library makes no wider model.
    """
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "get_text_config"):
        return None
    parts = list(_parts(config))
    text = next((part for part, found in parts if found is config.get_text_config()), ())
    sides, width = _sides(module), getattr(config.get_text_config(), "hidden_size", None)
    if (wider := _doubled(module, text, "hidden_size")) is None:
        return None
    grown = {side for side in sides if wider.get(side) != sides[side]}
    explained = {side for side, n in sides.items() if n == 1} | grown
    numbers = [
        (part, name, value)
        for part, found in sorted(parts, key=lambda each: each[0] != text)
        for name, value in found.to_dict().items()
        if isinstance(value, int) and value > 1  # True is 1.
    ]
    for divides in (True, False):  # Few models are made if the numbers that divide a side come first.
        for part, name, value in numbers:
            asked = [side for side, n in sides.items() if side not in grown and (n % value == 0) == divides]
            if not (asked if divides else {*asked} - explained):
                continue
            changed = _doubled(module, part, name) or sides
            moved = {side for side in sides if changed.get(side) != sides[side]}
            explained |= moved
            # What other parts hand to the text has its width, as the output of a vision model.
            if len({kind for kind, _ in moved}) == 2 or (part != text and value == width):
                grown |= moved
    return {name: (("in", name) in grown, ("out", name) in grown) for kind, name in sides if kind == "in"}


def _parts(config: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a configuration and those in it, as of a text and of a vision model, with the way to each."""
    yield path, config
    for name, value in vars(config).items():
        if hasattr(value, "get_text_config"):
            yield from _parts(value, (*path, name))


def _doubled(module: nn.Module, part: tuple[str, ...], name: str) -> Sides | None:
    """Return the sides in a model with one number of the configuration doubled, if the library makes one."""
    config: Any = copy.deepcopy(module.config)
    owner = reduce(getattr, part, config)
    try:
        setattr(owner, name, 2 * getattr(owner, name))
        with torch.device("meta"):
            return _sides(type(module)(config))
    except Exception:  # The library's classes may raise anything.
        return None


def _sides(module: nn.Module) -> Sides:
    fans = fans_of(module).items()
    return {(kind, name): n for name, both in fans for kind, n in zip(("in", "out"), both, strict=True)}
