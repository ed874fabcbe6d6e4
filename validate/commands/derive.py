"""anchorflow derive: derive a statement of the paper step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table


class Options(CommandOptions):
    """Derive a statement of the paper with SymPy, step by step, and check it.

    NAME may be written loosely: prop 1, "Prop. 1", lemma4, eq 22. Without a name all statements are listed.

    example: anchorflow derive prop 1
    """

    name: Annotated[tuple[str, ...], Positional("NAME")] = ()
    """The statement."""
    all: bool = False
    """Print every derivation."""
    latex: bool = False
    """Print LaTeX instead of text; with --all, the documentation's page."""
    out: Path | None = None
    """Write to this file instead of standard output."""
    overwrite: bool = False
    """Replace the file at --out."""


def run(options: Options) -> int:
    """Print or write one derivation, all of them, or their list."""
    name = " ".join(options.name)
    if name and options.all:
        raise InputError("name, all", name, "a name together with --all", "give one of the two")
    options.refuse_without("out", "overwrite")
    from sim.runs.outputs import OutputFile
    from theory.derive import derivations, derivations_page, find_derivation, titles
    from validate.terminal.progress import track

    if options.out is not None:
        if options.as_json or not (name or options.all):
            problem = "is for the text of a derivation"
            raise InputError("out", str(options.out), problem, "give a NAME or --all, without --json")
        OutputFile(options.out, overwrite=options.overwrite).check()
    if not name and not options.all and not options.as_json:
        rows = [list(row) for row in titles().items()]
        print_table("Show one with: anchorflow derive prop 1", ["name", "statement"], rows)
        return 0
    if options.all and options.latex and not options.as_json:
        text = derivations_page()
    else:
        every = track(derivations().values(), "deriving statements")
        chosen = [find_derivation(name)] if name else list(every)
        if options.as_json:
            keys = ("name", "equation", "title", "scope", "assumptions")
            print_json([{key: getattr(d, key) for key in keys} | {"latex": d.to_latex()} for d in chosen])
            return 0
        text = "\n\n".join(d.to_latex() if options.latex else str(d) for d in chosen)
    text = text.removesuffix("\n") + "\n"
    if options.out is None:
        print(text, end="")
    else:
        OutputFile(options.out, overwrite=options.overwrite).write(text)
        print(f"written to {options.out}")
    return 0
