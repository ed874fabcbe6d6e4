"""A corpus as token numbers: texts split into words, characters or by a tokenizer."""

from __future__ import annotations

import hashlib
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sim.data.text import require
from theory import InputError
from theory.edge.checked import Size, checked
from theory.edge.reading import PathLike, as_path, open_regular

IntArray = npt.NDArray[np.int32]
WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*|['’-][^\W_]+)*|\S")
"""A word: letters and digits, with combining accents, apostrophes and hyphens inside. Any other mark is a
token of its own."""
OTHER = "<other>"
"""The token that stands for every word that the vocabulary leaves out."""
LARGEST_VOCABULARY = 2**22
"""The most tokens of a tokenizer, judged by its largest number: 16 times the largest in use."""
CHARACTERS = "characters"
"""In place of a tokenizer's file: every character is a token."""
_BATCH = 1000
_MARKER = re.compile(r"<\|[^<>|\s]{1,40}\|>|</?s>|<(?:eos|bos|pad|sep|cls)>|\[(?:SEP|CLS|PAD|EOS|BOS)\]")
"""How tokenizers write special tokens."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_DOMINATES, _MOST_UNSPACED = 0.05, 0.2
"""Shares of all tokens, and of all letters, above which a warning is given."""


def printable(token: str) -> str:
    """Return a token as tables, figures and files all show it, with control characters escaped."""
    if token.isprintable():
        return token
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in token)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents as token numbers; iteration yields each document's tokens and can be repeated."""

    tokens: IntArray
    """All documents, one after another, shape (n,)."""
    ends: npt.NDArray[np.int64]
    """Where each document ends, shape (n_documents,)."""
    words: tuple[str, ...]
    """The token of each number, made ``printable``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(map(printable, self.words)))

    def __iter__(self) -> Iterator[IntArray]:
        start = 0
        for end in self.ends.tolist():
            yield self.tokens[start:end]
            start = end

    def __len__(self) -> int:
        return len(self.ends)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} documents, {len(self.tokens)} tokens, a vocabulary of {self.vocab_size})"

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
        return {word: number for number, word in enumerate(self.words) if self.counts[number]}

    def token(self, word: str) -> int:
        """Return the number of a word, or refuse one that does not occur and name the nearest that do."""
        number = self._number.get(printable(word))
        if number is not None:
            return number
        known = [self.words[i] for i in self.most_frequent(50_000)]
        near = get_close_matches(word, known) or get_close_matches(word.lower(), known)
        words = ", ".join(map(repr, near or known[:5]))
        hint = f"did you mean one of {words}?" if near else f"the most frequent are {words};"
        raise InputError("token", word, "not in the corpus", f"{hint} name one that occurs")

    @checked
    def most_frequent(self, n: Size, *, words_only: bool = False) -> list[int]:
        """Return up to n tokens that occur, most frequent first, without ``<other>`` or, if so asked, marks.

        A mark is a token without a letter or a digit.
        """
        order = (i for i in np.argsort(-self.counts, kind="stable").tolist() if self.words[i] != OTHER)
        found = (i for i in order if not words_only or any(map(str.isalnum, self.words[i])))
        return [i for i in islice(found, n) if self.counts[i]]

    @checked
    def trimmed(self, n: Size) -> Corpus:
        """Return the corpus with its n most frequent words; all others become ``<other>``."""
        kept = self.most_frequent(n)
        words = tuple(self.words[i] for i in kept)
        if len(kept) < np.count_nonzero(self.counts):
            words = (*words, OTHER)
        new = np.full(self.vocab_size, len(kept), np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        return Corpus(new[self.tokens], self.ends, words)

    @checked
    def cut(self, length: Size) -> Corpus:
        """Return the corpus with every document cut into pieces of at most this many tokens."""
        starts = np.concatenate([[0], self.ends[:-1]])
        ends = [np.arange(s + length, e, length) for s, e in zip(starts, self.ends, strict=True)]
        return replace(self, ends=np.unique(np.concatenate([*ends, self.ends])))


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
    tokenizer : path or "characters", optional
        A JSON file of Hugging Face's ``tokenizers`` library, whose whole vocabulary is kept. By default the
        tokens are lower-case words and marks, numbered by decreasing frequency; or all characters, so
        numbered.
    vocabulary : int, optional
        Keep this many of the most frequent tokens; the others become ``<other>``.
    context : int, optional
        Cut documents into pieces of at most this many tokens.

    Warns
    -----
    UserWarning
        If special tokens dominate, or words are whole clauses because a script has no spaces.
    """
    texts = _texts(documents)
    by_us = tokenizer is None or str(tokenizer) == CHARACTERS
    corpus = _counted(texts, tokenizer is not None) if by_us else _encoded(texts, str(tokenizer))
    if not len(corpus.tokens):
        raise InputError("corpus", "empty", "no document holds a word", "give files with text")
    if vocabulary is not None or by_us:
        corpus = corpus.trimmed(vocabulary or corpus.vocab_size)
    return corpus if context is None else corpus.cut(context)


def _texts(documents: Any) -> Iterator[str]:
    if isinstance(documents, (str, bytes, dict)) or not np.iterable(documents):
        raise InputError("documents", documents, "not a list of texts", "give a list of them")
    for document in documents:
        if not isinstance(document, str):
            raise InputError("documents", document, "not a text", "give texts")
        yield document


def _counted(texts: Iterable[str], characters: bool) -> Corpus:
    number, markers = dict[str, int](), Counter[str]()

    def divided() -> Iterator[Sequence[str]]:
        for text in texts:
            markers.update(_MARKER.findall(text))
            yield list(text) if characters else WORD.findall(text.lower())

    tokens, ends = _joined([number.setdefault(word, len(number)) for word in words] for words in divided())
    corpus = Corpus(tokens, ends, tuple(number))
    pieces = sum(n * (len(m) if characters else len(WORD.findall(m))) for m, n in markers.items())
    if pieces > _DOMINATES * len(tokens):
        marker, n = markers.most_common(1)[0]
        share = pieces / len(tokens)
        _warn(f"{share:.0%} of all tokens are parts of markers, such as {marker!r}, which occurs {n} times")
    often = corpus.counts.tolist()
    letters = sum(n * sum(map(str.isalpha, word)) for word, n in zip(number, often, strict=True))
    unspaced = sum(n * len(_UNSPACED.findall(word)) for word, n in zip(number, often, strict=True))
    if unspaced > _MOST_UNSPACED * letters and not characters:
        _warn(
            f"{unspaced / letters:.0%} of the letters belong to scripts without spaces, so that a token is a "
            "whole clause",
            "name the model's tokenizer, or --tokenizer characters",
        )
    return corpus


def _warn(
    problem: str, remedy: str = "if documents end there, name it as the separator (--separator)"
) -> None:
    """Say why the tokens may not be what was meant, to the caller of ``build_corpus``."""
    warnings.warn(f"{problem}; {remedy}", stacklevel=5)


def vocabulary_of(file: PathLike) -> tuple[Any, tuple[str, ...]]:
    """Return a Hugging Face tokenizer and the token of each number, among which may be gaps."""
    library = require("tokenizers", "corpus")
    with open_regular(as_path("tokenizer", file)) as stored:  # The library would read a device forever.
        content = stored.read()
    try:
        tokenizer = library.Tokenizer.from_buffer(content)
    except Exception as error:
        # The library raises no narrower exception, here and in encode_batch.
        raise _refused(file, f"not a Hugging Face tokenizer ({error})") from None
    tokenizer.no_truncation()  # A file may prescribe that texts are cut short
    tokenizer.no_padding()  # or padded, for a model's batches; a corpus keeps them whole.
    vocabulary = {number: token for token, number in tokenizer.get_vocab().items()}
    size = max(vocabulary, default=-1) + 1
    if size > LARGEST_VOCABULARY:
        problem = f"has a token with number {size - 1}; a corpus may have {LARGEST_VOCABULARY} tokens at most"
        raise _refused(file, problem)
    return tokenizer, tuple(vocabulary.get(i, f"<{i}>") for i in range(size))


def _refused(file: PathLike, problem: str) -> InputError:
    return InputError("tokenizer", str(file), problem, "give a tokenizer.json that encodes any text")


def _encoded(texts: Iterator[str], file: PathLike) -> Corpus:
    tokenizer, words = vocabulary_of(file)

    def encoded() -> Iterator[Sequence[int]]:
        while batch := list(islice(texts, _BATCH)):
            try:
                encodings = tokenizer.encode_batch(batch, add_special_tokens=False)
            except Exception as error:
                raise _refused(file, f"cannot encode a text ({error})") from None
            yield from (encoding.ids for encoding in encodings)

    corpus = Corpus(*_joined(encoded()), words)
    special = [number for number, added in tokenizer.get_added_tokens_decoder().items() if added.special]
    share = corpus.counts[special].sum() / max(len(corpus.tokens), 1)
    if share > _DOMINATES:
        most = words[max(special, key=lambda number: corpus.counts[number])]
        _warn(f"{share:.0%} of all tokens are special ones, most of them {most!r}")
    return corpus


def _joined(documents: Iterable[Sequence[int]]) -> tuple[IntArray, npt.NDArray[np.int64]]:
    """Return the tokens of all documents that have any, one after another, and where each ends."""
    tokens, ends = array("i"), array("q")
    for document in documents:
        if document:
            tokens.extend(document)
            ends.append(len(tokens))
    return np.array(tokens, np.int32), np.array(ends, np.int64)


def digest_of(file: str) -> str:
    """Return a file's SHA-256, in hexadecimal digits."""
    with open_regular(as_path("file", file)) as content:
        return hashlib.file_digest(cast("Any", content), "sha256").hexdigest()
