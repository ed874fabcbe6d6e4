"""anchorflow corpus: a language model on your own text, predicted, trained and compared."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from theory import InputError
from theory.errors import unknown_name
from validate.commands.options import CommandOptions, Option, Positional, union
from validate.commands.parsing import Command

ACTIONS = ("predict", "train", "compare", "embedding", "demo")
"""Every action, a module of this package."""


class Options(CommandOptions):
    """Predict, train and compare language models on your own text; each ACTION has a --help of its own.

    predict: what the counts of a text say about the embedding of its words, without training.

    train: GPT-2 on one text or several, for every γ and seed, one run folder each.

    compare: do the losses part, and are the cosines those predicted? Verdicts, tables and a page.

    embedding: does a checkpoint of anyone's model have the cosines that its text predicts?

    demo: all of it in a few minutes, on generated questions and a text of yours or a toy text.
    """

    action: Annotated[Literal["predict", "train", "compare", "embedding", "demo"], Positional("ACTION")]
    """What to do."""


def _options_of_actions() -> list[Option]:
    """Return the options of all actions, for a shell to complete."""
    commands = [_module(action).COMMAND for action in ACTIONS]
    found = union([*command.own_options(), *command.keys()] for command in commands)
    own = {option.key for option in Command("corpus", Options, "").own_options()}
    return [option for option in found if option.key not in own and not option.position]


COMMAND = Command("corpus", Options, "anchorflow corpus demo", _options_of_actions, lambda given: [])


def run(arguments: Sequence[str]) -> int:
    """Run the action that is named first."""
    if arguments and arguments[0] in ACTIONS:
        return int(_module(arguments[0]).run(arguments[1:]))
    if arguments and not arguments[0].startswith("-"):
        raise unknown_name("action", arguments[0], ACTIONS)
    if not {"-h", "--help"} & set(arguments):
        problem = f"needs an action, {', '.join(ACTIONS)}, before its options"
        raise InputError("command", "anchorflow corpus", problem, "example: anchorflow corpus demo")
    COMMAND.parse(["--help"])
    return 0


def _module(action: str) -> Any:
    return importlib.import_module(f"{__name__}.{action}")
