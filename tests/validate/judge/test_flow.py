"""The flow beside P^s − u and another seed, at equal training accuracy."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import linregress

from sim import EmbMLPConfig, RunConfig, TrainingConfig, train
from sim.config.run import make_member_config
from theory import InputError, cosine_matrix, off_diagonal
from theory.task.task import task_from_dict
from validate.compare import flow
from validate.compare.flow import LEVELS, MAPPING, NEAR, SEED, aligned, flow_cosines, snapshots_at
from validate.judge.measures.agreement import slope
from validate.observe.groups import group_runs
from validate.observe.times import accuracy_at
from validate.predict.predictors import UNIFORM, uniform_cosines

TASK = {
    "keys": "20..39",
    "n_anchors": 2,
    "length": 3,
    "vocab_size": 60,
    "reasoning_anchors": "1..5",
    "memory_anchors": "8..10",
    "held_out": [[1, 4]],
}


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    seen = tuple(range(0, 40, 2))
    training = TrainingConfig(epochs=40, learning_rate=1e-3, batch_size=50, snapshot_epochs=seen)
    return trained(tmp_path_factory.mktemp("runs"), TASK, training, (0, 1, 2))


def test_the_flow_has_the_size_that_label_distributions_lack(setting):
    rows = {(row.level, row.predictor): row for level in aligned(setting) for row in level.rows}
    for level in (0.3, 0.5):
        own, labels = rows[level, "narrow network"], rows[level, UNIFORM]
        assert own.rmse.high < labels.rmse.low
        # Six groups of other seeds gave 0.96 to 1.07, with a standard deviation of 0.042: chance 2e-6.
        assert abs(own.slope.mean - 1) < 0.2
        assert labels.slope.low > 1
    assert rows[0.5, "narrow network"].pearson.mean > 0.9


def test_every_line_has_the_numbers_of_its_own_predictor(setting, monkeypatch):
    """Against a second computation, with a flow that is known."""
    n, of_memory = len(setting.task.anchors), np.isin(setting.task.anchors, setting.task.memory_anchors)
    asked: list[float] = []

    def known(_, accuracies):
        asked[:] = accuracies
        return [made(i, n) for i in range(len(asked))], [0.1] * len(asked), 0.0, 7.0

    monkeypatch.setattr(flow, "flow_cosines", known)
    rows = [row for level in aligned(setting) for row in level.rows]
    assert asked == sorted(set(asked))
    assert [row.level for row in rows] == [level for level in LEVELS for _ in range(4)]
    for row in rows:
        seen = list(zip(setting.runs, snapshots_at(setting.runs, row.level), strict=True))
        pairs = [off_diagonal(run.cosines(setting.task.anchors, epoch)) for run, epoch in seen]
        accuracies = [accuracy_at(run, epoch) for run, epoch in seen]
        assert np.abs(np.array(accuracies) - row.level).max() <= NEAR
        predicted = {
            "narrow network": [off_diagonal(made(asked.index(a), n)) for a in accuracies],
            UNIFORM: [off_diagonal(uniform_cosines(setting.task, setting.task.anchors))] * 3,
            SEED: [pairs[1], pairs[2], pairs[0]],
            MAPPING: [off_diagonal(np.equal.outer(of_memory, of_memory).astype(float))] * 3,
        }[row.predictor]
        errors = [np.sqrt(np.mean((p - o) ** 2)) for p, o in zip(predicted, pairs, strict=True)]
        fits = [linregress(p, o) for p, o in zip(predicted, pairs, strict=True)]
        assert row.rmse.mean == pytest.approx(np.mean(errors))
        assert row.slope.mean == pytest.approx(np.mean([fit.slope for fit in fits]))
        assert row.pearson.mean == pytest.approx(np.mean([fit.rvalue for fit in fits]))
        assert row.seconds == 7.0 or row.predictor != "narrow network"
        # Each run is predicted by the next one: two neighbours share a run and are not independent.
        ends = [end for e in (row.pearson, row.slope, row.rmse) for end in (e.low, e.high)]
        assert row.predictor != SEED or (ends == [None] * 6 and row.rmse.n == 3)
    # A run that ends before its last epoch, as by patience, took its time for the epochs that it had.
    training = setting.config.training.model_copy(update={"epochs": 400})
    ended = [replace(r, config=r.config.model_copy(update={"training": training})) for r in setting.runs]
    again = [row for level in aligned(replace(setting, runs=tuple(ended))) for row in level.rows]
    assert [row.seconds for row in again] == pytest.approx([row.seconds for row in rows])


def test_a_task_of_two_rules_is_refused(tmp_path):
    two = [{"name": name, "anchors": own, "rule": "sum"} for name, own in (("a", [1, 2]), ("b", [3, 4]))]
    task = {"keys": "20..25", "n_anchors": 2, "length": 3, "vocab_size": 40, "mappings": two}
    setting = trained(tmp_path, task, TrainingConfig(epochs=1))
    with pytest.raises(InputError, match="several rules"):
        flow_cosines(setting.runs[0].config, [0.1])


def test_the_accuracy_without_a_rule_is_that_of_all_tables_as_in_a_run():
    tables = [{"name": n, "anchors": a, "rule": "lookup"} for n, a in (("a", [1, 2]), ("b", [3, 4]))]
    rule = {"name": "c", "anchors": [5, 6], "rule": "sum"}
    for mappings, data_set in ((tables, "training"), ([*tables, rule], None)):
        task = {"keys": "20..25", "n_anchors": 2, "length": 3, "vocab_size": 40, "mappings": mappings}
        config = make_member_config({"task": task, "init_rate": 0.8, "seed": 0})
        assert flow.flow_options(config)["data_set"] == data_set


def test_an_accuracy_that_is_never_reached_has_no_cosines(tmp_path, cli):
    file = tmp_path / "task.toml"
    file.write_text(task_from_dict(TASK).to_toml())
    slow = ["predict", str(file), "--flow", "--epochs", "1", "--lr", "1e-9"]
    cosines = cli(*slow, "--json").json()["flow"]["cosines"]
    assert set(cosines) == {"0.1", "0.3", "0.5"}
    assert {entry for matrix in cosines.values() for row in matrix for entry in row} == {None}
    assert "Two starts are apart by (root mean square over pairs): unknown." in cli(*slow).out
    assert re.search(r"narrow network, training accuracy 0.5 +– +– +–", cli(*slow).out)


def test_runs_without_snapshots_while_they_learn_are_refused(tmp_path):
    setting = trained(tmp_path, TASK, TrainingConfig(epochs=30, learning_rate=1e-2, batch_size=20))
    with pytest.raises(InputError, match="no snapshots near"):
        aligned(setting)


def trained(out, task, training, seeds=(0,)):
    """Train small networks from small weights."""
    model = EmbMLPConfig(d_m=32, d_f=48)
    config = RunConfig(task=task, init_rates=(0.8,), seeds=seeds, model=model, training=training)
    return group_runs([run.path for run in train(config, out, workers=1)])[0]


def test_a_line_has_its_slope_and_equal_predictions_have_none():
    x = np.random.default_rng(0).standard_normal(20)
    assert slope(x, 3 - 2 * x) == pytest.approx(-2)
    assert np.isnan(slope(np.ones(5), np.arange(5.0)))


def made(seed, n):
    return cosine_matrix(np.random.default_rng(seed).standard_normal((n, 4)))
