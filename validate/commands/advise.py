"""anchorflow advise: show the initial scale of every parameter of any model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table, say
from validate.terminal.progress import track


class Options(CommandOptions):
    """Show the initial standard deviation of each parameter at γ, by the library's default and in muP.

    CONFIG is the config.json of a Hugging Face model; no weights are created. The table has one line for all
    parameters of one role and shape. Below it: norms whose ε matters, what γ and muP say about width, the
    regime to expect with its evidence, and the code that gives a model these scales.

    --all measures instead what every causal model type of the installed transformers starts with, and
    compares it with the type's default configuration, in minutes. With --csv every tensor has its line.

    example: anchorflow advise config.json --rate 0.8
    example: anchorflow advise --all --csv > scales.csv
    """

    config: Annotated[Path | None, Positional("CONFIG")] = None
    """The config.json."""
    module: str | None = None
    """Instead of CONFIG, a torch module, or a class or function that makes one, as package.part:name."""
    rate: float = 0.8
    """γ: the standard deviation is fan-in to the power of -γ."""
    all: bool = False
    """Survey all causal model types."""
    csv: bool = False
    """Print the survey as CSV."""


def run(options: Options) -> int:
    """Print the advice."""
    if (options.config is not None) + (options.module is not None) + options.all != 1:
        remedy = "give one of them, as in: anchorflow advise config.json --rate 0.8"
        raise InputError("command", "anchorflow advise", "needs CONFIG, --module or --all", remedy)
    options.refuse_without("all", "csv")
    if options.csv and options.as_json:
        raise InputError("csv", True, "prints on standard output, as --json does", "give one of the two")
    if options.all and "rate" in options.model_fields_set:
        problem = "is for the advice on one model"
        raise InputError("rate", options.rate, problem, "leave it out, or name a model in place of --all")
    if options.all:
        return _survey(options)
    from sim.modules.advise import advise
    from sim.modules.library import named_module

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
    print_table(
        title, advice.HEADER, advice.rows(), spare=["muP rate", "muP", "by", "number"], notes=advice.lines()
    )
    print(advice.code)  # Never wrapped, however long: it has to remain valid Python.
    return 0


def _survey(options: Options) -> int:
    """Print what every type starts with; types that the library cannot make are named."""
    from sim.runs.table import csv_text
    from validate.scales.survey import Surveyed, counts, model_types, surveyed

    types, failed = dict[str, list[Surveyed]](), dict[str, str]()
    for name in track(model_types(), "measuring types"):
        try:
            types[name] = surveyed(name)
        except Exception as error:  # The library's classes may raise anything.
            failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    rows = [row for tensors in types.values() for row in tensors]
    if options.as_json:
        print_json({"tensors": [row._asdict() for row in rows], "failed": failed})
    elif options.csv:
        print(csv_text([row._asdict() for row in rows]), end="")
        for name, why in failed.items():
            say(f"not made from its default configuration: {name} ({why})")
    else:
        header = ("type", "tensors", "as configured", "not", "not written")
        table = [[name, *map(str, counts(tensors))] for name, tensors in types.items()]
        notes = [f"not made from its default configuration: {name} ({why})" for name, why in failed.items()]
        print_table(f"{len(types)} causal model types", header, table, notes=notes)
    return 0
