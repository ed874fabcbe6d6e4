"""What a norm does, found by calling it on inputs of several sizes: its ε, its mean, and its gain."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sim.modules.library import seeded

_LARGE = 2.0**8
"""An input so large that ε does not matter."""


class Norm(NamedTuple):
    """A module whose output does not depend on the size of its input."""

    epsilon: float
    """What is added to the variance, or to the mean square."""
    centred: bool
    """Whether it takes the mean away."""
    axes: int
    """How many trailing axes it averages over; 0 if others, as in norms over batches or groups."""
    gain: str | None
    """Its parameters have these names, if any."""
    bias: str | None
    offset: float
    """The root mean square of the output is offset + slope · gain: 0 and 1, or 1 and 1 for 1 + gain."""
    slope: float

    @property
    def neutral(self) -> float:
        """The value of the gain that leaves an output of root mean square one."""
        return (1 - self.offset) / self.slope


def norm_of(module: nn.Module, known: dict[str, Norm | None]) -> Norm | None:
    """Return what a module does if it is a norm, also without numbers; ``known`` has those called before."""
    tensors = dict(module.named_parameters(recurse=False))
    shapes = {tuple(p.shape) for p in tensors.values()} or {tuple(getattr(module, "normalized_shape", (64,)))}
    shape, *others = shapes
    plain = {k: v for k, v in vars(module).items() if isinstance(v, (int, float, str))}
    key = f"{type(module)} {[(name, p.dtype) for name, p in tensors.items()]} {shape} {plain}"
    if key not in known:
        small, has_parts = math.prod(shape) <= 2**16, any(True for _ in module.children())
        possible = shape and small and not (others or has_parts)
        known[key] = next(_found(module, tensors, shape), None) if possible else None
    return known[key]


def _found(module: nn.Module, tensors: dict[str, nn.Parameter], shape: tuple[int, ...]) -> Iterator[Norm]:
    """Yield the norm for the first kind of input that it takes: rows, rows with a gate, channels."""
    try:
        # Parameters may be on any device, in any precision, and without numbers.
        double = any(p.dtype == torch.float64 for p in tensors.values())
        dtype = torch.float64 if double else torch.float32
        blank = {id(p): nn.Parameter(torch.zeros(shape, dtype=dtype)) for p in tensors.values()}
        norm = copy.deepcopy(module, dict(blank)).to("cpu").train()
    except Exception:
        return
    rows = _signs((16, *shape)).to(dtype)
    channels = [_signs((16, *shape, *more)).to(dtype) for more in ((4,), (4, 4)) if len(shape) == 1]
    for x, *gate in ([rows], [rows, torch.ones_like(rows)], *([each] for each in channels)):
        try:
            norm_found = _measured(norm, x, gate, len(shape) if x is rows else 0)
        except Exception:  # Anybody's module may raise anything on inputs that are not its own.
            continue
        if norm_found is not None:
            yield norm_found


@seeded()
def _measured(norm: nn.Module, x: Tensor, gate: list[Tensor], axes: int) -> Norm | None:
    names = [name for name, _ in norm.named_parameters()]

    @torch.no_grad()
    def output(x: Tensor, **values: float) -> Tensor:
        for name, parameter in norm.named_parameters():
            parameter.fill_(values.get(name, 0.5))
        y: Tensor = norm.forward(x, *gate)  # Hooks of the user's are not called.
        return y

    y = output(_LARGE * x)
    if y.shape != x.shape or not _close(y, output(16 * _LARGE * x)):
        return None
    # Of what saturates, such as tanh, that is true too; a norm's output is in proportion to its input.
    uneven = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    uneven = nn.functional.layer_norm(uneven, uneven.shape[1:])
    both = torch.stack([uneven.flatten(), output(_LARGE * uneven).flatten()])
    if not float(torch.corrcoef(both)[0, 1]) > 0.9:
        return None
    changes = {name: output(_LARGE * x, **{name: 1.0}) - output(_LARGE * x, **{name: 0.0}) for name in names}
    # The input has both signs: what a gain adds has them too, what a bias adds does not.
    biases = [name for name, change in changes.items() if float(change.std(correction=0)) < 1e-3]
    gains = [name for name in names if name not in biases]
    if len(gains) > 1 or len(biases) > 1:
        return None
    plain = dict.fromkeys(biases, 0.0)
    sizes = [_rms(output(_LARGE * x, **plain, **dict.fromkeys(gains, value))) for value in (0.0, 1.0, 2.0)]
    offset, slope = sizes[0], sizes[1] - sizes[0]
    if gains and not (slope > 0 and math.isclose(sizes[2], offset + 2 * slope, rel_tol=1e-3)):
        return None
    if gate and gains:  # It also multiplies by a function of the gate.
        offset, slope = offset / slope, 1.0
    centred = _close(y, output(_LARGE * (x + 3)))
    by_rows = (
        axes > 0 and _close(y, output(_LARGE * _half(x, 0))) and not _close(y, output(_LARGE * _half(x, 1)))
    )
    epsilon = _epsilon(lambda x: _rms(output(x, **plain)), x, centred)
    gain, bias = (next(iter(names), None) for names in (gains, biases))
    return Norm(epsilon, centred, axes * by_rows, gain, bias, round(offset, 3), round(slope, 3))


def _epsilon(size: Callable[[Tensor], float], x: Tensor, centred: bool) -> float:
    """Return ε from how much shorter the output is at small variances v: by the root of v/(v + ε)."""
    square = float(x.var(correction=0) if centred else x.square().mean())
    v, epsilon, large = 1e-6, 0.0, size(_LARGE * x)
    for _ in range(4):  # It is most precise at a variance of its own size.
        ratio = size(x * math.sqrt(v / square)) / large
        epsilon = v * (ratio**-2 - 1)
        v = max(epsilon, 1e-30)
    return float(f"{max(epsilon, 0.0):.4g}")


def _signs(shape: tuple[int, ...]) -> Tensor:
    """Return entries ±1 that alternate along every axis, and so average to zero within even groups."""
    places = torch.meshgrid(*map(torch.arange, shape), indexing="ij")
    return 1.0 - 2.0 * (torch.stack(places).sum(0) % 2)


def _half(x: Tensor, axis: int) -> Tensor:
    """Return the input with its first half along an axis made larger; other rows or groups do not see it."""
    half, rest = x.tensor_split(2, dim=axis)
    return torch.cat([16 * half, rest], dim=axis)


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-3, atol=1e-3)


def _rms(y: Tensor) -> float:
    return float(y.double().square().mean().sqrt())
