"""Comparisons: measures against SciPy, predictors against their definitions, groups and settings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr, spearmanr

import theory
from sim import Run
from theory import InputError, cosine_matrix, off_diagonal
from validate.compare import rows as compare
from validate.compare.ranking import STEPS, WHOLE, agreements, ranking, rung_distances
from validate.judge.measures.agreement import measures
from validate.observe import observe
from validate.observe.times import early_epoch, time_at
from validate.predict.predictors import ALL, FITTED_WIDTH, PREDICTORS, marginal_cosines, uniform_cosines


@given(arrays(np.float64, (2, 12), elements=st.sampled_from(np.linspace(-1, 1, 17).tolist())))
def test_measures_are_scipys(pair):
    p, o = pair
    found = measures(p, o)
    if min(np.ptp(p), np.ptp(o)) < 1e-9:
        assert np.isnan(found["pearson"])
        assert np.isnan(found["spearman"])
    else:
        assert found["pearson"] == pytest.approx(pearsonr(p, o)[0], abs=1e-9)
        assert found["spearman"] == pytest.approx(spearmanr(p, o)[0], abs=1e-9)
    assert np.isnan([measures(p[:2], o[:2])[name] for name in ("pearson", "spearman")]).all()  # On a line.
    assert found["rmse"] == pytest.approx(np.sqrt(((p - o) ** 2).mean()))
    assert found["largest_error"] == pytest.approx(np.abs(p - o).max())


@pytest.fixture
def small(settings):
    return settings[-1]


def test_rows_cover_every_anchor_predictor_and_epoch(settings):
    rows = compare.compare_runs(settings)
    memory = [r for r in rows if r.group == "memory" and r.setting == "γ = 0.8" and r.epoch == 4]
    names = {p.name for p in PREDICTORS} - {"eq. 14"}
    assert {r.predictor for r in memory} == names
    assert {r.anchor for r in memory} == {None, 1, 2, 3, 4, 5}
    reasoning = {r.predictor for r in rows if r.group == "reasoning"}
    assert reasoning == {p.name for p in PREDICTORS} | {FITTED_WIDTH}
    assert {r.epoch for r in rows} == {0, 2, 4, 6}
    assert all(r.estimate.n <= 2 for r in rows)


def test_one_cell_by_hand(small):
    """Row 12, P^s − u, γ = 0.8, last epoch, from the definitions alone."""
    tokens = list(range(11, 21))
    distributions = [theory.label_distribution(small.task, s, held_out=True) - 1 / 110 for s in tokens]
    predicted = np.delete(cosine_matrix(distributions)[1], 1)
    rows = [cosine_matrix(Run.open(run.path).embedding(6)[tokens])[1] for run in small.runs]
    table = compare.compare_runs([small], [6])
    wanted = ("reasoning", 12, "P^s - u", "pearson")
    (row,) = (r for r in table if (r.group, r.anchor, r.predictor, r.measure) == wanted)
    assert row.estimate.mean == pytest.approx(
        np.mean([pearsonr(predicted, np.delete(r, 1))[0] for r in rows])
    )


def test_the_plot_has_the_pearson_of_the_last_group_of_each_setting_over_the_epochs(settings):
    rows = compare.compare_runs(settings)
    another = [replace(r, setting="of another task", group="its own") for r in rows if r.group == ALL]
    rows = compare.Comparison([*another, *rows])
    wanted: dict[str, list[tuple[int, float]]] = {}
    for r in rows:
        if (r.anchor, r.measure) == (None, "pearson") and r.group in (ALL, "its own"):
            wanted.setdefault(f"{r.setting}: {r.predictor}", []).append((r.epoch, r.estimate.mean))
    drawn = {str(line.get_label()): line.get_xydata() for line in rows.plot().axes[0].lines}
    assert drawn.keys() == wanted.keys()
    for name, points in wanted.items():
        np.testing.assert_array_equal(drawn[name], points)
    with pytest.raises(InputError, match="nothing to draw"):
        compare.Comparison([]).plot()
    assert "2 rows" in repr(compare.Comparison(rows[:2]))


def test_every_number_stands_under_the_name_of_its_measure(small):
    """The early comparison, the ranking and the error budget of one setting, by SciPy and by hand."""
    tokens, last = list(small.task.anchors), small.epochs()[-1]
    predicted = [off_diagonal(uniform_cosines(run.task, tokens)) for run in small.runs]
    early = [off_diagonal(run.cosines(tokens, early_epoch(run))) for run in small.runs]
    pairs = list(zip(predicted, early, strict=True))
    each = {
        "pearson": [pearsonr(p, o).statistic for p, o in pairs],
        "spearman": [spearmanr(p.round(12), o.round(12)).statistic for p, o in pairs],
        "rmse": [np.sqrt(np.mean((p - o) ** 2)) for p, o in pairs],
        "largest_error": [np.abs(p - o).max() for p, o in pairs],
        "skill": [1 - ((p - o) ** 2).sum() / (o**2).sum() for p, o in pairs],
    }
    by_hand = {name: float(np.mean(values)) for name, values in each.items()}
    rows = {
        row.measure: row.estimate.mean
        for row in compare.early_rows(small)
        if (row.group, row.anchor, row.predictor) == (ALL, None, "P^s - u")
    }
    assert rows == pytest.approx({name: by_hand[name] for name in rows})
    (ranked,) = (line for line in ranking(small) if line.predictor == "P^s - u")
    assert [ranked.pearson.mean, ranked.skill.mean, ranked.rmse.mean] == pytest.approx(
        [by_hand[name] for name in ("pearson", "skill", "rmse")]
    )
    folders = [Run.open(run.path) for run in small.runs]
    drives = [theory.frozen_direction(run.token_label_matrix, run.initial())[tokens] for run in folders]
    ladder = {
        "P^s - u": predicted,
        "P^s - mean P": [off_diagonal(marginal_cosines(run.task, tokens)) for run in small.runs],
        "finite sample": [off_diagonal(cosine_matrix(run.token_label_matrix[tokens])) for run in folders],
        "frozen flow, late": [*map(off_diagonal, map(cosine_matrix, drives))],
        "frozen flow": [off_diagonal(cosine_matrix(_frozen(run, last)[tokens])) for run in small.runs],
        "observed": [off_diagonal(run.cosines(tokens, last)) for run in small.runs],
    }
    budget = {(d.lower, d.upper): d for d in rung_distances([small]) if (d.epoch, d.group) == (last, ALL)}
    assert list(budget) == [(lower, upper) for lower, upper, _ in STEPS + WHOLE]
    for (lower, upper), found in budget.items():
        apart = [a - b for a, b in zip(ladder[lower], ladder[upper], strict=True)]
        assert found.rmse.mean == pytest.approx(np.mean([np.sqrt((a**2).mean()) for a in apart]))
        assert found.largest.mean == pytest.approx(np.mean([np.abs(a).max() for a in apart]))
        assert found.rmse.n == len(small.runs)


def test_every_cell_of_the_ranking_and_of_the_budget_is_under_its_name(small):
    for found in ranking(small):
        name = f"{found.predictor} (rival)" if found.rival else found.predictor
        numbers = {"Pearson": found.pearson, "skill": found.skill, "RMSE": found.rmse}
        wanted = {"predictor": name} | {key: e.brief for key, e in numbers.items()}
        assert dict(zip(found.HEADER, found.cells(), strict=True)) == wanted
    for agreed in agreements(small):
        numbers = {"Pearson": agreed.pearson, "slope": agreed.slope}
        numbers |= {"same sign": agreed.sign, "RMSE": agreed.rmse}
        wanted = {"pairs": agreed.pairs, "in words": agreed.words}
        wanted |= {key: e.brief for key, e in numbers.items()}
        assert dict(zip(agreed.HEADER, agreed.cells(), strict=True)) == wanted
    for step in rung_distances([small]):
        assert step.cells() == [step.group, step.step, str(step.rmse), str(step.largest)]


def _frozen(observed, epoch):
    """Return the embedding of the frozen flow: the same initial weights, held fixed."""
    run = Run.open(observed.path)
    return theory.frozen_flow(run.token_label_matrix, run.initial(), [time_at(observed, epoch)]).W_emb[0]


def test_widths_are_fitted_on_the_other_seeds(small):
    tokens = small.task.reasoning_anchors
    observed = [run.cosines(tokens, 6) for run in small.runs]
    first, second = compare.widths_by_others(small.task, tokens, observed)
    assert compare.widths_by_others(small.task, tokens, observed[1:]) == [first]
    assert compare.widths_by_others(small.task, tokens, observed[:1]) == [second]


def test_time_is_the_sum_of_learning_rates(runs):
    run = observe(runs[0])
    steps_per_epoch = run.metrics[-1]["step"] / 6
    assert time_at(run, 0) == 0
    assert time_at(run, 3) == pytest.approx(3 * steps_per_epoch * 2e-3)
    with pytest.raises(InputError, match="epoch = 99"):
        time_at(run, 99)
