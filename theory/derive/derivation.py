"""The parts of a derivation, and the list of all derivations, each built when it is first looked up."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theory.edge.errors import InputError

if TYPE_CHECKING:
    import sympy as sp

MODULES = (
    *("emb_mlp", "labels", "corollaries", "attention", "transformer", "propositions"),
    *("value_matrix", "theorem_1", "cosines", "flows", "saddle"),
)
"""The modules that hold derivations, in the order of the documentation."""


@dataclass(frozen=True)
class Step:
    """One step: a sentence that says what was done, and the expression that SymPy made."""

    sentence: str
    expression: sp.Basic

    def __post_init__(self) -> None:
        if hasattr(self.expression, "as_immutable"):
            object.__setattr__(self, "expression", self.expression.as_immutable())


@dataclass(frozen=True)
class Check:
    """A difference between two routes that has to vanish: ``residual``, simplified."""

    sentence: str
    residual: sp.Basic

    @property
    def passed(self) -> bool:
        """Whether the difference is identically zero."""
        flags = ("is_zero_matrix", "is_ZeroMatrix")
        return bool(self.residual == 0 or any(getattr(self.residual, flag, False) for flag in flags))


Compare = Callable[[Any, Any], tuple[Check, ...]]
"""Maps the last step and the statement to the differences between them."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Derivation:
    """One statement of the theory, derived.

    Attributes
    ----------
    name, equation, title : str
        Its name here, its number in the paper, and its subject in one line.
    quantity : str
        The left-hand side of the statement.
    assumptions : tuple of str
        What the derivation takes for granted.
    scope : str
        The sizes for which the steps were made, and those for which the statement is checked.
    steps : tuple of Step
        Each made by SymPy from the ones before.
    statement : sympy.Basic
        The last step in the paper's form; for matrices, of any size.
    arguments : mapping of sympy.Basic to str
        The arguments of ``function()`` in order, each with what to pass for it.
    compare : callable
        Maps ``result`` and ``statement`` to the differences between them.
    further_checks : callable
        Returns differences between the result and independent routes.
    modules : tuple
        Where ``sympy.lambdify`` looks up the statement's functions.
    """

    name: str = ""
    equation: str = ""
    title: str = ""
    quantity: str
    assumptions: tuple[str, ...]
    scope: str
    steps: tuple[Step, ...]
    statement: sp.Basic
    arguments: Mapping[sp.Basic, str]
    compare: Compare
    further_checks: Callable[[], tuple[Check, ...]] = tuple
    modules: tuple[str | Mapping[str, Callable[..., Any]], ...] = ("numpy",)

    @property
    def result(self) -> sp.Basic:
        """The expression of the last step."""
        return self.steps[-1].expression

    @functools.cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every difference that has to vanish, those between result and statement first."""
        return (*self.compare(self.result, self.statement), *self.further_checks())

    @property
    def passed(self) -> bool:
        """Whether every difference vanishes."""
        return all(check.passed for check in self.checks)

    def function(self) -> Callable[..., Any]:
        """Return the statement as a Python function of ``arguments``: arrays for matrices, else numbers.

        Rows are arrays of shape (1, n), as in the formulas. ``help`` of the function lists its arguments.
        """
        import sympy as sp

        # NumPy's printer knows no identity matrix of symbolic size: multiply it out.
        formula = self.statement.expand() if self.statement.has(sp.Identity) else self.statement
        made: Callable[..., Any] = sp.lambdify(list(self.arguments), formula, modules=list(self.modules))
        lines = [f"{symbol} : {description}" for symbol, description in self.arguments.items()]
        made.__name__ = re.sub(r"\W", "_", self.name)
        made.__doc__ = "\n".join(
            [f"{self.equation}: {self.title}.", "", f"Returns {self.quantity}.", "", *lines]
        )
        return made

    def to_latex(self) -> str:
        """Return the whole derivation as a section in MyST Markdown with LaTeX mathematics."""
        return str(_display().section(self))

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}: {self.equation}, {self.title})"

    def _repr_html_(self) -> str:
        return str(_display().notebook(self))

    def __str__(self) -> str:
        return str(_display().show(self))


def _display() -> Any:
    """Return the module that displays derivations, imported late because it imports this one."""
    return importlib.import_module("theory.derive.display")


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
