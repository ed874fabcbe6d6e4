r"""A rule that is a Python function, and the table of labels that a task keeps in its place."""

from __future__ import annotations

import functools
import numbers
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from theory.edge.arrays import IntArray
from theory.edge.checked import checked
from theory.edge.checks import scalar
from theory.edge.errors import InputError, TooManyEntriesError
from theory.task.domain import Domain
from theory.task.rule import Deterministic, Rule

MAX_KEPT = 100_000
"""The most labels of a function that a task keeps, and writes into its TOML."""
MAX_CALLS = 1_000_000
"""The most calls of a function that a label distribution makes."""
_LINE = re.compile(r"[0-9]{1,18}( [0-9]{1,18})*")
_REMEDY = "return one integer label for each key and combination"


@dataclass(frozen=True, init=False)
class Tabulated(Deterministic):
    """Labels written out, one for each key and anchor combination; a task stores a function in this form.

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

    @checked
    def __init__(self, labels: Iterable[Iterable[int]]) -> None:
        object.__setattr__(self, "labels_", tuple(map(tuple, labels)))

    def parameters(self) -> dict[str, Any]:
        """Return the labels as one line of text for each key."""
        return {"labels": [" ".join(map(str, row)) for row in self.labels_]}

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Tabulated:
        """Build the rule from one line of text, or one list of integers, for each key."""
        rows = parameters["labels"]
        if not isinstance(rows, list):
            raise InputError("labels", rows, "not a list", "give one line of labels for each key")
        for row in rows:
            if isinstance(row, str) and not _LINE.fullmatch(row):
                raise InputError("labels", row, "not integers", 'write a line as "3 14 15"')
        return cls([map(int, row.split(" ")) if isinstance(row, str) else row for row in rows])

    def settled(self, domain: Domain) -> Tabulated:
        """Return the rule, or refuse a table of another shape."""
        shape = (len(domain.keys), domain.n_combinations)
        widths = {len(row) for row in self.labels_}
        if len(self.labels_) != shape[0] or widths != {shape[1]}:
            problem = f"{len(self.labels_)} rows of {sorted(widths)} labels do not fit the mapping"
            raise InputError("labels", domain.name, problem, f"give shape {shape}")
        return self

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        return self._array[domain.indices(keys, anchors)]

    @functools.cached_property
    def _array(self) -> IntArray:
        return np.array(self.labels_, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Function(Deterministic, in_files=False):
    """The label is ``function(key, anchors)``, called with an integer and a tuple of q integers.

    A task with at most 100 000 pairs of key and combination calls it twice for every pair and keeps the
    labels as ``Tabulated``; a larger one cannot be written to a file, and with more than a million pairs the
    function is checked on a sample.

    Parameters
    ----------
    function : callable
        (key, anchors) → label. ``Mapping`` takes a bare function too.
    """

    function: Callable[..., Any]
    kind: ClassVar[str] = "function"
    description: ClassVar[str] = "label = f(key, anchors)"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError("function", self.function, "not a function", "give (key, anchors) -> label")

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def parameters(self) -> dict[str, Any]:
        """Refuse: a function of so many entries cannot be written to a file."""
        problem = f"a function of more than {MAX_KEPT} labels cannot be written to a file"
        remedy = "write it as an expression: Expression('(key + a1) % 97')"
        raise InputError("rule", self.name, problem, remedy)

    def settled(self, domain: Domain) -> Rule:
        """Call the function, check what it returns, and keep the labels if they are few enough."""
        if domain.n_entries > MAX_KEPT:
            keys, anchors = domain.sample()
        else:
            combinations = domain.combinations()
            keys = np.repeat(np.array(domain.keys), len(combinations))
            anchors = np.tile(combinations, (len(domain.keys), 1))
        labels = self.evaluate(domain, keys, anchors)
        domain.check_labels(int(labels.min()), int(labels.max()))
        again = self.evaluate(domain, keys[::-1], anchors[::-1])[::-1]
        if (again != labels).any():
            row = int(np.argmax(again != labels))
            pair = f"key {keys[row]} and anchors {tuple(anchors[row].tolist())}"
            problem = f"not deterministic: {labels[row]}, then {again[row]} for {pair}"
            remedy = "let the label depend on key and anchors alone, or use Lookup for random labels"
            raise InputError("rule", self.name, problem, remedy)
        return self if domain.n_entries > MAX_KEPT else Tabulated(labels.reshape(len(domain.keys), -1))

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        pairs = zip(keys.tolist(), anchors.tolist(), strict=True)
        return np.array([self._label(key, tuple(row)) for key, row in pairs], dtype=np.int64)

    def label_range(self, domain: Domain) -> range:
        """Return the range of the labels; the whole vocabulary where they are too many to compute."""
        return range(domain.vocab_size) if domain.n_entries > MAX_CALLS else super().label_range(domain)

    def labels(self, domain: Domain) -> IntArray:
        """Return all labels, or refuse more than a million calls."""
        if domain.n_entries > MAX_CALLS:
            problem = f"a label distribution needs more than {MAX_CALLS} calls"
            remedy = "use sample_labels, or write the rule as an expression"
            raise TooManyEntriesError("rule", self.name, problem, remedy)
        return super().labels(domain)

    def _label(self, key: int, anchors: tuple[int, ...]) -> int:
        where = f"for key {key} and anchors {anchors}"
        try:
            label = self.function(key, anchors)
        except Exception as error:
            problem = f"raises {type(error).__name__} ({error}) {where}"
            raise InputError("rule", self.name, problem, _REMEDY) from error
        label = scalar(label)
        if isinstance(label, bool) or not isinstance(label, numbers.Integral):
            raise InputError("rule", self.name, f"returns {label!r}, not an integer, {where}", _REMEDY)
        if abs(int(label)) >= 2**62:
            raise InputError("rule", self.name, f"returns {label}, too large a number, {where}", _REMEDY)
        return int(label)


def as_rule(rule: Any) -> Rule:
    """Return a rule, making one of a bare function; a class such as ``Sum`` is refused."""
    if isinstance(rule, type):
        raise InputError("rule", rule.__name__, "a class", f"give an instance, {rule.__name__}(...)")
    return rule if isinstance(rule, Rule) else Function(rule)
