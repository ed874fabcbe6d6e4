"""The ledger as a whole: every claim once, every threshold with a reason, every statement with a control."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from theory import InputError
from validate.claims import Claim, entries, ledger
from validate.claims.settings import SETTINGS
from validate.studies import load_study, study_names
from validate.studies.shared import shared_runs

# What has no control, and why: a window between two values of γ or on both sides of a number; a bound's
# constant; the sign of a gain whose opposite another condition excludes; a skill, whose rival is its control;
# two γ set against each other, of which one is the other's control, as in a ratio of ranks; a form whose
# exactness is the claim; tokens that stay apart, beside the rank that has a control; a gap of losses, whose
# rivals are the entropies; a correlation, which has to beat that of shuffled text; how far run and prediction
# differ.
WITHOUT_CONTROL: dict[int, tuple[str, ...]] = {
    3: ("γ at which the bias changes sign",),
    6: ("skill of P^s − u over",),
    7: ("power of the weights' scale",),
    9: ("skill of eq. 14 as printed over",),
    14: ("effective rank of",),
    16: ("log2 of the times to fit F_mem,1 over F_mem,2",),
    18: ("least excess of the bias",),
    19: ("largest left side over the bound", "power of q in", "that distance over the skewness term"),
    22: ("Pearson of", "skill of"),
    23: ("Pearson of", "skill of that prediction"),
    25: ("least rise from",),
    27: ("skill of eq. 14",),
    28: ("Prop. 2", "Prop. 3", "similar result"),
    29: ("mean |cosine|",),
    32: ("gap of losses",),
    33: ("gap at γ = 0.8 less", "ΔL at γ = 0.8 less"),
    35: ("prontoqa: ", "tinystories: "),
    37: ("rank correlation",),
    39: ("share of data sets", "|predicted − observed|"),
}


def test_every_claim_is_there_once_in_order() -> None:
    assert [claim.number for claim in ledger()] == list(range(1, 40))
    assert [claim.number for claim in ledger([7, 3, 7])] == [7, 3]
    with pytest.raises(InputError, match="no such claim"):
        ledger([99])


def test_a_file_of_claims_is_found_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from validate.claims.statements import Claim\nCLAIMS = (Claim('own', 'One.', (), {}),)\n"
    monkeypatch.setattr(entries, "__path__", [*entries.__path__, str(tmp_path)])
    (tmp_path / "of_my_own.py").write_text(source.format(99))
    assert [claim.name for claim in ledger([99])] == ["own"]
    (tmp_path / "of_another.py").write_text(source.format(7))
    with pytest.raises(InputError, match=r"claim = 7: is .* already; take another number"):
        ledger()


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
    controlled = {(c.part, c.setting) for c in claim.conditions if c.role == "control"}
    without = [
        c.what for c in claim.conditions if c.role == "claim" and (c.part, c.setting) not in controlled
    ]
    assert [what for what in without if not what.startswith(WITHOUT_CONTROL.get(claim.number, ()))] == []


@pytest.mark.parametrize("claim", ledger(), ids=lambda claim: str(claim.number))
def test_conditions_speak_of_a_setting_that_is_known(claim: Claim) -> None:
    """A control is of the same setting as its condition, and runs at γ are of the study of the setting."""
    known = {s.label for s in SETTINGS}
    assert {c.setting for c in claim.conditions} <= known
    for control in (c for c in claim.conditions if c.role == "control"):
        own = [c for c in claim.conditions if c.role == "claim" and c.part == control.part]
        assert control.setting in {c.setting for c in own}


def test_parts_do_not_run_into_each_other() -> None:
    """Conditions share a control only if they are about the same runs."""
    for claim in ledger():
        for c in claim.conditions:
            alike = [
                o
                for o in claim.conditions
                if (o.part, o.setting) == (c.part, c.setting) and o.role == c.role == "claim" and c.part
            ]
            assert all(o.needs == c.needs for o in alike)


def test_studies_are_defined() -> None:
    """As soon as the studies' files are there, none that a claim names may be missing."""
    named = {study for claim in ledger() for study in claim.studies}
    defined = set(study_names())
    assert named <= defined
    for claim in ledger():
        for needs in [c.needs for c in claim.conditions if c.needs]:
            assert set(needs.variants) <= {"", *load_study(needs.study).variants}, needs


def test_no_verdict_counts_a_run_twice() -> None:
    """Studies that share runs never stand for one setting of one claim."""
    groups = [{name.partition("/")[0] for name in names} for names, _ in shared_runs()]
    for claim in ledger():
        for setting in {c.setting for c in claim.conditions}:
            studies = {c.needs.study for c in claim.conditions if c.needs and c.setting == setting}
            assert all(len(studies & group) < 2 for group in groups), (claim.number, setting)
