"""Annotations held by ``checked``: what each kind allows, and axes as jaxtyping itself holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import jaxtyped

from theory import InputError, Task, label_distribution_embedding
from theory.arrays import ArrayLike, Float64, Integer, Real
from theory.checked import Between, Decay, Entries, Positive, Rate, Share, Size, checked

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
    with pytest.raises(InputError, match=r"give shape \(task.vocab_size, k\)"):
        label_distribution_embedding(Task.paper(), [11], W=[1.0])


NAN, INF = float("nan"), float("inf")
ALLOWED: dict[Any, tuple[list[Any], list[Any]]] = {
    int: ([3, np.int64(3), 10**18, -(10**18)], [True, 2.0, "3", None, 10**18 + 1, -(10**18) - 1]),
    float: ([1.5, 2, np.float32(0.5), -(10**15)], [NAN, INF, -INF, True, "1", None, 1j, 10**400]),
    bool: ([True, np.False_], [1, 0, None, "True"]),
    str: (["a", "", "γ"], ["a\n", "\x00", b"x", 1, None]),
    Literal["a", 1]: (["a", 1], ["b", True, 1.0, ["a"], None]),
    Annotated[int, Between(2, 4)]: ([2, 3, 4], [1, 5, 2.0]),
    Annotated[float, Between(0, 2, open=True)]: ([1e-300, 1.9], [0, 2, -1, 3, NAN]),
    Size: ([1, 10**9], [0, -1, 1.0]),
    Positive: ([5e-324, 1e300], [0.0, -1e-300]),
    Share: ([0.01, 0.99], [0, 1]),
    Decay: ([0, 1e6], [-1e-9, 1.1e6]),
    Rate: ([0, 5], [-1e-9, 5.01]),
    int | None: ([3, None], ["x", 1.5]),
    Sequence[int]: ([[], [1], (2, 3), range(3), np.arange(3)], [3, "12", b"1", {1: 2}, [1.5], np.array(3)]),
    tuple[int, float]: ([(1, 2.0), [1, 2]], [(1,), (1, 2, 3), 3, (1.5, 2), "12"]),
    npt.ArrayLike: ([[1, 2], 3.5, [[1.0]], np.zeros(2)], [[[1], [1, 2]], [NAN], ["x"], [1j], [None]]),
    Integer[ArrayLike, " n"]: ([[1, 2], [], np.arange(2)], [[1.5], [True], [NAN], 3, [[1]]]),
    Real[ArrayLike, "2 n"]: ([[[1, 2.5], [3, 4]], np.zeros((2, 0))], [[1, 2], [[1, 2]], [[1, 2], [3, INF]]]),
    Annotated[npt.ArrayLike, Entries(undefined=True)]: ([[1.0, NAN], [INF]], [["x"], [1j]]),
    Task: ([Task.paper()], ["paper", None]),
}


@pytest.mark.parametrize("hint", ALLOWED, ids=range(len(ALLOWED)))
def test_a_value_is_allowed_by_its_annotation_alone(hint):
    def function(other: int, value: Any = None) -> Any:
        return value

    function.__annotations__["value"] = hint
    call = checked(function)
    for value in ALLOWED[hint][0]:
        for found in (call(0, value), call(other=0, value=value)):
            same = value.tolist() if isinstance(value, np.ndarray) else value
            np.testing.assert_equal(np.asarray(found).tolist() if same is not value else found, same)
    for value in ALLOWED[hint][1]:
        for arguments, named in (((0, value), {}), ((0,), {"value": value})):
            with pytest.raises(InputError) as refusal:
                call(*arguments, **named)
            assert refusal.value.argument == "value"


def test_what_is_read_is_what_the_function_gets():
    @checked
    def function(n: int, x: float, pair: tuple[int, int], items: Iterable[int]) -> Any:
        return n, x, pair, items

    found = function(np.int32(2), 3, [4, 5], iter([6, 7]))
    assert found == (2, 3.0, (4, 5), [6, 7])
    assert [type(each) for each in found[:2]] == [int, float]
    with pytest.raises(InputError) as refusal:
        function(0.5, 1, (1, 2), [])
    assert str(refusal.value) == "n = 0.5: not an integer; give a whole number."
    with pytest.raises(InputError) as refusal:
        function("0123456789" * 1000, 1, (1, 2), [])
    assert 60 < len(str(refusal.value)) < 300


@pytest.mark.parametrize("remedy", ["make them: anchorflow study x --run", "or: anchorflow train x; or wait"])
def test_no_full_stop_is_copied_with_a_command(remedy):
    assert str(InputError("n", 1, "wrong", remedy)).endswith(remedy + "." * ("wait" in remedy))


def test_what_is_in_a_list_is_read_as_it_would_be_alone():
    @checked
    def function(lists: Iterable[Iterable[int]], numbers: Sequence[float] = (), flag: bool = False) -> Any:
        return lists, numbers, flag

    found = function((iter(row) for row in [(1, 2), (3,)]), (np.float32(1), 2), np.True_)
    assert found == ([[1, 2], [3]], (1.0, 2.0), True)
    assert [type(each) for each in (*found[1], found[2])] == [float, float, bool]
    given = [(1, 2), range(3)]
    assert function(given)[0] is given


@pytest.mark.parametrize("items", [[0, 1, 2], iter(range(3)), np.arange(3), {0, 1, 2}, range(10**20)])
def test_no_list_is_cut_where_it_is_too_long(items, monkeypatch):
    @checked
    def function(items: Iterable[int]) -> Any:
        return items

    monkeypatch.setattr("theory.checked.MOST_ITEMS", 2)
    with pytest.raises(InputError, match="too many items"):
        function(items)
    assert function(iter(range(2))) == [0, 1]
