"""The claims that need no runs are computed, and their measures can fail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from theory import TANH, EmbMLPParameters, Task, count_population
from theory.flows.gradient import losses, population_field
from validate import judge_claims, ledger
from validate.judge.measures import computed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take a task of eight keys and narrow matrices in place of the paper's."""
    task = Task(
        keys=range(20, 28), reasoning_anchors=range(8, 12), memory_anchors=range(1, 4), n_anchors=2,
        length=3, vocab_size=60,
    )  # fmt: skip
    population = count_population(task)
    monkeypatch.setattr(computed, "population", lambda: population)
    monkeypatch.setattr(computed, "D_M", 20)
    monkeypatch.setattr(computed, "D_F", 30)
    computed.error_order.cache_clear()
    yield
    computed.error_order.cache_clear()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("number", "verdict"), [(7, "holds"), (19, "holds"), (20, "holds"), (28, "fails"), (38, "holds")]
)
def test_computed_claims(number: int, verdict: str) -> None:
    """Props. 2-3 fail as printed: their form leaves out the last position's own weight."""
    (finding,) = judge_claims(ledger([number]), lambda needs: pytest.fail("no run is needed"))
    assert finding.verdict == verdict, [(o.condition.what, o.state) for o in finding.outcomes]


@pytest.mark.usefixtures("small")
def test_leading_error_by_differences() -> None:
    """The exact gradient against a central difference of the loss, in one random direction."""
    parameters = computed.weights(0.5, 0)
    exact = population_field(computed.population(), TANH)(parameters.matrices).W_emb
    direction = np.random.default_rng(1).standard_normal(parameters.W_emb.shape)

    def loss(step: float) -> float:
        moved = EmbMLPParameters(parameters.W_emb + step * direction, parameters.W1, parameters.W2)
        return losses(computed.population(), moved.matrices, TANH)["training"]

    slope = (loss(1e-4) - loss(-1e-4)) / 2e-4
    assert float((exact * direction).sum()) == pytest.approx(-slope, rel=1e-5)


@pytest.mark.usefixtures("small")
def test_scrambled_laws_leave_an_error_of_order_one() -> None:
    weights = computed.weights(0.5, 0).scaled(0.01)
    assert computed.leading_error(weights) < 1e-4
    assert computed.leading_error(weights, scramble=True) > 0.3


def test_powers_of_q_tell_skewed_anchors_from_symmetric_ones() -> None:
    symmetric, skewed = (computed.kolmogorov_power(skewed=skewed) for skewed in (False, True))
    assert symmetric < -0.9 < -0.6 < skewed < -0.4
    # Of the sums of q skewed anchors the first term of Edgeworth's series is nearly all.
    assert computed.skewness_share() == pytest.approx(1, abs=0.1)


def test_the_inner_products_tell_theorem_1_from_no_shape_at_all_and_the_bound_does_not() -> None:
    """Relative to themselves zero comes no nearer with q; the bound holds for noise alone."""
    assert computed.difference_power() < -0.9
    assert computed.difference_power(shape=False) == pytest.approx(0, abs=1e-12)
    with_shape, without = (computed.bound_ratio(400, 4, 0.3, 0, shape=shape) for shape in (True, False))
    assert with_shape != without < 1
