"""Conditions on runs that are given: the demo's, and those of a language model on any two corpora."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theory import InputError
from theory.checked import checked
from validate.judge.condition import Needs, Sample
from validate.judge.groups import Setting
from validate.judge.ledger import CORPORA, read_claims
from validate.judge.measures.language import two_corpora
from validate.judge.outcome import Find, MissingRunsError, Outcome
from validate.judge.verdict import judge_claim

DEMO = Path(__file__).with_name("demo.toml")


def among(settings: Sequence[Setting]) -> Find:
    """Return what finds runs among some settings, by γ alone."""
    by_rate = {setting.init_rate: setting.runs for setting in settings}
    if len(by_rate) < len(settings):
        labels = [setting.label for setting in settings]
        raise InputError("runs", labels, "differ in more than γ and seed", "give runs of one configuration")

    def find(needs: Needs) -> Sample:
        missing = [f"γ = {rate:g}" for rate in needs.init_rates if rate not in by_rate]
        if missing:
            raise MissingRunsError(f"no runs of {', '.join(missing)}")
        return {("", rate): by_rate[rate] for rate in needs.init_rates or sorted(by_rate)}

    return find


@checked
def judge_demo(settings: Sequence[Setting]) -> list[Outcome]:
    """Return every condition's outcome on the demo's runs.

    Parameters
    ----------
    settings : sequence of Setting
        The runs at γ = 0.3 and 0.8.

    Raises
    ------
    InputError
        If one of the two γ has no runs.
    """
    find = among(settings)
    outcomes = [o for claim in read_claims(DEMO, "demo") for o in judge_claim(claim, find).outcomes]
    for outcome in outcomes:
        if outcome.missing:
            rates = [setting.init_rate for setting in settings]
            raise InputError("settings", rates, outcome.missing, "give the demo's runs")
    return outcomes


@checked
def judge_language(settings: Sequence[Setting]) -> list[Outcome]:
    """Return the outcome of every endpoint on some runs of language models.

    The largest γ is taken for the small initial scale, the smallest for the large one; contrasts between
    them are not tested where there is one γ.

    Raises
    ------
    InputError
        If two settings have the same γ, or a run does not have two corpora.
    """
    rates = sorted(setting.init_rate for setting in settings)
    first, second = two_corpora(settings[0].runs[0])
    find = among(settings)
    small, large = rates[-1], rates[0] if len(rates) > 1 else -1.0
    claims = read_claims(CORPORA, "corpus", first=first, second=second, small=small, large=large, setting="")
    outcomes = [outcome for claim in claims for outcome in judge_claim(claim, find).outcomes]
    return [o for o in outcomes if not o.missing and o.condition.role == "endpoint"]
