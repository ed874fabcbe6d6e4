"""Checks of one value, by the name of its argument: ranges, entries of arrays, numbers, texts and tokens."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.edge.errors import InputError

Check = Callable[[str, Any], Any]
"""Takes an argument's name and value, and returns the value or raises ``InputError``."""
_LARGEST = 10**18


@dataclass(frozen=True)
class Between:
    """The range of a number: both ends belong to it unless ``open``."""

    low: float
    high: float = float("inf")
    open: bool = False

    def __call__(self, argument: str, value: Any) -> Any:
        """Return the value, or refuse one outside the range."""
        if self.low < value < self.high if self.open else self.low <= value <= self.high:
            return value
        remedy = f"give a number {'strictly ' * self.open}between {self.low:g} and {self.high:g}"
        if self.high == float("inf"):
            remedy = f"give a number above {self.low:g}" if self.open else f"give at least {self.low:g}"
        raise InputError(argument, value, "out of range", remedy)


@dataclass(frozen=True)
class Entries:
    """The entries of an array: integers or numbers; NaN and infinity only if ``undefined`` allows them."""

    integers: bool = False
    undefined: bool = False

    def __call__(self, argument: str, value: Any) -> Any:
        """Return the value, or refuse anything else."""
        try:
            array = np.asarray(value)
        except (ValueError, TypeError, OverflowError, RuntimeError):
            # NumPy makes no array of a torch tensor with a gradient, on a GPU or in bfloat16.
            rows, tensor = "give equally long rows of numbers", "give tensor.detach().float().cpu()"
            remedy = tensor if hasattr(value, "detach") else rows
            raise InputError(argument, value, "not an array", remedy) from None
        # To NumPy, an empty list is an array of floats.
        if array.dtype.kind not in ("iu" if self.integers and array.size else "iuf"):
            kind = "integers" if self.integers else "real numbers"
            raise InputError(argument, value, f"not {kind}", f"give an array of {kind}")
        if not self.undefined and not np.isfinite(array).all():
            raise InputError(argument, value, "holds NaN or infinity", "give finite numbers")
        return value


def refuse_masks(argument: str, value: object) -> None:
    """Refuse an array that has masked entries: the values under the mask would count."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        remedy = "drop them, or fill them with numbers: array.compressed(), array.filled(0)"
        raise InputError(argument, value, "has masked entries", remedy)


def as_integer(argument: str, value: object) -> int:
    """Return ``value`` as an int, or refuse it: 2.0 and True are not integers here."""
    # Asking ``numbers.Integral`` takes longer than the rest, and a task has hundreds of tokens.
    if type(value) is not int:
        value = scalar(value)
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise InputError(argument, value, "not an integer", "give a whole number")
        value = int(value)
    if abs(value) > _LARGEST:
        raise InputError(argument, value, "too large", "give a number of at most 18 digits")
    return value


def scalar(value: Any) -> Any:
    """Return the number in a tensor or an array without axes, and anything else unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def check_tokens(argument: str, tokens: npt.ArrayLike, vocab_size: int) -> npt.NDArray[np.int64]:
    """Return tokens as a vector; refuse an empty list, and a token outside 0..vocab_size−1."""
    array = np.atleast_1d(np.asarray(tokens))
    if array.ndim != 1 or array.size == 0:
        raise InputError(argument, tokens, "not a list of tokens", "give one token or more in a plain list")
    Entries(integers=True)(argument, array)
    wrong = array[(array < 0) | (array >= vocab_size)]
    if wrong.size:
        problem = f"outside the vocabulary 0..{vocab_size - 1}"
        raise InputError(argument, int(wrong.flat[0]), problem, "give tokens of the vocabulary")
    return array.astype(np.int64)


def check_sequences(sequences: npt.ArrayLike, vocab_size: int) -> npt.NDArray[np.int64]:
    """Return sequences of tokens, shape (n, L); refuse none, and a token outside 0..vocab_size−1."""
    return check_tokens("sequences", np.ravel(sequences), vocab_size).reshape(np.shape(sequences))


def _number(argument: str, value: Any) -> Any:
    if type(value) is float and math.isfinite(value):
        return value
    value = scalar(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(argument, value, "not a number", "give a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(argument, value, "not a finite number", "give a finite number")
    return number


def _text(argument: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise InputError(argument, value, "not text", "give text")
    if not value.isprintable():
        raise InputError(argument, value, "holds control characters", "leave them out")
    return value


def _truth(argument: str, value: Any) -> Any:
    if not isinstance(value := scalar(value), bool):
        raise InputError(argument, value, "neither True nor False", "give one of the two")
    return value


SCALARS: dict[Any, Check] = {int: as_integer, float: _number, bool: _truth, str: _text}
"""The check of each plain type."""
