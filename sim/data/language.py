"""The sequences that a language model trains on: equally many from each corpus, in one vocabulary."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np
import torch

from sim.config.language import CorpusSource, LanguageTask, Layout
from sim.data.base import Arrays, Dataset
from sim.data.corpus import Corpus, IntArray, build_corpus, digest_of
from sim.data.text import read_documents
from sim.seeds import numpy_stream
from theory import InputError
from theory.edge.checked import Size, checked
from theory.edge.checks import Between
from theory.edge.reading import PathLike

END = "<end>"
"""The token after every document."""
MOST_SEQUENCES = 500
"""The most sequences of each corpus that a task has by default."""
PADDING = -1
"""Fills the places after a sequence that is shorter than the context."""


@dataclass(frozen=True)
class TextDataset(Dataset):
    """Sequences of corpora; each corpus is a part."""

    words: tuple[str, ...]
    """The token of each number."""

    def statistics(self) -> tuple[Arrays, dict[str, str]]:
        """Return the sequences themselves, which determine all that the theory needs of a corpus."""
        sequences = torch.cat([self.tokens, self.labels[:, None]], dim=1).numpy().astype(np.int32)
        ends = np.cumsum([len(rows) for rows in self.parts.values()])
        meta = {"words": json.dumps(self.words), "corpora": json.dumps(list(self.parts))}
        return {"sequences": sequences, "ends": ends}, meta


def build_text_dataset(task: LanguageTask, seed: int) -> TextDataset:
    """Return the sequences drawn with a seed."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # Given when the task was made.
        whole, lengths = _read(task.corpora, task.tokenizer)
    whole = _in_vocabulary(whole, task.vocab_size, task.whole_vocabulary)
    rng, documents = numpy_stream(seed, "data/draw"), iter(whole)
    drawn = [
        _sequences(task, name, list(islice(documents, n)), whole.vocab_size - 1, rng)
        for name, n in lengths.items()
    ]
    sequences = torch.from_numpy(np.concatenate(drawn)).long()
    every = torch.arange(len(sequences))
    parts = dict(zip(task.names, every.view(-1, task.n_sequences), strict=True))
    return TextDataset(sequences[:, :-1], sequences[:, -1], every, parts, whole.words)


@checked
def make_language_task(
    corpora: Sequence[CorpusSource],
    *,
    length: Size = 128,
    n_sequences: Size | None = None,
    vocabulary: Annotated[int, Between(3)] | None = None,
    tokenizer: PathLike = "",
    whole_vocabulary: bool = False,
    layout: Layout = "cut",
) -> LanguageTask:
    """Return a task on some corpora; their files are read for their sizes and checksums.

    Parameters
    ----------
    corpora : sequence of CorpusSource
    length : int, optional
        The context.
    n_sequences : int, optional
        Sequences of each corpus; by default as many as the smallest corpus has, at most 500.
    vocabulary : int, optional
        Tokens to keep, including <other> and <end>; all by default.
    tokenizer : path, optional
        A Hugging Face tokenizer.json; without one, tokens are words and marks.
    whole_vocabulary : bool, optional
        Keep every token of the tokenizer, whether it occurs or not.
    layout : {"cut", "pad", "pack"}, optional
        See ``LanguageTask``.
    """
    if whole_vocabulary and vocabulary is not None:
        raise InputError("vocabulary", vocabulary, "excludes whole_vocabulary", "leave one of them out")
    task = LanguageTask(  # Bad settings are refused before the files are read.
        corpora=tuple(corpora),
        n_sequences=n_sequences or 1,
        length=length,
        vocab_size=vocabulary or 3,
        layout=layout,
        tokenizer=str(tokenizer),
        whole_vocabulary=whole_vocabulary,
    )
    named = tuple(
        source.model_copy(update={"sha256": source.sha256 or tuple(map(digest_of, source.files))})
        for source in corpora
    )
    whole, lengths = _read(named, task.tokenizer)
    size = whole.vocab_size if whole_vocabulary else int(np.count_nonzero(whole.counts))
    if size < 2:
        raise InputError("corpora", list(lengths), "have one distinct token", "give texts of several words")
    if n_sequences is None:
        numbers = _windows(whole, lengths, length) if layout == "pack" else lengths.values()
        n_sequences = min(MOST_SEQUENCES, *numbers)
    sizes = {"n_sequences": n_sequences, "vocab_size": min(vocabulary or size + 1, size + 1)}
    return LanguageTask(**dict(task) | {"corpora": named} | sizes)


def _windows(whole: Corpus, lengths: dict[str, int], window: int) -> list[int]:
    """Return how many windows of this length each corpus has when its documents are joined."""
    bounds = np.cumsum([0, *lengths.values()])
    ends = np.concatenate([[0], whole.ends])[bounds]
    numbers: list[int] = ((np.diff(ends) + np.diff(bounds) - 1) // window).tolist()
    for name, n in zip(lengths, numbers, strict=True):
        if not n:
            raise InputError("length", window, f"corpus {name} is shorter", "give a shorter context")
    return numbers


def _read(corpora: Sequence[CorpusSource], tokenizer: str) -> tuple[Corpus, dict[str, int]]:
    """Return all documents of some corpora as one corpus, and how many each has."""
    lengths: dict[str, int] = {}

    def documents() -> Iterator[str]:
        for source in corpora:
            lengths[source.name] = 0
            for number, file in enumerate(source.files):
                if source.sha256 and digest_of(file) != source.sha256[number]:
                    problem = "its checksum differs from the configuration's"
                    remedy = "restore it, or train under another configuration"
                    raise InputError("file", file, problem, remedy)
                for document in read_documents(
                    file, fields=source.fields, unit=source.documents, separator=source.separator
                ):
                    lengths[source.name] += 1
                    yield document
            if not lengths[source.name]:
                raise InputError("corpus", source.name, "no document holds a word", "give files with text")

    whole = build_corpus(documents(), tokenizer=tokenizer or None)
    if len(whole) != sum(lengths.values()):
        problem = "gives no token for some document"
        raise InputError("tokenizer", tokenizer, problem, "leave such documents out")
    return whole, lengths


def _in_vocabulary(whole: Corpus, size: int, untrimmed: bool) -> Corpus:
    """Return a corpus in a vocabulary of a given size, whose last token is <end>."""
    if untrimmed:
        if size != whole.vocab_size + 1:
            problem = f"the tokenizer has {whole.vocab_size} tokens, and {END}"
            raise InputError("vocab_size", size, problem, f"give {whole.vocab_size + 1}")
        return Corpus(whole.tokens, whole.ends, (*whole.words, END))
    distinct = int(np.count_nonzero(whole.counts))
    if size > distinct + 1:
        problem = f"the corpora have {distinct} tokens and {END}"
        raise InputError("vocab_size", size, problem, f"give {distinct + 1}, or fewer")
    kept = whole.trimmed(distinct if size == distinct + 1 else size - 2)
    return Corpus(kept.tokens, kept.ends, (*kept.words, END))


def _sequences(
    task: LanguageTask, name: str, documents: Sequence[IntArray], end: int, rng: np.random.Generator
) -> IntArray:
    """Draw a corpus's sequences, shape (n_sequences, length + 1), padded."""
    order = rng.permutation(len(documents))
    if task.layout == "pack":
        return _packed(task, name, [documents[i] for i in order], end)
    _check_count(task, name, len(documents))
    chosen = [documents[i] for i in order[: task.n_sequences]]
    if task.layout == "pad" and (longest := max(map(len, documents))) > task.length:
        problem = f"corpus {name} has a document of {longest} tokens"
        raise InputError("length", task.length, problem, f'give {longest}, or layout = "cut" or "pack"')
    rows = np.full((task.n_sequences, task.length + 1), PADDING, np.int32)
    for row, document in zip(rows, chosen, strict=True):
        tokens = [*document[: task.length + 1], end][: task.length + 1]
        row[: len(tokens)] = tokens
    return rows


def _packed(task: LanguageTask, name: str, documents: list[IntArray], end: int) -> IntArray:
    """Return windows of the joined documents; each begins with the last token of the one before."""
    stream = np.concatenate([part for document in documents for part in (document, [end])]).astype(np.int32)
    n, length = task.n_sequences, task.length
    _check_count(task, name, (len(stream) - 1) // length)
    starts = np.arange(n)[:, None] * length
    return np.asarray(stream[starts + np.arange(length + 1)], np.int32)


def _check_count(task: LanguageTask, name: str, n: int) -> None:
    if n < task.n_sequences:
        problem = f"corpus {name} has {n} sequences of length {task.length}"
        remedy = f"give {n} or fewer" if n else "give a shorter context"
        raise InputError("n_sequences", task.n_sequences, problem, remedy)
