r"""A rule that is a Python function, and the table of labels that a task keeps of it."""

from __future__ import annotations

import functools
import itertools
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from theory.arrays import IntArray
from theory.checked import as_integer, checked_fields
from theory.errors import InputError, TooManyEntriesError
from theory.task.domain import MAX_ENTRIES, Domain, check_labels, magnitude
from theory.task.rule import Deterministic, Rule

MAX_KEPT = 100_000
"""The most labels of a function that a task keeps, and writes into its TOML."""
_MAX_CALLS = 1_000_000
_SAMPLE = 500
_LINE = re.compile(r"[0-9]{1,18}( [0-9]{1,18})*")
_REMEDY = "return one integer label for each key and combination"


@dataclass(frozen=True, init=False)
class Tabulated(Deterministic):
    """Labels written out, one for each key and anchor combination: what a task keeps of a function.

    Parameters
    ----------
    labels : sequence of sequence of int, shape (N_Z, N_A^q)
        A row for each key in order; columns are anchor combinations, the first anchor varying slowest.
    """

    labels_: tuple[tuple[int, ...], ...]
    kind: ClassVar[str] = "tabulated"
    toml_keys: ClassVar[tuple[str, ...]] = ("labels",)
    required: ClassVar[tuple[str, ...]] = ("labels",)
    description: ClassVar[str] = "label = f(key, anchors)"

    def __init__(self, labels: Any) -> None:
        try:
            rows = tuple(tuple(as_integer("labels", v) for v in row) for row in labels)
        except TypeError:
            raise InputError(
                "labels", labels, "not a table", "give one list of labels for each key"
            ) from None
        object.__setattr__(self, "labels_", rows)

    def parameters(self) -> dict[str, Any]:
        """Return the labels as one line of text for each key."""
        return {"labels": [" ".join(map(str, row)) for row in self.labels_]}

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Tabulated:
        """Build the rule from one line of text, or one list of integers, for each key."""
        rows = parameters["labels"]
        if not isinstance(rows, list):
            raise InputError("labels", rows, "not a list", "give one line of labels for each key")
        return cls([_integers(row) if isinstance(row, str) else row for row in rows])

    def settled(self, domain: Domain) -> Tabulated:
        """Return the rule, or refuse a table of another shape."""
        shape = (len(domain.keys), domain.n_combinations)
        widths = {len(row) for row in self.labels_}
        if len(self.labels_) != shape[0] or widths != {shape[1]}:
            found = f"{len(self.labels_)} rows of {sorted(widths)} labels"
            problem = f"{found} do not fit {shape[0]} keys and {shape[1]} anchor combinations"
            raise InputError("labels", domain.name, problem, f"give shape {shape}")
        return self

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q)."""
        return self._array[domain.indices(keys, anchors)]

    @functools.cached_property
    def _array(self) -> IntArray:
        return np.array(self.labels_, dtype=np.int64)


@checked_fields
@dataclass(frozen=True, eq=False)
class Function(Deterministic):
    """The label is ``function(key, anchors)``.

    It is called with Python integers, ``anchors`` being a tuple of q of them, or, if that gives the same,
    with arrays: ``key`` of shape (n,) and a tuple of q such arrays. A task with at most 100 000 pairs of
    key and combination calls it for every one, twice, and keeps the labels as ``Tabulated``; beyond
    that it is checked on a sample and cannot be written to a file.

    Parameters
    ----------
    function : callable
        (key, anchors) → label. ``Mapping`` takes a bare function too.
    """

    function: Callable[..., Any]
    takes_arrays: bool = False
    kind: ClassVar[str] = "function"
    description: ClassVar[str] = "label = f(key, anchors)"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError("function", self.function, "not a function", "give (key, anchors) -> label")

    @property
    def name(self) -> str:
        """What messages call it."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def parameters(self) -> dict[str, Any]:
        """Refuse: a function of so many entries cannot be written to a file."""
        raise InputError(
            "rule",
            self.name,
            f"a function of more than {MAX_KEPT} labels cannot be written to a file",
            "write it as an expression: Expression('(key + a1) % 97')",
        )

    def settled(self, domain: Domain) -> Rule:
        """Call the function, check what it returns, and keep the labels if they are few enough."""
        if domain.n_entries > MAX_KEPT:
            keys, anchors = _sample(domain)
            labels = self._one_by_one(keys, anchors)
            check_labels(domain, int(labels.min()), int(labels.max()))
            self._check_again(keys, anchors, labels)
            return Function(self.function, self._agrees_on_arrays(keys, anchors, labels))
        combinations = domain.combinations()
        keys = np.repeat(np.array(domain.keys), len(combinations))
        anchors = np.tile(combinations, (len(domain.keys), 1))
        labels = self._one_by_one(keys, anchors)
        check_labels(domain, int(labels.min()), int(labels.max()))
        self._check_again(keys, anchors, labels)
        return Tabulated(labels.reshape(len(domain.keys), -1).tolist())

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q)."""
        labels = self._on_arrays(keys, anchors) if self.takes_arrays else self._one_by_one(keys, anchors)
        if len(labels):
            check_labels(domain, int(labels.min()), int(labels.max()))
        return labels

    def label_range(self, domain: Domain) -> range:
        """Return the range of the labels; the whole vocabulary where they are too many to compute."""
        if domain.n_entries > (MAX_ENTRIES if self.takes_arrays else _MAX_CALLS):
            return range(domain.vocab_size)
        return super().label_range(domain)

    def labels(self, domain: Domain) -> npt.NDArray[np.int32]:
        """Return all labels, or refuse more calls than a function that takes no arrays allows."""
        if not self.takes_arrays and domain.n_entries > _MAX_CALLS:
            raise TooManyEntriesError(
                "rule",
                self.name,
                f"it takes no arrays, so it needs {magnitude(domain.n_entries)} calls, one by one, and the "
                f"limit is {magnitude(_MAX_CALLS)} ({magnitude(MAX_ENTRIES)} with arrays)",
                "write it with NumPy operations so that it takes arrays, or as an expression",
            )
        return super().labels(domain)

    def _one_by_one(self, keys: IntArray, anchors: IntArray) -> IntArray:
        pairs = zip(keys.tolist(), anchors.tolist(), strict=True)
        return np.array([self._call(key, tuple(row)) for key, row in pairs], dtype=np.int64)

    def _call(self, key: int, anchors: tuple[int, ...]) -> int:
        try:
            label = self.function(key, anchors)
        except Exception as error:
            label = self._call_with_arrays(key, anchors)
            if label is None:
                problem = f"raises {type(error).__name__} ({error}) for key {key} and anchors {anchors}"
                raise InputError("rule", self.name, problem, _REMEDY) from error
        return self._checked(label, key, anchors)

    def _call_with_arrays(self, key: int, anchors: tuple[int, ...]) -> Any:
        """Return the label by a call with arrays of one; None if the function does not take them either."""
        try:
            found = np.asarray(self.function(np.array([key]), tuple(np.array([a]) for a in anchors)))
        except Exception:
            return None
        return found[0] if found.shape == (1,) else found

    def _checked(self, label: Any, key: int, anchors: tuple[int, ...]) -> int:
        if isinstance(label, np.ndarray) and label.shape == ():
            label = label[()]
        if isinstance(label, (bool, np.bool_)) or not isinstance(label, numbers.Integral):
            problem = f"returns {label!r}, not an integer, for key {key} and anchors {anchors}"
            raise InputError("rule", self.name, problem, _REMEDY)
        if abs(int(label)) >= 2**62:
            problem = f"returns {label}, far outside any vocabulary, for key {key} and anchors {anchors}"
            raise InputError("rule", self.name, problem, _REMEDY)
        return int(label)

    def _check_again(self, keys: IntArray, anchors: IntArray, labels: IntArray) -> None:
        """Call the function once more, in the opposite order, and refuse other labels than before."""
        again = self._one_by_one(keys[::-1], anchors[::-1])[::-1]
        if (again != labels).any():
            row = int(np.argmax(again != labels))
            raise InputError(
                "rule",
                self.name,
                f"not deterministic: {labels[row]}, then {again[row]} for key {keys[row]} and anchors "
                f"{tuple(anchors[row].tolist())}",
                "let the label depend on key and anchors alone, or use Lookup for random labels",
            )

    def _on_arrays(self, keys: IntArray, anchors: IntArray) -> IntArray:
        found = np.asarray(self.function(keys.copy(), tuple(anchors.T.copy())))
        if found.shape != keys.shape or not np.issubdtype(found.dtype, np.integer):
            problem = f"returns {found.dtype} of shape {found.shape} for {len(keys)} keys"
            raise InputError("rule", self.name, problem, _REMEDY)
        return found.astype(np.int64)

    def _agrees_on_arrays(self, keys: IntArray, anchors: IntArray, labels: IntArray) -> bool:
        try:
            return bool((self._on_arrays(keys, anchors) == labels).all())
        except Exception:
            # Whatever it raises on arrays, one by one it works.
            return False


def _integers(line: str) -> list[int]:
    if not _LINE.fullmatch(line):
        raise InputError("labels", line, "not integers", 'write a line as "3 14 15"')
    return [int(word) for word in line.split(" ")]


def _sample(domain: Domain) -> tuple[IntArray, IntArray]:
    """Return the extreme keys and anchors, where overflow would show, and random ones beside them."""
    rng = np.random.default_rng(0)
    keys, single = np.array(domain.keys), np.array(domain.anchors)
    ends = list(itertools.product((keys[0], keys[-1]), (single[0], single[-1])))
    drawn = rng.choice(single, size=(_SAMPLE, domain.n_anchors))
    corners = np.array([[anchor] * domain.n_anchors for _, anchor in ends])
    chosen = np.concatenate([np.array([key for key, _ in ends]), rng.choice(keys, size=_SAMPLE)])
    return chosen, np.concatenate([corners, drawn])
