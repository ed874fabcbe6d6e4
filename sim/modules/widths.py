"""Which sides of a matrix grow with the width of the model: asked of wider models of one configuration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from sim.modules.roles import fans_of

Sides = dict[tuple[str, str], int]
"""The fan-in, ("in", name), and the number of outputs, ("out", name), of each matrix."""


def growth(module: nn.Module) -> dict[str, tuple[bool, bool]] | None:
    """Return whether fan-in and number of outputs of each matrix grow with the width, by name.

    The numbers of the configuration are doubled one at a time. One that changes a fan-in and a number of
    outputs is a width, as those of hidden layers and heads; the number of experts or words changes outputs
    only, the size of a convolution's kernel fan-ins only. None for a module without a configuration of
    ``transformers``, and where the library makes no wider model.
    """
    config: Any = getattr(module, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else None
    sides = _sides(module)
    wider = None if text is None else _doubled(module, text is not config, "hidden_size")
    if wider is None:
        return None
    grown = {side for side in sides if wider.get(side) != sides[side]}
    explained = {side for side, n in sides.items() if n == 1} | grown
    for divides in (True, False):  # Few models are made if the numbers that divide a side come first.
        for nested, name, value in _numbers(config, text):
            asked = [side for side, n in sides.items() if side not in grown and (n % value == 0) == divides]
            if not (asked if divides else {*asked} - explained):
                continue
            changed = _doubled(module, nested, name) or sides
            moved = {side for side in sides if changed.get(side) != sides[side]}
            explained |= moved
            if len({kind for kind, _ in moved}) == 2:
                grown |= moved
    return {name: (("in", name) in grown, ("out", name) in grown) for kind, name in sides if kind == "in"}


def _numbers(config: Any, text: Any) -> Iterator[tuple[bool, str, int]]:
    for part in (text,) if text is config else (text, config):
        for name, value in part.to_dict().items():
            if isinstance(value, int) and value > 1 and name != "hidden_size":  # True is 1.
                yield part is not config, name, value


def _doubled(module: nn.Module, nested: bool, name: str) -> Sides | None:
    """Return the sides in a model with one number of the configuration doubled, if the library makes one."""
    config: Any = copy.deepcopy(module.config)
    part = config.get_text_config() if nested else config
    try:
        setattr(part, name, 2 * getattr(part, name))
        with torch.device("meta"):
            return _sides(type(module)(config))
    except Exception:  # The library's classes may raise anything.
        return None


def _sides(module: nn.Module) -> Sides:
    fans = fans_of(module).items()
    return {(kind, name): n for name, both in fans for kind, n in zip(("in", "out"), both, strict=True)}
