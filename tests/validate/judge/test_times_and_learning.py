"""When data sets are fitted, what is early, where the bias crosses: by hand."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from tests.validate.judge.synthetic import learning, ramp, run
from theory import Lookup, Mapping, Sum, Task
from validate.judge.measures import learning as measured
from validate.judge.measures.agreement import scrambled, spearman
from validate.observe import NotObservedError
from validate.observe.bounds import Bound
from validate.observe.times import curve, early_epoch

NEVER = [0.0] * 11


def of(**accuracy):
    return run(0.8, 0, accuracy)


def test_early_is_the_first_snapshot_after_half_is_reached_else_the_last():
    """In any order of the data sets: kept files have them by name, run folders as they were evaluated."""
    assert early_epoch(of(rsn_train=ramp(1.2))) == 3
    assert early_epoch(of(rsn_train=ramp(3))) == 3
    assert early_epoch(of(rsn_train=ramp(3.5))) == 10
    assert early_epoch(of(rsn_train=NEVER)) == 10
    for one, other in (("mem", "far"), ("mem", "near"), ("rsn_train", "mem")):
        accuracy = {one: ramp(1.2), other: NEVER}
        orders = (accuracy, dict(reversed(accuracy.items())))
        assert [early_epoch(of(**parts)) for parts in orders] == [3, 3]


def test_a_data_set_that_a_run_lacks_is_an_observable_that_it_lacks():
    with pytest.raises(NotObservedError, match="not a data set of the run"):
        curve(of(mem=NEVER), "accuracy", "rsn_test")


def test_test_accuracy_is_a_lower_bound_until_the_training_set_is_fitted():
    """A test set at 0.1 says nothing of memorising where the training set is at 0.2."""
    low = [0, 0.07, *[0.1] * 9]
    assert measured.highest_accuracy(of(rsn_test=[0, 0.7, *[0.1] * 9])) == 0.7
    assert measured.highest_accuracy(of(rsn_train=[0, 0.6, *[0.1] * 9], rsn_test=low), "rsn_train") == 0.6
    assert measured.best_test_accuracy(of(rsn_test=low, rsn_train=ramp(5))) == 0.1
    assert measured.best_test_accuracy(of(rsn_test=low, rsn_train=[0.2] * 11)) == Bound(0.1, 1.0)


def test_guessing_is_the_commonest_label_of_the_data_set_that_is_learned():
    """For a rule it is counted by hand, with or without a table; for a table of two labels it is 1/2."""
    table, rule = Mapping([1, 2, 3], Lookup(30, 31), "table"), Mapping([11, 12, 13], Sum(), "rule")
    sums = Counter(sum(each) for each in product(range(40, 60), rule.anchors, rule.anchors))
    commonest = max(sums.values()) / sums.total()
    for mappings, part, accuracy in (
        ([rule], "rsn_train", commonest),
        ([rule, table], "rsn_train", commonest),
        ([table], "mem", 0.5),
    ):
        task = Task(keys=range(40, 60), mappings=mappings, n_anchors=2, length=3, vocab_size=110)
        found = run(0.8, 0, {part: [accuracy] * 11}, task=task)
        assert measured.above_guessing(found) == pytest.approx(0, abs=1e-12)
        assert measured.above_guessing(found, 1.0) == 1


def test_runs_that_learned_nothing_have_no_bias():
    seed = {}
    for rate, bias in {0.3: -0.3, 0.4: -0.2, 0.5: -0.1, 0.6: 0.1, 0.7: 0.3, 0.8: 0.4, 0.9: 0.5}.items():
        constant = {"mem": max(-bias, 0.0), "rsn_train": 1.0, "rsn_test": max(bias, 0.0)}
        seed["", rate] = run(rate, 0, {part: [value] * 11 for part, value in constant.items()})
    assert measured.trend(seed) == pytest.approx(1)
    idle = {part: [0.01 * k for k in range(11)] for part in ("mem", "rsn_train", "rsn_test")}
    seed["", 0.3] = run(0.3, 0, idle)
    assert math.isnan(measured.trend(seed))
    assert math.isnan(measured.least_gain({("", rate): seed["", rate] for rate in (0.3, 0.8)}, absolute=True))


@pytest.mark.parametrize("n", [5, 7, 10, 20, 100])
def test_scrambled_is_a_permutation_that_leaves_little_order(n):
    order = scrambled(n)
    assert sorted(order.tolist()) == list(range(n))
    before, after = (pdist(places[:, None]) for places in (np.arange(n), order))
    # Nothing is drawn: five things, 0 2 4 1 3, have 1/2 and -1/4 exactly, larger numbers less.
    assert abs(spearman(np.arange(n), order)) <= 0.5 + 1e-12
    assert abs(spearman(before, after)) <= 0.25 + 1e-12
    assert spearman(1e-14 * np.arange(n), 1e9 * np.arange(n) ** 3) == pytest.approx(1)  # At any scale.


def test_rates_that_learned_nothing_say_nothing():
    nothing = {"mem": NEVER, "rsn_train": NEVER, "rsn_test": NEVER}
    seed = {
        ("slow", 0.3): run(0.3, 0, nothing),
        ("slow", 0.8): run(0.8, 0, nothing),
        ("good", 0.3): run(0.3, 0, learning(small=False)),
        ("good", 0.8): run(0.8, 0, learning(small=True)),
    }
    assert measured.least_gain(seed, learned=True) > 0.5
    silent = {cell: found for cell, found in seed.items() if cell[0] == "slow"}
    assert math.isnan(measured.least_gain(silent, learned=True))
