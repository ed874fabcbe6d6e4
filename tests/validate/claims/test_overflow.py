"""What claim 18 measures of rates at which a loss overflowed: made-up runs whose metrics hold null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.validate.claims.synthetic import learning, losses, ramp, run
from validate.claims.entries import variations
from validate.claims.measures.learning import (
    first_loss_lead,
    greatest_lead_at_large,
    learned_variants,
    least_gain,
    least_lead,
    loss_lead,
    spike,
    spike_at,
)
from validate.claims.statements import Seed, each_seed
from validate.judge.bounds import Bound, Value, ends
from validate.judge.times import chance_loss, largest_rise
from validate.observe import Observations

UNIT = chance_loss(run(0.8, 0, {"mem": ramp(2)}))


def with_losses(mem: list[Any], rsn_train: list[Any], rate: float = 0.8, **training: Any) -> Observations:
    """Return a run that learned, with these losses; None where one overflowed."""
    accuracy = learning(small=rate == 0.8)
    return run(rate, 0, accuracy, loss={"mem": mem, "rsn_train": rsn_train, "rsn_test": mem}, **training)


CALM = losses(ramp(5))
OVERFLOWED = [*CALM[:6], None, *CALM[7:]]
ENDED = [*CALM[:6], *[None] * 5]


@pytest.mark.parametrize(
    ("curve", "rise"),
    [
        ([3.0, 2.0, 2.5, 1.0, 4.0, 0.5], 3.0),
        ([3.0, 2.0], 0.0),
        ([3.0], 0.0),
        ([math.nan, 3.0, 4.0], 1.0),
        ([math.nan], math.nan),
        ([3.0, 2.0, math.nan, 2.5], Bound(low=0.5)),
        ([3.0, math.inf], Bound(low=0.0)),
        ([math.nan, math.nan], Bound(low=0.0)),
    ],
)
def test_a_rise_is_above_the_lowest_value_before(curve: list[float], rise: Value) -> None:
    found = largest_rise(np.array(curve))
    assert type(found) is type(rise)
    assert ends(found) == pytest.approx(ends(rise), nan_ok=True)


@pytest.mark.parametrize("found", [OVERFLOWED, ENDED, [CALM[0], *[None] * 10]])
def test_a_loss_that_overflowed_is_a_spike_of_one_unit_or_more(found: list[Any]) -> None:
    for losses_of in ((found, CALM), (CALM, found)):
        assert spike(with_losses(*losses_of)) == Bound(low=1.0)


def test_the_rise_that_was_seen_counts_where_it_is_more() -> None:
    high = [1.0, 4 * UNIT, None, *[1.0] * 8]
    assert ends(spike(with_losses(high, CALM))) == pytest.approx((4 - 1 / UNIT, math.inf))


def test_before_training_no_loss_is_a_spike() -> None:
    assert spike(with_losses([None, *CALM[1:]], CALM)) == 0
    assert spike(with_losses([None] * 11, CALM)) == Bound(low=1.0)


def rates(top: list[Any]) -> Seed:
    """Return a seed's runs at three rates and two γ, of which the highest has these losses at γ = 0.8."""
    each = {"a": 1e-5, "b": 1e-4, "c": 1e-3}
    return {
        (name, gamma): with_losses(
            top if (name, gamma) == ("c", 0.8) else CALM, CALM, gamma, learning_rate=rate
        )
        for name, rate in each.items()
        for gamma in (0.3, 0.8)
    }


@pytest.mark.parametrize("top", [OVERFLOWED, ENDED])
def test_a_rate_whose_loss_overflowed_stays_and_is_the_greatest(top: list[Any]) -> None:
    seed, calm = rates(top), rates(CALM)
    assert learned_variants(seed) == ["a", "b", "c"]
    assert spike_at(1.0)(seed) == Bound(low=1.0)
    assert spike_at(0.5)(seed) == 0
    for measure in (least_lead, greatest_lead_at_large, least_gain):
        assert measure(seed) == measure(calm)
        assert not math.isnan(ends(measure(seed))[0])


def two_memories(slow: list[Any], fast: list[Any]) -> Observations:
    """Return a run with two memory mappings that have these losses, in units of ln N_Z."""
    loss = {
        part: [None if value is None else UNIT * value for value in values]
        for part, values in {"mem1": slow, "mem2": fast}.items()
    }
    return run(0.8, 0, {"mem1": ramp(8), "mem2": ramp(2)}, loss=loss)


ONE, TWO = [1.0] * 11, [2.0] * 11


@pytest.mark.parametrize(
    ("slow", "fast", "lead", "first"),
    [
        (TWO, ONE, 1.0, 1.0),
        # An overflowed loss is 2 or more: at one of ten intervals the excess is 1 instead of 0 at least.
        ([1.0] * 5 + [None] + [1.0] * 4 + [2.0], ONE, Bound(low=0.1 + 0.05), 0.0),
        (ONE, [1.0] * 5 + [None] + [1.0] * 4 + [2.0], Bound(high=-0.1 - 0.05), 0.0),
        # Higher than any loss of either set, even where nothing of its own was seen.
        ([None] * 11, TWO, Bound(low=0.0), Bound(low=0.0)),
        (TWO, [None] * 11, Bound(high=0.0), Bound(high=0.0)),
        ([None, *TWO[1:]], ONE, Bound(low=1.0), Bound(low=0.0)),
        ([*TWO[1:], None], [None, *ONE[1:]], math.nan, Bound(high=0.0)),
        ([None] * 11, [None] * 11, math.nan, math.nan),
    ],
)
def test_the_excess_of_a_loss_that_overflowed_is_a_bound(
    slow: list[Any], fast: list[Any], lead: Value, first: Value
) -> None:
    for measure, expected in ((loss_lead, lead), (first_loss_lead, first)):
        found = measure(two_memories(slow, fast), "mem1", "mem2")
        assert type(found) is type(expected)
        assert ends(found) == pytest.approx(ends(expected), nan_ok=True)


def test_the_condition_on_spikes_is_met_by_the_bound() -> None:
    (condition,) = (
        c for c in variations._every_rate("group-rates") if "highest rate" in c.what and c.role == "claim"
    )
    (found,) = each_seed(spike_at(1.0))({cell: [each] for cell, each in rates(ENDED).items()})
    assert all(condition.met(end) for end in ends(found))
