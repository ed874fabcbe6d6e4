"""Mean cosines that rungs 2 and 5 of the ladder predict for two corpora, for docs/results/text.md.

Run as ``python docs/corpus_rungs.py FOLDER``, the folder with prontoqa.jsonl, tinystories_lower.jsonl and
gpt2_tokenizer.json: 5000 texts of each, mixed, as GPT-2's tokens. It needs the extra ``corpus``; on one core
``context`` and ``flow`` take a minute, ``adam`` some twenty. Name one or several behind the folder to run
these alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from command_line import CORPORA, CommandLine, checked_names, folder_with
from scipy.sparse.linalg import LinearOperator

from sim import Corpus, build_corpus, read_documents
from sim.data.text import PRONTOQA
from theory import (
    AdamEmbedding,
    AdamSettings,
    bigram_operator,
    context_operator,
    corpus_counts,
    top_eigen,
)
from theory.flows.batch_gradient import Softmax

N_TEXTS, WIDTH, BATCH, RATE, GAMMA = 5000, 128, 100, 5e-5, 0.8
GPT2_WIDTH, NORM_EPSILON = 768, 1e-5
STEPS = (1, 3, 10, 30, 100, 200)
GROWTHS = (0.1, 1.0, 3.0)
"""λ₁ t, λ₁ the largest eigenvalue of C + Cᵀ."""
CASES: tuple[tuple[bool, Softmax], ...] = ((False, "uniform"), (True, "uniform"), (True, "live"))
"""Whether there is a norm, and the softmax."""
Tokens = npt.NDArray[np.int64]
Rows = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mixture:
    """The texts of both corpora, and which tokens occur in each."""

    texts: list[Tokens]
    asked: Tokens
    told: Tokens
    vocab_size: int

    @classmethod
    def read(cls, folder: Path) -> Mixture:
        """Read as many texts of each."""
        asked = _read(folder, "prontoqa.jsonl", PRONTOQA)
        told = _read(folder, "tinystories_lower.jsonl", ("text",))
        of = [np.flatnonzero(corpus.counts) for corpus in (asked, told)]
        return cls([*asked, *told], of[0], of[1], asked.vocab_size)

    def trimmed(self) -> Mixture:
        """Return the same with the tokens that occur numbered from 0; V stays what it is."""
        occur = np.union1d(self.asked, self.told)
        number = np.full(self.vocab_size, -1)
        number[occur] = np.arange(len(occur))
        texts = [number[text] for text in self.texts]
        return Mixture(texts, number[self.asked], number[self.told], self.vocab_size)

    def row(self, name: str, rows: Rows) -> str:
        """Return a line of a table: mean cosines among the tokens of each corpus."""
        return f"| {name} | {mean_cosine(rows[self.asked]):.3f} | {mean_cosine(rows[self.told]):.3f} |"


def _read(folder: Path, name: str, fields: tuple[str, ...]) -> Corpus:
    texts = list(read_documents(folder / name, fields=fields))
    # PrOntoQA's file is sorted by hops.
    chosen = np.random.default_rng(0).permutation(len(texts))[:N_TEXTS]
    return build_corpus([texts[i] for i in chosen], tokenizer=folder / "gpt2_tokenizer.json")


def mean_cosine(rows: Rows) -> float:
    """Return the mean cosine of all pairs of rows; a token that only ends texts has none."""
    rows = rows[np.linalg.norm(rows, axis=1) > 0]
    total = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=0)
    return float((total @ total - len(rows)) / (len(rows) * (len(rows) - 1)))


def context(mixture: Mixture) -> Iterator[str]:
    """Rung 2: what reaches an embedding by the residual and by averaged attention, as input and as read-out.

    Rows times random matrices of 256 columns, independent ones for the parts of a sum.
    """
    V = mixture.vocab_size
    one, two = np.random.default_rng(0).standard_normal((2, V, 256))
    C, averaged = bigram_operator(corpus_counts(mixture.texts, V)), context_operator(mixture.texts, V)
    residual, attended = C.matmat(one), averaged.rmatmat(two)
    yield mixture.row("residual: rows of C", residual)
    yield mixture.row("averaged attention: rows of Φ̄ᵀ", attended)
    for ratio in (0.3, 1.0, 3.0, 10.0):
        yield mixture.row(f"both, attention {ratio:g} times the residual's gain", residual + ratio * attended)
    residual, attended = C.rmatmat(one), averaged.matmat(two)
    yield mixture.row("read-out by the residual: columns of C", residual)
    yield mixture.row("read-out by averaged attention: rows of Φ̄", attended)
    for ratio in (0.3, 1.0, 3.0, 10.0):
        yield mixture.row(
            f"both as read-out, attention {ratio:g} times the residual's gain", residual + ratio * attended
        )


def flow(mixture: Mixture) -> Iterator[str]:
    """Rung 2, tied, gradient flow: K(t) = exp 2t(C + Cᵀ) by its 60 largest eigenvalues."""
    C = bigram_operator(corpus_counts(mixture.texts, mixture.vocab_size))
    both = LinearOperator(C.shape, matvec=lambda v: C.matvec(v) + C.rmatvec(v), dtype=np.float64)
    rates, vectors = top_eigen(both, 60)
    for growth in GROWTHS:
        scale = np.exp(2 * growth * rates / rates.max())
        # K = 1 + Σ (scale − 1) v vᵀ: a token's length, and what the modes share between tokens.
        lengths = np.sqrt(1 + vectors**2 @ (scale - 1))
        parts = [
            _mean_of_modes(vectors[t] / lengths[t, None], scale - 1) for t in (mixture.asked, mixture.told)
        ]
        yield f"| λ₁ t = {growth:g} | {parts[0]:.3f} | {parts[1]:.3f} |"


def _mean_of_modes(vectors: Rows, weights: Rows) -> float:
    total, own = vectors.sum(axis=0), (vectors**2 @ weights).sum()
    n = len(vectors)
    return float((total**2 @ weights - own) / (n * (n - 1)))


def adam(mixture: Mixture, steps: Sequence[int] = STEPS) -> Iterator[str]:
    """Rung 5: a tied embedding under AdamW, without and with a norm, at both conventions of its scale.

    A width of 128 stands for 768: scale and rate are 6 times as large, to keep the logits of aligned rows.
    """
    mixture = mixture.trimmed()
    for name, fan_in in (("d_m", GPT2_WIDTH), ("vocab", mixture.vocab_size)):
        for norm, softmax in CASES:
            rng = np.random.default_rng(0)
            model = _model(mixture, fan_in, norm, softmax, rng)
            title = f"{name}, {'norm' if norm else 'no norm'}, p {softmax}"
            yield from (f"| {title}, {line}" for line in _after(steps, mixture, model, rng))


def _model(
    mixture: Mixture, fan_in: int, norm: bool, softmax: Softmax, rng: np.random.Generator
) -> AdamEmbedding:
    f, n = GPT2_WIDTH / WIDTH, len(np.union1d(mixture.asked, mixture.told))
    return AdamEmbedding(
        f * fan_in**-GAMMA * rng.standard_normal((n, WIDTH)),
        AdamSettings(f * RATE, weight_decay=0.0),
        n_absent=mixture.vocab_size - n,
        norm_epsilon=f**2 * NORM_EPSILON if norm else None,
        softmax=softmax,
    )


def _after(
    steps: Sequence[int], mixture: Mixture, model: AdamEmbedding, rng: np.random.Generator
) -> Iterator[str]:
    """Return a line for each of these steps: of the embedding, and of what it has moved."""
    start = model.rows.copy()
    order: list[int] = []
    for step in range(1, max(steps) + 1):
        order = order or rng.permutation(len(mixture.texts)).tolist()
        batch, order = order[:BATCH], order[BATCH:]
        model.step(corpus_counts([mixture.texts[i] for i in batch], len(start)))
        if step in steps:
            found = [
                rows[t] for rows in (model.rows, model.rows - start) for t in (mixture.asked, mixture.told)
            ]
            yield f"step {step} | {' | '.join(f'{mean_cosine(rows):.3f}' for rows in found)} |"


PARTS = {"context": context, "flow": flow, "adam": adam}


def main(folder: Path, parts: list[str]) -> Iterator[str]:
    """Return the lines of the tables, each as soon as it is known."""
    mixture = Mixture.read(folder)
    for part in parts or list(PARTS):
        yield f"{part}: PrOntoQA, TinyStories"
        yield from PARTS[part](mixture)


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with(*CORPORA))
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    options = parser.parse_args()
    for line in main(options.folder, checked_names(parser, "part", options.part, list(PARTS))):
        print(line, flush=True)
