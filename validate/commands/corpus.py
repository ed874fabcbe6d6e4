"""anchorflow corpus: predict, train and compare language models on your own text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import sim
import validate
from sim.config.language import Unit
from sim.data.text import SEPARATOR, fields_of
from sim.data.token_arrays import read_token_arrays
from theory import InputError
from theory.edge.reading import as_path, is_file
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table, say, tell

_RUNS = f"{__name__}_runs"
ACTIONS = {"predict": __name__, "train": _RUNS, "compare": _RUNS, "embedding": __name__, "demo": _RUNS}


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


class SourceOptions(CommandOptions):
    """The options of every action that reads texts."""

    files: Annotated[tuple[Path, ...], Positional("FILE")]
    """The texts."""
    field: tuple[str, ...] = ()
    """Keys or columns with the text; several are joined; by default text, or PrOntoQA's keys."""
    documents: Unit = "paragraph"
    """What counts as one document in a text file."""
    tokenizer: Path | None = None
    """The model's tokenizer.json, or characters; without it, lower-case words by falling frequency."""
    separator: str = SEPARATOR
    """A marker in a text, or a token of an array by name or number, at which a document ends."""


class TextOptions(SourceOptions):
    """The options of the actions that read a text and train nothing."""

    dtype: str | None = None
    """The kind of number in .bin files of tokens, such as uint16."""

    def corpus(self, **how: Any) -> sim.Corpus:
        """Return the files' corpus."""
        arrays = [file.suffix.lower() in (".npy", ".bin") for file in self.files]
        named = [str(file) for file in self.files]
        if any(arrays) and not all(arrays):
            raise InputError("files", named, "texts and token arrays", "give one kind")
        if len({file.resolve() for file in self.files}) < len(named):
            problem = "one of them twice: its documents would count as independent of themselves"
            raise InputError("files", named, problem, "name each once")
        for name in ("field", "documents") if any(arrays) else ("dtype",):
            if name in self.model_fields_set:
                problem = f"says nothing of {'arrays of tokens' if any(arrays) else 'texts'}"
                raise InputError(name, getattr(self, name), problem, "leave it out")
        if any(arrays):
            kept, context = how.get("vocabulary"), how.get("context")
            settings = {name: getattr(self, name) for name in ("dtype", "tokenizer", "separator")}
            corpus = read_token_arrays(self.files, **settings)
            corpus = corpus if kept is None else corpus.trimmed(kept)
            return corpus if context is None else corpus.cut(context)
        return sim.build_corpus(self.texts(), tokenizer=self.tokenizer, **how)

    def texts(self) -> Iterator[str]:
        """Yield the documents of the files, one after the other, and show the progress of reading."""
        from validate.terminal.progress import progress

        total = sum(path.stat().st_size for path in self.files if is_file(path))
        with progress("reading MiB", -(-total // 2**20)) as advance:
            read = 0  # Bytes, roughly: Parquet is compressed.
            for path in self.files:
                fields = self.field or fields_of(path)
                how: Any = {"unit": self.documents, "separator": self.separator}
                for document in sim.read_documents(path, fields=fields, **how):
                    yield document
                    before, read = read, min(read + len(document), total)
                    for _ in range(read // 2**20 - before // 2**20):
                        advance()


class Predict(TextOptions):
    """Predict, without training, how a language model with small initial weights arranges its tokens.

    FILE is text (.txt, .md), JSON (.jsonl, .ndjson, .json), CSV or TSV, Parquet, or tokens (.npy, .bin). No
    pair of tokens is counted across documents; standard errors treat these as independent and need 40.

    example: anchorflow corpus predict stories.txt --nearest dog --out runs/stories
    """

    vocabulary: int | None = None
    """Keep this many of the most frequent tokens; the others become <other>."""
    context: int | None = None
    """Cut documents into pieces of at most this many tokens."""
    tokens: tuple[str, ...] = ()
    """The words to compare, instead of the most frequent."""
    top: int = 12
    """How many of the most frequent words to compare."""
    predictor: Literal["bigram", "marginal", "tied", "readout", "context"] = "bigram"
    """The prediction to compare; see docs/corpus.md."""
    nearest: tuple[str, ...] = ()
    """Words whose nearest neighbours to list."""
    candidates: int = 500
    """Search for neighbours among this many of the most frequent words."""
    words_only: bool = False
    """Leave out punctuation: compare and list only tokens with a letter or a digit."""
    out: Path | None = None
    """Write corpus-prediction.html, corpus-prediction.json and the figures here."""


def predict(options: Predict) -> int:
    """Predict, print, and write if asked to."""
    from sim.runs.outputs import OutputFolder

    if options.out is not None:
        files = ("corpus-prediction.json", "corpus-prediction.html")
        OutputFolder(options.out).check(files, ("figures/corpus-prediction",))
    prediction = validate.CorpusPrediction.of(
        options.corpus(vocabulary=options.vocabulary, context=options.context),
        words=options.tokens,
        top=options.top,
        predictor=options.predictor,
        nearest=options.nearest,
        candidates=options.candidates,
        words_only=options.words_only,
    )
    if options.out is not None:
        prediction.write(options.out)
    if options.as_json:
        print_json(prediction.to_json())
        return 0
    tell(prediction.headline())
    for table in prediction.tables():
        print_table(*table)
    if options.out is not None:
        print(f"written to {options.out / 'corpus-prediction.html'}")
    return 0


class Embedding(TextOptions):
    """Compare the embeddings of any model's checkpoints with the prediction from the counts of a text.

    FILE is as for corpus predict: the model's training data, or a sample of them. Row i of the embedding must
    belong to token i of the tokenizer. The control is predicted from shuffled text. With --checkpoints each
    matrix of a revision has a line, by step; revisions out of order are named.

    example: anchorflow corpus embedding stories.txt --checkpoint model.safetensors
    """

    checkpoint: Path | None = None
    """A safetensors file, an index of one in parts, or a folder with it; this or --checkpoints is needed."""
    checkpoints: str = ""
    """A pattern for the files of many revisions, such as 'runs/*/model.safetensors'."""
    out: Path | None = None
    """With --checkpoints: write series.json and the figure here."""
    tensor: str | None = None
    """The embedding's name in the checkpoint, if none or several tensors have a usual name."""
    readout: str | None = None
    """With --checkpoints: the read-out's name, or tied; by default what the files say."""
    steps: tuple[int, ...] = ()
    """With --checkpoints: the step of each, in the order of their sorted paths, if these do not give it."""
    weights_only: bool = False
    """Also read files of torch.save, by torch.load(weights_only=True)."""
    padded: bool = False
    """Allow an embedding of more rows than the tokenizer has tokens."""
    predictor: tuple[Literal["bigram", "marginal", "tied", "readout"], ...] = ()
    """The predictions to compare, see docs/corpus.md; by default tied and bigram, for a series those that fit
    its read-out."""
    tokens: tuple[str, ...] = ()
    """The tokens to compare, instead of the most frequent ones and the bands of frequency."""
    top: int = 500
    """How many of the most frequent tokens, and of each band, to compare."""
    controls: int = 3
    """Shuffled texts to average."""
    seed: int = 0
    """Seed of the shuffled texts, of the tokens drawn from a band, and of the intervals."""


def embedding(options: Embedding) -> int:
    """Compare and print."""
    if (options.checkpoint is None) == (not options.checkpoints):
        problem = "needs --checkpoint or --checkpoints, not both"
        raise InputError("command", "anchorflow corpus embedding", problem, "see --help")
    for file in options.files if options.checkpoints else ():
        if file.suffix == ".safetensors":  # The shell has replaced the pattern by what it matches.
            remedy = "put the pattern of --checkpoints in quotes"
            raise InputError("file", str(file), "a checkpoint, not a text", remedy)
    from sim.runs.files import json_text
    from sim.runs.outputs import OutputFolder
    from validate.corpus.checkpoint import Checkpoint

    options.refuse_without("checkpoints", "out", "readout", "steps")
    if options.checkpoint is not None:
        revisions = [options.checkpoint]
    else:
        revisions, pattern = list[Path](), as_path("checkpoints", options.checkpoints)
        with suppress(ValueError, IndexError):  # Raised by pathlib for patterns such as "a**" and ".".
            revisions = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    if not revisions:
        raise InputError("--checkpoints", options.checkpoints, "matches no file", "check the pattern")
    folder = None if options.out is None else OutputFolder(options.out)
    if folder is not None:
        folder.check(("series.json",), ("figures/series",))
    # An unreadable checkpoint is reported at once, before a long text is read.
    first, *_ = [Checkpoint(path, weights_only=options.weights_only) for path in revisions]
    single = options.checkpoint is not None
    matrix = (
        first.matrix(options.tensor) if single else first.matrices(options.tensor, options.readout)[0].rows
    )
    corpus = options.corpus()
    settings: dict[str, Any] = {
        "tokens": [corpus.token(word) for word in options.tokens],
        **{name: getattr(options, name) for name in ("top", "controls", "padded", "seed")},
    }
    warnings: tuple[str, ...] = ()
    if options.checkpoint is not None:
        predictors = options.predictor or ("tied", "bigram")
        compared = validate.compare_embedding(matrix, corpus, predictors=predictors, **settings)
        source = {"checkpoint": str(options.checkpoint), "tensor": options.tensor}
        table, data = compared.table(), source | compared.to_json()
    else:
        names = ("tensor", "readout", "steps", "weights_only")
        settings |= {name: getattr(options, name) for name in names} | {"predictors": options.predictor}
        series = validate.compare_series(revisions, corpus, **settings)
        table, data, warnings = series.table(), series.to_json(), series.warnings
        if folder is not None:
            from validate.figures.sheet import write_figures

            folder.write("series.json", json_text(data))
            write_figures([series.sheet()], folder, "figures/series")
    if options.as_json:
        print_json(data)
        return 0
    print_table(*table)
    for warning in warnings:
        say(f"warning: {warning}")
    return 0
