"""TinyStories matched to PrOntoQA in distinct tokens and lengths: the data of the study `language-matched`.

Run as ``python docs/corpus_matched.py FOLDER OUT``: the folder with prontoqa.jsonl, tinystories_lower.jsonl
and gpt2_tokenizer.json, and the JSON Lines file to write. It needs the extra ``corpus`` and some seconds.
In a story

- every run of white space becomes one space;
- the most frequent words and marks that are one token are kept, one fewer than PrOntoQA has distinct tokens,
  and each other word becomes the same token, BLANK: no pair of kept tokens is invented;
- the end is cut off, so that the lengths are quantiles of PrOntoQA's. Each length takes the shortest story
  that is long enough.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from command_line import CORPORA, CommandLine, folder_with

from sim import read_documents
from sim.data.text import PRONTOQA, require
from sim.runs.files import write_atomically

N_TEXTS = 1000
"""Stories to write; a run draws 500 of them."""
BLANK = " X"
"""In lower-cased text no other word is this token."""


def matched_texts(
    questions: Sequence[str], stories: Sequence[str], tokenizer: Any, n_texts: int = N_TEXTS
) -> list[str]:
    """Return stories in as many distinct tokens as the questions have, of the same token lengths."""
    ids = [encoding.ids for encoding in tokenizer.encode_batch(list(questions))]
    n_distinct = len({token for one in ids for token in one})
    blanked = _blanked([_words(" ".join(story.split()), tokenizer) for story in stories], n_distinct - 1)
    lengths = np.quantile([len(one) for one in ids], np.linspace(0, 1, n_texts), method="nearest")
    return ["".join(story) for story in _cut(blanked, lengths.astype(int).tolist())]


def _words(text: str, tokenizer: Any) -> list[tuple[str, bool]]:
    """Return the words and marks of a text in order, each with whether it is one token."""
    encoding = tokenizer.encode(text)
    number = Counter(encoding.word_ids)
    spans = tokenizer.pre_tokenizer.pre_tokenize_str(text)
    return [(text[start:end], number[i] == 1) for i, (_, (start, end)) in enumerate(spans)]


def _blanked(stories: Sequence[Sequence[tuple[str, bool]]], n_kept: int) -> list[list[str]]:
    """Return stories with every word replaced by BLANK but the most frequent ones of one token."""
    # A word without a space before it would become one with a BLANK in front.
    counts = Counter(word for story in stories for word, single in story if single and not word[0].isalpha())
    kept = {word for word, _ in counts.most_common(n_kept)}
    return [[word if word in kept else BLANK for word, _ in story] for story in stories]


def _cut(stories: Sequence[list[str]], lengths: Sequence[int]) -> list[list[str]]:
    """Return for each length the shortest story left that has it, cut to it."""
    waiting = iter(sorted(stories, key=len))
    return [next(story for story in waiting if len(story) >= length)[:length] for length in sorted(lengths)]


def main(folder: Path, out: Path) -> str:
    """Write the file; return what it holds."""
    tokenizer = require("tokenizers", "corpus").Tokenizer.from_file(str(folder / "gpt2_tokenizer.json"))
    questions = list(read_documents(folder / "prontoqa.jsonl", fields=PRONTOQA))
    texts = matched_texts(questions, list(read_documents(folder / "tinystories_lower.jsonl")), tokenizer)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, "".join(json.dumps({"text": text}) + "\n" for text in texts))
    return "\n".join(
        _line(name, each, tokenizer) for name, each in (("questions", questions), ("stories", texts))
    )


def _line(name: str, texts: Sequence[str], tokenizer: Any) -> str:
    ids = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    quartiles = np.quantile([len(one) for one in ids], [0, 0.25, 0.5, 0.75, 1]).astype(int).tolist()
    counts = Counter(token for one in ids for token in one)
    blank = counts[tokenizer.encode(BLANK).ids[0]] / counts.total()
    size = f"{len(ids)} texts, {len(counts)} distinct tokens"
    return f"{name}: {size}, quartiles of length {quartiles}, blank {blank:.3f}"


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with(*CORPORA))
    parser.add_argument("out", type=Path, help="the file to write")
    options = parser.parse_args()
    print(main(options.folder, options.out))
