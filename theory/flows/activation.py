r"""Activation functions that satisfy Assumption 1, with what the flows need to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theory.arrays import FloatArray
from theory.checked import checked_fields
from theory.errors import InputError

Function = Callable[[FloatArray], FloatArray]


@checked_fields
@dataclass(frozen=True)
class Activation:
    r"""σ and σ', and σ''(0), σ'''(0) for the expansion in the initial scale.

    Attributes
    ----------
    name : str
        What tables call it.
    value, derivative : callable
        σ and σ', elementwise on float64 arrays; σ(0) = 0 and σ'(0) = 1 (Assumption 1).
    second, third : float, optional
        σ''(0) and σ'''(0); only ``gradient_orders`` needs them.
    """

    name: str
    value: Function
    derivative: Function
    second: float | None = None
    third: float | None = None

    def __post_init__(self) -> None:
        zero = np.zeros(1)
        try:
            at_zero = float(self.value(zero)[0]), float(self.derivative(zero)[0])
        except Exception as error:
            problem = f"σ or σ' fails on an array ({error!r})"
            raise InputError("activation", self.name, problem, "give functions of arrays") from error
        if not np.allclose(at_zero, (0.0, 1.0), rtol=0.0, atol=1e-9):
            raise InputError(
                "activation",
                self.name,
                f"has σ(0), σ'(0) = {at_zero}, against Assumption 1",
                "shift and scale it so that they are 0 and 1",
            )

    @property
    def is_linear(self) -> bool:
        """Whether this is the identity, whose flows have exact reductions."""
        return self is IDENTITY


def _tanh_derivative(h: FloatArray) -> FloatArray:
    value = np.tanh(h)
    np.square(value, out=value)
    return np.subtract(1.0, value, out=value)


IDENTITY = Activation("identity", lambda h: h, np.ones_like, 0.0, 0.0)
"""σ(h) = h: the Emb-MLP as a product of three matrices."""
TANH = Activation("tanh", np.tanh, _tanh_derivative, 0.0, -2.0)
"""σ = tanh, the activation of the paper's analysis in this toolkit's experiments."""

ActivationLike = Activation | Literal["identity", "tanh"]
"""What every function takes for σ: an ``Activation``, or the name of one of these two."""
_BY_NAME = {known.name: known for known in (IDENTITY, TANH)}


def as_activation(activation: ActivationLike) -> Activation:
    """Return the activation that a name stands for, or the one given."""
    if isinstance(activation, Activation):
        return activation
    if activation not in _BY_NAME:
        raise InputError(
            "activation",
            activation,
            "not one that theory knows by name",
            f"choose {' or '.join(_BY_NAME)}, or give a theory.Activation",
        )
    return _BY_NAME[activation]
