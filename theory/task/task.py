"""The task: keys, anchors, mappings, and what of them is held out (Section 2.1)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from theory.checked import checked
from theory.errors import InputError
from theory.task.rules import Lookup, Rule, Sum, Window, as_integer

Combination = tuple[int, ...]


def _distinct_integers(argument: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return the values sorted, or refuse an empty list, a repeated value or a non-integer."""
    listed = sorted(as_integer(argument, v) for v in values)
    if not listed:
        raise InputError(argument, listed, "empty", "give at least one token")
    twice = next((v for v, following in itertools.pairwise(listed) if v == following), None)
    if twice is not None:
        raise InputError(argument, twice, "named twice", "name every token once")
    return tuple(listed)


@dataclass(frozen=True, init=False)
class Mapping:
    """One mapping of a task: which anchors call it, by which rule, and what is held out.

    Parameters
    ----------
    anchors : iterable of int
        The mapping's own anchors; every anchor combination is a tuple of ``n_anchors`` of them.
    rule : Sum, Shift, Lookup or Window
        How a label follows from key and anchors.
    name : str, optional
        What tables and figures call it; the rule's kind by default.
    held_out : iterable of tuple of int, optional
        Anchor combinations (the paper's set M) kept for the test set; deterministic rules only.
    """

    anchors: tuple[int, ...]
    rule: Rule
    name: str
    held_out: frozenset[Combination]

    @checked
    def __init__(
        self,
        anchors: Iterable[int],
        rule: Rule,
        name: str = "",
        held_out: Iterable[Iterable[int]] = (),
    ) -> None:
        object.__setattr__(self, "anchors", _distinct_integers("anchors", anchors))
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "name", name or rule.kind)
        object.__setattr__(self, "held_out", frozenset(_combination(c) for c in held_out))
        rule.check(self.anchors)

    @property
    def is_table(self) -> bool:
        """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
        return self.rule.is_table


def _combination(value: Iterable[int]) -> Combination:
    return tuple(as_integer("held_out", v) for v in value)


@dataclass(frozen=True, init=False)
class Task:
    """A composition task of the paper's family (Sections 2.1 and 3.1).

    A sequence has ``length`` tokens: noise, the key, ``n_anchors`` anchors of one mapping in a row,
    noise. Every anchor combination is equally frequent, the key and each noise token are uniform on
    the keys, and the key's place is uniform. Equal tasks compare and hash equal.

    Parameters
    ----------
    keys : iterable of int
        The key tokens Z; also the noise tokens.
    n_anchors : int
        q, the number of anchors in a sequence (at least 1).
    length : int
        L, the number of tokens in a sequence (at least q + 1).
    vocab_size : int
        d, tokens and labels are 0..d−1.
    mappings : iterable of Mapping, optional
        The mappings, each with its own anchors and rule.
    reasoning_anchors, memory_anchors : iterable of int, optional
        Short for the paper's two mappings, "reasoning" (rule ``Sum()``) and "memory" (rule
        ``Lookup()``); instead of ``mappings``.
    held_out : iterable of tuple of int, optional
        Anchor combinations of the reasoning mapping kept for the test set; with the short form only.

    Raises
    ------
    InputError
        If the task makes no sense: an anchor that is also a key or in two mappings, a label or token
        outside the vocabulary, q < 1, L < q + 1, a held-out combination that no mapping has.

    Examples
    --------
    >>> Task.paper() == Task(keys=range(21, 121), reasoning_anchors=range(11, 21),
    ...     memory_anchors=range(1, 11), n_anchors=2, length=9, vocab_size=200,
    ...     held_out={(11, 13), (13, 11)})
    True
    """

    keys: tuple[int, ...]
    mappings: tuple[Mapping, ...]
    n_anchors: int
    length: int
    vocab_size: int

    @checked
    def __init__(
        self,
        *,
        keys: Iterable[int],
        n_anchors: int,
        length: int,
        vocab_size: int,
        mappings: Iterable[Mapping] = (),
        reasoning_anchors: Iterable[int] | None = None,
        memory_anchors: Iterable[int] | None = None,
        held_out: Iterable[Iterable[int]] = (),
    ) -> None:
        short = _short_form(reasoning_anchors, memory_anchors, held_out)
        given = tuple(mappings)
        if given and (short or held_out):
            raise InputError(
                "mappings",
                [m.name for m in given],
                "given together with reasoning_anchors, memory_anchors or held_out",
                "put anchors and held_out into the mappings",
            )
        # In anchor order, so that the order in which mappings are listed makes no difference.
        ordered = tuple(sorted(given or short, key=lambda m: m.anchors))
        object.__setattr__(self, "keys", _distinct_integers("keys", keys))
        object.__setattr__(self, "mappings", ordered)
        object.__setattr__(self, "n_anchors", as_integer("n_anchors", n_anchors))
        object.__setattr__(self, "length", as_integer("length", length))
        object.__setattr__(self, "vocab_size", as_integer("vocab_size", vocab_size))
        from theory.task.checks import check_task

        check_task(self)

    @classmethod
    @checked
    def paper(cls, length: int = 9) -> Task:
        """Return the paper's task (Section 3.1); ``length=3`` is the Emb-MLP setting (Section 3.2)."""
        return cls(
            keys=range(21, 121),
            reasoning_anchors=range(11, 21),
            memory_anchors=range(1, 11),
            n_anchors=2,
            length=length,
            vocab_size=200,
            held_out={(11, 13), (13, 11)},
        )

    @classmethod
    def from_toml(cls, source: str | Path) -> Task:
        """Read a task from a TOML file (a ``Path``) or from TOML text (a ``str``)."""
        from theory.task.toml import read_task

        return read_task(source)

    def to_toml(self) -> str:
        """Return the task as TOML text; ``Task.from_toml`` gives an equal task back."""
        from theory.task.toml import write_task

        return write_task(self)

    @functools.cached_property
    def _mapping_of(self) -> dict[int, Mapping]:
        return {a: m for m in self.mappings for a in m.anchors}

    @checked
    def mapping_of(self, token: int) -> Mapping | None:
        """Return the mapping that has ``token`` as an anchor, or None."""
        return self._mapping_of.get(token)

    @property
    def anchors(self) -> tuple[int, ...]:
        """All anchors, sorted."""
        return tuple(sorted(self._mapping_of))

    @property
    def reasoning_anchors(self) -> tuple[int, ...]:
        """The anchors of all deterministic mappings, sorted."""
        return tuple(sorted(a for m in self.mappings if not m.is_table for a in m.anchors))

    @property
    def memory_anchors(self) -> tuple[int, ...]:
        """The anchors of all table mappings, sorted."""
        return tuple(sorted(a for m in self.mappings if m.is_table for a in m.anchors))

    @property
    def held_out(self) -> frozenset[Combination]:
        """All held-out anchor combinations, the paper's set M."""
        return frozenset(c for m in self.mappings for c in m.held_out)

    @property
    def n_noise(self) -> int:
        """L − q − 1, the number of noise tokens in a sequence."""
        return self.length - self.n_anchors - 1

    def n_combinations(self, mapping: Mapping, *, held_out: bool = False) -> int:
        """Return N_A^q, or fewer with the held-out combinations (the set M) removed."""
        return int(len(mapping.anchors) ** self.n_anchors) - held_out * len(mapping.held_out)

    def label_range(self, mapping: Mapping) -> range:
        """Return the range that holds every label of ``mapping`` (labels inside may be unused)."""
        rule, keys, q = mapping.rule, self.keys, self.n_anchors
        if isinstance(rule, Lookup):
            low = keys[0] if rule.low is None else rule.low
            high = keys[-1] if rule.high is None else rule.high
            return range(low, high + 1)
        shifts = [rule.shift(a) for a in mapping.anchors]
        smallest = -q * max(shifts) if isinstance(rule, Window) else q * min(shifts)
        return range(keys[0] + smallest, keys[-1] + q * max(shifts) + 1)


def _short_form(
    reasoning: Iterable[int] | None,
    memory: Iterable[int] | None,
    held_out: Iterable[Iterable[int]],
) -> tuple[Mapping, ...]:
    """Return the paper's two mappings, whichever of them has anchors."""
    made = []
    if memory is not None:
        made.append(Mapping(memory, Lookup(), "memory"))
    if reasoning is not None:
        made.append(Mapping(reasoning, Sum(), "reasoning", held_out))
    elif held_out and memory is not None:
        made[0] = Mapping(made[0].anchors, Lookup(), "memory", held_out)
    return tuple(made)
