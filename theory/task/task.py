"""The task: keys, anchors, mappings and held-out combinations (Section 2.1)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from theory.edge.arrays import IntArray
from theory.edge.checked import checked
from theory.edge.display import html_table, ranges
from theory.edge.errors import InputError, in_file
from theory.edge.reading import PathLike, as_path, load_toml, parse_toml
from theory.task.domain import Combination, Domain
from theory.task.held_out import positions_left
from theory.task.mapping import Mapping, distinct_integers
from theory.task.rules.additive import Additive, Sum
from theory.task.rules.tables import Lookup
from theory.task.toml import mapping_to_dict, task_arguments, tokens_to_toml

__all__ = ["Combination", "Mapping", "Task", "task_from_dict", "task_to_dict"]
MOST_ANCHORS = 100_000
"""The most anchors in a sequence: beyond that, even the number of combinations takes long to compute."""
MOST_TOKENS = 200_000
"""The most tokens in a sequence: the exact number of sequences has twice as many digits."""


@dataclass(frozen=True, init=False, repr=False)
class Task:
    """A composition task of the paper's family (Sections 2.1 and 3.1).

    A sequence has ``length`` tokens: noise, the key, ``n_anchors`` anchors of one mapping in a row,
    noise. Every anchor combination is equally frequent, the key and each noise token are uniform on
    the keys, and the key's position is uniform. Equal tasks compare and hash equal.

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
    held_out : iterable of tuple of int, str or mapping, optional
        As in ``Mapping``, for the reasoning mapping; with the short form only.

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
        held_out: Any = (),
    ) -> None:
        given = tuple(mappings)
        if not given:
            given = _short_form(reasoning_anchors, memory_anchors, held_out)
        elif reasoning_anchors is not None or memory_anchors is not None or held_out:
            problem = "given together with reasoning_anchors, memory_anchors or held_out"
            remedy = "put anchors and held_out into the mappings"
            raise InputError("mappings", [m.name for m in given], problem, remedy)
        _check_lengths(n_anchors, length)
        object.__setattr__(self, "keys", distinct_integers("keys", keys))
        object.__setattr__(self, "n_anchors", n_anchors)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "vocab_size", vocab_size)
        # In anchor order, so that the order in which mappings are listed makes no difference.
        ordered = sorted(given, key=lambda m: m.anchors)
        _check_names([m.name for m in ordered], [each.name for m in ordered for each in m.sets if each.name])
        _check_tokens(self.keys, ordered, vocab_size)
        object.__setattr__(
            self, "mappings", tuple(m.settled(self.domain(m), length - n_anchors) for m in ordered)
        )

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
    def from_toml(cls, source: PathLike) -> Task:
        """Read a task from a TOML file (a path, or a string that ends in ".toml") or from TOML text."""
        # TOML text does not end in .toml: a closing quote would follow.
        if isinstance(source, str) and not (source.endswith(".toml") and "\n" not in source):
            return task_from_dict(parse_toml(source))
        path = as_path("source", source)
        with in_file(path):
            return task_from_dict(load_toml(path))

    def to_toml(self) -> str:
        """Return the task as TOML text; ``Task.from_toml`` gives an equal task back."""
        return tomli_w.dumps(task_to_dict(self))

    def __repr__(self) -> str:
        return f"Task({'; '.join(f'{name}: {text}' for name, text in self._described())})"

    def _repr_html_(self) -> str:
        return html_table("Task", [], self._described())

    def _described(self) -> list[tuple[str, str]]:
        """Return the name of each part of the task and a few words about it."""
        sizes = f"{self.length} with {self.n_anchors} anchors, {self.vocab_size} in the vocabulary"
        parts = [("keys", ranges(self.keys)), ("tokens", sizes)]
        for m in self.mappings:
            held_out = f", {len(m.whole)} combinations held out" if m.whole else ""
            held_out += ", others in part" if m.partial and m.whole else ", some held out in part" * m.partial
            parts.append((m.name, f"anchors {ranges(m.anchors)}, {m.rule.description}{held_out}"))
        return parts

    def domain(self, mapping: Mapping) -> Domain:
        """Return the keys and anchor combinations to which the rule of ``mapping`` applies."""
        return Domain(mapping.name, self.keys, mapping.anchors, self.n_anchors, self.vocab_size)

    def label_range(self, mapping: Mapping) -> range:
        """Return a range that holds every label of ``mapping``, though not all of it need occur."""
        return mapping.rule.label_range(self.domain(mapping))

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
    def additive_anchors(self) -> tuple[int, ...]:
        """The anchors of mappings that add a shift for each anchor to the key, sorted.

        Theorem 1 holds for these alone, and eq. 14 only for anchors that are their own shift.
        """
        return tuple(sorted(a for m in self.mappings if isinstance(m.rule, Additive) for a in m.anchors))

    @property
    def held_out(self) -> frozenset[Combination]:
        """All held-out anchor combinations, the paper's set M."""
        return frozenset(c for m in self.mappings for c in m.held_out)

    def name_of_kind(self, is_table: bool) -> str:
        """Return the name of the only table, or the only rule; "all tables", or "all rules", of several."""
        names = [m.name for m in self.mappings if m.is_table is is_table]
        return names[0] if len(names) == 1 else "all tables" if is_table else "all rules"

    @property
    def data_sets(self) -> dict[str, str]:
        """The name of each data set in tables and figures, by its key in a run's metrics.

        A mapping's own name, followed by "train" or "test" where something is held out; several of a kind
        together are "all rules" or "all tables". Held-out sets keep the names that the task gives them.
        """
        shown: dict[str, str] = {}
        for key, is_table in (("mem", True), ("rsn_train", False)):
            own, name = [m for m in self.mappings if m.is_table is is_table], self.name_of_kind(is_table)
            train = " train" * any(m.sets for m in own)
            shown |= {key: name + train} if own else {}
            shown |= {"rsn_test": f"{name} test"} if train else {}
            shown |= {m.name: m.name + " train" * bool(m.sets) for m in own if len(own) > 1}
        return shown

    @property
    def n_noise(self) -> int:
        """L − q − 1, the number of noise tokens in a sequence."""
        return self.length - self.n_anchors - 1

    def n_combinations(self, mapping: Mapping, *, held_out: bool = False) -> int:
        """Return N_A^q, less the held-out combinations (the set M) if ``held_out``."""
        return int(len(mapping.anchors) ** self.n_anchors) - (len(mapping.held_out) if held_out else 0)

    def positions_left(self, mapping: Mapping) -> IntArray:
        """Return at how many of the key's L − q positions each pair is trained on, shape (N_Z, N_A^q)."""
        return positions_left(mapping.sets, self.domain(mapping), self.length - self.n_anchors)


def task_from_dict(data: dict[str, Any]) -> Task:
    """Build a task from the contents of a TOML file; unknown keys are refused by name."""
    return Task(**task_arguments(data))


def task_to_dict(task: Task) -> dict[str, Any]:
    """Return the task as plain data, in the form that ``task_from_dict`` reads."""
    scalars = {key: getattr(task, key) for key in ("n_anchors", "length", "vocab_size")}
    mappings = [mapping_to_dict(m) for m in task.mappings]
    return {"keys": tokens_to_toml(task.keys), **scalars, "mappings": mappings}


def _short_form(
    reasoning: Iterable[int] | None, memory: Iterable[int] | None, held_out: Any
) -> tuple[Mapping, ...]:
    """Return whichever of the paper's two mappings have anchors."""
    if reasoning is None:
        return () if memory is None else (Mapping(memory, Lookup(), "memory", held_out),)
    rule = Mapping(reasoning, Sum(), "reasoning", held_out)
    return (rule,) if memory is None else (Mapping(memory, Lookup(), "memory"), rule)


def _check_lengths(n_anchors: int, length: int) -> None:
    """Refuse too few or too many anchors, and sequences too long, or too short for key and anchors."""
    if not 1 <= n_anchors <= MOST_ANCHORS:
        raise InputError("n_anchors", n_anchors, "not a number of anchors", f"give 1 to {MOST_ANCHORS}")
    if length < n_anchors + 1:
        problem = f"too short for a key and n_anchors = {n_anchors} anchors"
        raise InputError("length", length, problem, f"give at least {n_anchors + 1}")
    if length > MOST_TOKENS:
        raise InputError("length", length, "too many positions", f"give at most {MOST_TOKENS}")


def _check_names(names: list[str], held_out: list[str]) -> None:
    """Refuse a task without mappings, and a name that is also another mapping's or its data set's."""
    if not names:
        remedy = "give mappings, or reasoning or memory anchors"
        raise InputError("mappings", [], "the task has no mapping", remedy)
    every = [*names, *held_out]
    for index, name in enumerate(every):
        if name in every[:index]:
            two = "two mappings" if index < len(names) else "two mappings or held-out sets"
            raise InputError("name", name, f"{two} have it", "name each differently")
        base = name.removesuffix(" train").removesuffix(" test")
        if base != name and base in names:
            raise InputError("name", name, f"the name of a data set of {base!r}", "name it differently")


def _check_tokens(keys: tuple[int, ...], mappings: Sequence[Mapping], vocab_size: int) -> None:
    """Refuse tokens that stand for two things, and tokens outside the vocabulary."""
    owner: dict[int, str] = {}
    for mapping in mappings:
        for anchor in mapping.anchors:
            if anchor in owner:
                problem = f"in two mappings, {owner[anchor]!r} and {mapping.name!r}"
                raise InputError("anchors", anchor, problem, "give every anchor to one mapping")
            owner[anchor] = mapping.name
    for token in sorted(set(keys) & set(owner)):
        raise InputError("anchors", token, "both an anchor and a key", "keep anchors and keys disjoint")
    for argument, tokens in (("keys", keys), ("anchors", tuple(sorted(owner)))):
        for token in (tokens[0], tokens[-1]):
            if not 0 <= token < vocab_size:
                problem = f"outside the vocabulary 0..{vocab_size - 1}"
                remedy = "give tokens from 0 up and a vocab_size above the largest"
                raise InputError(argument, token, problem, remedy)
