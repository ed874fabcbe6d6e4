"""Over which axis a module sums each of its matrices: found by calling it and watching the products."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sim.modules.library import blank_copy

_MOST = 2**29
"""A module with a larger matrix is not called."""
_PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "_grouped_mm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
"""torch's products, and which of their arguments are multiplied."""
_KNOWN: dict[Any, dict[str, int]] = {}


class _Watched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes over which axes products sum the tensors whose memory it knows."""

    def __init__(self, tensors: Mapping[str, Tensor], axes: Mapping[str, set[int]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held = {t.untyped_storage()._cdata: (name, t.stride()) for name, t in tensors.items()}
        self.axes = axes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        factors = [args[i] for i in _PRODUCTS.get(func.overloadpacket.__name__, ())]
        for factor, summed in zip(factors, (-1, -2), strict=False):
            name, strides = self.held.get(factor.untyped_storage()._cdata, ("", ()))
            fits = factors[0].shape[-1] == factors[1].shape[-2]
            # A transposed or selected matrix lies in the same memory: its stride tells the axis.
            if fits and len({*strides[-2:]}) == 2 and factor.stride(summed) in strides[-2:]:
                axis = len(strides) - 2 + strides[-2:].index(factor.stride(summed))
                self.axes[name].add(axis)
        return func(*args, **(kwargs or {}))


def summed_axes(module: nn.Module) -> dict[str, int]:
    """Return the axis that each of a module's own matrices is summed over, by name.

    It is called on rows, alone or with the number and the weight of an expert for each. What it cannot be
    called on, or multiplies otherwise, is left out. Matrices may be stacked along a first axis.
    """
    own = {name: p for name, p in module.named_parameters(recurse=False) if p.ndim in (2, 3)}
    if not own or any(math.prod(p.shape[-2:]) > _MOST for p in own.values()):
        return {}
    flags = sorted((k, v) for k, v in vars(module).items() if isinstance(v, (bool, str)) and k != "training")
    kind = type(module), str(flags), *((name, p.ndim) for name, p in own.items())
    for key in (kind, (*kind, *(p.shape for p in own.values()))):
        if key in _KNOWN:
            return _KNOWN[key]
    # Stacked vectors, as biases are, are multiplied by nothing.
    needed = {name for name, p in own.items() if p.ndim == 3} or {*own}
    found = _called(module, own, needed)
    _KNOWN[kind if needed <= found.keys() else key] = found  # Where a call fails, that may be for its sizes.
    return found


def _called(module: nn.Module, own: Mapping[str, nn.Parameter], needed: set[str]) -> dict[str, int]:
    many = max(p.shape[0] if p.ndim == 3 else 2 for p in own.values())  # A row for each of stacked matrices.
    widths = dict.fromkeys(n for p in own.values() for n in p.shape[-2:])
    rows = [shape for width in widths for shape in ((many, width), (1, many, width))]
    numbers, weights = torch.zeros(many, 2, dtype=torch.long), torch.ones(many, 2)
    made, axes = blank_copy(module), {name: set[int]() for name in own}
    # Without numbers, a call costs nothing; where it depends on them, it needs some.
    calls = itertools.product(("meta", "cpu"), rows, ((), (numbers, weights), (numbers.T[:1],)))
    for device, shape, others in calls:
        dtype = torch.bfloat16 if device == "meta" else torch.float32  # What stacked products take there.
        quiet = warnings.catch_warnings(action="ignore")
        with suppress(Exception), quiet, torch.device(device), torch.no_grad():  # It may raise anything.
            # Stacked matrices share their memory.
            blank = {name: torch.empty(p.shape[-2:], dtype=dtype).expand(p.shape) for name, p in own.items()}
            for name, p in made.named_parameters(recurse=False):
                value = blank[name] if name in own else torch.zeros(p.shape, dtype=dtype)
                made._parameters[name] = nn.Parameter(value, False)
            with _Watched(blank, axes):
                made.forward(torch.zeros(shape, dtype=dtype), *(x.to(device) for x in others))
        if all(axes[name] for name in needed):
            break
    return {name: next(iter(found)) for name, found in axes.items() if len(found) == 1}
