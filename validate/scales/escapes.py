"""The rate of a matrix with its interval, and what escapes it: other scales, fixed tables, the ε of norms."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from scipy.special import chdtri
from torch import Tensor, nn

from sim.modules.called import variance_of
from sim.modules.library import generators_kept, pattern_of, unpadded
from sim.modules.norms import Norm, norm_of
from sim.modules.roles import Role
from theory import InputError

What = Literal["rate", "constant", "bias", "norm", "epsilon", "positions", "tied", "unknown", "frozen"]
_POSITIONS = re.compile(r"(?<![a-z])(pos|wpe)")
"""How names of position tables begin; numbers alone do not tell these from other embeddings."""
_FEW = 100
"""Of fewer entries the kurtosis comes out too small, and so would the interval: it is 3 or more."""
_MOST_LAYERS = 96
"""The greatest depth considered for a scale divided by √(2 n_layers)."""


@dataclass(frozen=True)
class MatrixRate:
    """The standard deviation of one matrix's entries and its rate γ = −ln(std)/ln(fan-in), with intervals.

    γ is NaN where the entries are all equal or the fan-in is 1; the fan-in of an embedding is its width.
    """

    role: Role
    fan_in: int
    std: float
    std_low: float
    std_high: float
    rate: float
    low: float
    high: float
    kurtosis: float


def reference_rate(matrices: Sequence[MatrixRate], rate: float | None) -> tuple[float, float, float]:
    """Return the rate asked for, or that of the median matrix with the ends of its interval."""
    if rate is not None:
        return rate, rate, rate
    defined = sorted((m for m in matrices if not math.isnan(m.rate)), key=lambda m: m.rate)
    if not defined:
        return math.nan, math.nan, math.nan
    middle = defined[(len(defined) - 1) // 2]
    return middle.rate, middle.low, middle.high


def rate_of(std: float, fan_in: int) -> float:
    """Return −ln(std)/ln(fan-in), or NaN where there is none."""
    return -math.log(std) / math.log(fan_in) if std > 0 and fan_in > 1 else math.nan


def matrix_rate(role: Role, alpha: float, part: torch.Tensor | None = None) -> MatrixRate:
    r"""Measure a matrix, or one that is packed into it; its entries are taken as independent draws.

    The interval has coverage 1 − ``alpha``. The variance of n entries has about the distribution
    :math:`\chi^2_\nu/\nu`, where :math:`\nu = 2(n - 1)/(\kappa - 1)` with the kurtosis κ: that of normal
    entries for κ = 3, which is the least for fewer than ``_FEW`` entries.
    """
    entries = (unpadded(role.tensor, role.owner) if part is None else part).cpu().double().flatten()
    n, shifted = entries.numel(), entries - entries[:1]  # Equal entries become exactly 0, without rounding.
    centred, fan_in = shifted - shifted.mean(), role.fan_in or 1
    square = float(centred.square().mean())
    kurtosis = float((centred.square() / square).square().mean()) if square > 0 else math.nan
    std = low = high = math.sqrt(square * n / max(n - 1, 1))
    if square > 0:
        freedom = 2 * (n - 1) / max(kurtosis - 1, 1e-3 if n >= _FEW else 2.0)
        low, high = (std * math.sqrt(freedom / chdtri(freedom, p)) for p in (alpha / 2, 1 - alpha / 2))
    rate, least, most = (rate_of(s, fan_in) for s in (std, high, low))
    return MatrixRate(role, fan_in, std, low, high, rate, least, most, kurtosis)


@dataclass(frozen=True)
class Escape:
    """One deviation: the name of the tensor or norm, its kind, what was found and where it may come from."""

    name: str
    what: What
    why: str

    def __str__(self) -> str:
        return f"{self.name} ({self.what}): {self.why}"


def matrix_escapes(
    matrix: MatrixRate, reference: tuple[float, float, float], alpha: float
) -> Iterator[Escape]:
    """Yield the escape of a matrix, or of one packed into it, from a rate with its interval, if any."""
    role, (rate, low, high) = matrix.role, reference
    parts = [matrix_rate(role, alpha / role.parts, part) for part in role.packed()] if role.parts > 1 else []
    if matrix.std == 0:
        yield Escape(role.name, "constant", "all its entries are equal")
    elif any(a.std_high < b.std_low for a in parts for b in parts):
        scales = ", ".join(f"{part.std:.3g}" for part in parts)
        yield Escape(role.name, "rate", f"its packed matrices have standard deviations {scales}")
    elif matrix.low > high or low > matrix.high:
        why = f"standard deviation {matrix.std:.3g}, where γ = {rate:.3g} gives {matrix.fan_in**-rate:.3g}"
        source = _explanation(matrix, rate)
        table = role.kind == "embedding" and _is_position(role)
        yield Escape(role.name, "positions" if table else "rate", why + f"; it fits {source}" * bool(source))


def _explanation(matrix: MatrixRate, rate: float) -> str:
    """Return the usual initialisation that explains a matrix's scale, which is not the rate's, or nothing."""
    role, fan_in = matrix.role, matrix.fan_in
    other = max(math.prod(role.shape) // fan_in, 1)
    axis = "all packed matrices together" if role.parts > 1 else "its other axis"
    axis = "the vocabulary" if role.kind == "embedding" else axis
    xavier = "Xavier's √(2/(fan-in + fan-out)), torch's default for packed attention"
    depth = min(max(round(0.5 * (fan_in**-rate / matrix.std) ** 2), 1), _MOST_LAYERS)
    candidates = {
        "torch's default, uniform within ±1/√fan-in": fan_in**-0.5 / math.sqrt(3),
        xavier: math.sqrt(2 / (sum(role.shape[:2]) * math.prod(role.shape[2:]))),
        "the fixed 0.02 of Hugging Face's GPT-2": 0.02,
        "torch's default for embeddings, N(0, 1)": 1.0,
        f"γ = {rate:.3g} with the fan-in {other} of {axis}": other**-rate,
        f"γ = {rate:.3g} divided by √(2 n_layers) with n_layers = {depth}": fan_in**-rate
        / math.sqrt(2 * depth),
    }
    return next((text for text, std in candidates.items() if matrix.std_low <= std <= matrix.std_high), "")


def role_escapes(role: Role, meant: Container[str]) -> Iterator[Escape]:
    """Yield the escapes of a tensor other than by its rate; biases ``meant`` to be there are none."""
    entries, name = role.tensor.detach().cpu().double(), role.name
    if role.kind != "unknown" and not torch.isfinite(entries).all():
        raise InputError("module", name, "holds NaN or infinity", "audit the module before it diverges")
    if len(role.names) > 1:
        yield Escape(name, "tied", f"the same tensor as {', '.join(role.names[1:])}: one scale for all")
    if not role.tensor.requires_grad:
        yield Escape(name, "frozen", "it has no gradient and keeps its scale")
    if role.kind == "bias" and bool((entries != 0).any()) and pattern_of(name) not in meant:
        largest = float(entries.abs().max())
        text = f"entries up to {largest:.3g}, not zero"
        # The largest of n uniform draws falls short of the bound by about one part in n.
        bound = role.fan_in**-0.5 if role.fan_in else 0.0
        if (1 - 5 / max(entries.numel(), 6)) * bound <= largest <= bound:
            text += f"; it fits torch's default, uniform within ±1/√{role.fan_in} whatever γ is"
        yield Escape(name, "bias", text)
    gains = role.norm.offset + role.norm.slope * entries if role.norm else entries
    if role.kind == "gain" and bool(((gains - 1).abs() > 1e-3).any()):
        yield Escape(name, "norm", f"gains from {gains.min():.3g} to {gains.max():.3g}, not one")
    if role.kind == "norm bias" and bool((entries != 0).any()):
        yield Escape(name, "norm", f"biases up to {entries.abs().max():.3g}, not zero")
    if role.kind == "unknown":
        spread = float(entries.std(correction=0)) if entries.numel() else 0.0
        why = f"shape {role.shape}, fan-in not known, standard deviation {spread:.3g}"
        yield Escape(name, "positions" if _is_position(role) else "unknown", why)


def buffer_escapes(module: nn.Module, matrices: Sequence[MatrixRate]) -> Iterator[Escape]:
    """Yield fixed tables as wide as an embedding: positions that no initialisation reaches."""
    tables = [m for m in matrices if m.role.kind == "embedding" and m.std > 0]
    for name, buffer in module.named_buffers():
        near = [m.std for m in tables if buffer.ndim > 1 and m.fan_in == buffer.shape[-1]]
        entries = buffer.detach().cpu() if near and buffer.dtype.is_floating_point else torch.zeros(0)
        # A mask of zeros and ones is not a table.
        if len(entries) and bool(torch.isfinite(entries).all()) and len(torch.unique(entries)) > 2:
            scale = float(entries.double().square().mean().sqrt())
            times = f"{scale / max(near):.3g} times the embedding's"
            yield Escape(name, "positions", f"a fixed table of root mean square {scale:.3g}, {times}")


def _is_position(role: Role) -> bool:
    return any(_POSITIONS.search(name.lower()) for name in role.names)


class NormLoss(NamedTuple):
    """How much of its output a norm loses to its ε.

    ``variance`` is the mean over rows of v, which is added to ε under the root; ``lost`` is the share by
    which the output is shorter, 1 − mean √(v/(v + ε)). Both are NaN if no input reached the norm.
    """

    name: str
    epsilon: float
    variance: float
    lost: float


def norm_losses(module: nn.Module, inputs: Any) -> list[NormLoss]:
    """Return a line for each layer or RMS norm; inputs, if any, are run to see the variances."""
    seen, known = defaultdict[nn.Module, list[Tensor]](list), dict[str, Norm | None]()
    norms = [
        (name, part, norm)
        for name, part in module.named_modules()
        if (norm := norm_of(part, known)) and norm.axes
    ]

    def see(norm: Norm, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        x = next(iter((*arguments, *named.values()))).detach().cpu().double()
        seen[part].append(variance_of(x, norm).flatten())

    if inputs is not None:
        with ExitStack() as stack:
            for _, part, norm in norms:
                stack.callback(part.register_forward_pre_hook(partial(see, norm), with_kwargs=True).remove)
            _run(module, inputs)
    losses = []
    for name, part, norm in norms:
        v = torch.cat(seen[part] or [torch.full((1,), math.nan)])
        lost = 1 - float((v / (v + norm.epsilon)).sqrt().mean())
        losses.append(NormLoss(name, norm.epsilon, float(v.mean()), lost))
    return losses


def _run(module: nn.Module, inputs: Any) -> None:
    """Run the module once without changing what it holds: no dropout, no running statistics."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with generators_kept(), torch.no_grad():
            if isinstance(inputs, Mapping):
                module(**inputs)
            else:
                module(*inputs if isinstance(inputs, tuple) else (inputs,))
    except Exception as error:
        # The module is the user's own and may raise anything.
        problem = f"the module cannot be run on it ({type(error).__name__}: {error})"
        remedy = "give what its forward takes: one argument, a tuple of them, or a dict by name"
        raise InputError("inputs", inputs, problem, remedy) from error
    finally:
        for part, training in modes:
            part.training = training
