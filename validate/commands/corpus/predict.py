"""anchorflow corpus predict: what the theory says about the user's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from validate.commands.corpus import TextOptions


class Options(TextOptions):
    """Predict, without training, how a language model with small initial weights arranges its tokens.

    FILE is text (.txt, .md), JSON Lines (.jsonl, .ndjson) or Parquet (.parquet). No pair of tokens is counted
    across two documents; standard errors take documents as independent, and there have to be 40.

    example: anchorflow corpus predict stories.txt --nearest dog --out runs/stories
    """

    vocabulary: int | None = None
    """Keep this many of the most frequent tokens; others are <other>."""
    context: int | None = None
    """Cut documents into pieces of at most this many tokens."""
    tokens: tuple[str, ...] = ()
    """The words to compare, instead of the most frequent."""
    top: int = 12
    """How many of the most frequent words to compare."""
    predictor: Literal["bigram", "marginal", "tied", "readout", "context"] = "bigram"
    """What is compared: see docs/corpus.md."""
    nearest: tuple[str, ...] = ()
    """Words whose nearest neighbours to list."""
    candidates: int = 500
    """Neighbours are sought among this many of the most frequent words."""
    out: Path | None = None
    """Write prediction.json, prediction.html and the figures here."""


def run(options: Options) -> int:
    """Predict, print, and write if asked to."""
    from sim.data.corpus import build_corpus
    from sim.runs.outputs import OutputFolder
    from validate.corpus.prediction import CorpusPrediction
    from validate.terminal.tables import print_json, print_table, tell

    if options.out is not None:
        OutputFolder(options.out).check(("prediction.json", "prediction.html"), ("figures",))
    how = {name: getattr(options, name) for name in ("tokenizer", "vocabulary", "context")}
    prediction = CorpusPrediction.of(
        build_corpus(options.texts(), **how),
        words=options.tokens,
        top=options.top,
        predictor=options.predictor,
        nearest=options.nearest,
        candidates=options.candidates,
    )
    if options.out is not None:
        from validate.corpus.page import write_prediction  # It imports matplotlib and the report.

        write_prediction(prediction, options.out)
    if options.as_json:
        print_json(prediction.to_json())
        return 0
    tell(prediction.headline())
    for table in prediction.tables():
        print_table(*table)
    if options.out is not None:
        print(f"written to {options.out / 'prediction.html'}")
    return 0
