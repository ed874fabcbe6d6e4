"""anchorflow corpus embedding: a checkpoint's embedding against what the counts of a text predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sim.config.language import Unit
from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from sim import Corpus


class Options(CommandOptions):
    """Compare a checkpoint's embedding with what the counts of a text predict, whoever trained it.

    FILE is text (.txt, .md), JSON Lines or Parquet: what the model was trained on, or a sample of it. Row i
    of the embedding has to be token i of the tokenizer. The control is the prediction from shuffled text.
    """

    files: Annotated[tuple[Path, ...], Positional("FILE", is_file=True)] = ()
    """The corpus."""
    checkpoint: Path | None = None
    """A safetensors file that holds the embedding; needed."""
    tensor: str | None = None
    """Which tensor of it, if none or several are called as embeddings usually are."""
    tokenizer: Path | None = None
    """The model's tokenizer.json; else words in lower case, numbered by falling frequency."""
    padded: bool = False
    """Allow an embedding of more rows than the tokenizer has tokens."""
    field: tuple[str, ...] = ("text",)
    """Keys or columns with the text; several are joined."""
    documents: Unit = "paragraph"
    """What a document is in a text file."""
    predictor: tuple[Literal["bigram", "marginal", "tied", "readout"], ...] = ("tied", "bigram")
    """What is compared: see docs/corpus.md."""
    tokens: tuple[str, ...] = ()
    """The tokens to compare, instead of the most frequent ones and the bands of frequency."""
    top: int = 500
    """How many of the most frequent tokens, and of each band, to compare."""
    controls: int = 3
    """Shuffled texts to average."""
    seed: int = 0
    """Seed of the shuffled texts, of the tokens drawn from a band, and of the intervals."""


COMMAND = Command(
    "corpus embedding",
    Options,
    "anchorflow corpus embedding stories.txt --checkpoint model.safetensors --tokenizer tokenizer.json",
)


def run(arguments: Sequence[str]) -> int:
    """Compare and print."""
    options = COMMAND.parse(arguments)
    if options.checkpoint is None:
        raise InputError("--checkpoint", "", "missing", "name a .safetensors file")
    from validate.corpus.checkpoint import read_embedding
    from validate.corpus.embedding import compare_embedding
    from validate.terminal.tables import print_json, print_table, tell

    # A checkpoint that cannot be read is said at once, before a long text is read.
    embedding = read_embedding(options.checkpoint, options.tensor)
    corpus = _corpus(options)
    found = compare_embedding(
        embedding,
        corpus,
        predictors=options.predictor,
        tokens=[corpus.token(word) for word in options.tokens],
        top=options.top,
        controls=options.controls,
        padded=options.padded,
        seed=options.seed,
    )
    if options.as_json:
        print_json({"checkpoint": str(options.checkpoint), "tensor": options.tensor} | found.to_json())
        return 0
    tell(f"{options.checkpoint}: {embedding.shape[0]} rows of {embedding.shape[1]}; {corpus!r}")
    title = "cosines predicted from the text against the embedding's"
    spare = ["n", "observed", "mean", "Spearman", "control"]
    print_table(title, found.HEADER, found.rows(), spare=spare, notes=found.NOTES)
    return 0


def _corpus(options: Options) -> Corpus:
    from sim.data.corpus import build_corpus
    from validate.corpus.read import documents_of

    documents = documents_of(options.files, fields=options.field, unit=options.documents)
    return build_corpus(documents, tokenizer=options.tokenizer)
