"""Public functions of theory are held to the axes in their annotations while the tests run."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import theory
from tests.shapes import ShapeError, held_to_its_shapes, names_axes, numerical_functions
from theory import cosine_matrix, token_label_matrix
from theory.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.checked import checked


@dataclass(frozen=True)
class Pair:
    vectors: Float64[FloatArray, "n d"]
    values: Float64[FloatArray, " n"]


@checked
def outer(a: Real[ArrayLike, " n"], b: Real[ArrayLike, " m"] | None = None) -> Float64[FloatArray, "n m"]:
    return np.outer(a, a if b is None else b).astype(np.float64)


@checked
def transposed(a: Real[ArrayLike, " n"], b: Real[ArrayLike, " m"]) -> Float64[FloatArray, "n m"]:
    return np.outer(b, a).astype(np.float64)


@checked
def counts(tokens: Integer[ArrayLike, " n"], vocab_size: int) -> Float64[FloatArray, " {vocab_size}"]:
    return np.bincount(tokens, minlength=vocab_size).astype(np.float64)


@checked
def trace(matrix: Real[ArrayLike, "n n"]) -> float:
    return float(np.trace(np.asarray(matrix)))


@checked
def pair(n: int, length: int) -> Pair:
    return Pair(np.zeros((n, 3)), np.zeros(length))


def test_what_agrees_with_its_annotations_is_returned() -> None:
    assert held_to_its_shapes(outer)([1, 2], [3, 4, 5]).shape == (2, 3)
    assert held_to_its_shapes(outer)(np.ones(2)).shape == (2, 2)
    assert held_to_its_shapes(counts)([0, 2, 2], 3).tolist() == [1, 0, 2]
    assert held_to_its_shapes(pair)(2, 2).values.shape == (2,)


def test_a_result_of_another_shape_is_caught() -> None:
    with pytest.raises(ShapeError, match=r"transposed: return has shape \(3, 2\)"):
        held_to_its_shapes(transposed)([1, 2], [3, 4, 5])
    with pytest.raises(ShapeError, match="counts: return"):
        held_to_its_shapes(counts)([0, 5], 3)


def test_shapes_that_agreed_do_not_stand_for_others() -> None:
    """Comparing takes longer than most functions, and is left out where shapes and types agreed before."""
    once, sized, paired = map(held_to_its_shapes, (transposed, counts, pair))
    assert once([1, 2], [3, 4]).shape == (2, 2)
    with pytest.raises(ShapeError, match="transposed: return"):
        once([1, 2], [3, 4, 5])
    assert len(sized([0, 2], 3)) == 3
    with pytest.raises(ShapeError, match="counts: return"):
        sized([0, 2], 2)
    with pytest.raises(ShapeError, match="counts: return"):
        sized([0, 2], np.int64(1))
    assert len(paired(2, 2).values) == 2
    with pytest.raises(ShapeError, match=r"Pair\.values"):
        paired(2, 3)


def test_an_argument_that_the_function_should_have_refused_is_caught() -> None:
    with pytest.raises(ShapeError, match=r"trace: matrix has shape \(2, 3\)"):
        held_to_its_shapes(trace)(np.ones((2, 3)))


def test_the_fields_of_a_result_are_compared_with_each_other() -> None:
    with pytest.raises(ShapeError, match=r"Pair\.values"):
        held_to_its_shapes(pair)(2, 3)


def test_every_public_function_that_names_axes_is_held_to_them() -> None:
    named = [f for f in numerical_functions(theory) if any(map(names_axes, _hints(f).values()))]
    assert {cosine_matrix, token_label_matrix} <= set(named)
    assert [f.__name__ for f in named if not hasattr(f, "held")] == []


def test_no_public_function_has_an_array_without_axes() -> None:
    functions = numerical_functions(theory)
    plain = [
        (f.__name__, part) for f in functions for part, hint in _hints(f).items() if _has_plain_array(hint)
    ]
    assert plain == []


def _hints(function: Callable[..., object]) -> dict[str, object]:
    return typing.get_type_hints(function)


def _has_plain_array(hint: object) -> bool:
    if typing.get_origin(hint) is np.ndarray:
        return True
    return any(map(_has_plain_array, typing.get_args(hint)))
