"""The leading terms of Im et al. against their model, trained from zero in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sim import train_associations
from tests.theory.corpus.plain import markov
from theory import Associations, InputError, corpus_associations

NAMES = ("output", "value", "attention", "position")
ORDERS = (2, 3, 5, 5)
"""Of the errors of W_O, V_l, W_l and p_l in sη."""


def corpus(vocab_size: int, n: int, length: int) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(0)
    transitions = rng.dirichlet(np.full(vocab_size, 0.2), size=vocab_size)
    return np.stack(markov(rng, transitions, n, length))


def errors(
    sequences: npt.NDArray[np.int64],
    terms: Associations,
    vocab_size: int,
    n_layers: int,
    steps: int,
    rate: float,
) -> list[tuple[float, float]]:
    """Return for each kind of matrix the largest error over layers, absolute and relative."""
    model = train_associations(sequences, vocab_size, n_layers=n_layers, steps=steps, rate=rate)
    found = []
    for name in NAMES:
        predicted = getattr(terms.after(steps, rate), name)
        trained = getattr(model, name).detach().numpy().reshape(-1, *predicted.shape)
        worst = max(float(np.linalg.norm(layer - predicted)) for layer in trained)
        found.append((worst, worst / float(np.linalg.norm(predicted))))
    return found


def test_the_errors_are_of_order_two_three_and_five() -> None:
    sequences = corpus(30, 30, 9)
    terms = corpus_associations(sequences, 30)
    of_rate = [errors(sequences, terms, 30, 2, 6, rate) for rate in (0.002, 0.001)]
    assert max(relative for _, relative in of_rate[1]) < 1e-3
    of_steps = [errors(sequences, terms, 30, 2, steps, 1e-3) for steps in (20, 40)]
    for i, order in enumerate(ORDERS):
        in_rate = np.log2(of_rate[0][i][0] / of_rate[1][i][0])
        in_steps = np.log2(of_steps[1][i][0] / of_steps[0][i][0])
        assert in_rate == pytest.approx(order, abs=0.02), NAMES[i]
        # Binomial coefficients are not yet powers of s at 20 steps.
        assert in_steps == pytest.approx(order, abs=0.25), NAMES[i]


def test_the_errors_stay_below_the_published_bounds() -> None:
    """Im et al.: 3 s²η², 12 s³η³ and 13 s⁵η⁵T, in the Frobenius norm, for L ≤ √T/4."""
    sequences = corpus(20, 30, 33)
    terms = corpus_associations(sequences, 20)
    for steps in (4, 16):
        dose = steps / 32
        found = errors(sequences, terms, 20, 1, steps, 1 / 32)
        bounds = 3 * dose**2, 12 * dose**3, 13 * dose**5 * 32, 13 * dose**5 * 32
        assert all(error <= bound for (error, _), bound in zip(found, bounds, strict=True))


@pytest.mark.parametrize("sequences", [[[1]], [1, 2], [[0, 9]]])
def test_other_sequences_are_refused(sequences: list[object]) -> None:
    with pytest.raises(InputError, match="sequences = "):
        train_associations(sequences, 5, steps=1, rate=0.1)  # type: ignore[arg-type]
