"""The claims that need no runs are computed, and their measures can fail."""

from __future__ import annotations

import numpy as np
import pytest

from theory import TANH, EmbMLPParameters, Task, count_population
from theory.emb_mlp.gradient import losses, population_field
from validate.claims import judge_claims, ledger
from validate.claims.measures import computed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
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
@pytest.mark.parametrize("number", [7, 19, 20])
def test_computed_claims_hold(number: int) -> None:
    (finding,) = judge_claims(ledger([number]), lambda needs: pytest.fail("no run is needed"))
    assert finding.verdict == "holds"
    assert finding.clear or number == 20  # 0.167 in every draw has no spread, 5.9 is a single number


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


def test_the_ratio_scales_with_the_bound() -> None:
    ratio = computed.bound_ratio(400, 4, 0.8, 0)
    assert computed.bound_ratio(400, 4, 0.8, 0, steeper=1.0) == pytest.approx(400 * ratio)
    exponents = [computed.ratio_exponent_in_width(1, 0.5, steeper=s) for s in (0.0, 2.0)]
    assert exponents[1] - exponents[0] == pytest.approx(2)


def test_masses() -> None:
    assert computed.cliff_mass(0) <= 1 < computed.cliff_mass(0, steepness=0.5)
    assert computed.construction_mass(0, "reasoning") <= 1 < computed.construction_mass(0, "memory")
