"""The ledger as a whole: every claim once, every threshold with a reason, every statement with a control."""

from __future__ import annotations

import math

import pytest

from theory import InputError
from validate.claims import Claim, ledger
from validate.studies import load_study, study_names

# What has no control, and why: a window between two values of γ; a bound's constant; the sign of a gain
# whose opposite the other conditions exclude; the other side of an exponent; a second measure of one effect.
WITHOUT_CONTROL = {
    3: {"γ at which the bias changes sign"},
    7: {"power of the weights' scale with which the relative error of eq. 5 falls"},
    16: {"log2 of the times to fit F_mem,1 over F_mem,2"},
    18: {"least excess of the bias at γ = 0.8 over that at 0.3, over rates that learned"},
    19: {f"largest left side over the bound, d_m to 1600 and q to 32, γ = {g}" for g in (0.3, 0.5, 0.8)},
}
ASKED_FOR = {"frozen-random"}
"""Variants that a control needs and a study may lack; the claim says so and is not tested."""


def test_every_claim_is_there_once_in_order() -> None:
    assert [claim.number for claim in ledger()] == list(range(1, 25))
    assert [claim.number for claim in ledger([7, 3, 7])] == [7, 3]
    with pytest.raises(InputError, match="no such claim"):
        ledger([25])


@pytest.mark.parametrize("claim", ledger(), ids=lambda claim: str(claim.number))
def test_conditions_are_complete(claim: Claim) -> None:
    assert claim.statement.endswith(".")
    assert claim.section
    assert any(c.role == "claim" for c in claim.conditions)
    for c in claim.conditions:
        assert math.isnan(c.threshold) == (c.role == "note")
        assert bool(c.reason) == (c.role != "note")
        assert c.needs is not None or c.role == "note" or not claim.studies


@pytest.mark.parametrize("claim", ledger(), ids=lambda claim: str(claim.number))
def test_conditions_have_controls(claim: Claim) -> None:
    controlled = {c.part for c in claim.conditions if c.role == "control"}
    without = {c.what for c in claim.conditions if c.role == "claim" and c.part not in controlled}
    assert without == WITHOUT_CONTROL.get(claim.number, set())


def test_parts_do_not_run_into_each_other() -> None:
    """Conditions share a control only if they are about the same runs."""
    for claim in ledger():
        for c in claim.conditions:
            alike = [
                o for o in claim.conditions if o.part == c.part and o.role == c.role == "claim" and c.part
            ]
            assert all(o.needs == c.needs for o in alike)


def test_studies_are_defined() -> None:
    """As soon as the studies' files are there, none that a claim names may be missing."""
    named = {study for claim in ledger() for study in claim.studies}
    defined = set(study_names())
    assert named <= defined
    for claim in ledger():
        for needs in [c.needs for c in claim.conditions if c.needs]:
            unknown = set(needs.variants) - {"", *load_study(needs.study).variants}
            assert unknown <= ASKED_FOR, needs
