"""The task of a language model: predict the next token of some corpora, mixed one to one."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from sim.config.section import Count, Section, Several
from theory import InputError

Unit = Literal["paragraph", "line", "file"]
"""What counts as a document in a text file; a paragraph ends at an empty line."""
Layout = Literal["pad", "cut", "pack"]


class CorpusSource(Section):
    """One corpus: its name, and the files it is read from (``sim.read_documents``)."""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$")]
    """What its losses are called."""
    files: Several[str] = Field(min_length=1)
    """Text, JSON, CSV or Parquet."""
    fields: Several[str] = ("text",)
    """Keys or columns with the text; several are joined."""
    documents: Unit = "paragraph"
    """What counts as one document in a text file."""
    separator: str = "<|endoftext|>"
    """A marker at which a document ends; empty for none."""
    sha256: Several[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = ()
    """The files' checksums, in order, or none; a file that differs is refused."""

    @model_serializer(mode="wrap")
    def _without_the_usual(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the usual separator: older configurations have none, and keep their hashes."""
        usual = type(self).model_fields["separator"].default
        return {k: v for k, v in plain(self).items() if k != "separator" or v != usual}

    @model_validator(mode="after")
    def _a_checksum_each(self) -> CorpusSource:
        if self.sha256 and len(self.sha256) != len(self.files):
            problem = f"not one for each of {len(self.files)} files"
            raise InputError("sha256", len(self.sha256), problem, "give as many, or none")
        return self


class LanguageTask(Section):
    """Predict every next token in sequences from several corpora, equally many from each.

    Every document ends with the token ``<end>``. Tokens that the vocabulary leaves out are ``<other>``.
    """

    corpora: Several[CorpusSource] = Field(min_length=1, max_length=20)
    """The corpora; each has losses of its own."""
    n_sequences: Count
    """Sequences of each corpus, drawn by the run's seed."""
    length: Annotated[int, Field(ge=2, le=100_000)]
    """The context: a sequence has this many inputs, each predicting the token after it."""
    vocab_size: Annotated[int, Field(ge=3, le=10_000_000)]
    """Tokens: all in the corpora and <end>; or fewer: the most frequent ones and <other>."""
    layout: Layout = "cut"
    """pad: one document per sequence, padded; longer ones are refused; cut: the same, longer ones shortened;
    pack: the documents of a corpus one after another, without padding."""
    tokenizer: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    """A Hugging Face tokenizer.json, or "characters"; empty for lower-case words and punctuation marks."""
    whole_vocabulary: bool = False
    """Keep every token of the tokenizer, occurring or not, under its own number, with <end> after them."""

    @model_validator(mode="after")
    def _makes_sense(self) -> LanguageTask:
        if self.whole_vocabulary and not self.tokenizer:
            raise InputError("whole_vocabulary", True, "there is no tokenizer", "name a tokenizer.json")
        for name in self.names:
            if self.names.count(name) > 1:
                remedy = "name each differently; corpus train and demo name each after its file"
                raise InputError("corpora", name, "two corpora of that name", remedy)
        return self

    @property
    def names(self) -> list[str]:
        """The corpora's names."""
        return [corpus.name for corpus in self.corpora]


def corpus_name(file: str) -> str:
    """Return a name for the corpus of a file: its stem, in letters that a name may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(file).stem).strip("-._")[:40] or "corpus"
