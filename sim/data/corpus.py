"""A corpus as token numbers: the user's texts, divided into words or by a tokenizer of Hugging Face."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.data.text import require
from theory import InputError
from theory.checked import Size, checked
from theory.paths import PathLike, as_path

IntArray = npt.NDArray[np.int32]
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|\S")
"""A word: letters and digits, with apostrophes and hyphens inside. Any other mark is a token of its own."""
OTHER = "<other>"
"""The token that stands for every word that the vocabulary leaves out."""
_BATCH = 1000


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents of token numbers; iterating over it gives each document's tokens, any number of times.

    Attributes
    ----------
    tokens : ndarray of int32, shape (n,)
        All documents, one after another.
    ends : ndarray of int64, shape (n_documents,)
        Where each document ends.
    words : tuple of str
        What each token number stands for.
    """

    tokens: IntArray
    ends: npt.NDArray[np.int64]
    words: tuple[str, ...]

    def __iter__(self) -> Iterator[IntArray]:
        start = 0
        for end in self.ends.tolist():
            yield self.tokens[start:end]
            start = end

    def __len__(self) -> int:
        return len(self.ends)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} documents, {len(self.tokens)} tokens, {self.vocab_size} distinct words)"

    @property
    def vocab_size(self) -> int:
        """V.

        :meta private:
        """
        return len(self.words)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each token occurs."""
        return np.bincount(self.tokens, minlength=self.vocab_size)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def token(self, word: str) -> int:
        """Return the number of a word.

        Raises
        ------
        InputError
            If it does not occur: the message names the nearest words that do.
        """
        number = self._number.get(word)
        if number is None or not self.counts[number]:
            raise _absent(word, [self.words[i] for i in self.most_frequent(self.vocab_size)])
        return number

    def most_frequent(self, n: int) -> list[int]:
        """Return up to n tokens by falling frequency, without ``<other>`` and what never occurs."""
        order = np.argsort(-self.counts, kind="stable")
        found = (int(i) for i in order if self.counts[i] and self.words[i] != OTHER)
        return list(islice(found, n))

    def trimmed(self, n: int) -> Corpus:
        """Return the corpus with its n most frequent words; all others become ``<other>``."""
        kept = self.most_frequent(n)
        if len(kept) == np.count_nonzero(self.counts):
            words, new = tuple(self.words[i] for i in kept), np.full(self.vocab_size, -1, np.int32)
        else:
            words = (*(self.words[i] for i in kept), OTHER)
            new = np.full(self.vocab_size, len(kept), np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        return Corpus(new[self.tokens], self.ends, words)

    def cut(self, length: int) -> Corpus:
        """Return the corpus with every document cut into pieces of at most this many tokens."""
        starts = np.concatenate([[0], self.ends[:-1]])
        ends = [np.arange(s + length, e, length) for s, e in zip(starts, self.ends, strict=True)]
        return Corpus(self.tokens, np.unique(np.concatenate([*ends, self.ends])), self.words)


def _absent(word: str, known: Sequence[str]) -> InputError:
    near = get_close_matches(word, known[:50_000]) or get_close_matches(word.lower(), known[:50_000])
    words = ", ".join(map(repr, near or known[:5]))
    hint = f"did you mean one of {words}?" if near else f"the most frequent are {words};"
    return InputError("token", word, "not in the corpus", f"{hint} name one that occurs")


def in_words(document: str) -> list[str]:
    """Return the words and marks of a text, in lower case."""
    return WORD.findall(document.lower())


@checked
def build_corpus(
    documents: Any,
    *,
    tokenizer: str | Path | None = None,
    vocabulary: Size | None = None,
    context: Size | None = None,
) -> Corpus:
    """Turn texts into token numbers.

    Parameters
    ----------
    documents : iterable of str
        Read once.
    tokenizer : path, optional
        A JSON file of the library ``tokenizers`` of Hugging Face, whose whole vocabulary is kept. By default
        the tokens are words in lower case and marks, numbered by falling frequency.
    vocabulary : int, optional
        Keep the most frequent tokens alone; others become ``<other>``.
    context : int, optional
        Cut documents into pieces of at most this many tokens.

    Raises
    ------
    InputError
        If no document holds a token, or the tokenizer cannot be read.
    """
    texts = _texts(documents)
    words, tokens, ends = _counted(texts) if tokenizer is None else _encoded(texts, tokenizer)
    if not len(tokens):
        raise InputError("corpus", "empty", "no document holds a word", "give files with text")
    corpus = Corpus(tokens, np.array(ends, np.int64), words)
    if vocabulary is not None or tokenizer is None:
        corpus = corpus.trimmed(vocabulary or corpus.vocab_size)
    return corpus if context is None else corpus.cut(context)


def _texts(documents: Any) -> Iterator[str]:
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        raise InputError("documents", documents, "not a list of texts", "give a list of them")
    for document in documents:
        if not isinstance(document, str):
            raise InputError("documents", document, "not a text", "give texts")
        yield document


def _counted(documents: Iterable[str]) -> tuple[tuple[str, ...], IntArray, list[int]]:
    number: dict[str, int] = {}
    return _numbered(
        ([number.setdefault(word, len(number)) for word in in_words(text)] for text in documents),
        lambda: tuple(number),
    )


def _encoded(documents: Iterable[str], file: PathLike) -> tuple[tuple[str, ...], IntArray, list[int]]:
    library = require("tokenizers", "corpus")
    try:
        tokenizer = library.Tokenizer.from_file(str(as_path("tokenizer", file)))
    except Exception as error:
        # The library raises no narrower exception.
        problem = f"not a tokenizer of Hugging Face ({error})"
        raise InputError("tokenizer", str(file), problem, "give its tokenizer.json") from None
    words = tuple(tokenizer.id_to_token(i) or f"<{i}>" for i in range(tokenizer.get_vocab_size()))
    return _numbered(
        (
            encoding.ids
            for batch in _batches(documents)
            for encoding in tokenizer.encode_batch(batch, add_special_tokens=False)
        ),
        lambda: words,
    )


def _numbered(
    documents: Iterable[Sequence[int]], words: Callable[[], tuple[str, ...]]
) -> tuple[tuple[str, ...], IntArray, list[int]]:
    tokens, ends = array("i"), []
    for document in documents:
        if document:
            tokens.extend(document)
            ends.append(len(tokens))
    return words(), np.frombuffer(tokens, np.int32) if tokens else np.zeros(0, np.int32), ends


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(documents)
    while batch := list(islice(rest, _BATCH)):
        yield batch
