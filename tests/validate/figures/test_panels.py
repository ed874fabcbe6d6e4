"""Every panel draws the numbers that its observations hold."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tests.validate.figures.synthetic import MEMORIES, RANGES, make_observations, several
from theory import (
    InputError,
    Task,
    average_attention_probability,
    cosine_matrix,
    label_distribution,
    off_diagonal,
    predict_value_growth,
)
from theory.task.task import task_from_dict
from validate.figures import AccuracyCurves, new_axes
from validate.figures.panels.accuracy import unlearned_levels
from validate.figures.panels.attention import (
    AttentionMatrix,
    AttentionRows,
    LastAttention,
    LastLogits,
    PositionLogits,
)
from validate.figures.panels.average import AverageOverGamma
from validate.figures.panels.cosines import CosineMatrix
from validate.figures.panels.embedding import CosineRows
from validate.figures.panels.outputs import OutputDistribution
from validate.figures.panels.sequences import ExampleSequences
from validate.figures.panels.spectra import EffectiveRank, SingularValues, ValueAlignment, matrix_name
from validate.figures.panels.spikes import LossSpikes
from validate.figures.panels.token_map import EmbeddingMap
from validate.figures.predicted import (
    EQ14,
    FROZEN,
    LOOKS,
    MARGINAL,
    SAMPLE,
    UNIFORM,
    predictions,
)
from validate.judge.groups import Setting, group_runs
from validate.judge.stats import band, band_text, over_seeds
from validate.predict.predictors import gram_cosines


@pytest.fixture(scope="module")
def settings() -> list[Setting]:
    return group_runs(several())


@pytest.fixture(scope="module")
def small(settings: list[Setting]) -> Setting:
    return settings[-1]


def test_observations_are_grouped_by_all_but_the_seed(settings: list[Setting]) -> None:
    assert [s.label for s in settings] == ["γ = 0.3", "γ = 0.8"]
    assert [[run.config.seed for run in s.runs] for s in settings] == [[0, 1], [0, 1]]
    assert settings[0].nearest(7.5) == 9
    with pytest.raises(InputError, match="same configuration and seed twice"):
        group_runs([*several(), make_observations()])
    with pytest.raises(InputError, match="no run given"):
        group_runs([])


def test_bands_are_the_intervals_of_over_seeds() -> None:
    values = np.random.default_rng(0).normal(size=(4, 2, 3))
    found = band(values)
    expected = over_seeds(values[:, 1, 2].tolist())
    assert tuple(found[:, 1, 2]) == (expected.mean, expected.low, expected.high)
    assert np.isnan(band(values[:1])[1:]).all()
    assert band_text(found[:, 1, 2]) == str(expected)
    assert band_text(band(values[:1])[:, 0, 0]) == f"{values[0, 0, 0]:.3f}"
    assert band_text(np.array([1.234e-5, 1e-6, 3e-5])) == "1.2e-05 [1e-06, 3e-05]"


def test_losses_over_epochs_have_the_level_of_what_memory_anchors_teach(small: Setting) -> None:
    levels = unlearned_levels(small.task)
    curves = AccuracyCurves.from_runs(small, "loss", levels=levels, title="here").plot()
    (level,) = levels.values()
    assert level == pytest.approx(math.log(20))
    x, y = curves.lines_["mem"].get_data()
    assert list(x) == list(range(11))
    assert y[10] == pytest.approx(3.05)  # 4 + (0 + 0.1)/2 − 1.
    assert curves.lines_[next(iter(levels))].get_ydata()[0] == level
    assert curves.ax_ is not None
    assert curves.ax_.get_title() == "here"
    assert "memory (train) 3.050 [" in curves.summary()
    with pytest.raises(InputError, match="no loss of nothing"):
        AccuracyCurves.from_runs(small, "loss", parts={"nothing": ("", "k", "-")})


def test_the_level_of_a_table_is_the_mean_over_its_anchors() -> None:
    """The labels of a window spread the wider, the larger its anchors are."""
    task = task_from_dict(MEMORIES)
    spreads = [[_entropy(task, s) for s in mapping.anchors] for mapping in task.mappings]
    assert len(set(spreads[1])) == 3
    (level,) = unlearned_levels(task).values()
    assert level == pytest.approx(np.mean(spreads))


def _entropy(task: Task, anchor: int) -> float:
    own = label_distribution(task, anchor, held_out=True)
    return -sum(float(p) * math.log(p) for p in own if p > 0)


def test_losses_that_overflowed_are_gaps() -> None:
    run = make_observations()
    run.metrics[-1]["loss"]["mem"] = None
    curves = AccuracyCurves.from_runs(Setting("", (run,)), "loss").plot()
    y = curves.lines_["mem"].get_ydata()
    assert np.isnan(y[-1])
    assert not np.isnan(y[:-1]).any()


def test_cosine_matrix_is_the_mean_over_seeds(small: Setting) -> None:
    tokens = small.task.reasoning_anchors
    panel = CosineMatrix.from_runs(small, tokens, 9, "title").plot()
    each = [run.cosines(tokens, 9) for run in small.runs]
    np.testing.assert_allclose(panel.image_.get_array(), np.mean(each, axis=0))
    assert panel.image_.get_clim() == (-1, 1)
    expected = over_seeds([float(off_diagonal(m).mean()) for m in each], (-1, 1))
    assert panel.ax_ is not None
    assert panel.ax_.get_title() == "title\nmean " + str(expected).replace(" [", "\n[")
    assert str(expected) in panel.summary()


def test_predictions_are_those_of_the_theory_and_of_the_data() -> None:
    (setting,) = group_runs([make_observations("emb-mlp", seed=s) for s in (0, 1)])
    task, tokens = setting.task, setting.task.reasoning_anchors
    found = predictions(setting, tokens)
    assert list(found) == [UNIFORM, MARGINAL, SAMPLE, FROZEN, EQ14]
    distributions = np.array([label_distribution(task, s, held_out=True) for s in tokens])
    np.testing.assert_allclose(found[UNIFORM], cosine_matrix(distributions - 1 / task.vocab_size)[None])
    rows = setting.runs[1].arrays["token_label_matrix_anchors"][5:]
    np.testing.assert_allclose(found[SAMPLE][1], cosine_matrix(rows))
    np.testing.assert_allclose(found[FROZEN][0], found[UNIFORM][0], atol=1e-12)
    # Enumerated data are the same for every seed; here the second seed has others.
    first, second = setting.runs
    other = second.arrays | {"frozen_direction": second.arrays["frozen_direction"] + np.eye(11)}
    setting = dataclasses.replace(setting, runs=(first, dataclasses.replace(second, arrays=other)))
    panels = CosineMatrix.from_theory(setting, tokens, (UNIFORM, FROZEN))
    assert panels[0].pairs.low is None  # The same for every seed: exact, without an interval.
    assert panels[1].pairs.low is not None
    memory = predictions(setting, task.memory_anchors)
    assert EQ14 not in memory
    np.testing.assert_allclose(memory[UNIFORM], 1.0)


def test_gram_cosines() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 7))
    np.testing.assert_allclose(gram_cosines(rows @ rows.T), cosine_matrix(rows))
    assert np.isnan(gram_cosines(np.zeros((1, 1)))).all()


def test_cosine_rows_show_training_beside_predictions(small: Setting) -> None:
    tokens = small.task.reasoning_anchors
    row = CosineRows.from_runs(small, tokens, 9, (UNIFORM, EQ14))[2].plot()
    label = LOOKS[UNIFORM].label
    assert set(row.lines_) == {label, LOOKS[EQ14].label, "observed"}
    np.testing.assert_allclose(row.lines_[label].get_ydata(), predictions(small, tokens)[UNIFORM][0][2])
    observed = small.cosines(tokens, 9)[:, 2]
    np.testing.assert_allclose(row.lines_["observed"].get_ydata(), observed.mean(axis=0))
    others = np.array(tokens) != 13
    misfits = (predictions(small, tokens)[UNIFORM][0][2] - observed)[:, others]
    expected = over_seeds(np.sqrt((misfits**2).mean(axis=1)).tolist(), (0, np.inf))
    assert f"{label} {expected}" in row.summary()
    assert row.ax_ is not None
    low, high = row.ax_.get_ylim()
    assert low < observed.mean(axis=0).min()
    assert high >= 1


def test_predicted_rows_are_of_the_training_data(small: Setting) -> None:
    """A combination that is held out changes no label distribution that a run could see."""
    task, tokens = small.task, small.task.reasoning_anchors
    rows = CosineRows.from_task(task, tokens)
    trained, whole = (
        cosine_matrix(label_distribution(task, list(tokens), held_out=held_out) - 1 / task.vocab_size)
        for held_out in (True, False)
    )
    assert np.abs(trained - whole).max() > 1e-3
    np.testing.assert_allclose([row.lines["P^s - u (eq. 8)"] for row in rows], trained, atol=1e-12)


def test_embedding_map_draws_the_first_seed_and_orders_keys_over_all(small: Setting) -> None:
    panel = EmbeddingMap.from_runs(small, 9, "epoch 9").plot()
    run = small.runs[0]
    keys = [run.tokens.index(z) for z in small.task.keys]
    np.testing.assert_allclose(panel.lines_["keys"].get_offsets(), run.at("pca", 9)[keys, :2])
    memory = [run.tokens.index(a) for a in small.task.memory_anchors]
    np.testing.assert_allclose(panel.lines_["memory"].get_offsets(), run.at("pca", 9)[memory, :2])
    assert panel.order.n == 2
    assert panel.ax_ is not None
    assert f"({100 * run.at('pca_variance', 9)[0]:.0f} %)" in panel.ax_.get_xlabel()


def test_numerical_order_is_one_for_keys_in_order(small: Setting) -> None:
    run = make_observations(gamma=0.5)
    line = np.zeros_like(run.arrays["pca"])
    line[..., 1] = np.arange(line.shape[1])
    line[..., 0] = np.random.default_rng(0).normal(size=line.shape[1])
    run.arrays["pca"] = line
    assert EmbeddingMap.from_runs(Setting("", (run,)), 0, "").order.mean == pytest.approx(1.0)


def test_first_attention_against_the_average(small: Setting) -> None:
    matrix = AttentionMatrix.from_runs(small, 0, "epoch 0").plot()
    drawn = matrix.image_.get_array()
    expected = small.array("first_attention", 0).mean(axis=0)
    length = small.task.length
    for i in range(length):
        np.testing.assert_allclose(drawn[i, : i + 1], expected[i, : i + 1])
        assert drawn.mask[i, i + 1 :].all()
    assert matrix.error[0] == pytest.approx(small.array("first_attention_error", 0).mean())
    rows = AttentionRows.from_runs(small, 0, "rows").plot()
    np.testing.assert_allclose(rows.lines_[length].get_ydata(), expected[-1])
    assert rows.ax_ is not None
    levels = [
        line.get_ydata()[0]
        for line in rows.ax_.get_lines()
        if line.get_linestyle() == ":" and len(line.get_ydata())
    ]
    assert levels == pytest.approx([1 / i for i in rows.lines_])


def test_distance_from_the_average_over_gamma(settings: list[Setting]) -> None:
    error = AverageOverGamma.error(settings, [0, 9]).plot()
    x, y = error.lines_[9].get_data()
    assert list(x) == [0.3, 0.8]
    np.testing.assert_allclose(y, [s.array("first_attention_error", 9).mean() for s in settings])
    assert y[0] > y[1]  # Larger weights attend less evenly: the made-up runs are Gaussian.
    share = AverageOverGamma.share(settings, [0]).plot()
    np.testing.assert_allclose(
        share.lines_[0].get_ydata(), [s.array("lemma1_share", 0)[:, 0].mean() for s in settings]
    )


def test_lemma_1_is_averaged_over_the_entries(settings: list[Setting]) -> None:
    predicted = AverageOverGamma.share(settings, [0]).plot().lines_["Lemma 1"].get_ydata()
    for s, found in zip(settings, predicted, strict=True):
        chances = [
            average_attention_probability(0.1, 16, s.init_rate, i, source="position") for i in (2, 3, 4, 5)
        ]
        assert found == pytest.approx(np.dot(chances, [2, 3, 4, 5]) / 14)
    assert predicted[0] < predicted[1]
    config = settings[0].config
    mixed = config.model_copy(
        update={"model": config.model.model_copy(update={"tensor_init_rates": {"W_Q": 1.0}})}
    )
    other = Setting("", (dataclasses.replace(settings[0].runs[0], config=mixed),))
    assert np.isnan(AverageOverGamma.share([other], [0]).predicted).all()


def test_last_logits_are_relative_to_the_key(small: Setting) -> None:
    panel = LastLogits.from_runs(small, 9, "logits").plot()
    logits = small.array("last_logits", 9)
    for p, line in panel.lines_.items():
        expected = (logits[:, p - 1] - logits[:, p - 1, p - 1][:, None]).mean(axis=0)
        np.testing.assert_allclose(line.get_ydata(), expected)
        assert line.get_ydata()[p - 1] == 0


def test_last_attention_counts_what_lies_outside_key_and_anchors(small: Setting) -> None:
    run = small.runs[0]
    attention = np.zeros_like(run.arrays["last_attention"])
    for p in range(attention.shape[1]):
        attention[:, p, p : p + 3] = 0.3
        attention[:, p, (p + 3) % 5] += 0.1
    made = make_observations(gamma=0.6)
    made.arrays["last_attention"] = attention
    panel = LastAttention.from_runs(Setting("", (made,)), 9, "").plot()
    assert panel.outside.mean == pytest.approx(0.1)
    np.testing.assert_allclose(panel.image_.get_array(), attention[2])
    assert panel.ax_ is not None
    assert len(panel.ax_.patches) == 3  # A frame for each position of the key.


def test_position_logits_leave_the_last_place_out(small: Setting) -> None:
    panel = PositionLogits.from_runs(small, 9, "").plot()
    logits = small.array("last_logits_positions", 9)
    np.testing.assert_allclose(panel.line_.get_ydata(), (logits - logits[:, :1]).mean(axis=0)[:-1])


def test_singular_values_and_effective_ranks(settings: list[Setting]) -> None:
    panel = SingularValues.from_runs(settings, "0.W_V", [9, 9], "W_V").plot()
    values = settings[0].array("singular/0.W_V", 9)
    np.testing.assert_allclose(panel.lines_["γ = 0.3"].get_ydata(), (values / values[:, :1]).mean(axis=0))
    ranks = EffectiveRank.over_gamma(settings, ["0.W_V", "W_E"], [9, 9], "").plot()
    expected = [s.array("effective_rank/W_E", 9).mean() for s in settings]
    np.testing.assert_allclose(ranks.lines_[matrix_name("W_E")].get_data(), ([0.3, 0.8], expected))
    assert expected[1] < expected[0]  # Growth along few directions, at γ = 0.8 only.
    over_time = EffectiveRank.over_epochs(settings, "W_E", "").plot()
    y = over_time.lines_["γ = 0.8"].get_ydata()
    assert y[2] == pytest.approx(expected[1])
    assert over_time.ordered
    assert [matrix_name(n) for n in ("1.W_in", "W1")] == ["$W_{\\mathrm{in}}$", "$W1$"]


def test_value_alignment_stands_beside_theorem_2(small: Setting) -> None:
    panel = ValueAlignment.from_runs(small, 9, "").plot()
    anchors = [*small.task.memory_anchors, *small.task.reasoning_anchors]
    observed = small.array("wv_direction", 9)[:, [small.runs[0].tokens.index(s) for s in anchors]]
    np.testing.assert_allclose(panel.lines_["observed"].get_ydata(), observed.mean(axis=0))
    growth = predict_value_growth(small.task, reference="uniform", held_out=True)
    np.testing.assert_allclose(panel.lines_["Theorem 2, u"].get_ydata(), growth.alignment[anchors])
    sizes = np.abs(observed[:, :5]).mean(axis=1)
    assert f"memory anchors {over_seeds(sizes.tolist(), (0, 1))}" in panel.summary()


def test_outputs_beside_label_distributions() -> None:
    (setting,) = group_runs([make_observations("emb-mlp", task=RANGES, seed=s) for s in (0, 1)])
    panels = OutputDistribution.from_runs(setting, 9)
    assert [p.title for p in panels] == ["labels 10 to 19", "labels 10 to 39"]
    drawn = panels[1].plot()
    output = setting.array("outputs/range2", 9)
    np.testing.assert_allclose(drawn.lines_["output"].get_ydata(), output.mean(axis=0))
    distribution = drawn.lines_["distribution"].get_ydata()
    assert set(np.flatnonzero(distribution)) == set(range(10, 40))
    assert drawn.mass.mean == pytest.approx(output[:, 10:40].sum(axis=1).mean())


def test_spikes_are_rises_above_the_running_minimum() -> None:
    runs = [o for rate in (1e-4, 1e-3) for o in several(learning_rate=rate)]
    panel = LossSpikes.from_runs(group_runs(runs), "mem", "memory").plot()
    x, y = panel.lines_["γ = 0.8"].get_data()
    assert list(x) == [1e-4, 1e-3]
    np.testing.assert_allclose(y, [0.0, 0.9])  # 1000 × rate, less the fall of 0.1 an epoch.
    for run in runs:
        run.metrics[-1]["loss"]["mem"] = None  # It overflowed: the rise before stays.
    overflowed = LossSpikes.from_runs(group_runs(runs), "mem", "memory").plot()
    np.testing.assert_array_equal(overflowed.curves["γ = 0.8"][1], panel.curves["γ = 0.8"][1])
    assert panel.ax_ is not None
    assert panel.ax_.get_xscale() == "log"
    scheduled = several(learning_rate=1e-4, schedule="warmup-cosine", warmup_epochs=2, warmup_factor=20.0)
    panel = LossSpikes.from_runs(group_runs(scheduled), "mem", "memory").plot()
    assert list(panel.lines_["γ = 0.8"].get_xdata()) == pytest.approx([2e-3])  # The peak of the schedule.


def test_example_sequences_obey_their_rules() -> None:
    task = Task.paper()
    memory, reasoning = (panel.plot(new_axes()[1][0]) for panel in ExampleSequences.from_task(task))
    assert (memory.is_table, reasoning.is_table) == (True, False)
    for row, (sequence, p) in enumerate(zip(reasoning.sequences, reasoning.positions, strict=True)):
        assert reasoning.labels[row] == sequence[p : p + 3].sum()
    boxes = reasoning.boxes_[:10]  # The first line: nine tokens and a label.
    kinds = [kind for kind, _ in boxes]
    p = int(reasoning.positions[0])
    assert kinds[p : p + 3] == ["key", "reasoning anchor", "reasoning anchor"]
    assert kinds.count("noise") == 6
    assert [number for _, number in boxes] == [*reasoning.sequences[0], reasoning.labels[0]]
    assert {n for kind, n in memory.boxes_ if kind == "memory anchor"} <= set(task.memory_anchors)
