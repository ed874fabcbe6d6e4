"""The initialisation rate that a matrix has, with its interval, and what else its scale may come from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from scipy.special import chdtri

from sim.modules.roles import Role
from theory.errors import InputError

_MOST_LAYERS = 96


@dataclass(frozen=True)
class MatrixRate:
    """The standard deviation of one matrix's entries and its rate γ = −ln(std)/ln(fan-in), with intervals.

    γ is NaN where the entries are all equal or the fan-in is 1; the intervals' coverage is 1 − ``alpha``.
    """

    role: Role
    std: float
    std_low: float
    std_high: float
    kurtosis: float
    alpha: float

    @property
    def fan_in(self) -> int:
        """The fan-in that the rate is of: for an embedding, its width."""
        assert self.role.fan_in is not None
        return self.role.fan_in

    @property
    def rate(self) -> float:
        """γ."""
        return rate_of(self.std, self.fan_in)

    @property
    def low(self) -> float:
        """The lower end of γ's interval."""
        return rate_of(self.std_high, self.fan_in)

    @property
    def high(self) -> float:
        """The upper end of γ's interval."""
        return rate_of(self.std_low, self.fan_in)


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

    The variance of n entries has about the distribution :math:`\chi^2_\nu/\nu`, where
    :math:`\nu = 2(n - 1)/(\kappa - 1)` with the kurtosis κ: that of normal entries for κ = 3.

    Raises
    ------
    InputError
        If an entry is not finite.
    """
    entries = (role.tensor.detach() if part is None else part).double().flatten().cpu()
    if not torch.isfinite(entries).all():
        raise InputError("module", role.name, "holds NaN or infinity", "audit the module before it diverges")
    n, centred = entries.numel(), entries - entries.mean()
    square = float(centred.square().mean())
    kurtosis = float(centred.pow(4).mean()) / square**2 if square > 0 else math.nan
    if n < 2 or not square > 0:
        return MatrixRate(role, 0.0, 0.0, 0.0, kurtosis, alpha)
    std = math.sqrt(square * n / (n - 1))
    freedom = 2 * (n - 1) / max(kurtosis - 1, 1e-3)
    low, high = (std * math.sqrt(freedom / chdtri(freedom, p)) for p in (alpha / 2, 1 - alpha / 2))
    return MatrixRate(role, std, low, high, kurtosis, alpha)


def explanation(found: MatrixRate, rate: float) -> str:
    """Return where the scale of a matrix that does not have the rate may come from, or nothing."""
    return next(
        (text for std, text in _candidates(found, rate) if found.std_low <= std <= found.std_high), ""
    )


def _candidates(found: MatrixRate, rate: float) -> Iterator[tuple[float, str]]:
    """Yield standard deviations of usual initialisations."""
    shape, fan_in = found.role.shape, found.fan_in
    other = math.prod(shape) // fan_in
    axis = "all packed matrices together" if found.role.parts > 1 else "its other axis"
    if found.role.kind == "embedding":
        axis = "the vocabulary"
    yield fan_in**-0.5 / math.sqrt(3), "torch's default, uniform within ±1/√fan-in"
    yield (
        math.sqrt(2 / sum(shape)),
        "Xavier's √(2/(fan-in + fan-out)), torch's default for packed attention",
    )
    yield 0.02, "the fixed 0.02 of Hugging Face's GPT-2"
    yield 1.0, "torch's default for embeddings, N(0, 1)"
    yield other**-rate, f"γ = {rate:.3g} with the fan-in {other} of {axis}"
    depth = round(0.5 * (fan_in**-rate / found.std) ** 2)
    if 1 <= depth <= _MOST_LAYERS:
        text = f"γ = {rate:.3g} divided by √(2 n_layers) with n_layers = {depth}"
        yield fan_in**-rate / math.sqrt(2 * depth), text
