"""Predictions for tasks whose labels are too many to count: estimates with their standard errors."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_1samp

import theory
from tests.tiny_task import TASK
from theory import Expression, InputError, Lookup, Mapping, Task, off_diagonal
from theory.task.rule import _labels
from validate.predict.predictors import MARGINAL, UNIFORM
from validate.predict.statistics import Cosines, summary, with_error
from validate.prediction import Prediction

LARGE = """
keys = "50..89"
n_anchors = 5
length = 6
vocab_size = 97

[[mappings]]
name = "own"
anchors = "1..13"
label = "(key * min(a1, a2) + a3 * a4 + 3 * a5) // 30 % 97"
held_out = [[1, 2, 3, 4, 5]]

[[mappings]]
name = "memory"
anchors = "21..23"
rule = "lookup"
"""
"""40 keys with 13^5 combinations: 14.9 million pairs."""


def small():
    """Return a task that can be counted: what is sampled of it can be compared."""
    own = Mapping(range(1, 8), Expression("(key * min(a1, a2)) // 3 % 97"), "own", [(1, 2)])
    mappings = [own, Mapping((10, 11), Lookup(), "memory")]
    return Task(keys=range(20, 60), n_anchors=2, length=4, vocab_size=97, mappings=mappings)


def sampled(task, monkeypatch, n_samples, seeds):
    """Predict with a limit so low that even a small task has to be sampled."""
    _labels.cache_clear()
    with monkeypatch.context() as lowered:
        lowered.setattr("theory.task.domain.MAX_ENTRIES", 100)
        found = [Prediction.of(task, n_samples=n_samples, seed=seed) for seed in range(seeds)]
    assert all(p.statistics.n_samples for p in found)
    return found


def test_without_a_block_its_draws_count_neither_as_shares_nor_as_samples(monkeypatch):
    """Few draws, so that the length that sampling noise adds is large; the labels are given one by one."""
    _labels.cache_clear()
    monkeypatch.setattr("theory.task.domain.MAX_ENTRIES", 100)
    found = theory.sample_labels(small(), [1, 4], np.random.default_rng(0), n_samples=60)
    for i, without in enumerate(found.left_out):
        shares = np.delete(found.blocks, i, axis=0).mean(axis=0)
        squares = (57 * (shares**2).sum(axis=1) - 1) / 56
        np.testing.assert_allclose(without.shares, shares, rtol=0, atol=1e-14)
        np.testing.assert_allclose(np.diagonal(without.inner), squares, rtol=0, atol=1e-14)
        assert without.inner[0, 1] == pytest.approx(shares[0] @ shares[1], abs=1e-14)


def test_a_large_task_from_toml_is_sampled(tmp_path, cli):
    """Columns, keys and figures: what is sampled has an error, and what is exact has none."""
    assert set(Prediction.of(Task.from_toml(LARGE), n_samples=200).figures()) == {
        "fig4b_label_distributions",
        "fig4c_cosines",
    }
    file = tmp_path / "large.toml"
    file.write_text(LARGE)
    command = ["predict", str(file), "--samples", "2000", "--seed", "3"]
    printed = cli(*command).out
    assert "Sampled, since the labels are too many to count: task = " in printed
    assert "are 1.49e+07 entries, and the limit is 1e+07" in printed
    assert "2000 sequences were drawn for each token but 21, 22, 23 (seed 3)" in printed
    assert "expected in one data set are left out for 'own', 'all anchors'" in printed
    assert "Eq. 14 and Theorem 1 are left out for 'own'" in printed
    for kind, errors in (("own", [3] * 13), ("memory", [0] * 3)):
        lines = [line for line in printed.splitlines() if f" {kind} anchor " in line]
        assert [line.count("±") for line in lines] == errors

    found = cli(*command, "--json").json()
    assert (found["n_samples"], found["seed"], found["exact_tokens"]) == (2000, 3, [21, 22, 23])
    errors = found["standard_error"]
    assert len(errors["label_distributions"]["4"]) == len(found["label_distributions"]["4"]) == 97
    assert max(errors["label_distributions"]["4"]) > 0 == max(errors["label_distributions"]["21"])
    assert np.shape(errors["cosines"]["own"][UNIFORM]) == (13, 13)
    assert sum(found["marginal"]) == pytest.approx(1)
    assert cli(*command, "--json").json() == found


def test_where_a_key_with_a_pair_is_held_out_what_needs_whole_combinations_is_left_out(tmp_path, cli):
    file = tmp_path / "keyed.toml"
    file.write_text(TASK + "held_out = [[20, 4, 5]]\n")
    printed = " ".join(cli("predict", str(file)).out.split())
    assert "Entropies of the label: unknown where single keys, pairs or positions are held out." in printed
    assert "expected in one data set are left out for 'memory', 'reasoning', 'all anchors'" in printed


@pytest.mark.statistical
@pytest.mark.parametrize("n_samples", [4000, 20_000])
def test_sampled_numbers_lie_within_their_errors(n_samples, monkeypatch):
    task = small()
    (drawn,) = sampled(task, monkeypatch, n_samples, 1)
    assert not any("nan" in cell for row in drawn.token_rows() + drawn.cosine_rows() for cell in row)
    exact = Prediction.of(task)
    for found, error, wanted in zip(drawn.tokens, drawn.statistics.token_errors, exact.tokens, strict=True):
        assert (found.token, found.kind, found.ratio) == (wanted.token, wanted.kind, wanted.ratio)
        for name in ("mean", "std", "norm2"):
            distance = abs(getattr(found, name) - getattr(wanted, name))
            assert distance <= 5 * getattr(error, name) + 1e-12, (found.token, name)
    for name in (UNIFORM, MARGINAL):
        value = drawn.statistics.cosines["own"][name].over(lambda m: m)
        scores = off_diagonal(value.value - exact.cosines["own"][name]) / off_diagonal(value.standard_error)
        assert np.abs(scores).max() < 5
    shares = np.array(list(drawn.to_json()["label_distributions"].values()))
    wanted_shares = [theory.label_distribution(task, s, held_out=True) for s in task.anchors]
    marginal = theory.marginal_distribution(task, held_out=True)
    for p, found_p in ((np.array(wanted_shares), shares), (marginal, drawn.to_json()["marginal"])):
        # Five standard errors of a share, of one draw more than there are.
        assert (np.abs(found_p - p) < 5 * np.sqrt((p + 1 / n_samples) / n_samples)).all()


@pytest.mark.statistical
def test_norms_are_not_biased_by_the_sampling_noise(monkeypatch):
    """It makes squared norms of 1/44 on average longer by 1/60; true ones fail by chance once in 10 000."""
    sizes = [sum(t.norm2 for t in drawn.tokens) for drawn in sampled(small(), monkeypatch, 60, 20)]
    exact = sum(t.norm2 for t in Prediction.of(small()).tokens)
    assert ttest_1samp(sizes, exact).pvalue > 1e-4


def test_a_direction_that_the_samples_do_not_show_is_left_out(monkeypatch):
    """Multiplied by an anchor, 97 keys give each of 97 labels once: P^s is uniform, but for tables."""
    mappings = [
        Mapping(range(1, 5), Expression("(key - 10) * a1 * a2 % 97"), "uniform"),
        Mapping((5, 6, 7), Lookup(20, 30), "memory"),
        Mapping((8, 9), Lookup(20, 30), "pair"),
    ]
    task = Task(keys=range(10, 107), n_anchors=2, length=3, vocab_size=107, mappings=mappings)
    (prediction,) = sampled(task, monkeypatch, 400, 1)
    rows = {row[0]: row[2:] for row in prediction.cosine_rows() if row[1] == UNIFORM}
    assert set(rows) == {"uniform (0 of 4 anchors)", "memory", "all anchors (5 of 9 anchors)"}
    assert rows["uniform (0 of 4 anchors)"] == ["–", "–", "–", "– – –"]
    found = prediction.to_json()
    assert found["cosines"]["uniform"][UNIFORM][0] == [None] * 4
    assert any("4 of the 4 anchors of 'uniform'" in sentence for sentence in prediction.notes())
    json.dumps(found, allow_nan=False)


def test_sampled_means_too_are_at_distances_of_tokens():
    """In any order of the anchors; what the samples do not resolve is left out of a mean."""
    matrix = np.array(
        [[1.0, 0.5, 0.1, np.nan], [0.5, 1, 0.2, 0.3], [0.1, 0.2, 1, 0.7], [np.nan, 0.3, 0.7, 1]]
    )
    assert summary(Cosines.exact(matrix), (9, 1, 5, 2))[-1] == "1:0.300 3:0.700 4:0.150 7:– 8:0.500"
    cells = summary(Cosines.exact(matrix), (3, 4, 6, 5))
    assert cells == ["0.360", "0.100", "0.700", "0.500 0.200 0.100"]


def test_nothing_drives_a_token_that_is_never_seen_in_training(monkeypatch):
    held_out = [(a, 6) for a in (4, 5, 6)] + [(6, 4), (6, 5)]
    rule = Mapping((4, 5, 6, 7), Expression("key + a1 + a2"), "rule", [*held_out, (6, 7), (7, 6)])
    task = Task(keys=range(20, 27), n_anchors=2, length=3, vocab_size=41, mappings=[rule])
    for prediction in (Prediction.of(task), *sampled(task, monkeypatch, 4000, 1)):
        for name in (UNIFORM, MARGINAL):
            cosines = prediction.cosines["rule"][name]
            assert np.isnan(cosines[2]).all()
            assert np.isfinite(np.delete(np.delete(cosines, 2, 0), 2, 1)).all()


@pytest.mark.parametrize("task", [small(), Task.from_toml(LARGE)], ids=["counted", "sampled"])
@pytest.mark.parametrize("n_samples", [0, 39])
def test_too_few_samples_are_refused_alike_whether_they_are_needed_or_not(task, n_samples):
    with pytest.raises(InputError, match=f"n_samples = {n_samples}: out of range; give at least 40"):
        Prediction.of(task, n_samples=n_samples)
    with pytest.raises(InputError, match="give at least 40"):
        theory.sample_labels(task, [21], np.random.default_rng(0), n_samples=n_samples)


def test_a_prediction_that_no_report_could_hold_is_refused_with_its_size():
    """200 anchors of 100 000 labels at 100 bytes each: 2e9 bytes."""
    task = Task(
        keys=range(300, 310), n_anchors=1, length=2, vocab_size=100_000, reasoning_anchors=range(1, 201)
    )
    with pytest.raises(InputError, match=r"2e\+07 label probabilities, 1\.86 GiB as a report"):
        Prediction.of(task)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.01385, 9.97e-5, "0.01385±0.00010"),
        (0.5, 0.0994, "0.500±0.099"),
        (2.0, 9.96, "2±10"),
        (0.25, 0.0, "0.250"),
    ],
)
def test_an_error_has_two_digits_also_where_it_is_rounded_up(value, error, text):
    assert with_error(value, error) == text
