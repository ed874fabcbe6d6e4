"""The Emb-MLP (Definition 1): its activation under Assumption 1, and the draw of its three matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Rate, Size, checked, checked_fields
from theory.edge.display import Shown
from theory.edge.errors import InputError, check_memory
from theory.integrate.trajectory import Matrices

Function = Callable[[FloatArray], FloatArray]


@checked_fields
@dataclass(frozen=True)
class Activation:
    r"""σ and σ'.

    Attributes
    ----------
    name : str
        Its name in tables.
    value, derivative : callable
        σ and σ', elementwise on arrays of float32 or float64; σ(0) = 0 and σ'(0) = 1 (Assumption 1).
    """

    name: str
    value: Function
    derivative: Function

    def __post_init__(self) -> None:
        zero = np.zeros(1)
        try:
            at_zero = float(self.value(zero)[0]), float(self.derivative(zero)[0])
        except Exception as error:
            problem = f"σ or σ' fails on an array ({error!r})"
            raise InputError("activation", self.name, problem, "give functions of arrays") from error
        if not np.allclose(at_zero, (0.0, 1.0), rtol=0.0, atol=1e-9):
            problem = f"has σ(0), σ'(0) = {at_zero}, which violates Assumption 1"
            raise InputError("activation", self.name, problem, "shift and scale it so that they are 0 and 1")

    @property
    def is_linear(self) -> bool:
        """Whether this is the identity, whose flows have exact reductions."""
        return self is IDENTITY


def _tanh_derivative(h: FloatArray) -> FloatArray:
    value = np.tanh(h)
    np.square(value, out=value)
    return np.subtract(1.0, value, out=value)


IDENTITY = Activation("identity", lambda h: h, np.ones_like)
"""σ(h) = h: the Emb-MLP as a product of three matrices."""
TANH = Activation("tanh", np.tanh, _tanh_derivative)
"""σ = tanh, the activation of the paper's analysis in this toolkit's experiments."""

ActivationLike = Literal["identity", "tanh"] | Activation
"""The type of every argument σ: the name of one of these two, or an ``Activation``."""
_BY_NAME = {known.name: known for known in (IDENTITY, TANH)}


def as_activation(activation: ActivationLike) -> Activation:
    """Return the activation that a name stands for, or the one given."""
    return activation if isinstance(activation, Activation) else _BY_NAME[activation]


@checked_fields
@dataclass(frozen=True, repr=False)
class EmbMLPParameters(Shown):
    """The three matrices of the Emb-MLP (Definition 1), float64.

    Attributes
    ----------
    W_emb : ndarray, shape (d, d_m)
        Row s is the embedding w_s of token s.
    W1 : ndarray, shape (d_m, d_f)
    W2 : ndarray, shape (d_f, d)
    """

    W_emb: Float64[FloatArray, "d d_m"]
    W1: Float64[FloatArray, "d_m d_f"]
    W2: Float64[FloatArray, "d_f d"]

    def __post_init__(self) -> None:
        for name in Matrices._fields:
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    @classmethod
    @checked
    def draw(
        cls, vocab_size: Size, *, d_m: Size, d_f: Size, init_rate: Rate, rng: np.random.Generator
    ) -> EmbMLPParameters:
        r"""Draw the matrices at initialisation rate γ (Section 2.4): N(0, (fan-in)^{-2γ}) entries.

        The fan-in is d_m for W_emb and W1, and d_f for W2.

        Parameters
        ----------
        vocab_size, d_m, d_f : int
            The three sizes, all positive.
        init_rate : float
            γ; 0.5 is the usual scale, and a larger γ gives smaller weights.
        rng : numpy.random.Generator
            Draws W_emb, W1 and W2 in this order.
        """
        numbers = vocab_size * (d_m + d_f) + d_m * d_f
        check_memory("d_m, d_f", (d_m, d_f), 8 * numbers, "the draw", "give a narrower model")
        narrow, wide = float(d_m) ** -init_rate, float(d_f) ** -init_rate
        return cls(
            narrow * rng.standard_normal((vocab_size, d_m)),
            narrow * rng.standard_normal((d_m, d_f)),
            wide * rng.standard_normal((d_f, vocab_size)),
        )

    def scaled(self, factor: float) -> EmbMLPParameters:
        """Return the parameters with every matrix times ``factor``."""
        return EmbMLPParameters(factor * self.W_emb, factor * self.W1, factor * self.W2)

    @property
    def matrices(self) -> Matrices:
        """The same three arrays as a plain tuple."""
        return Matrices(self.W_emb, self.W1, self.W2)

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [
            [name, " x ".join(map(str, matrix.shape)), f"{matrix.std():.4g}"]
            for name, matrix in (("W_emb", self.W_emb), ("W1", self.W1), ("W2", self.W2))
        ]
        return ", ".join(f"{name} {shape}" for name, shape, _ in rows), ["matrix", "shape", "std"], rows


def check_statistic(argument: str, matrix: npt.ArrayLike, initial: EmbMLPParameters) -> FloatArray:
    """Return a token statistic (C or S) as float64, or refuse one that is not (d, d)."""
    d = len(initial.W_emb)
    array = np.asarray(matrix, dtype=np.float64)
    if array.shape != (d, d):
        problem = f"does not fit an embedding of {d} tokens"
        raise InputError(argument, array.shape, problem, f"give ({d}, {d})")
    return array
