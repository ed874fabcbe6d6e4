"""The list of all derivations, each built when it is first looked up, and the page that shows them."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterator, Mapping

from theory.derive.derivation import BUILDERS, OTHER_NAMES, TITLES, Derivation, anchor, escaped
from theory.edge.errors import InputError

MODULES = (
    *("emb_mlp", "labels", "corollaries", "attention", "transformer", "propositions"),
    *("value_matrix", "theorem_1", "cosines", "flows", "saddle"),
)
"""The modules that hold derivations, in the order of the documentation."""


class _Derivations(Mapping[str, Derivation]):
    """All derivations by name; looking one up builds it and the ones it rests on, and no others."""

    def __init__(self) -> None:
        for module in MODULES:
            importlib.import_module(f"theory.derive.{module}")

    def __getitem__(self, name: str) -> Derivation:
        return BUILDERS[name]()

    def __contains__(self, name: object) -> bool:
        return name in BUILDERS

    def __iter__(self) -> Iterator[str]:
        return iter(BUILDERS)

    def __len__(self) -> int:
        return len(BUILDERS)


def derivations() -> Mapping[str, Derivation]:
    """Return all derivations by name, in the order of the documentation; each is built when looked up."""
    return _Derivations()


def titles() -> dict[str, str]:
    """Return one line on every derivation, by name, without building any."""
    return {name: TITLES[name] for name in derivations()}


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
    known = {_plain(other): found for other, found in OTHER_NAMES.items()} | {_plain(n): n for n in every}
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
    return "\n\n".join([*head, *(d.to_latex() for d in made)])
