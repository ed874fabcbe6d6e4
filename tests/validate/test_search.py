"""The search for Fig. 3A: its conditions by hand, the order of its runs, and its table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.validate.claims.synthetic import TIMES, learning, of_embeddings, ramp, run
from tests.validate.sweeps.toy import toy_text
from theory import InputError
from validate import search
from validate.cli import main
from validate.judge.bounds import Bound
from validate.observe import Observations
from validate.search import (
    WANTED,
    Finding,
    Wanted,
    checks,
    held_out_lag,
    memory_alignment,
    memory_delay,
    reasoning_lead,
    ruled_out,
    run_search,
)
from validate.studies import Study, load_study

NEVER = [0.0] * len(TIMES)


def with_embedding(rate: float, accuracy: dict[str, list[float]], kind: str = "label") -> Observations:
    return run(rate, 0, accuracy, arrays=of_embeddings([kind] * 3, 0))


def finding(large: dict[str, list[float]], small: dict[str, list[float]] | None) -> Finding:
    runs = {0.3: with_embedding(0.3, large)}
    return Finding("made up", runs if small is None else runs | {0.8: with_embedding(0.8, small)})


def test_a_lag_may_grow_after_the_end_of_a_run() -> None:
    """The accuracy that is behind may fall, as held-out accuracies have, by more than a half."""
    train = [0.0, 0.2, 0.6, 0.9, *[0.9] * 7]
    test = [0.0, 0.1, 0.2, 0.4, *[0.8] * 7]
    known = held_out_lag(run(0.3, 0, {"mem": NEVER, "rsn_train": train, "rsn_test": test}))
    assert known == Bound(0.5, 1.0)
    full = {"mem": NEVER, "rsn_train": [1.0] * len(TIMES), "rsn_test": NEVER}
    assert held_out_lag(run(0.3, 0, full)) == pytest.approx(1.0)
    slow = {"mem": NEVER, "rsn_train": [0.4 * t / 10 for t in TIMES], "rsn_test": NEVER}
    assert held_out_lag(run(0.3, 0, slow)) == Bound(0.4, 1.0)


def test_training_sums_just_fitted_leave_the_lag_open() -> None:
    slow = [0.02 * t for t in TIMES]
    at_the_end = finding({"mem": ramp(9), "rsn_train": ramp(9.8), "rsn_test": slow}, None)
    assert at_the_end.states[0] == "open"
    assert at_the_end.is_promising


def test_the_delay_counts_doublings_either_way_between_evaluations() -> None:
    late = {"mem": ramp(8), "rsn_train": ramp(2), "rsn_test": NEVER}
    soon = {"mem": ramp(2), "rsn_train": ramp(8), "rsn_test": NEVER}
    assert memory_delay(run(0.3, 0, late)) == memory_delay(run(0.3, 0, soon))
    assert memory_delay(run(0.3, 0, late)) == Bound(math.log2(7 / 2), math.log2(8 / 1))
    never = {"mem": NEVER, "rsn_train": ramp(2), "rsn_test": NEVER}
    assert memory_delay(run(0.3, 0, never)) == Bound(low=math.log2(10 / 2))


def test_the_delay_is_what_both_clocks_say() -> None:
    """Where the rate falls, a doubling of steps is less than one of Σ learning rate."""
    made = run(0.3, 0, {"mem": ramp(8), "rsn_train": ramp(2), "rsn_test": NEVER})
    for line in made.metrics:
        line["sum_learning_rate"] = math.sqrt(line["step"])
    found = memory_delay(made)
    assert isinstance(found, Bound)
    assert (found.low, found.high) == pytest.approx((0.5 * math.log2(7 / 2), math.log2(8 / 1)))


def test_training_sums_that_are_fitted_once_and_not_at_the_end_have_no_delay() -> None:
    spike = [0.0, 0.3, 0.51, *[0.42] * 8]
    made = run(0.3, 0, {"mem": NEVER, "rsn_train": spike, "rsn_test": NEVER})
    assert math.isnan(memory_delay(made))  # type: ignore[arg-type]
    stays = run(0.3, 0, {"mem": NEVER, "rsn_train": [0.0, 0.3, *[0.51] * 9], "rsn_test": NEVER})
    assert isinstance(memory_delay(stays), Bound)


def test_the_lead_needs_both_reasoning_sets_before_memory() -> None:
    assert reasoning_lead(run(0.8, 0, learning(small=True))) == pytest.approx(1.0)
    held = {"mem": ramp(3), "rsn_train": ramp(1), "rsn_test": [0.0] * len(TIMES)}
    assert reasoning_lead(run(0.8, 0, held)) == Bound(0.0, 1.0)
    early = {"mem": NEVER, "rsn_train": [0.04 * t for t in TIMES], "rsn_test": [0.03 * t for t in TIMES]}
    lead = reasoning_lead(run(0.8, 0, early))
    assert isinstance(lead, Bound)
    assert (lead.low, lead.high) == pytest.approx((0.3, 1.0))


def test_alignment_is_of_the_memory_anchors_and_undefined_where_nothing_was_learned() -> None:
    learned = with_embedding(0.8, learning(small=True))
    expected = learned.cosines(learned.task.memory_anchors, 3)[np.triu_indices(5, 1)].mean()
    assert memory_alignment(learned) == pytest.approx(expected)
    nothing = with_embedding(0.8, {"mem": NEVER, "rsn_train": NEVER, "rsn_test": NEVER})
    assert math.isnan(memory_alignment(nothing))  # type: ignore[arg-type]
    table = with_embedding(0.8, {"mem": [0.1 * t for t in TIMES], "rsn_train": NEVER, "rsn_test": NEVER})
    assert math.isnan(memory_alignment(table))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "below", "state"),
    [
        (0.5, False, "met"), (0.49, False, "not met"), (math.nan, False, "open"),
        (Bound(low=0.5), False, "met"), (Bound(low=0.4), False, "open"), (Bound(high=0.4), False, "not met"),
        (0.5, True, "met"), (0.51, True, "not met"), (Bound(low=0.6), True, "not met"),
        (Bound(low=0.4), True, "open"),
    ],
)  # fmt: skip
def test_a_bound_decides_only_where_all_of_it_lies_on_one_side(value: Any, below: bool, state: str) -> None:
    assert Wanted("made up", 0.3, held_out_lag, 0.5, below).state(value) == state


def test_a_bound_just_beyond_a_threshold_is_not_printed_as_one_that_reaches_it() -> None:
    wanted = WANTED[1]
    assert (wanted.name, wanted.threshold) == ("memory delay", 1.0)
    values = (Bound(1.0), Bound(1.0007), Bound(1.02), Bound(0.99996, 1.5), math.nan, None, 1.0)
    texts = ("≥ 1", "≥ 1.0007", "≥ 1.02", "0.99996 to 1.5", "undefined", "–", "1.00")
    assert tuple(map(wanted.text, values)) == texts


def test_the_picture_needs_all_four_conditions() -> None:
    together, apart = learning(small=False), learning(small=True)
    shown = finding(together, apart)
    assert shown.states == ("met", "met", "met", "met")
    assert shown.verdict == "found"
    assert finding(together, together).verdict == "open"  # Reasoning may still go ahead.
    assert finding(apart, apart).verdict == "no"
    assert finding(together, None).verdict == "open"


def test_the_second_run_is_for_settings_that_the_first_leaves_possible() -> None:
    assert finding(learning(small=False), None).is_promising
    assert not finding(learning(small=True), None).is_promising  # Memory is late.
    assert not finding({"mem": NEVER, "rsn_train": NEVER, "rsn_test": NEVER}, None).is_promising
    assert not Finding("made up", {}).is_promising


@pytest.mark.parametrize(
    ("accuracy", "rules_out"),
    [
        ({"mem": ramp(8), "rsn_train": ramp(2), "rsn_test": NEVER}, True),  # The table is late.
        ({"mem": ramp(2), "rsn_train": ramp(2), "rsn_test": ramp(2)}, False),  # The test may fall behind.
        ({"mem": ramp(2), "rsn_train": ramp(8), "rsn_test": NEVER}, False),  # The table is early.
        ({"mem": ramp(2), "rsn_train": ramp(3), "rsn_test": NEVER}, False),  # Nothing fails.
        ({"mem": NEVER, "rsn_train": ramp(8), "rsn_test": NEVER}, False),  # The table may come in time.
        ({"mem": NEVER, "rsn_train": NEVER, "rsn_test": NEVER}, False),
    ],
)
def test_a_stronger_decay_is_ruled_out_where_it_cannot_help(
    accuracy: dict[str, list[float]], rules_out: bool
) -> None:
    assert finding(accuracy, None).rules_out_stronger_decay is rules_out
    assert not Finding("made up", {}).rules_out_stronger_decay


AXES = """[axes.rate]
low = { training = { learning_rate = 1e-3 } }
high = { training = { learning_rate = 2e-3 } }
[axes.decay]
none = { training = { weight_decay = 0.0 } }
some = { training = { weight_decay = 0.1 } }
"""
TOY = toy_text(epochs=1, seeds="[0]", axes=AXES)


def test_runs_of_the_search_end_when_their_delay_is_known() -> None:
    assert {config.training.patience for config in load_study("search").configs.values()} == {search.DELAY}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    file = tmp_path / "toy.toml"
    file.write_text(TOY)
    return file


def test_axes_multiply_and_the_later_axis_decides(toy: Path) -> None:
    configs = load_study(toy).configs
    assert list(configs) == ["low-none", "low-some", "high-none", "high-some"]
    pair = configs["high-none"].training  # type: ignore[index]
    assert (pair.learning_rate, pair.weight_decay) == (2e-3, 0.0)
    toy.write_text(TOY.replace("weight_decay = 0.1", "learning_rate = 5e-3"))
    assert load_study(toy).configs["low-some"].training.learning_rate == 5e-3  # type: ignore[index]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("[axes.decay]", "[variants.plain]\n[axes.decay]", "variants"),
        ("[axes.decay]", "[axes.empty]\n[axes.decay]", "table of overrides"),
        ("none = { training = { weight_decay = 0.0 } }", "none = 3", "table of overrides"),
    ],
)  # fmt: skip
def test_axes_that_make_no_sense_are_refused(toy: Path, old: str, new: str, named: str) -> None:
    toy.write_text(TOY.replace(old, new))
    with pytest.raises(InputError, match=named):
        load_study(toy)


@pytest.mark.parametrize("change", [("[0.3, 0.8]", "[0.3]"), ("seeds = [0]", "seeds = [0, 1]")])
def test_a_study_that_is_no_search_is_refused_before_any_work(toy: Path, change: tuple[str, str]) -> None:
    toy.write_text(TOY.replace(*change))
    with pytest.raises(InputError, match="one seed"):
        run_search(load_study(toy), toy.parent / "runs", toy.parent / "kept")
    assert not (toy.parent / "runs").exists()


def test_the_first_round_trains_the_large_scale_alone(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--root", str(toy.parent / "runs"), "--kept", str(toy.parent / "kept")]
    assert main(["search", str(toy), "--run", "--workers", "1", "--json", *folders]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["setting"] for each in found] == ["low-none", "low-some", "high-none", "high-some"]
    assert {path.parent.name for path in toy.parent.rglob("config.json")} == {"gamma0.3_seed0"}
    shown = found[0]["conditions"]
    assert list(shown) == [wanted.name for wanted in WANTED]
    assert shown["reasoning lead"] == {"value": None, "state": "open"}
    assert set(shown["test behind"]["value"]) == {"low", "high"}


THREE_RATES = """[axes.rate]
low = { training = { learning_rate = 1e-3 } }
mid = { training = { learning_rate = 2e-3 } }
high = { training = { learning_rate = 4e-3 } }
"""
DECAYS = "[axes.decay]" + AXES.partition("[axes.decay]")[2]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> dict[float, list[str]]:
    """Return what a search trains by γ, where only at the high rate the sums are not learned first."""
    trained: dict[float, list[str]] = {0.3: [], 0.8: []}

    def train(part: Study, *_: Any, **__: Any) -> None:
        for name, config in part.configs.items():
            trained[config.init_rates[0]].append(str(name))

    def shown(study: Study, *_: Any) -> list[Finding]:
        runs = {name: {0.3: with_embedding(0.3, learning(small="high" not in name))} for name in trained[0.3]}
        return [Finding(name, runs.get(name, {})) for name in study.variants]

    monkeypatch.setattr("validate.studies.run_study", train)
    monkeypatch.setattr(search, "findings", shown)
    return trained


def test_weak_decay_goes_first_and_the_first_setting_ruled_out_is_checked(
    toy: Path, trained: dict[float, list[str]]
) -> None:
    toy.write_text(toy_text(epochs=1, seeds="[0]", axes=THREE_RATES + DECAYS))
    study = load_study(toy)
    run_search(study)
    assert trained[0.3] == ["low-none", "mid-none", "high-none", "low-some", "high-some"]
    assert trained[0.8] == ["high-none", "high-some"]
    assert ruled_out(study, search.findings(study)) == ["mid-some"]
    assert checks(study, search.findings(study)) == ["low-some"]


def test_a_check_that_does_not_fail_makes_the_others_of_its_norm_necessary(
    toy: Path, trained: dict[float, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(study: Study, *_: Any) -> list[Finding]:
        """Return what fails with a weak decay at every rate, and with a strong one at none."""
        runs = {name: {0.3: with_embedding(0.3, learning(small="none" in name))} for name in trained[0.3]}
        return [Finding(name, runs.get(name, {})) for name in study.variants]

    monkeypatch.setattr(search, "findings", shown)
    toy.write_text(toy_text(epochs=1, seeds="[0]", axes=THREE_RATES + DECAYS))
    study = load_study(toy)
    run_search(study)
    assert trained[0.3] == ["low-none", "mid-none", "high-none", "low-some", "mid-some", "high-some"]
    assert not ruled_out(study, shown(study))


def test_a_setting_whose_run_diverges_is_trained_once(
    toy: Path, trained: dict[float, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "findings", lambda study, *_: [Finding(n, {}) for n in study.variants])
    run_search(load_study(toy))
    assert trained[0.3] == ["low-none", "high-none", "low-some", "high-some"]


def test_every_placement_of_the_norm_has_a_check_of_its_own(
    toy: Path, trained: dict[float, list[str]]
) -> None:
    norms = """[axes.norm]
post = { model = { kind = "transformer", norm = "post" } }
pre = { model = { kind = "transformer", norm = "pre" } }
"""
    axes = norms + THREE_RATES + DECAYS
    toy.write_text(toy_text(epochs=1, seeds="[0]", axes=axes))
    study = load_study(toy)
    run_search(study)
    assert checks(study, search.findings(study)) == ["post-low-some", "pre-low-some"]
    assert ruled_out(study, search.findings(study)) == ["post-mid-some", "pre-mid-some"]


def test_the_package_search_is_the_grid_that_its_file_says() -> None:
    configs = load_study("search").configs
    assert len(configs) == 4 * 2 * 6 * 2
    assert len({config.model_dump_json() for config in configs.values()}) == len(configs)
    peaks = {
        c.training.learning_rate * (20 if c.training.schedule != "constant" else 1) for c in configs.values()
    }
    assert sorted(peaks) == pytest.approx([5e-5, 2e-4, 1e-3])


def test_ctrl_c_says_how_to_continue(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "run_search", stop)
    assert main(["search", str(toy), "--run", "--kept", str(toy.parent / "kept")]) == 130
    assert "the same command continues" in capsys.readouterr().err
