"""anchorflow corpus: predict, train and compare language models on your own text."""

from __future__ import annotations

from typing import Annotated, Literal

from theory import InputError
from validate.commands.options import CommandOptions, Positional

_TEXT, _RUNS = f"{__name__}.text", f"{__name__}.runs"
ACTIONS = {"predict": _TEXT, "train": _RUNS, "compare": _RUNS, "embedding": _TEXT, "demo": _RUNS}


class Options(CommandOptions):
    """Predict, train and compare language models on your own text; each ACTION has a --help of its own.

    predict: the embedding's geometry from the counts of a text, without training.

    train: GPT-2 on one text or several, for every γ and seed, one run folder each.

    compare: do the losses separate, and are the cosines as predicted? Verdicts, tables and a page.

    embedding: does any model's checkpoint have the cosines that its text predicts?

    demo: train and compare in a few minutes, on generated questions and your own or a toy text.

    example: anchorflow corpus demo
    """

    action: Annotated[Literal["predict", "train", "compare", "embedding", "demo"], Positional("ACTION")]
    """What to do."""


def run(options: Options) -> int:
    """Refuse an action that does not come first: if it did, it would have been run instead of this."""
    raise InputError("action", options.action, "comes after options", "give it as the first word")
