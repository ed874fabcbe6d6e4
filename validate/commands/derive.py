"""anchorflow derive: a statement of the paper, derived step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from theory.symbolic import Derivation

EXAMPLE = 'anchorflow derive "prop 1"'


class Options(CommandOptions):
    """Derive a statement of the paper with SymPy, step by step, and check it.

    NAME is forgiving: "prop 1", "Prop. 1", "lemma4", "eq 22". Without a name, the list of all.
    """

    name: Annotated[str | None, Positional("NAME")] = None
    """The statement."""
    all: bool = False
    """Every derivation."""
    latex: bool = False
    """LaTeX instead of text; with --all, the page of the documentation."""
    out: Path | None = None
    """Write here instead of to standard output."""
    overwrite: bool = False
    """Replace the file if it is there."""


COMMAND = Command("derive", Options, EXAMPLE)


def run(arguments: Sequence[str]) -> int:
    """Print or write one derivation, all of them, or their list."""
    options = COMMAND.parse(arguments)
    if options.name is not None and options.all:
        raise InputError("name, all", options.name, "a name together with --all", "ask for one of the two")
    from sim.runs.outputs import OutputFile
    from validate.terminal.tables import print_json

    if options.out is not None:
        OutputFile(options.out, overwrite=options.overwrite).check()
    if options.as_json:
        print_json([_as_dict(name, d) for name, d in _chosen(options).items()])
        return 0
    if options.name is None and not options.all:
        _print_list()
        return 0
    text = _text(options).removesuffix("\n") + "\n"
    if options.out is None:
        print(text, end="")
    else:
        OutputFile(options.out, overwrite=options.overwrite).write(text)
        print(f"written to {options.out}")
    return 0


def _chosen(options: Options) -> dict[str, Derivation]:
    from theory.symbolic import derivations, find_derivation
    from validate.progress import track

    if options.name is None:
        return dict(track(derivations().items(), "deriving statements"))
    found = find_derivation(options.name)
    return {options.name: found}


def _print_list() -> None:
    from theory.symbolic.titles import TITLES
    from validate.terminal.tables import print_table

    rows = [[name, title] for name, title in TITLES.items()]
    print_table(f"Show one with: {EXAMPLE}", ["name", "title"], rows)


def _text(options: Options) -> str:
    from theory.symbolic import derivations_page, show

    if options.all and options.latex:
        return derivations_page()
    chosen = _chosen(options).values()
    return "\n\n".join(d.to_latex() if options.latex else show(d) for d in chosen)


def _as_dict(name: str, derivation: Derivation) -> dict[str, Any]:
    return {
        "name": name,
        "equation": derivation.equation,
        "title": derivation.title,
        "scope": derivation.scope,
        "assumptions": list(derivation.assumptions),
        "latex": derivation.to_latex(),
    }
