r"""Inner products of token statistics, without the part that a token's own sampling adds.

A document d has for every token s a row :math:`a_{s,d} \ge 0` of counts over the vocabulary, with sum
:math:`m_{s,d}`. The row of the corpus is :math:`p_s = \sum_d a_{s,d} / \sum_d m_{s,d}`, and

.. math:: K_{st} = \frac{\sum_{d \ne d'} a_{s,d} \cdot a_{t,d'}}{\sum_{d \ne d'} m_{s,d} m_{t,d'}}

leaves out the products within a document. If documents are independent draws, K has no bias at fixed m;
:math:`p_s \cdot p_t` has one, positive on the diagonal, which makes cosines too small. With one occurrence
per document, K is the :math:`(n\|\hat p\|^2 - 1)/(n - 1)` of ``theory.sample_labels``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from theory.corpus.sequences import Block, Sequences, Tokens, read_blocks
from theory.edge.arrays import FloatArray

_TOKENS = 2**14
"""About how many tokens are counted at once."""
Entries = tuple[Tokens, Tokens, FloatArray]
"""For some values: document and vocabulary entry, as one number; the row s; and the value itself."""


@dataclass
class Part:
    """Sums over some documents."""

    rows: sparse.csr_array  # (n, V): Σ_d a_{s,d}
    mass: FloatArray  # (n,): Σ_d m_{s,d}
    within: FloatArray  # (n, n): Σ_d a_{s,d} · a_{t,d}
    mass_within: FloatArray  # (n, n): Σ_d m_{s,d} m_{t,d}

    @classmethod
    def empty(cls, n: int, vocab_size: int) -> Part:
        """Return the sums over no document."""
        rows = sparse.csr_array((n, vocab_size), dtype=np.float64)
        return cls(rows, np.zeros(n), np.zeros((n, n)), np.zeros((n, n)))

    def add(self, entries: Entries, vocab_size: int) -> None:
        """Add documents, given by their entries."""
        places, rows, values = entries
        distinct, inverse = np.unique(places, return_inverse=True)
        a = sparse.csr_array((values, (inverse, rows)), shape=(len(distinct), len(self.mass)))
        ones, order = np.ones(len(distinct)), np.arange(len(distinct))
        to_entry = sparse.csr_array((ones, (distinct % vocab_size, order)), shape=(vocab_size, len(distinct)))
        documents, document = np.unique(distinct // vocab_size, return_inverse=True)
        to_document = sparse.csr_array((ones, (document, order)), shape=(len(documents), len(distinct)))
        mass = (to_document @ a).toarray()
        self.rows = self.rows + (to_entry @ a).T.tocsr()
        self.mass = self.mass + mass.sum(axis=0)
        self.within = self.within + (a.T @ a).toarray()
        self.mass_within = self.mass_within + mass.T @ mass


def document_moments(
    sequences: Sequences, vocab_size: int, n: int, entries_of: Callable[[Block], Entries], n_parts: int
) -> list[Part]:
    """Return the sums for n rows over n_parts sets of documents: document i is in the set i mod n_parts.

    ``entries_of`` returns the entries of a block of documents, which are numbered within the block.
    """
    parts, dealt = [Part.empty(n, vocab_size) for _ in range(n_parts)], 0
    for block in read_blocks(sequences, vocab_size, _TOKENS * n_parts):
        documents = block.split()
        for number, part in enumerate(parts):
            for hand in read_blocks(documents[(number - dealt) % n_parts :: n_parts], vocab_size, _TOKENS):
                part.add(entries_of(hand), vocab_size)
        dealt += len(documents)
    return parts


@dataclass(frozen=True)
class InnerProducts:
    """K of some documents."""

    inner: FloatArray  # (n, n): K; NaN for a pair whose tokens occur in fewer than two documents
    mass: FloatArray  # (n,): Σ_d m_{s,d}
    last: FloatArray  # (V,): Σ_d a_{s,d} of the last row


def inner_products(parts: list[Part]) -> list[InnerProducts]:
    """Return K of all documents and then, if there are several parts, K without each of them in turn."""
    rows = sum((part.rows for part in parts[1:]), start=parts[0].rows)
    mass, within, mass_within = (
        np.sum([getattr(part, name) for part in parts], axis=0) for name in ("mass", "within", "mass_within")
    )
    gram, last = _gram(rows, rows), rows[[-1]].toarray()[0]
    results = [InnerProducts(_ratio(gram - within, mass, mass_within), mass, last)]
    for part in parts if len(parts) > 1 else ():
        crossed = _gram(rows, part.rows)
        products = gram - crossed - crossed.T + _gram(part.rows, part.rows)
        rest = mass - part.mass
        inner = _ratio(products - (within - part.within), rest, mass_within - part.mass_within)
        results.append(InnerProducts(inner, rest, last - part.rows[[-1]].toarray()[0]))
    return results


def _ratio(products: FloatArray, mass: FloatArray, mass_within: FloatArray) -> FloatArray:
    squares = np.outer(mass, mass)
    pairs = squares - mass_within
    # A context's masses are sums of fractions, whose rounding errors must not count as pairs of documents.
    enough = pairs > 1e-9 * squares
    return np.where(enough, products / np.where(enough, pairs, 1.0), np.nan)


def _gram(left: sparse.csr_array, right: sparse.csr_array) -> FloatArray:
    return np.asarray((left @ right.T).toarray(), np.float64)
