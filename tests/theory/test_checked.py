"""Axes that annotations name, held by ``checked`` as jaxtyping itself holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import jaxtyped

from theory import InputError
from theory.arrays import ArrayLike, Float64, Real
from theory.checked import checked

AXES = st.lists(st.sampled_from(["n", "m", "2", "_"]), max_size=3)
NAMED = st.tuples(AXES, st.sampled_from([(), ("...",), ("*rest",)]), AXES).map(
    lambda p: " ".join([*p[0], *p[1], *p[2]])
)
SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(st.lists(st.tuples(NAMED, SHAPES), min_size=1, max_size=3))
@settings(max_examples=300)
def test_arrays_pass_if_all_axes_of_one_name_agree(given_arrays):
    """A variadic name is held by jaxtyping to one shape too; here it stands for any."""

    names = [f"a{k}" for k in range(len(given_arrays))]
    axes = dict(zip(names, (text for text, _ in given_arrays), strict=True))
    values = dict(zip(names, (np.zeros(shape) for _, shape in given_arrays), strict=True))
    with jaxtyped("context"):
        fits = [isinstance(values[n], Float64[np.ndarray, axes[n].replace("*rest", "...")]) for n in names]
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): return 0", scope)
    scope["function"].__annotations__ = {name: Real[ArrayLike, axes[name]] for name in names}
    call = checked(scope["function"])
    if all(fits):
        assert call(**{name: value.tolist() for name, value in values.items()}) == 0
    else:
        with pytest.raises(InputError, match="give shape") as refusal:
            call(*values.values())
        assert refusal.value.argument == names[fits.index(False)]


def test_an_array_that_may_be_missing_or_a_number_is_held_only_as_an_array():
    @checked
    def function(a: Real[ArrayLike, " n"] | None = None, b: int | Real[ArrayLike, " n"] = 0) -> int:
        return 1

    assert function() == function([1.0]) == function([1.0], 3) == function(b=np.array(3)) == 1
    with pytest.raises(InputError, match="a = "):
        function([[1.0]])
