"""anchorflow corpus: a language model on your own text, predicted, trained and compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from sim.config.language import Unit
from theory import InputError
from validate.commands.options import CommandOptions, Positional

ACTIONS = ("predict", "train", "compare", "embedding", "demo")
"""Every action, a module of this package."""


class Options(CommandOptions):
    """Predict, train and compare language models on your own text; each ACTION has a --help of its own.

    predict: what the counts of a text say about the embedding of its words, without training.

    train: GPT-2 on one text or several, for every γ and seed, one run folder each.

    compare: do the losses separate, and are the cosines as predicted? Verdicts, tables and a page.

    embedding: does a checkpoint of anyone's model have the cosines that its text predicts?

    demo: all of it in a few minutes, on generated questions and a text of yours or a toy text.

    example: anchorflow corpus demo
    """

    action: Annotated[Literal["predict", "train", "compare", "embedding", "demo"], Positional("ACTION")]
    """What to do."""


def run(options: Options) -> int:
    """Refuse an action that does not come first, which would have been run itself."""
    raise InputError("action", options.action, "comes after options", "give it as the first word")


class TextOptions(CommandOptions):
    """The options of the actions that read a text and train nothing."""

    files: Annotated[tuple[Path, ...], Positional("FILE")]
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

        part = 2**20  # Bytes, roughly: the step of the progress.
        total = sum(path.stat().st_size for path in self.files if path.is_file())
        with progress("reading MiB", -(-total // part)) as advance:
            read = 0
            for path in self.files:
                for document in read_documents(path, fields=self.field, unit=self.documents):
                    yield document
                    read += len(document)
                    while read >= part:
                        advance()
                        read -= part
