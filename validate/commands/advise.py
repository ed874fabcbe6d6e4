"""anchorflow advise: show the initial scale of every parameter of any model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.terminal.tables import print_json, print_table


class Options(CommandOptions):
    """Show the initial standard deviation of each parameter at γ, by the library's default and in muP.

    CONFIG is the config.json of a Hugging Face model; no weights are created. The table has one line for all
    parameters of one role and shape. Below it: norms whose ε matters, what γ and muP say about width, the
    regime to expect with its evidence, and the code that gives a model these scales.

    example: anchorflow advise config.json --rate 0.8
    """

    config: Annotated[Path | None, Positional("CONFIG")] = None
    """The config.json."""
    module: str | None = None
    """Instead of CONFIG, a torch module, or a class or function that makes one, as package.part:name."""
    rate: float = 0.8
    """γ: the standard deviation is fan-in to the power of -γ."""


def run(options: Options) -> int:
    """Print the advice."""
    if options.config is None and options.module is None:
        remedy = "give a model's config.json, as in: anchorflow advise config.json --rate 0.8"
        raise InputError("command", "anchorflow advise", "needs CONFIG or --module", remedy)
    if options.config is not None and options.module is not None:
        raise InputError("module", options.module, "a second model beside CONFIG", "give one of the two")
    from sim.modules.advise import advise, named_module

    if options.module is None:
        advice = advise(options.config, options.rate)
    else:
        # As with `python -m`: modules in the current folder are found.
        sys.path.insert(0, str(Path.cwd()))
        package, _, name = options.module.partition(":")
        module = named_module(options.module)
        # A module is itself the model; a class or function makes one.
        made = name if getattr(sys.modules[package], name) is module else f"{name}()"
        advice = advise(module, options.rate, code=f"from {package} import {name}\n\nmodel = {made}")
    if options.as_json:
        print_json(advice.to_json())
        return 0
    title = f"γ = {advice.rate:g}, {advice.n_parameters:,} parameters"
    print_table(title, advice.HEADER, advice.rows(), spare=["muP", "by", "number"], notes=advice.lines())
    print(advice.code)  # Never wrapped, however long: it has to remain valid Python.
    return 0
