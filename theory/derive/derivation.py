"""Derivations, which show themselves, and the list of all, each built when it is first looked up."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from theory.derive.display import anchor, escaped, notebook, section, show
from theory.derive.statement import Check as Check
from theory.derive.statement import Compare as Compare
from theory.derive.statement import Statement
from theory.derive.statement import Step as Step
from theory.edge.errors import InputError

MODULES = (
    *("emb_mlp", "labels", "corollaries", "attention", "transformer", "propositions"),
    *("value_matrix", "theorem_1", "cosines", "flows", "saddle"),
)
"""The modules that hold derivations, in the order of the documentation."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Derivation(Statement):
    """A statement of the theory, derived."""

    def to_latex(self) -> str:
        """Return the whole derivation as a section in MyST Markdown with LaTeX mathematics."""
        return section(self)

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}: {self.equation}, {self.title})"

    def _repr_html_(self) -> str:
        return notebook(self)

    def __str__(self) -> str:
        return show(self)


Build = Callable[[], Derivation]
_BUILDERS: dict[str, Build] = {}
_TITLES: dict[str, str] = {}
_OTHER_NAMES: dict[str, str] = {}


def derived(name: str, equation: str, title: str, *also: str) -> Callable[[Build], Build]:
    """Decorate a builder: list its derivation under its name and the other names that find it."""

    def enter(build: Build) -> Build:
        @functools.cache
        @functools.wraps(build)
        def made() -> Derivation:
            return dataclasses.replace(build(), name=name, equation=equation, title=title)

        _BUILDERS[name], _TITLES[name] = made, title
        _OTHER_NAMES.update(dict.fromkeys(also, name))
        return made

    return enter


class _Derivations(Mapping[str, Derivation]):
    """All derivations by name; looking one up builds it and the ones it rests on, and no others."""

    def __init__(self) -> None:
        for module in MODULES:
            importlib.import_module(f"theory.derive.{module}")

    def __getitem__(self, name: str) -> Derivation:
        return _BUILDERS[name]()

    def __contains__(self, name: object) -> bool:
        return name in _BUILDERS

    def __iter__(self) -> Iterator[str]:
        return iter(_BUILDERS)

    def __len__(self) -> int:
        return len(_BUILDERS)


def derivations() -> Mapping[str, Derivation]:
    """Return all derivations by name, in the order of the documentation; each is built when looked up."""
    return _Derivations()


def titles() -> dict[str, str]:
    """Return one line on every derivation, by name, without building any."""
    return {name: _TITLES[name] for name in derivations()}


_WORDS = {"proposition": "prop", "corollary": "cor", "equation": "eq", "eqn": "eq", "thm": "theorem"}
_WORDS |= {"lem": "lemma", "linearized": "linearised"}


def find_derivation(name: str) -> Derivation:
    """Return the derivation called ``name``, such as "prop 1", "Prop. 1", "Proposition 1" or "eq 5".

    Case, dots, brackets and spaces do not matter. An equation number finds the statement it belongs to.

    Raises
    ------
    InputError
        If no derivation has that name; the message names the nearest.
    """
    every = derivations()
    choose = f"choose one of {', '.join(every)}"
    if not isinstance(name, str):
        raise InputError("name", name, "not text", choose)
    known = {_plain(other): found for other, found in _OTHER_NAMES.items()} | {_plain(n): n for n in every}
    wanted = _plain(name[:100])
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.0)[0]
        raise InputError("name", name, "no such derivation", f"did you mean {known[near]!r}? Or {choose}")
    return every[known[wanted]]


def _plain(name: str) -> str:
    words = re.findall(r"[a-z]+|\d+", name.lower())
    return "".join(_WORDS.get(word, word) for word in words)


def derivations_page() -> str:
    """Return the documentation page of all derivations, as MyST Markdown, which takes minutes."""
    made = list(derivations().values())
    rows = [
        f"| [{escaped(d.name)}](#{anchor(d.name)}) | {escaped(d.equation)} | {escaped(d.title)} |"
        for d in made
    ]
    head = [
        "# Derivations",
        "SymPy derives every statement below, step by step, and compares it with the form in which it is "
        "stated. [How to read them](index.md#how-to-read-the-derivations) says what that covers. Indices of "
        "matrix entries start at 0; only the first entry of a long matrix is shown.",
        "\n".join(["| name | in the paper | statement |", "| --- | --- | --- |", *rows]),
    ]
    return "\n\n".join([*head, *(section(d) for d in made)])
