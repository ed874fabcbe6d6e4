"""One list of predictions, shared by name and number; the accuracy that no order-blind model passes."""

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest

import theory
from sim.config.run import make_member_config
from sim.config.task_files import as_task
from sim.data.dataset import build_dataset
from tests.theory.any_rule import Enumerated
from tests.validate.figures.synthetic import MEMORIES, RANGES
from theory import Expression, Lookup, Mapping, Shift, Sum, Task
from theory.task.domain import Domain
from theory.task.task import task_from_dict, task_to_dict
from validate.compare.rows import all_predictions
from validate.figures.beforehand import FILES
from validate.figures.embedding import colours_of, looks, predictions
from validate.figures.style import PALETTE
from validate.predict.ceiling import held_out_in_part, order_blind_ceiling, rule_ceiling
from validate.predict.predictors import (
    FITTED_WIDTH,
    MARGINAL,
    PREDICTORS,
    UNIFORM,
    Predictor,
    are_summed,
    equations,
    marginal_cosines,
    register_predictor,
    uniform_cosines,
)
from validate.predict.statistics import ONE_DATA_SET
from validate.prediction import Prediction

ANCHORS = tuple(range(11, 21))


def test_every_list_takes_its_predictions_from_one(settings):
    small = settings[-1]
    compared = all_predictions(small.runs, [6] * len(small.runs), ANCHORS)
    drawn = predictions(small, ANCHORS, 6)
    computed = Prediction.of(small.task).cosines["reasoning"]
    names = {p.name for p in PREDICTORS}
    assert set(compared) == names | {FITTED_WIDTH}
    assert set(looks()) - FILES.keys() == set(drawn) == names - {"frozen flow"}
    assert set(computed) - names == {ONE_DATA_SET}
    for name, matrices in drawn.items():
        for i, matrix in enumerate(matrices):
            np.testing.assert_array_equal(matrix, compared[name][i])
    for name in computed.keys() & names:
        np.testing.assert_array_equal(computed[name], compared[name][0])
    key = small.task.keys[0]
    with pytest.raises(theory.InputError, match=rf"^tokens = {key}: not an anchor"):
        all_predictions(small.runs, [6] * len(small.runs), (11, key))


@pytest.mark.parametrize(
    ("rule", "summed"), [(Sum(), True), (Shift({1: 5, 2: -2, 3: 0}), False), (Lookup(), False)]
)
def test_eq_14_speaks_of_sums_alone(rule, summed):
    mappings = [Mapping((1, 2, 3), rule, "own")]
    task = Task(keys=range(30, 60), n_anchors=2, length=3, vocab_size=90, mappings=mappings)
    assert are_summed(task, (1, 2, 3)) is summed
    prediction = Prediction.of(task)
    assert ("eq. 14" in prediction.cosines["own"]) is summed
    assert ("fig5cd_geometry" in prediction.figures()) is summed


def by_hand(matrix, tokens, distance):
    found = [
        matrix[i, j]
        for i, j in itertools.combinations(range(len(tokens)), 2)
        if abs(tokens[i] - tokens[j]) == distance
    ]
    return f"{np.mean(found):.3f}"


def test_means_at_a_distance_are_over_tokens_that_far_apart():
    """No two of 1, 2, 5 and 9 are 2, 5 or 6 apart; some of all anchors are, and 9 is the last one shown."""
    mappings = [Mapping((1, 2, 5, 9), Sum(), "sum"), Mapping((10, 11, 12), Lookup(), "memory")]
    task = Task(keys=range(20, 60), n_anchors=2, length=4, vocab_size=97, mappings=mappings)
    prediction = Prediction.of(task)
    rows = {(group, name): cells[-1] for group, name, *cells in prediction.cosine_rows()}
    assert {group for group, _ in rows} == {"sum", "memory", "all anchors"}
    for (group, name), cell in rows.items():
        tokens = {"sum": (1, 2, 5, 9), "memory": (10, 11, 12)}.get(group, task.anchors)
        distances = {"sum": (1, 3, 4, 7, 8), "memory": (1, 2)}.get(group, tuple(range(1, 10)))
        means = [by_hand(prediction.cosines[group][name], tokens, d) for d in distances]
        if group == "sum":
            means = [f"{d}:{mean}" for d, mean in zip(distances, means, strict=True)]
        assert cell == " ".join(means)
    assert any("the means at the 9 smallest are shown" in note for note in prediction.notes())
    task = Task(keys=range(20, 60), n_anchors=2, length=4, vocab_size=97, mappings=mappings[1:])
    assert all(note.startswith("– under P^s - mean P") for note in Prediction.of(task).notes())


HALF_HELD_OUT = Task(
    keys=range(20, 24), reasoning_anchors=(4, 5, 6), memory_anchors=(1, 2, 3), n_anchors=2, length=3,
    vocab_size=40, held_out=[(4, 4), (4, 5), (5, 6), (6, 4)],
)  # fmt: skip


def test_one_data_set_is_the_mean_over_its_tables():
    """Mean products over mean squared norms, where all keys are equally frequent."""
    of_training, tokens = Enumerated.of(HALF_HELD_OUT, held_out=True), list(HALF_HELD_OUT.anchors)
    excess = of_training.table()[tokens] - 1 / 40
    inner = excess @ excess.T + [[of_training.covariance(a, b, None) for b in tokens] for a in tokens]
    norms = np.sqrt(np.diagonal(inner))
    found = Prediction.of(HALF_HELD_OUT).cosines["all anchors"][ONE_DATA_SET]
    np.testing.assert_allclose(found, inner / np.outer(norms, norms), atol=1e-12)


def test_a_cosine_that_is_not_defined_is_a_dash_with_a_reason():
    """Every anchor has the labels of the keys: every P^s is the mean P, and their difference is zero."""
    rule = Expression("20 + (key - 20 + (4 if a1 % 2 != a2 % 2 else 0)) % 8")
    mappings = [Mapping(range(1, 5), rule, "parity"), Mapping(range(10, 13), Lookup(20, 27), "few")]
    task = Task(keys=range(20, 28), n_anchors=2, length=3, vocab_size=40, mappings=mappings)
    prediction = Prediction.of(task)
    rows = {tuple(row[:2]): row[2:] for row in prediction.cosine_rows()}
    assert rows["parity", MARGINAL] == ["–", "–", "–", "– – –"]
    assert rows["parity", UNIFORM][:3] == ["1.000"] * 3
    (note,) = (s for s in prediction.notes() if s.startswith("–"))
    assert note == f"– under {MARGINAL}: that vector of 1, ... (7 tokens) is zero, and has no direction."
    assert not any("nan" in cell for row in prediction.cosine_rows() for cell in row)
    assert not any(s.startswith("–") for s in Prediction.of(HALF_HELD_OUT).notes())


@pytest.mark.parametrize("d", [50, 60, 97, 200])
def test_what_rounding_alone_leaves_has_no_direction(d):
    """Every P^s is u and the mean P: the differences are 0, or their last digit."""
    table = Mapping((1, 2, 3), Lookup(0, d - 1), "table")
    task = Task(keys=range(20, 40), n_anchors=2, length=3, vocab_size=d, mappings=[table])
    for cosines in (uniform_cosines, marginal_cosines):
        assert np.isnan(cosines(task, table.anchors)).all()


def test_groups_of_almost_one_name_have_maps_of_their_own():
    names = ("a b", "a_b", "all_anchors")
    mappings = [Mapping((3 * i, 3 * i + 1, 3 * i + 2), Lookup(), name) for i, name in enumerate(names, 1)]
    task = Task(keys=range(20, 24), n_anchors=1, length=2, vocab_size=24, mappings=mappings)
    figure = Prediction.of(task).figures()["fig4c_cosines"]
    titles = [str(part.get_suptitle()).strip() for part in figure.subfigs]
    assert titles == ["a b anchors", "a_b anchors", "all_anchors anchors", "all anchors"]


RULE, BLIND = "(key + 5 * a1 + 3 * a2 * a3) % 37", "key + a1 * a2 * a3 % 5"


def counted(sequences, labels):
    """Return the best accuracy that sees each sequence as a bag of tokens."""
    seen: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for sequence, label in zip(sequences, labels, strict=True):
        seen[tuple(sorted(sequence))][label] += 1
    return sum(max(counts.values()) for counts in seen.values()) / len(labels)


def test_ceilings_by_hand():
    """Ten of 100 pairs are equal; of the two orders of each other pair 1.01 are right on average."""
    assert order_blind_ceiling(as_task("emb-mlp")) == pytest.approx((10 + 45 * 1.01) / 100)
    # Three of nine pairs are equal; of 10 labels by lookup, and of 2 s + 1 in a window, s the pair's sum.
    windows = 3 + sum(1 + 1 / (2 * s + 1) for s in (4 + 5, 4 + 6, 5 + 6))
    two_tables = task_from_dict(MEMORIES | {"n_anchors": 2})
    assert order_blind_ceiling(two_tables) == pytest.approx((3 + 3 * 1.1 + windows) / 18)
    # Of m orderings with one of two labels each, B and m − B get one, B binomial.
    mapping = Mapping(range(1, 5), Lookup(30, 31), "memory")
    task = Task(keys=(20, 21), n_anchors=6, length=7, vocab_size=40, mappings=[mapping])
    orderings = Counter(tuple(sorted(c)) for c in product(range(4), repeat=6)).values()
    best = [sum(comb(m, j) * max(j, m - j) for j in range(m + 1)) / 2**m for m in orderings]
    assert max(orderings) == 180
    assert order_blind_ceiling(task) == pytest.approx(sum(best) / 4**6)


def test_there_is_none_without_tables_or_with_noise_or_too_much_to_count():
    assert order_blind_ceiling(Task.paper()) is None
    assert order_blind_ceiling(task_from_dict(RANGES)) is None
    rule = Mapping(range(1, 16), Expression(RULE))
    large = Task(keys=range(20, 37), n_anchors=5, length=6, vocab_size=37, mappings=[rule])
    assert rule_ceiling(large, large.mappings[0]) is None


def test_a_ceiling_just_below_one_is_not_said_to_be_one():
    """Among 225 combinations, (1, 2) alone has another label than its tokens in the other order."""
    rule = Expression("key + (1 if 10 * a1 + a2 == 12 else 0)")
    mappings = [Mapping(range(1, 16), rule, "own")]
    task = Task(keys=range(20, 24), n_anchors=2, length=3, vocab_size=40, mappings=mappings)
    assert any("at most 99.6 % of" in note for note in Prediction.of(task).notes())


@pytest.mark.parametrize(
    ("held_out", "told"),
    [([], []), ([(2, 2)], []), ([(1, 3), (3, 1)], []), ([(3, 1), (2, 4), (4, 2), (5, 4)], [(1, 3), (4, 5)])],
)
def test_a_combination_that_is_held_out_in_some_orders_only_is_noted(held_out, told):
    mapping = Mapping(range(1, 6), theory.Sum(), "own", held_out=held_out)
    task = Task(keys=range(20, 24), n_anchors=2, length=3, vocab_size=40, mappings=[mapping])
    assert held_out_in_part(mapping) == told
    notes = [note for note in Prediction.of(task).notes() if "some orders only" in note]
    assert [str(told[0]) in note for note in notes] == [True] * bool(told)


@pytest.mark.parametrize("label", [RULE, BLIND])
def test_the_ceiling_of_a_rule_is_that_of_its_training_data(label):
    own = Mapping((1, 2, 3), Expression(label), "own", [(1, 2, 3), (3, 3, 1)])
    mappings = [own, Mapping((5, 6), Lookup(), "memory")]
    task = Task(keys=range(10, 14), n_anchors=3, length=4, vocab_size=37, mappings=mappings)
    config = make_member_config({"task": task_to_dict(task), "init_rate": 0.8, "seed": 3})
    made = build_dataset(config)
    rows = made.parts["rsn_train"]
    by_hand = counted(made.tokens[rows].tolist(), made.labels[rows].tolist())
    assert rule_ceiling(task, task.mappings[0]) == pytest.approx(by_hand)
    assert rule_ceiling(task, task.mappings[1]) is None


def test_the_labels_are_counted_once_a_token_and_not_once_a_pair(monkeypatch):
    mapping = Mapping(range(23), Expression("(a1 + a2) % 23"))
    task = Task(keys=[23], n_anchors=2, length=3, vocab_size=24, mappings=[mapping])
    combinations, calls = Domain.combinations, []
    monkeypatch.setattr(Domain, "combinations", lambda self: calls.append(1) or combinations(self))
    found = Prediction.of(task).cosines
    assert len(calls) < 5 * 23
    np.testing.assert_allclose(found["expression"]["expected in one data set"], 1)


def test_one_of_ones_own_is_compared_drawn_and_named_in_reports(settings):
    """A new name raised KeyError where its equation and its colour were looked up."""
    own = Predictor("own", "$own$", "eq. 0", 6, ("label_distribution",), of_task=uniform_cosines)
    small = settings[-1]
    register_predictor(own)
    try:
        assert equations()["own"] == ("eq. 0", ("label_distribution",))
        assert (colours_of()["own"], looks()["own"][0]) == (PALETTE[6], "$own$")
        compared = all_predictions(small.runs, [6] * len(small.runs), ANCHORS)
        for found in (compared, predictions(small, ANCHORS, 6)):
            np.testing.assert_array_equal(found["own"][0], uniform_cosines(small.task, ANCHORS))
        for wrong, words in (
            (own, "has that name"),
            (replace(own, name="other", of_task=None), "nothing to"),
        ):
            with pytest.raises(theory.InputError, match=words):
                register_predictor(wrong)
    finally:
        PREDICTORS.remove(own)
