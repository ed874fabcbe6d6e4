"""Mean cosines that the counts of PrOntoQA and TinyStories predict, for docs/results/text.md.

Run as ``python docs/corpus_numbers.py FOLDER``, the folder with prontoqa.jsonl, tinystories_lower.jsonl and
gpt2_tokenizer.json. It needs the extra ``corpus`` and about a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from command_line import CORPORA, CommandLine, folder_with

from sim import Corpus, build_corpus, read_documents
from sim.data.text import PRONTOQA
from theory import CorpusCounts, corpus_counts, corpus_mean_cosine, frequency_matched, shuffled_tokens
from theory.arrays import IntArray
from theory.corpus.rows import CountPredictor

N_TEXTS = 5000
"""Of each corpus, as in the paper."""
PREDICTORS: tuple[CountPredictor, ...] = ("bigram", "marginal", "tied", "readout")
BANDS = ((1, 5), (5, 20), (20, 100), (100, 1000), (1000, 10**9))
"""Numbers of occurrences."""


def main(folder: Path) -> list[str]:
    """Return the lines of the table."""
    questions, stories = (
        _read(folder, "prontoqa.jsonl", PRONTOQA),
        _read(folder, "tinystories_lower.jsonl", ("text",)),
    )
    Q, T = _counts(questions, questions.vocab_size), _counts(stories, stories.vocab_size)
    asked, told = _occurring(Q), _occurring(T)
    both, rng = Q + T, np.random.default_rng(0)
    plain = [_counts(shuffled_tokens(c, c.vocab_size, rng), c.vocab_size) for c in (questions, stories)]
    shuffled = plain[0] + plain[1]
    matched = np.array([b for _, b in frequency_matched(Q.unigrams, T.unigrams, asked, 1.5)])
    rows: list[tuple[str, CorpusCounts, IntArray]] = [
        ("PrOntoQA, counted alone", Q, asked),
        ("TinyStories, counted alone", T, told),
        ("PrOntoQA, in the mixture", both, asked),
        ("TinyStories, in the mixture", both, told),
        ("PrOntoQA, mixture of shuffled texts", shuffled, asked),
        ("TinyStories, mixture of shuffled texts", shuffled, told),
        ("TinyStories, tokens as frequent as PrOntoQA's", both, matched),
    ]
    for low, high in BANDS:
        name = f"{low} to {high - 1} times" if high < 10**9 else f"{low} times or more"
        band = told[(T.unigrams[told] >= low) & (T.unigrams[told] < high)]
        rows.append((f"TinyStories, tokens that occur {name}", both, band))
    head = ["| tokens | number | " + " | ".join(PREDICTORS) + " |", "| --- |" + " --- |" * 5]
    return head + [_row(*row) for row in rows]


def _row(name: str, counts: CorpusCounts, tokens: IntArray) -> str:
    cells = [f"{corpus_mean_cosine(counts, tokens, p):.3f}" for p in PREDICTORS]
    return f"| {name} | {len(tokens)} | {' | '.join(cells)} |"


def _read(folder: Path, name: str, fields: Sequence[str]) -> Corpus:
    texts = list(read_documents(folder / name, fields=fields))
    # PrOntoQA's file is sorted by hops.
    chosen = np.random.default_rng(0).permutation(len(texts))[:N_TEXTS]
    return build_corpus([texts[i] for i in chosen], tokenizer=folder / "gpt2_tokenizer.json")


def _counts(sequences: Iterable[np.ndarray], vocab_size: int) -> CorpusCounts:
    return corpus_counts(sequences, vocab_size)


def _occurring(counts: CorpusCounts) -> IntArray:
    return np.flatnonzero(counts.unigrams)


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with(*CORPORA))
    print("\n".join(main(parser.parse_args().folder)))
