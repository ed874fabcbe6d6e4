"""Searching a sweep: what Optuna chooses from, what a trial costs, pruning, continuing, and bad input."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim import Execution, Run, train_members
from tests.validate.sweeps.toy import write_toy
from theory import InputError
from validate.cli import main
from validate.commands.sweep.search import report
from validate.judge.times import bias
from validate.observe import observe
from validate.sweeps import Search, load_sweep, plan_of, search_sweep
from validate.sweeps.searching import trials
from validate.sweeps.searching.found import Tried
from validate.sweeps.searching.measures import MEASURES
from validate.sweeps.searching.space import Space, space_of

optuna = pytest.importorskip("optuna")
EPOCHS, STEPS = 4, 4 * 8
RATES = "learning_rate = [1e-4, 1e-3, 1e-2, 1e-1]"


def space(folder: Path, axes: str, first: str = "") -> Space:
    file = write_toy(folder, axes=axes)
    file.write_text(first + file.read_text())
    return space_of(load_sweep(file))


def test_lists_are_categorical_and_seeds_are_no_choice(tmp_path: Path) -> None:
    found = space(tmp_path, 'learning_rate = [1e-3, 2e-3]\noptimiser = ["adamw", "sgd"]')
    assert found.choices == {
        "init_rate": [0.3, 0.8],
        "learning_rate": [1e-3, 2e-3],
        "optimizer": ["adamw", "sgd"],
    }
    assert len(found.runs) == 8
    assert {len(runs) for runs in found.runs.values()} == {2}
    assert found.point({"optimizer": "sgd", "init_rate": 0.3, "learning_rate": 1e-3}) == (0.3, "sgd", 1e-3)


def test_what_another_axis_determines_is_no_choice(tmp_path: Path) -> None:
    found = space(tmp_path, 'q = [2, 3]\n"task.vocab_size" = [90]')
    assert len(found.choices) == 2
    assert len(found.runs) == 4


def test_an_axis_that_several_values_of_another_share_is_no_choice(tmp_path: Path) -> None:
    axes = "gamma = [0.4, 0.4, 0.4]\nd_m = [8, 16, 32]\nlearning_rate = [1e-3, 2e-3, 2e-3]"
    found = space(tmp_path, axes, 'combine = "zip"\n')
    assert found.choices == {"d_m": [8, 16, 32]}
    assert set(found.runs) == {(8,), (16,), (32,)}


def test_of_rows_that_are_no_product_whole_settings_are_chosen(tmp_path: Path) -> None:
    axes = "learning_rate = [1e-3, 1e-3, 2e-3]\nd_m = [8, 16, 16]"
    found = space(tmp_path, axes, 'combine = "zip"\n')
    assert list(found.choices) == ["run"]
    assert len(found.runs) == len(found.choices["run"]) == 6
    assert all(runs[0] == point[0] and len(runs) == 2 for point, runs in found.runs.items())


def test_a_measure_is_the_ledgers_at_any_time_of_a_run(tmp_path: Path) -> None:
    member = next(iter(load_sweep(write_toy(tmp_path)).members.values()))
    metrics = [
        {"sum_learning_rate": time, "accuracy": {"rsn_test": test, "mem": memory}}
        for time, test, memory in [(0.0, 0.0, 0.0), (1.0, 0.5, 0.0), (2.0, 1.0, 0.5)]
    ]
    assert MEASURES["bias"].value(member, metrics) == pytest.approx(0.375)
    assert MEASURES["bias"].value(member, metrics[:2]) == pytest.approx(0.25)
    assert math.isnan(MEASURES["bias"].value(member, metrics[:1]))  # A mean over no time.


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Search]:
    """A search with budget for all, in a folder where one setting was trained before."""
    out = tmp_path_factory.mktemp("search")
    sweep = load_sweep(write_toy(out, epochs=EPOCHS, axes=RATES))
    names = space_of(sweep).runs[0.3, 1e-3]
    train_members([sweep.members[name] for name in names], [out / name for name in names])
    return out, search_sweep(sweep, out, "bias", 10_000)


@pytest.mark.long
def test_every_setting_is_tried_once_and_every_trial_is_a_run(searched: tuple[Path, Search]) -> None:
    out, found = searched
    plan = plan_of(load_sweep(out / "toy.toml"), out)
    assert sorted(name for trial in found.tried for name in trial.runs) == sorted(plan.states)
    for trial in found.tried:
        states = {plan.states[name] for name in trial.runs}
        assert (states == {"complete"}) == (trial.state == "complete")
        if trial.state == "complete":
            known = trial.setting == {"init_rate": 0.3, "learning_rate": 1e-3}
            assert trial.steps == (0 if known else 2 * STEPS)
            values = [bias(observe(Run.open(out / name))) for name in trial.runs]
            assert trial.value == pytest.approx(sum(values) / 2)


@pytest.mark.long
def test_what_falls_behind_is_pruned_and_can_be_continued(searched: tuple[Path, Search]) -> None:
    out, found = searched
    pruned = [trial for trial in found.tried if trial.state == "pruned"]
    assert pruned
    assert all(0 < trial.steps < STEPS and trial.value is None for trial in pruned)
    sweep = load_sweep(out / "toy.toml")
    assert plan_of(sweep, out).states[pruned[0].runs[0]] == "unfinished"


@pytest.mark.long
def test_the_same_search_again_trains_nothing(
    searched: tuple[Path, Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, found = searched
    monkeypatch.setattr(trials, "train_members", None)
    assert search_sweep(load_sweep(out / "toy.toml"), out, "bias", 10_000) == found


@pytest.mark.long
def test_a_search_that_was_stopped_continues_within_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, budget = load_sweep(write_toy(tmp_path, epochs=EPOCHS, axes=RATES)), 5 * STEPS
    calls: list[int] = []

    def stopped_at_first(
        *args: Any, stop: Callable[[], bool], report: Callable[..., None], **rest: Any
    ) -> None:
        calls.append(0)
        if len(calls) > 1:
            train_members(*args, stop=stop, report=report, **rest)
            return
        epochs: list[Any] = []
        train_members(*args, stop=lambda: len(epochs) == 2, report=epochs.append, **rest)

    monkeypatch.setattr(trials, "train_members", stopped_at_first)
    with pytest.raises(KeyboardInterrupt):
        search_sweep(sweep, tmp_path, "bias", budget)
    (begun,) = [name for name, state in plan_of(sweep, tmp_path).states.items() if state == "unfinished"]
    found = search_sweep(sweep, tmp_path, "bias", budget)
    assert begun in found.tried[0].runs
    assert [trial.steps for trial in found.tried] == [2 * STEPS, 2 * STEPS]
    assert len(search_sweep(sweep, tmp_path, "bias", budget + STEPS).tried) == 3
    assert found.best in found.tried


@pytest.mark.long
def test_with_two_workers_the_seeds_of_a_trial_train_together(
    searched: tuple[Path, Search], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting has the value that it has with one worker, and the budget is kept."""
    jobs: list[tuple[int, int]] = []

    def seen(members: Any, paths: Any, how: Execution, **rest: Any) -> None:
        jobs.append((len(members), how.workers))
        train_members(members, paths, how, **rest)

    monkeypatch.setattr(trials, "train_members", seen)
    sweep = load_sweep(write_toy(tmp_path, epochs=EPOCHS, axes="learning_rate = [1e-3]"))
    found = search_sweep(sweep, tmp_path, "bias", 4 * STEPS, Execution(workers=2))
    assert jobs == [(2, 2), (2, 2)]
    alone = {trial.runs: trial for trial in searched[1].tried}
    assert sorted(trial.setting["init_rate"] for trial in found.tried) == [0.3, 0.8]
    for trial in found.tried:
        assert (trial.state, trial.steps) == ("complete", 2 * STEPS)
        known = alone[trial.runs]
        assert known.state == "pruned" or trial.value == known.value
    assert any(alone[trial.runs].state == "complete" for trial in found.tried)


@pytest.mark.long
def test_the_command_says_that_what_it_found_is_exploratory(
    searched: tuple[Path, Search], capsys: pytest.CaptureFixture[str]
) -> None:
    out, found = searched
    line = ["sweep", str(out / "toy.toml"), "--out", str(out), "--search", "--maximise", "bias"]
    assert main([*line, "--budget-steps", "10000"]) == 0
    said = capsys.readouterr().out
    assert "exploratory: chosen by its outcome among 8" in said
    assert "seeds that were not in the search" in said
    assert (out / "table.csv").exists()
    assert main([*line, "--budget-steps", "10000", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert found.best is not None
    assert read["best"]["setting"] == found.best.setting
    assert (read["steps"], len(read["trials"])) == (found.steps, 8)


def test_what_was_found_is_printed_as_exploratory(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = ({"init_rate": rate, "norm": "pre"} for rate in (0.3, 0.8))
    tried = (
        Tried(one, ("aa", "bb"), 0.25, "complete", 64),
        Tried(other, ("cc", "dd"), None, "pruned", 8),
    )
    report(Search("bias", 9, 100, tried), as_json=False)
    said = capsys.readouterr().out
    assert "settings tried: 2 of 9; steps: 72 of 100" in said
    assert "best: init_rate 0.3, norm pre: bias 0.25" in said
    assert (
        "exploratory: chosen by its outcome among 2; confirm it with seeds that were not in the search"
        in said
    )
    report(Search("bias", 9, 100, tried[1:]), as_json=False)
    assert "best: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--maximise", "bias"], "add --search"),
        (["--budget-steps", "9"], "add --search"),
        (["--search", "--maximise", "bias"], "add --budget-steps STEPS"),
        (["--search", "--budget-steps", "99"], "add --maximise MEASURE"),
        (["--search", "--maximise", "bia", "--budget-steps", "99"], "did you mean 'bias'"),
        (["--search", "--maximise", "bias", "--budget-steps", "31"], "give at least 32"),
        (["--search", "--maximise", "bias", "--budget-steps", "-1"], "budget_steps"),
        (["--search", "--maximise", "bias", "--budget-steps", "99", "--dry-run"], "leave out --search"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_toy(tmp_path)
    assert main(["sweep", str(file), "--out", str(tmp_path / "runs"), *options]) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_what_cannot_be_searched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="single setting"):
        space(tmp_path, "gamma = [0.5]")
    file = write_toy(tmp_path)
    file.write_text(file.read_text().replace("memory_anchors = [1, 2]\n", "").replace("104", "99"))
    with pytest.raises(InputError, match="needs the data set mem"):
        search_sweep(load_sweep(file), tmp_path / "runs", "bias", 99)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"anchorflow\[search\]"):
        search_sweep(load_sweep(write_toy(tmp_path)), tmp_path / "runs", "bias", 99)
    assert not (tmp_path / "runs").exists()
