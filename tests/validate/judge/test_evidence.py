"""Which runs stand for a study: by name or by configuration, with what they lack and in what they differ."""

import re
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from sim import SGD
from theory import InputError
from validate import GivenRuns, ledger
from validate.judge.claim import ALL_VARIANTS, Runs
from validate.judge.condition import MissingRunsError, Needs
from validate.judge.evidence import Evidence
from validate.judge.settings import LARGE, MORE, SMALL
from validate.observe import Observations
from validate.report.page import why_none_is_tested
from validate.studies.study import load_study, members_of

NAME = "printed-emb-mlp-matched"
STUDY = load_study(NAME).configs[None]
MEMBERS = STUDY.members()
RATES, SEEDS = STUDY.init_rates, STUDY.seeds


def observed(members, **changes):
    """Return runs of some members, in which keys of sections are changed."""
    runs = []
    for member in members:
        update = {name: getattr(member, name).model_copy(update=keys) for name, keys in changes.items()}
        runs.append(Observations(member.model_copy(update=update), {}, [], (0,), {}))
    return runs


def test_runs_of_a_study_stand_for_it_however_often_they_were_observed():
    given = GivenRuns(observed(MEMBERS[::-1], training={"evaluate_every": 77, "snapshot_epochs": (3,)}))
    match = given.match(NAME, "")
    assert not match.differences
    found = given.find(Needs(NAME))
    assert [rate for _, rate in found] == sorted(RATES)
    assert {tuple(run.config.seed for run in runs) for runs in found.values()} == {tuple(SEEDS)}
    assert all(run.config.init_rate == rate for (_, rate), runs in found.items() for run in runs)


def test_amounts_may_differ_and_are_named_with_both_values():
    given = GivenRuns(observed(MEMBERS, training={"epochs": 7}, model={"d_m": 9}))
    match = given.match(NAME, "")
    epochs = f"training.epochs = 7 (study: {STUDY.training.epochs})"
    assert match.differences == ("model.d_m = 9 (study: 200)", epochs)
    assert given.matches_of(ledger([4])) == [match]


def test_other_runs_stand_for_nothing_and_the_nearest_study_says_why():
    given = GivenRuns(observed(MEMBERS, training={"weight_decay": 0.3, "optimizer": "sgd"}))
    assert given.match(NAME, "") is None
    with pytest.raises(MissingRunsError, match=f"no given run stands for {NAME}"):
        given.find(Needs(NAME, (0.8,)))
    nearest = given.nearest_of(ledger([4]))
    assert {*nearest.differing} == {"training.weight_decay", "training.optimizer"}
    assert nearest.differing["training.optimizer"] == ('"sgd"', '"adamw"')
    assert not nearest.is_of_another_task_or_model
    assert {f.verdict for f in given.judge(ledger([4]))} == {"not tested"}


def test_a_setting_that_one_optimiser_alone_has_is_none_of_the_other():
    given = GivenRuns(observed(m.model_copy(update={"training": SGD(momentum=0.5)}) for m in MEMBERS[:1]))
    nearest = given.nearest_of(ledger([4]))
    assert nearest.differing["training.momentum"] == ("0.5", "none")
    assert "training.momentum: 0.5 for none" in why_none_is_tested(nearest)


def test_a_claim_about_an_unknown_study_is_not_tested():
    (claim,) = ledger([4])
    own = replace(claim, runs=Runs("nowhere", ALL_VARIANTS))
    (finding,) = GivenRuns(()).judge([own])
    assert {o.missing for o in finding.conditions} == {"nowhere: not defined"}


def test_one_seed_twice_is_refused():
    twice = observed(MEMBERS[:1]) + observed(MEMBERS[:1], training={"evaluate_every": 5})
    with pytest.raises(InputError, match="it would count twice"):
        GivenRuns(twice)


def test_what_is_missing_is_made_where_it_is_looked_for(tmp_path):
    place, other = tmp_path / "my runs", tmp_path / "kept"
    for evidence, options in (
        (Evidence({NAME: place}), f"--run --root '{place}'"),
        (Evidence({"language": place}, None), f"--run --root '{place}'"),
        (Evidence({"language": place}, other), f"--run --keep --kept {other}"),
    ):
        with pytest.raises(MissingRunsError, match=re.escape(f"anchorflow study {NAME} {options}") + "$"):
            evidence.find(Needs(NAME, RATES))
    with pytest.raises(MissingRunsError, match="learning-rates: no runs"):  # None of the study's variants.
        Evidence({"learning-rates": tmp_path}).find(Needs("learning-rates", variants=()))


@dataclass
class Stored(Evidence):
    """Evidence of which the runs are given by study, in place of files."""

    runs: dict[str, list[Observations]] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()

    def _stored(self, study, variant):
        if study in self.foreign:
            raise self.missing(study, variant, "another configuration")
        return self.runs.get(study, [])


def test_what_is_missing_is_told_by_rate_and_by_seed():
    small, large = max(RATES), min(RATES)
    kept = [m for m in MEMBERS if m.init_rate == small and m.seed != SEEDS[1]]
    evidence = Stored(runs={NAME: observed(kept)})
    needs = Needs(NAME, (small,))
    assert [run.config.seed for run in evidence.find(needs)["", small]] == [s for s in SEEDS if s != SEEDS[1]]
    assert evidence.absent(needs) == f"1 of {len(SEEDS)} seeds missing: {SEEDS[1]} (not kept)"
    assert evidence.makeable(needs) == [NAME]
    lacking = f"no run at γ = {large:g}; make them: anchorflow study {NAME}"
    with pytest.raises(MissingRunsError, match=lacking):
        evidence.find(Needs(NAME, (large,)))
    with pytest.raises(MissingRunsError, match="of at least 9 γ"):
        evidence.find(Needs(NAME, least_rates=9))
    with pytest.raises(MissingRunsError, match=r"no run at γ = 0\.123, and the study defines none$"):
        evidence.find(Needs(NAME, (small, 0.123)))
    whole = Stored(runs={NAME: observed(MEMBERS)})
    assert whole.absent(needs) == ""
    assert not whole.makeable(needs)
    assert not whole.makeable(Needs(NAME, (0.123,)))
    assert not whole.makeable(Needs("no such study"))


def test_a_study_that_is_continued_has_the_runs_of_both():
    ((study, setup),) = MORE.items()
    stored = {study: observed(MEMBERS[:1]), setup.more: observed(MEMBERS[1:2])}
    assert Stored(runs=stored).runs_of(study, "") == stored[study] + stored[setup.more]
    for name, own in stored.items():
        assert Stored(runs={name: own}).runs_of(study, "") == own
        with pytest.raises(MissingRunsError, match="another configuration"):
            Stored(runs=stored, foreign=(name,)).runs_of(study, "")
    with pytest.raises(MissingRunsError, match="no runs"):
        Stored().runs_of(study, "")
    of_both = {name: [m.config for m in members_of(load_study(name))] for name in (study, setup.more)}
    kept = {name: observed(c for c in own if c.seed != 5) for name, own in of_both.items()}
    needs = Needs(study, (SMALL,))
    assert Stored(runs=kept).makeable(needs) == [setup.more]
    assert Stored(runs=kept).absent(needs) == "1 of 6 seeds missing: 5 (not kept)"
    assert Stored().makeable(needs) == [study, setup.more]


@pytest.mark.parametrize(
    ("reached", "taken"),
    [
        ({1: (9, 7), 2: (7, 7)}, [1, 2]),
        ({1: (9, 7), 2: (7, 6), 3: (7, 30)}, [1, 3]),  # a short run does not shorten the others
        ({1: (7, 7), 2: (7, 7), 3: (7, 7), 4: (7, None)}, [1, 2, 3]),  # nor does one γ go ahead of the other
        (dict.fromkeys(range(1, 6), (7, 7)), [1, 2, 3, 4]),  # between two looks nothing is looked at
        (dict.fromkeys(range(1, 8), (7, 7)), [1, 2, 3, 4, 5, 6]),
        ({1: (7, 6)}, []),
    ],
)
def test_a_look_takes_the_planned_number_of_seeds_at_the_planned_length(reached, taken):
    ((study, setup),) = MORE.items()
    base = {m.init_rate: run for m, run in zip(MEMBERS, observed(MEMBERS), strict=True)}
    runs = [
        replace(
            base[rate],
            config=base[rate].config.model_copy(update={"seed": seed}),
            metrics=[{"epoch": epoch} for epoch in range(end + 1)],
            epochs=(0, 5, end),
        )
        for seed, ends in reached.items()
        for rate, end in zip((LARGE, SMALL), ends, strict=True)
        if end is not None
    ]
    planned: Any = SimpleNamespace(configs={None: SimpleNamespace(training=SimpleNamespace(epochs=7))})
    stored = Stored(runs={study: runs[:2], setup.more: runs[2:]}, load=lambda name: planned)
    if not taken:
        with pytest.raises(MissingRunsError, match="no seed has reached epoch 7"):
            stored.find(Needs(study, (LARGE,)))
        return
    found = stored.find(Needs(study, (LARGE, SMALL)))
    assert [[run.config.seed for run in own] for own in found.values()] == [taken, taken]
    assert {run.metrics[-1]["epoch"] for own in found.values() for run in own} == {7}
