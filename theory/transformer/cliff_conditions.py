r"""What a construction has to meet for its second attention to be a cliff: Assumptions 2-4, (44)-(47).

The text that we have lacks the formulae of the assumptions and of (44)-(47); these are conditions
of our own that do the same work, in the order of its argument: the positions make the logits climb
(44), the last token's word does not matter (45), the window is flat (46), the logits fall after it (47).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import FloatArray
from theory.checked import checked
from theory.transformer.construction import Construction


@dataclass(frozen=True)
class AssumptionErrors:
    """How far a construction is from Assumptions 2-4: largest absolute deviations, 0 when met.

    Attributes
    ----------
    words : float
        Assumption 2: along v, the left singular direction of W_V, every reasoning anchor's word vector
        has one common component and every other word none; all have length 1.
    words_and_positions : float
        Assumption 3: inner products of word with position vectors.
    positions : float
        Assumption 4: inner products of position vectors, against the identity.
    """

    words: float
    words_and_positions: float
    positions: float


@checked
def assumption_errors(construction: Construction) -> AssumptionErrors:
    """Return how far a construction is from Assumptions 2-4."""
    c = construction
    left = np.linalg.svd(c.W_V)[0][:, 0]
    along = c.W_emb @ left
    anchors = list(c.task.reasoning_anchors)
    spread = np.abs(along - np.where(np.isin(range(len(along)), anchors), along[anchors].mean(), 0.0))
    lengths = np.abs(np.linalg.norm(c.W_emb, axis=1) - 1)
    return AssumptionErrors(
        words=float(max(spread.max(), lengths.max())),
        words_and_positions=float(np.abs(c.W_emb @ c.W_pos.T).max()),
        positions=float(np.abs(c.W_pos @ c.W_pos.T - np.eye(len(c.W_pos))).max()),
    )


@checked
def smallest_rise(construction: Construction) -> float:
    """Return the smallest rise from one position to the next that the positions alone give (our 44).

    At least δ is what the increasing segment needs, because nothing before the anchors is tagged.
    """
    c = construction
    gain = (c.W_pos[-1] @ c.W_Q)[0]
    return float(np.diff(gain * (c.W_pos @ c.W_K)[:, 0]).min())


@checked
def query_spread(construction: Construction) -> float:
    """Return how much word, tag or count can move the last token's query (our 45); 0 is wanted.

    Then all sequences share one query, that of the last position, and p does not matter to it.
    """
    c = construction
    return float(max(np.abs(part @ c.W_Q).max() for part in (c.W_emb, c.W_V, c.W_f2)))


@checked
def plateau_error(construction: Construction) -> float:
    """Return the largest difference between a position of the window and the key, over all p (our 46)."""
    rows, q = _rows_by_position(construction), construction.task.n_anchors
    return float(max(np.abs(row[p : p + q] - row[p - 1]).max() for p, row in rows))


@checked
def smallest_drop(construction: Construction) -> float:
    """Return how far, at least, the logits after the window lie below the key, over all p (our 47).

    Infinite where no key position leaves a token after the window.
    """
    rows, q = _rows_by_position(construction), construction.task.n_anchors
    return float(min((row[p - 1] - row[p + q :]).min(initial=np.inf) for p, row in rows))


def _rows_by_position(construction: Construction) -> list[tuple[int, FloatArray]]:
    """Return (p, last row) for every key position and reasoning anchor, the anchor repeated q times.

    The other words have to be alike to the read-out, as Assumption 2 ensures: one key stands for all.
    """
    task = construction.task
    rows = []
    for p in range(1, task.length - task.n_anchors + 1):
        sequences = np.full((len(task.reasoning_anchors), task.length), task.keys[0])
        sequences[:, p : p + task.n_anchors] = np.array(task.reasoning_anchors)[:, None]
        rows += [(p, row) for row in construction.last_row(sequences)]
    return rows
