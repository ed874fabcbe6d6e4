"""anchorflow corpus: a language model on your own text, predicted, trained and compared."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from sim.config.language import Unit
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

    compare: do the losses separate, and are the cosines as predicted? Verdicts, tables and a page.

    embedding: does a checkpoint of anyone's model have the cosines that its text predicts?

    demo: all of it in a few minutes, on generated questions and a text of yours or a toy text.
    """

    action: Annotated[Literal["predict", "train", "compare", "embedding", "demo"], Positional("ACTION")]
    """What to do."""


class TextOptions(CommandOptions):
    """What the actions take that read a text and train nothing."""

    files: Annotated[tuple[Path, ...], Positional("FILE", is_file=True)] = ()
    """The corpus."""
    field: tuple[str, ...] = ("text",)
    """Keys or columns with the text; several are joined."""
    documents: Unit = "paragraph"
    """What a document is in a text file."""
    tokenizer: Path | None = None
    """The model's tokenizer.json of Hugging Face; else words in lower case, by falling frequency."""

    def texts(self) -> Iterator[str]:
        """Return the documents of the files, one after the other, and show how far the reading is."""
        from sim.data.text import read_documents
        from validate.progress import progress

        if not self.files:
            raise InputError("FILE", "", "missing", "give one file or more")
        total = sum(path.stat().st_size for path in self.files if path.is_file())
        with progress("reading MiB", -(-total // _PART)) as advance:
            read = 0
            for path in self.files:
                for document in read_documents(path, fields=self.field, unit=self.documents):
                    yield document
                    read += len(document)
                    while read >= _PART:
                        advance()
                        read -= _PART


_PART = 2**20
"""Bytes, roughly: the step of the progress."""


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
