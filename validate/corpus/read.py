"""Reading the user's files, and going through a corpus, with progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.data.corpus import Corpus, IntArray
from sim.data.text import Unit, read_documents
from theory import InputError
from validate.progress import progress

_PART = 2**20
"""Bytes, roughly: the step of the progress."""


def documents_of(files: Sequence[Path], *, fields: Sequence[str], unit: Unit) -> Iterator[str]:
    """Return the documents of several files, one after the other, and show how far the reading is.

    Raises
    ------
    InputError
        As ``sim.read_documents``, and if there is no file.
    """
    if not files:
        raise InputError("FILE", "", "missing", "give one file or more")
    total = sum(path.stat().st_size for path in files if path.is_file())
    with progress("reading MiB", -(-total // _PART)) as advance:
        read = 0
        for path in files:
            for document in read_documents(path, fields=fields, unit=unit):
                yield document
                read += len(document)
                while read >= _PART:
                    advance()
                    read -= _PART


@dataclass(frozen=True)
class Tracked:
    """A corpus that shows how far each pass through it is."""

    corpus: Corpus
    what: str

    def __iter__(self) -> Iterator[IntArray]:
        with progress(self.what, len(self.corpus)) as advance:
            for tokens in self.corpus:
                yield tokens
                advance()
