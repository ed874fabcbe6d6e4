"""Runs that a user gives: the claims that they can answer, and the conditions of the demo and of two corpora.

A claim's thresholds were fixed for the runs of its studies. Given runs stand for a study if they have its
kind of model and its task and differ from it in no setting, or only in how much was trained (``AMOUNTS``);
the differences are then shown beside the verdict. How often a run was observed never matters.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from theory import InputError
from theory.edge.checked import checked
from validate.judge.claim import Claim, Runs, Sample
from validate.judge.claims.own_task import DEMO
from validate.judge.claims.text import corpora
from validate.judge.condition import Find, Measured, MissingRunsError, Needs, conditions_of
from validate.judge.evidence import Evidence
from validate.judge.measures.language import two_corpora
from validate.judge.result import Finding
from validate.judge.verdict import finding_of, judge_claim
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.studies.study import AMOUNTS, differing_keys, keys_of


@dataclass(frozen=True)
class Match:
    """Given runs, alike in all but γ and seed, that stand for a study or for one of its variants.

    ``differing`` has the settings in which they differ from it: their value and the study's, as JSON, or
    "none" where one of the two has no such setting.
    """

    study: str
    variant: str
    runs: tuple[Observations, ...]
    differing: Mapping[str, tuple[str, str]]

    @property
    def differences(self) -> tuple[str, ...]:
        """Where they differ from the study, as "setting = theirs (study: its own)"."""
        return tuple(f"{key} = {theirs} (study: {other})" for key, (theirs, other) in self.differing.items())

    @property
    def is_of_another_task_or_model(self) -> bool:
        """Whether they are no runs of the study at all, but of another task or kind of model."""
        return not {"task", "model.kind"}.isdisjoint(self.differing)


class GivenRuns(Evidence):
    """Finds a condition's runs among some runs, by their configurations.

    Two runs that differ in nothing but how they were observed are refused with an InputError: one seed would
    count as two.
    """

    def __init__(self, observations: Iterable[Observations]) -> None:
        super().__init__()
        self.match = cache(self.match)  # type: ignore[method-assign]
        known: dict[str, dict[tuple[float, int], Observations]] = defaultdict(dict)
        for run in observations:
            alike = known[json.dumps(keys_of(run.config), sort_keys=True)]
            other = alike.setdefault((run.config.init_rate, run.config.seed), run)
            if other is not run:
                problem = f"the same as {other.source} except for when it was evaluated; it would count twice"
                raise InputError("run", run.source, problem, "name one of the two")
        self._families = [(json.loads(key), tuple(alike.values())) for key, alike in known.items()]

    def runs_of(self, study: str, variant: str) -> Sequence[Observations]:
        """Return the runs that stand for a study's variant."""
        match = self.match(study, variant)
        if match is None:
            raise MissingRunsError(f"no given run stands for {study}{f', {variant}' * bool(variant)}")
        return match.runs

    def missing(self, study: str, variant: str, what: str, rate: float | None = None) -> MissingRunsError:
        """Return the error that says what a study's variant lacks."""
        return MissingRunsError(f"{study}, {variant}: {what}" if variant else f"{study}: {what}")

    def rates_of(self, study: str, variant: str) -> tuple[float, ...]:
        """Return the γ of the runs that stand for a study's variant."""
        return tuple(sorted(self.cells(study, variant)))

    def match(self, study: str, variant: str) -> Match | None:
        """Return the given runs that are closest to a study's variant, if any can stand for it."""
        # The variants of a study differ in such settings themselves: there nothing may differ.
        free: frozenset[str] = frozenset() if variant else AMOUNTS
        near = [match for match in self._beside(study, variant) if free.issuperset(match.differing)]
        return min(near, key=lambda m: (len(m.differing), -len(m.runs)), default=None)

    def matches_of(self, claims: Iterable[Claim]) -> list[Match]:
        """Return the runs that stand for the studies of some claims, each once."""
        return [match for key in self._needed(claims) if (match := self.match(*key))]

    def nearest_of(self, claims: Iterable[Claim]) -> Match | None:
        """Return the study of some claims, or its variant, that given runs come nearest to, however far."""
        near = (match for key in self._needed(claims) for match in self._beside(*key))
        return min(near, key=lambda m: (m.is_of_another_task_or_model, len(m.differing)), default=None)

    def _needed(self, claims: Iterable[Claim]) -> list[tuple[str, str]]:
        """Return the studies, or their variants, that some claims are about."""
        needs = [n for claim in claims for c in conditions_of(claim) for n in c.needs]
        pairs = ((n.study, v) for n in needs for v in n.variants or self.variants_of(n.study))
        return list(dict.fromkeys(pairs))

    def _beside(self, study: str, variant: str) -> list[Match]:
        """Return all given runs beside a study's variant, whether they can stand for it or not."""
        config = self.load(study).configs.get(variant or None)
        if config is None:
            return []
        wanted, matches = keys_of(config.members()[0]), []
        for has, runs in self._families:
            keys = differing_keys(has, wanted)
            differing = {key: (has.get(key, "none"), wanted.get(key, "none")) for key in keys}
            matches.append(Match(study, variant, runs, differing))
        return matches

    def judge(self, claims: Iterable[Claim]) -> list[Finding]:
        """Return a finding for every claim; one on which these runs have no bearing is not tested."""
        return [self._judge(claim) for claim in claims]

    def _judge(self, claim: Claim) -> Finding:
        studies = dict.fromkeys(needs.study for c in conditions_of(claim) for needs in c.needs)
        try:
            lacking = [s for s in studies if not any(self.match(s, v) for v in self.variants_of(s) or ("",))]
            if len(lacking) < len(studies):
                return judge_claim(claim, self.find)
            reasons = "; ".join(f"no given run stands for {study}" for study in lacking)
            why = reasons or f"needs no runs: anchorflow claims {claim.number}"
        except (InputError, MissingRunsError) as error:
            # No such study; or a measure that these runs do not allow, such as one at a missing snapshot.
            why = str(error)
        return finding_of(claim, [Measured(c, missing=why) for c in conditions_of(claim)])


# --- by γ alone -----------------------------------------------------------------------------------------


def among(settings: Sequence[Setting]) -> Find:
    """Return the finder of runs among some settings, by γ alone."""
    by_rate = {setting.init_rate: setting.runs for setting in settings}
    apart = {json.dumps(keys_of(setting.config), sort_keys=True) for setting in settings}
    if len(by_rate) < len(settings) or len(apart) > 1:
        labels = [setting.label for setting in settings]
        raise InputError("runs", labels, "differ in more than γ and seed", "give runs of one configuration")

    def find(needs: Needs) -> Sample:
        missing = [f"γ = {rate:g}" for rate in needs.init_rates if rate not in by_rate]
        if missing:
            raise MissingRunsError(f"no runs of {', '.join(missing)}")
        return {("", rate): by_rate[rate] for rate in needs.init_rates or sorted(by_rate)}

    return find


@checked
def judge_demo(settings: Sequence[Setting]) -> list[Finding]:
    """Return the demo's claims, judged on its runs.

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
    findings = [judge_claim(replace(claim, runs=Runs("demo")), find) for claim in DEMO]
    if missing := [o.missing for finding in findings for o in finding.conditions if o.missing]:
        rates = [setting.init_rate for setting in settings]
        raise InputError("settings", rates, missing[0], "give the demo's runs")
    return findings


@checked
def judge_language(settings: Sequence[Setting]) -> list[Finding]:
    """Return the claims that some runs of language models test, each with its endpoints.

    The largest γ is taken for the small initial scale, the smallest for the large one; contrasts between
    them are not tested where there is one γ. Runs that differ in more than γ, seed and how they were observed
    are refused, and so are runs without two corpora.
    """
    rates = sorted(setting.init_rate for setting in settings)
    first, second = two_corpora(settings[0].runs[0])
    small, large = rates[-1], rates[0] if len(rates) > 1 else -1.0
    # The paper's sentences, and where they stand, are about its own two corpora.
    claims = [
        replace(claim, number=0, paper="", section="", shown=(), runs=Runs("corpus"))
        for claim in corpora(first, second, small, large)
    ]
    find = among(settings)
    judged = [judge_claim(claim, find) for claim in claims]
    return [f for f in judged if not any(o.missing for o in f.conditions)]
