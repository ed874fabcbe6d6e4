"""Every claim holds at every setting in a world made as the paper says, and fails in its opposite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.validate.claims.worlds import WORLDS
from validate.claims import Finding, judge_claims, ledger


def found(number: int, holds: bool) -> Finding:
    """Judge a claim at its first and its last setting: the others ask the same of other runs."""
    (claim,) = ledger([number])
    settings = list(dict.fromkeys(c.setting for c in claim.conditions if c.role == "claim"))
    asked = tuple(c for c in claim.conditions if c.setting in (settings[0], settings[-1]))
    (finding,) = judge_claims([replace(claim, conditions=asked)], WORLDS[number](holds))
    return finding


@pytest.mark.parametrize("number", WORLDS)
def test_holds_where_everything_is_as_the_paper_says(number: int) -> None:
    finding = found(number, True)
    states = [(o.condition.what, finding.state(o), o.estimate) for o in finding.outcomes]
    assert {finding.verdict_at(s) for s in finding.settings} == {"holds"}, states


@pytest.mark.parametrize("number", WORLDS)
def test_fails_where_it_is_the_other_way_round(number: int) -> None:
    finding = found(number, False)
    states = [(o.condition.what, finding.state(o), o.estimate) for o in finding.outcomes]
    assert {finding.verdict_at(s) for s in finding.settings} == {"fails"}, states
