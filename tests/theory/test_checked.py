"""What comes in: arguments, held by their annotations, axes as by jaxtyping itself; files of plain data."""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import jaxtyped

from theory import InputError, Task, corpus_counts, cosine_matrix, label_distribution_embedding
from theory.edge.arrays import ArrayLike, Float64, Integer, Real
from theory.edge.checked import Decay, Positive, Rate, Share, Size, checked
from theory.edge.checks import Between, Entries
from theory.edge.reading import DEEPEST, as_path, is_file, is_folder, load_json, load_toml

AXES = st.lists(st.sampled_from(["n", "m", "2", "_"]), max_size=3)
NAMED = st.tuples(AXES, st.sampled_from([(), ("...",), ("*rest",)]), AXES).map(
    lambda p: " ".join([*p[0], *p[1], *p[2]])
)
SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(st.lists(st.tuples(NAMED, SHAPES), min_size=1, max_size=3))
@settings(max_examples=100)
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
MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])
ZERO_D = (np.int64(3), np.array(3), torch.tensor(3))
ALLOWED: dict[Any, tuple[list[Any], list[Any]]] = {
    int: ([3, *ZERO_D, 10**18, -(10**18)], [True, 2.0, "3", None, 10**18 + 1, -(10**18) - 1]),
    float: (
        [1.5, 2, *ZERO_D, np.float32(0.5), -(10**15)],
        [NAN, INF, -INF, True, "1", None, 1j, 10**400, MASKED[1]],
    ),
    bool: ([True, np.False_, np.array(True)], [1, np.array(0), None, "True"]),
    str: (["a", "", "γ"], ["a\n", "\x00", b"x", 1, None]),
    Literal["a", 1]: (["a", np.str_("a"), 1], ["b", True, 1.0, ["a"], None]),
    Annotated[int, Between(2, 4)]: ([2, 3, 4], [1, 5, 2.0]),
    Annotated[float, Between(0, 2, open=True)]: ([1e-300, 1.9], [0, 2, -1, 3, NAN]),
    Size: ([1, 10**9], [0, -1, 1.0]),
    Positive: ([5e-324, 1e300], [0.0, -1e-300]),
    Share: ([0.01, 0.99], [0, 1]),
    Decay: ([0, 1e6], [-1e-9, 1.1e6]),
    Rate: ([0, 5], [-1e-9, 5.01]),
    int | None: ([3, None], ["x", 1.5]),
    Sequence[int]: (
        [[], [1], (2, 3), range(3), np.arange(3), torch.arange(3), MASKED[2:]],
        [3, "12", b"1", {1: 2}, [1.5], *ZERO_D, MASKED],
    ),
    tuple[int, float]: ([(1, 2.0), [1, 2]], [(1,), (1, 2, 3), 3, (1.5, 2), "12"]),
    npt.ArrayLike: ([[1, 2], 3.5, [[1.0]], np.zeros(2)], [[[1], [1, 2]], [NAN], ["x"], [1j], [None], MASKED]),
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
            same = value.tolist() if isinstance(value, (np.ndarray, torch.Tensor)) else value
            np.testing.assert_equal(np.asarray(found).tolist() if same is not value else found, same)
    for value in ALLOWED[hint][1]:
        for arguments, named in (((0, value), {}), ((0,), {"value": value})):
            with pytest.raises(InputError) as refusal:
                call(*arguments, **named)
            assert refusal.value.argument == "value"


def test_no_mask_is_lost():
    for call in (lambda: cosine_matrix(np.ma.atleast_2d(MASKED)), lambda: corpus_counts(iter([MASKED]), 9)):
        with pytest.raises(InputError, match=r"has masked entries; drop them, or fill them"):
            call()


@pytest.mark.parametrize("kind", [{"requires_grad": True}, {"dtype": torch.bfloat16}])
def test_a_tensor_that_numpy_does_not_read_is_refused_with_one_that_it_does(kind):
    matrix = torch.eye(2, **kind)
    with pytest.raises(InputError, match=r"^rows = .* give tensor.detach\(\).float\(\).cpu\(\)"):
        cosine_matrix(matrix)
    assert (cosine_matrix(matrix.detach().float().cpu()) == np.eye(2)).all()


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


@pytest.mark.parametrize(
    ("between", "right", "wrong"),
    [
        (Between(1), "at least 1", 0),
        (Between(0, open=True), "a number above 0", 0),
        (Between(2, 4), "a number between 2 and 4", 5),
        (Between(0, 1, open=True), "a number strictly between 0 and 1", 1),
    ],
)
def test_a_remedy_names_the_side_that_is_allowed(between, right, wrong):
    with pytest.raises(InputError, match=rf"give {right}\.$"):
        between("share", wrong)


@pytest.mark.parametrize(
    "remedy",
    [
        "make them: anchorflow study x --run",
        "or: anchorflow train x; or wait",
        "read it: --import my.py",
        "x = ...",
    ],
)
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
def test_a_list_that_is_too_long_is_refused_and_not_cut(items, monkeypatch):
    @checked
    def function(items: Iterable[int]) -> Any:
        return items

    monkeypatch.setattr("theory.edge.checked.MOST_ITEMS", 2)
    with pytest.raises(InputError, match="too many items"):
        function(items)
    assert function(iter(range(2))) == [0, 1]


@pytest.mark.parametrize("load", [load_toml, load_json])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a" * 10**6, "not valid"),
        (b"a = \xff", "not text in UTF-8"),
        (b"a = " + b"[" * 20_000 + b"]" * 20_000, "nested more than 50|not valid JSON"),
        (b'{"a": ' * 20_000 + b"1" + b"}" * 20_000, "nested more than 50|not valid TOML"),
        (b"[" + b".".join([b"a"] * 200) + b"]\n", "nested more than 50|not valid JSON"),
        (b"a = " + b"9" * 5000, "not valid"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid"),
        # What would take long to read.
        (b"\n".join(b"k%d = 1" % i for i in range(10**6)), "1000000 keys or lists|not valid JSON"),
        (b"a" + b".a" * 90_000 + b" = 1", "nested more than 50 levels|not valid JSON"),
        (b"\n".join(b"a" + b".b%d" % i * 49 + b" = 1" for i in range(20_000)), "1000000 keys|not valid JSON"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, load: object, content: bytes, words: str) -> None:
    (tmp_path / "bad").write_bytes(content)
    begun = time.process_time()
    with pytest.raises(InputError, match=words) as caught:
        load(tmp_path / "bad")  # type: ignore[operator]
    assert time.process_time() - begun < 3
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"file = {str(tmp_path / 'bad')!r}: ")


@pytest.mark.parametrize(
    "path", ["/dev/zero", "/", "nothing.toml", "file/below.toml", "x" * 300, "a\0b", "/proc/self/mem", "pipe"]
)
def test_a_path_to_no_file_is_refused_and_no_pipe_is_waited_for(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="file = "):
        load_toml(tmp_path / path)


def test_limits_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    for load, text in ((load_json, "{}1{}"), (load_toml, "a = {}1{}")):
        n = DEEPEST - (load is load_toml)  # A table is a level, too.
        file.write_text(text.format("[" * n, "]" * n))
        assert load(file)
        file.write_text(text.format("[" * (n + 1), "]" * (n + 1)))
        with pytest.raises(InputError, match=f"more than {DEEPEST}"):
            load(file)
    monkeypatch.setattr("theory.edge.reading.LARGEST_FILE", 10)
    file.write_text("a = 123456")
    assert load_toml(file) == {"a": 123456}
    file.write_text("a = 1234567")
    with pytest.raises(InputError, match="larger than"):
        load_toml(file)


def test_a_name_that_no_system_allows_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("x" * 300, "a\0b", "file/below", "nothing"):
        assert not is_file(tmp_path / name)
        assert not is_folder(tmp_path / name)
    assert (is_file(tmp_path / "file"), is_folder(tmp_path)) == (True, True)


def test_the_mark_that_some_editors_put_before_a_text_is_passed_over(tmp_path: Path) -> None:
    for load, text in ((load_json, '{"a": 1}'), (load_toml, "a = 1")):
        (tmp_path / "file").write_text(text, encoding="utf-8-sig")
        assert load(tmp_path / "file") == {"a": 1}


def test_a_path_may_begin_at_home_and_is_a_text() -> None:
    assert as_path("out", "~/runs") == Path.home() / "runs"
    for wrong, problem in (("~no-such-user/runs", "home"), *((w, "as a string") for w in (3, "", "a\0b"))):
        with pytest.raises(InputError, match=f"^out = .*{problem}"):
            as_path("out", wrong)  # type: ignore[arg-type]


def test_a_file_is_named_in_a_refusal_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e").write_text("keys = [1]\nn_anchors = 0\nlength = 2\nvocab_size = 9\nmemory_anchors = [2]")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^e: n_anchors = 0: "):
        Task.from_toml(Path("e"))
