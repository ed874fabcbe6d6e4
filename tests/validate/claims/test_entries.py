"""Every claim holds at every setting in a world made as the paper says, and fails in its opposite."""

from __future__ import annotations

import pytest

from tests.validate.claims.worlds import WORLDS
from validate.claims import Finding, judge_claims, ledger


def found(number: int, holds: bool) -> Finding:
    (finding,) = judge_claims(ledger([number]), WORLDS[number](holds))
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
