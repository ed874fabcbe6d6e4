"""The initialisation rate that a matrix has, with its interval, and where another scale may come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from scipy.special import chdtri

from sim.modules.roles import Role
from theory.errors import InputError

_MOST_LAYERS = 96


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

    The interval covers with 1 − ``alpha``. The variance of n entries has about the distribution
    :math:`\chi^2_\nu/\nu`, where :math:`\nu = 2(n - 1)/(\kappa - 1)` with the kurtosis κ: that of normal
    entries for κ = 3.
    """
    entries = (role.tensor.detach() if part is None else part).double().flatten().cpu()
    if not torch.isfinite(entries).all():
        raise InputError("module", role.name, "holds NaN or infinity", "audit the module before it diverges")
    n, centred = entries.numel(), entries - entries.mean()
    square, fan_in = float(centred.square().mean()), role.fan_in or 1
    kurtosis = float(centred.pow(4).mean()) / square**2 if square > 0 else math.nan
    std = low = high = 0.0
    if n > 1 and square > 0:
        std = math.sqrt(square * n / (n - 1))
        freedom = 2 * (n - 1) / max(kurtosis - 1, 1e-3)
        low, high = (std * math.sqrt(freedom / chdtri(freedom, p)) for p in (alpha / 2, 1 - alpha / 2))
    rate, least, most = (rate_of(s, fan_in) for s in (std, high, low))
    return MatrixRate(role, fan_in, std, low, high, rate, least, most, kurtosis)


def explanation(found: MatrixRate, rate: float) -> str:
    """Return the usual initialisation whose scale a matrix has in place of the rate's, or nothing."""
    role, fan_in = found.role, found.fan_in
    other = math.prod(role.shape) // fan_in
    axis = "all packed matrices together" if role.parts > 1 else "its other axis"
    axis = "the vocabulary" if role.kind == "embedding" else axis
    xavier = "Xavier's √(2/(fan-in + fan-out)), torch's default for packed attention"
    depth = min(max(round(0.5 * (fan_in**-rate / found.std) ** 2), 1), _MOST_LAYERS)
    candidates = {
        "torch's default, uniform within ±1/√fan-in": fan_in**-0.5 / math.sqrt(3),
        xavier: math.sqrt(2 / sum(role.shape)),
        "the fixed 0.02 of Hugging Face's GPT-2": 0.02,
        "torch's default for embeddings, N(0, 1)": 1.0,
        f"γ = {rate:.3g} with the fan-in {other} of {axis}": other**-rate,
        f"γ = {rate:.3g} divided by √(2 n_layers) with n_layers = {depth}": fan_in**-rate
        / math.sqrt(2 * depth),
    }
    return next((text for text, std in candidates.items() if found.std_low <= std <= found.std_high), "")
