"""Predicted against observed times: R², what is censored, guesses that are fitted on other settings."""

import json
import math
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sim import SGD
from sim.config.run import MemberConfig
from tests.tiny_task import TASK
from tests.validate.judge.synthetic import ramp, run
from theory import AdamSettings, InputError, LearningCurves, Task, predict_learning
from theory.flows.mean_training import MOST_GRADIENTS
from validate.commands.predict import Options
from validate.judge.measures import learning_times
from validate.judge.measures.agreement import r_squared
from validate.predict.learning import bias_sentences, fallen_sentences, predict_for, time_rows

MEAN, INVERSE, LINEAR = learning_times.GUESSES


def time(observed, predicted, **changed):
    made = learning_times.Time("mem", "adamw", 1e-4, 0.5, observed, predicted, end=20.0)
    return replace(made, **changed)  # type: ignore[arg-type]


def kept(half, rate=1e-4):
    steps = np.arange(0, 1_000_001, 100)
    accuracy = {name: np.clip(0.5 * steps / at, 0, 1)[None] for name, at in half.items()}
    return learning_times.Kept("adamw", rate, 0.8, LearningCurves(steps, accuracy, accuracy, 100))


def test_r_squared_against_numbers_worked_by_hand():
    assert r_squared([1, 2, 3], [1, 2, 3]) == 1.0
    assert r_squared([1, 2, 3], [2, 2, 2]) == 0.0
    assert r_squared([1, 2, 6], [1, 3, 4]) == pytest.approx(1 - 5 / 14)
    assert math.isnan(r_squared([1, 2], [1, 2]))
    for equal in (2, 0.1):  # The mean of three 0.1 is another number.
        assert math.isnan(r_squared([equal] * 3, [1, 2, 3]))


def test_times_are_steps_on_both_sides():
    """A run's time is Σ rate over its rate; what is predicted after its end is not reached."""
    accuracy = {"mem": [0.0] * 11, "rsn_train": ramp(4), "rsn_test": ramp(8)}
    observed = run(0.8, 0, accuracy, learning_rate=1e-2)
    prediction = kept({"memory": 300, "reasoning train": 400, "reasoning test": 1e5}, rate=1e-2)
    mem, train, test = learning_times.times_of(observed, [kept({}), prediction])
    assert mem.observed == math.inf
    assert 2**mem.predicted == pytest.approx(300)
    assert 2**train.observed == pytest.approx(400)
    assert 2**train.predicted == pytest.approx(400)
    assert 2**test.observed == pytest.approx(800)
    assert test.predicted == math.inf
    assert 2**test.end == 1000
    assert learning_times.times_of(observed, [kept({})]) == []


def test_what_one_side_lacks_is_counted_and_enters_with_the_end():
    times = [time(1, 1), time(2, 2), time(6, math.inf, end=5.0), time(math.inf, 4)]
    assert learning_times.one_sided(times) == pytest.approx(2 / 4)
    assert learning_times.one_sided([*times, time(math.inf, math.inf)]) == pytest.approx(2 / 5)
    assert learning_times.explained(times) == pytest.approx(r_squared([1, 2, 6], [1, 2, 5]))
    assert math.isnan(learning_times.one_sided([]))


def test_a_guess_has_not_seen_its_own_setting_and_explains_everything_if_it_is_right():
    """The mean of the others, with every setting far from it, is worse than the mean of all."""
    times = [time(float(x), 0.0, init_rate=x / 10) for x in range(1, 6)]
    assert MEAN.explained(times) == pytest.approx(1 - (5 / 4) ** 2)
    rates = [1e-4, 2e-4, 4e-4, 8e-4]
    inverse = [time(10 - math.log2(rate), 0.0, rate=rate) for rate in rates]
    assert INVERSE.explained(inverse) == pytest.approx(1.0)
    linear = [
        time(3 * gamma - 0.5 * math.log2(rate), 0.0, rate=rate, init_rate=gamma)
        for rate in rates
        for gamma in (0.3, 0.5, 0.8)
    ]
    assert LINEAR.explained(linear) == pytest.approx(1.0)
    assert learning_times.best_guess(linear) == pytest.approx(1.0)
    assert INVERSE.explained(linear) < 0.9


def test_another_seed_takes_three_of_them(monkeypatch):
    """Two are one pair of runs; of three, all pairs count."""
    of_seeds = ([1, 2, 3], [1, 2, 4], [1, 2, 6])
    made: list[Any] = [[[time(x, 0.0, rate=rate) for rate, x in enumerate(own)]] for own in of_seeds]
    monkeypatch.setattr(learning_times, "times_of", lambda run, _: run)
    found = learning_times.times_by_other_seed(made)
    pairs = {pair: r_squared(*([1, 2, last] for last in pair)) for pair in permutations((3, 4, 6), 2)}
    without = [np.mean([r for pair, r in pairs.items() if own not in pair]) for own in (3, 4, 6)]
    assert found == pytest.approx([3 * np.mean(list(pairs.values())) - 2 * mean for mean in without])
    for n in (0, 1, 2):
        assert np.isnan(learning_times.times_by_other_seed(made[:n])).all()


def test_matched_accuracy_is_read_from_the_prediction():
    prediction = kept({"memory": 300, "reasoning train": 400, "reasoning test": 1000})
    observed = run(0.8, 0, {"mem": ramp(1), "rsn_train": ramp(4), "rsn_test": ramp(4.2)})
    assert learning_times.matched_off(observed, [prediction]) == pytest.approx(0.4 - 0.2)
    assert math.isnan(learning_times.matched_off(observed, []))


def test_a_training_that_is_not_predicted_is_refused():
    member: MemberConfig = run(0.8, 0, {"mem": ramp(1)}).config
    changes: list[tuple[str, dict[str, Any]]] = [
        ("model", {"embedding_fan_in": "d_vob"}),
        ("model", {"tensor_init_rates": {"W1": 0.5}}),
        ("model", {"initial_embedding": "label-distributions"}),
        ("data", {"shuffle_labels": True}),
    ]
    others = [
        member.model_copy(update={section: getattr(member, section).model_copy(update=change)})
        for section, change in changes
    ]
    for changed in [*others, member.model_copy(update={"training": SGD(momentum=0.9)})]:
        with pytest.raises(InputError, match="this kind of training is not predicted"):
            predict_for(changed, [0])


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("route", ["batches", "flow"])
def test_the_command_s_curves_are_those_of_its_options(route, tmp_path, cli):
    file = tmp_path / "task.toml"
    file.write_text(TASK)
    words = ["predict", str(file), "--curves", "--init-rate", "0.6", "--lr", "2e-3", "--seed", "2"]
    words += ["--epochs", "4", "--route", route]
    found = cli(*words, "--json", "--out", str(tmp_path / "out")).json()
    assert json.loads((tmp_path / "out" / "prediction.json").read_text()) == found
    assert (tmp_path / "out" / "figures" / "prediction" / "learning_curves.svg").exists()
    printed = found["learning"]
    curves = predict_learning(
        Task.from_toml(file), AdamSettings(2e-3), init_rate=0.6, n_epochs=4, seeds=(2,), route=route
    )
    assert printed["steps"] == curves.steps.tolist()
    assert printed["loss"] == {name: rows[0].tolist() for name, rows in curves.loss.items()}
    assert printed["accuracy"] == {name: rows[0].tolist() for name, rows in curves.accuracy.items()}
    if route == "batches":
        return
    told = cli(*words, "--max-gradients", "2", code=2)
    assert "2 gradients did not reach the end" in told.err
    assert "allow more: --max-gradients" in told.err
    assert "std of the label" in told.out
    assert Options().max_gradients == MOST_GRADIENTS


def test_times_beyond_the_end_are_bounds_in_the_table_and_in_the_sentences():
    each = {"slow": [0.0, 0.2, 0.4, 0.45], "later": [0.0, 0.0, 0.0, 1.0], "fast": [0.0, 1.0, 1.0, 1.0]}
    accuracy = {name: np.array([values]) for name, values in each.items()}
    loss = {name: 3 - values for name, values in accuracy.items()}
    curves = LearningCurves(np.array([0, 10, 20, 80]), accuracy, loss, 5)
    assert time_rows(curves) == [
        ["slow", "> 80", "> 16", "0.450", "2.550"],
        ["later", "50", "10", "1.000", "2.000"],
        ["fast", "5", "1", "1.000", "2.000"],
    ]
    assert time_rows(replace(curves, steps=100 * curves.steps))[0][1:3] == ["> 8000", "> 1600"]
    assert bias_sentences(curves) == [
        "slow after later: more than 0.68 doublings (it is not learned by the end).",
        "slow after fast: more than 4.00 doublings (it is not learned by the end).",
        "later after fast: 3.32 doublings.",
    ]


def test_a_data_set_that_was_half_learned_and_is_not_at_the_end_is_named():
    accuracy = {"held": np.array([[0.0, 0.6, 0.325]]), "sums": np.array([[0.0, 1.0, 1.0]])}
    loss = {name: 3 - values for name, values in accuracy.items()}
    curves = LearningCurves(np.array([0, 60, 120]), accuracy, loss, 10)
    assert fallen_sentences(curves) == [
        "held falls back: half learned at epoch 5, and 0.325 right at the end."
    ]
