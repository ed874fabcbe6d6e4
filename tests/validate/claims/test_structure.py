"""Measures of embeddings, attention, outputs and interventions: by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from sim.config.model import TransformerConfig
from tests.validate.claims.synthetic import (
    EPOCHS,
    RANGES,
    TASK,
    attention,
    embedding,
    learning,
    looks,
    of_embeddings,
    ramp,
    run,
)
from theory import (
    InputError,
    average_attention_probability,
    cosine_matrix,
    eq14_embedding,
    fit_width,
    label_distribution,
    marginal_distribution,
    off_diagonal,
)
from theory.arrays import FloatArray
from validate.claims import ledger
from validate.claims.measures import attention as of_attention
from validate.claims.measures.causal import matched_epoch
from validate.claims.measures.geometry import (
    avoided,
    correlation,
    distance_correlation,
    explained,
    explained_by_others_width,
    fall_mismatch,
    fitted_width,
    lowest_row_correlation,
    mean_cosine,
    mean_size,
    memory_excess,
    near_error,
    neighbour_excess,
    plane_correlation,
    plane_order,
    plane_skill,
    share_of_fall,
    shuffled,
    skill,
)
from validate.claims.measures.outputs import greatest_foreign_mass, held_out_share, least_own_mass
from validate.claims.measures.rivals import (
    NEARNESS,
    SAME_MAPPING,
    nearness_within,
    skill_over,
    skill_over_best,
    skill_over_prediction,
)
from validate.claims.measures.spectra import rank_left, rank_ratio
from validate.judge.bounds import Bound
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.observe.embedding import embedding_geometry
from validate.predict.predictors import (
    Predict,
    Tokens,
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)

REASONING = TASK.reasoning_anchors


@pytest.fixture(scope="module")
def small() -> Observations:
    return looks(0.8, 0, small=True)


@pytest.fixture(scope="module")
def large() -> Observations:
    return looks(0.3, 0, small=False)


def test_order_of_an_arc() -> None:
    angles = 0.1 * np.arange(10)
    cosines = np.cos(angles[:, None] - angles)
    assert distance_correlation(REASONING, cosines) == pytest.approx(-1)
    assert neighbour_excess(REASONING, cosines) == pytest.approx(np.cos(0.1) - np.cos(0.9))


def test_predictions_are_those_of_the_label_laws(small: Observations) -> None:
    distributions = np.stack([label_distribution(TASK, s, held_out=True) for s in REASONING])
    np.testing.assert_allclose(
        from_uniform(small, REASONING), cosine_matrix(distributions - 1 / TASK.vocab_size)
    )
    mean = marginal_distribution(TASK, held_out=True)
    np.testing.assert_allclose(from_marginal(small, REASONING), cosine_matrix(distributions - mean))
    # The made-up runs' counts are the distributions, and their frozen direction has those as its gram matrix.
    for predict in (from_counts, from_frozen_direction):
        np.testing.assert_allclose(predict(small, REASONING), from_uniform(small, REASONING), atol=1e-12)


def test_skill_and_correlation(small: Observations, large: Observations) -> None:
    assert skill(small, from_uniform, TASK.anchors) == pytest.approx(1, abs=1e-4)
    assert correlation(small, from_uniform, TASK.anchors) == pytest.approx(1, abs=1e-4)
    assert abs(correlation(small, shuffled(from_uniform), REASONING)) < 0.4
    assert skill(large, from_uniform, REASONING) < 0
    assert share_of_fall(small) == pytest.approx(1, abs=1e-3)
    # Orthogonal anchors, predicted to be orthogonal, leave nothing: the reference of the skill.
    assert skill(small, lambda r, tokens, epoch: np.eye(len(tokens)), REASONING) == pytest.approx(0)


def test_means(small: Observations, large: Observations) -> None:
    assert mean_cosine(small, TASK.memory_anchors) == pytest.approx(1, abs=1e-4)
    assert memory_excess(small) == pytest.approx(1 - mean_cosine(small, REASONING), abs=1e-4)
    assert 0 < mean_size(large, REASONING) < 0.1


def test_one_direction_for_each_mapping_is_condensed() -> None:
    """Claim 29: over all anchors the mean |cosine| would be below one half."""
    W = np.random.default_rng(0).standard_normal((TASK.vocab_size, 200))
    for tokens in (TASK.memory_anchors, TASK.reasoning_anchors):
        W[list(tokens)] = W[tokens[0]]
    run_ = looks(0.8, 0, small=True)
    geometry = {name: np.stack([a] * len(EPOCHS)) for name, a in embedding_geometry(W, TASK).items()}
    blocks = dataclasses.replace(run_, arrays=run_.arrays | geometry)
    (claim,) = ledger([29])
    *_, apart = (c for c in claim.conditions if c.setting == "MLP")
    assert "reasoning anchors" in apart.what
    (value,) = apart.measure({("", 0.8): [blocks]})
    assert value == pytest.approx(1)
    assert mean_size(blocks, TASK.anchors) < 0.6
    assert not apart.met(1.0)


def test_eq14_shape() -> None:
    runs = [looks(0.8, seed, small=True, shape="eq. 14") for seed in range(3)]
    assert lowest_row_correlation(runs[0], from_eq14) == pytest.approx(1, abs=1e-6)
    assert near_error(runs[0], from_eq14) < 1e-4
    # An error of the farthest pair alone is no error near by.
    wrong = from_eq14(runs[0], REASONING, 0).copy()
    wrong[0, -1] = wrong[-1, 0] = -1.0
    assert near_error(runs[0], lambda *_: wrong) < 1e-4
    assert fitted_width(runs[0]) == pytest.approx(12, rel=1e-3)
    assert explained_by_others_width({("", 0.8): runs}) == pytest.approx([1, 1, 1], abs=1e-4)
    assert all(math.isnan(v) for v in explained_by_others_width({("", 0.8): runs[:1]}))


def test_a_row_correlates_without_its_own_cosine(large: Observations) -> None:
    """By hand, for orthogonal anchors: the ones on both diagonals would correlate by themselves."""
    predicted = from_eq14(large, REASONING, early_epoch(large))
    observed = large.cosines(REASONING, early_epoch(large))
    pairs = list(enumerate(zip(predicted, observed, strict=True)))
    by_hand = min(np.corrcoef(np.delete(p, i), np.delete(o, i))[0, 1] for i, (p, o) in pairs)
    with_diagonal = min(np.corrcoef(p, o)[0, 1] for _, (p, o) in pairs)
    assert by_hand < 0 < with_diagonal
    assert lowest_row_correlation(large, from_eq14) == pytest.approx(by_hand, rel=1e-12)


def test_the_width_is_fitted_on_the_other_seeds() -> None:
    """One run of three is orthogonal: its own width would fit it, the others' does not."""
    odd = looks(0.8, 7, small=False)
    runs = [looks(0.8, 0, small=True, shape="eq. 14"), looks(0.8, 1, small=True, shape="eq. 14"), odd]
    found = explained_by_others_width({("", 0.8): runs})
    assert found[2] < -10


def test_the_width_is_that_of_the_others() -> None:
    """Exactly: a fit to all would move towards the run that it judges."""
    runs = [
        looks(0.8, 0, small=True, shape="eq. 14"),
        looks(0.8, 7, small=False),
        looks(0.8, 3, small=True, shape="distributions"),
    ]
    found = explained_by_others_width({("", 0.8): runs})
    seen = [one.cosines(REASONING, early_epoch(one)) for one in runs]
    for i, own in enumerate(seen):
        width = fit_width(TASK, REASONING, np.array([other for other in seen if other is not own]))
        predicted = cosine_matrix(eq14_embedding(TASK, REASONING, width=width))
        by_hand = explained(off_diagonal(predicted), off_diagonal(own))
        assert found[i] == pytest.approx(by_hand, rel=1e-12)
        to_all = fit_width(TASK, REASONING, np.array(seen))
        assert abs(to_all / width - 1) > 1e-3


def test_two_runs_are_too_few_to_fit_a_width_to_the_others() -> None:
    """Both values would come from one pair of matrices."""
    runs = [looks(0.8, seed, small=True, shape="eq. 14") for seed in (0, 1)]
    assert all(math.isnan(float(value)) for value in explained_by_others_width({("", 0.8): runs}))  # type: ignore[arg-type]


def test_explained_by_hand() -> None:
    observed = np.array([1.0, 2.0, 3.0])
    assert explained(observed, observed) == 1
    assert explained(np.full(3, 2.0), observed) == 0


def test_plane_order_counts_a_bent_line() -> None:
    place = {token: i for i, token in enumerate(looks(0.8, 0, small=True).tokens)}
    points = np.zeros((3, len(place), 3))
    angle = np.pi * np.arange(10) / 12
    for k, token in enumerate(REASONING):
        points[:, place[token], :2] = np.cos(angle[k]), np.sin(angle[k])
    bent = run(0.8, 0, learning(small=True), arrays={"pca": points})
    assert plane_order(bent, "reasoning anchors") == pytest.approx(1)


def test_cliffs_by_hand() -> None:
    arrays = attention(small=True, seed=0)
    found = run(0.8, 0, learning(small=True), arrays=arrays)
    assert of_attention.cliff_share(found) == 1
    assert of_attention.cliff_share(found, scramble=True) < 0.5
    assert of_attention.gentle_share(found) == 1
    assert of_attention.gentle_share(found, scramble=True) < 0.58
    assert of_attention.rise(found) == pytest.approx(1)
    assert of_attention.positions_rise(found) == pytest.approx(1)
    assert of_attention.average_error(found) == 0
    assert of_attention.value_gap(found) == 5
    assert of_attention.alignment(found, "reasoning") == pytest.approx(0.9)
    assert of_attention.alignment(found, "memory") == pytest.approx(0.05)
    assert of_attention.preference(found) == pytest.approx(0.85)


def test_the_rise_begins_where_two_positions_lie_before_the_key() -> None:
    """Two points always have an order of ±1; three do not."""
    L, q = TASK.length, TASK.n_anchors
    rows = np.tile(np.arange(L, dtype=float), (3, L - q, 1))
    rows[:, :2] *= -1
    found = run(0.8, 0, learning(small=True), arrays={"last_logits": rows})
    assert of_attention.rise(found) == 1
    rows[:, 2] *= -1
    n = L - q - 2
    assert of_attention.rise(found) == pytest.approx((n - 2) / n)


def test_lemma1_at_initialisation_against_its_prediction() -> None:
    """The made-up share is 1; the prediction is the mean over entries, row i with i of them."""
    arrays = {"lemma1_share": np.ones((3, 3))}
    emb_mlp = run(0.3, 0, learning(small=False), arrays=arrays)
    with pytest.raises(InputError, match="no attention"):
        of_attention.lemma1_excess(emb_mlp, 0.1)
    for norm, source in (("post", "position"), ("pre", "layer_norm"), ("none", "position")):
        model = TransformerConfig(norm=norm, d_m=200)
        config = emb_mlp.config.model_copy(update={"model": model})
        shares = [
            average_attention_probability(0.1, 200, 0.3, i, source=source)
            for i in range(2, TASK.length + 1)
            for _ in range(i)
        ]
        found = dataclasses.replace(emb_mlp, config=config)
        assert of_attention.lemma1_excess(found, 0.1) == pytest.approx(1 - np.mean(shares))
        assert 0.1 < of_attention.lemma1_excess(found, 0.1) < 1


@pytest.mark.parametrize(
    "setting", [{"norm": "pre-queries"}, {"biases": True, "bias_scale": 1.0}, {"embedding_fan_in": "d_vob"}]
)
def test_lemma1_predicts_nothing_where_the_attention_starts_otherwise(setting: dict[str, Any]) -> None:
    emb_mlp = run(0.3, 0, learning(small=False), arrays={"lemma1_share": np.ones((3, 3))})
    config = emb_mlp.config.model_copy(update={"model": TransformerConfig(**setting)})
    assert math.isnan(of_attention.lemma1_excess(dataclasses.replace(emb_mlp, config=config), 0.1))


def test_the_key_alone_on_reasoning_sequences() -> None:
    """By hand; and from the mean over both kinds alone, a bound that holds whatever the other kind does."""
    L, q = TASK.length, TASK.n_anchors
    mean = np.zeros((3, L - q, L))
    for p in range(L - q):
        mean[:, p, p], mean[:, p, p + 1] = 0.2, 0.8
    both = {"last_attention": mean, "key_attention": np.full((3, L - q), 0.3)}
    assert of_attention.key_mass(run(0.8, 0, learning(small=True), arrays=both)) == pytest.approx(0.3)
    bound = of_attention.key_mass(run(0.8, 0, learning(small=True), arrays={"last_attention": mean}))
    assert isinstance(bound, Bound)
    assert (bound.low, bound.high) == pytest.approx((0, 0.4))


def test_a_slight_fall_in_the_window_is_less_than_the_one_after_it() -> None:
    L, q = TASK.length, TASK.n_anchors

    def share(slight: float, sharp: float) -> float:
        rows = np.zeros((3, L - q, L))
        for p in range(L - q):
            rows[:, p, p : p + q + 1] = -slight * np.arange(q + 1)
            rows[:, p, p + q + 1 :] = -slight * q - sharp
        return of_attention.gentle_share(run(0.8, 0, learning(small=True), arrays={"last_logits": rows}))

    assert share(0.1, 1.0) == 1
    assert share(-0.1, 1.0) == share(1.0, 0.5) == share(0.0, 1.0) == 0


def test_what_a_rival_leaves_and_a_prediction_explains() -> None:
    """Predictions whose correlations with the observation are 0.8 and 0.5."""
    observed, other, third = np.linalg.qr(np.vander(np.arange(6.0), 4, increasing=True))[0].T[1:]
    close = 0.8 * observed + 0.6 * other
    rival = 0.5 * observed + math.sqrt(0.75) * third
    assert avoided(close, rival, observed) == pytest.approx(1 - (1 - 0.64) / (1 - 0.25))
    assert avoided(-close, rival, observed) == pytest.approx(1 - 1 / (1 - 0.25))
    assert avoided(close, np.ones(6), observed) == pytest.approx(0.64)


def test_the_fall_counts_from_both_sides() -> None:
    """Twice the predicted fall is as far off as half of it; none at all is a lower bound."""
    found = looks(0.8, 0, small=True)
    assert fall_mismatch(found) == pytest.approx(0, abs=2e-3)
    flat = dataclasses.replace(found, arrays=found.arrays | {"gram": 0 * found.arrays["gram"] + 1.0})
    assert isinstance(fall_mismatch(flat), Bound)
    sharp = looks(0.8, 0, small=True, shape="eq. 14")
    assert fall_mismatch(sharp) == pytest.approx(math.log2(share_of_fall(sharp)))
    assert fall_mismatch(sharp) > 1  # Eq. 14's width overshoots the label distributions' fall.


def test_rivals_do_as_well_where_only_distance_counts() -> None:
    """Cosines that are a line in |i − j|: P^s − u has no skill over it, whatever its correlation."""
    found = looks(0.8, 0, small=True)
    assert skill_over_best(found, from_uniform, REASONING) > 0.9
    gram, anchors = np.eye(len(found.tokens))[: len(TASK.anchors)], [TASK.anchors.index(t) for t in REASONING]
    apart = np.abs(np.subtract.outer(REASONING, REASONING))
    gram[np.ix_(anchors, anchors)] = 1 - 0.02 * apart + 0.001 * np.cos(apart**2)
    arrays = {"gram": np.stack([gram] * 3), "norms": np.ones((3, len(found.tokens)))}
    line = dataclasses.replace(found, arrays=arrays)
    assert correlation(line, from_uniform, REASONING) > 0.9
    assert skill_over_best(line, from_uniform, REASONING) < -1


@pytest.mark.parametrize(
    ("shape", "better", "worse"),
    [("distributions", from_uniform, from_eq14), ("eq. 14", from_eq14, from_uniform)],
)
def test_the_prediction_that_made_the_cosines_beats_the_other(
    shape: str, better: Predict, worse: Predict
) -> None:
    found = looks(0.8, 0, small=True, shape=shape)
    assert skill_over_prediction(found, better, worse, REASONING) > 0.9
    assert skill_over_prediction(found, worse, better, REASONING) < -1
    assert skill_over_prediction(found, better, better, REASONING) == pytest.approx(0, abs=1e-9)


def test_a_rival_knows_mappings_and_numbers_at_once() -> None:
    """Anchors 2 and 4 of a table, 11 and 15 of a rule over ten: alike, unlike, and 4 of 10 apart."""
    tokens = (2, 4, 11, 15)
    found = np.zeros((4, 4))
    found[np.triu_indices(4, 1)] = nearness_within(TASK, tokens)
    expected = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1 - 4 / 10], [0, 0, 0, 0]]
    np.testing.assert_allclose(found, expected)


def test_a_prediction_no_better_than_both_guesses_together_has_no_skill() -> None:
    """Each of the two by itself is far worse."""
    found = looks(0.8, 0, small=True)
    square = np.eye(len(TASK.anchors))
    square[np.triu_indices(len(square), 1)] = nearness_within(TASK, TASK.anchors)
    square = np.maximum(square, square.T)
    ripple = np.sin(np.multiply.outer(range(len(square)), range(len(square))))
    gram = np.eye(len(found.tokens))[: len(square)]
    gram[:, : len(square)] = square + 0.01 * ripple
    arrays = {"gram": np.stack([gram] * 3), "norms": np.ones((3, len(found.tokens)))}
    made = dataclasses.replace(found, arrays=arrays)

    def rippled(run: Observations, tokens: Tokens, epoch: int) -> FloatArray:
        return square - 0.1 * ripple

    for rival in (NEARNESS, SAME_MAPPING):
        assert skill_over(made, rippled, rival, TASK.anchors) > 0.5
    assert skill_over_best(made, rippled, TASK.anchors) < 0


def test_eq14_draws_the_plane_better_than_a_line() -> None:
    found = looks(0.8, 0, small=True, shape="eq. 14")
    for group in ("keys", "reasoning anchors"):
        assert plane_correlation(found, group) > 0.9
        assert plane_skill(found, group) > 0
    other = looks(0.3, 0, small=False)
    assert plane_skill(other, "keys") < 0.1


def test_ranks_as_shares() -> None:
    arrays = {
        rate: {"effective_rank/W_E": np.array([80.0, left, left])}
        for rate, left in ((0.3, 60.0), (0.8, 20.0))
    }
    seed = {("", rate): run(rate, 0, learning(small=True), arrays=a) for rate, a in arrays.items()}
    assert rank_ratio(seed, "W_E") == pytest.approx(1 / 3)
    assert rank_left(seed["", 0.8], "W_E") == pytest.approx(1 / 4)


def test_outputs_are_looked_at_early() -> None:
    distribution = np.full((3, RANGES.vocab_size), 1 / RANGES.vocab_size)
    arrays = {f"outputs/{m.name}": distribution for m in RANGES.mappings}
    arrays |= {f"label_mass/{m.name}": np.array([0, 0.1, 1.0]) * i for i, m in enumerate(RANGES.mappings, 4)}
    even = run(0.8, 0, {"mem": ramp(2)}, task=RANGES, arrays=arrays)
    assert early_epoch(even) == 3
    assert least_own_mass(even) == pytest.approx(0.4)
    assert greatest_foreign_mass(even) == pytest.approx(60 / 120)


def test_answers_that_are_off_by_given_numbers() -> None:
    shares = np.zeros((3, 21))
    shares[-1, [7, 10, 13, 14]] = 0.1, 0.5, 0.2, 0.2
    found = run(0.8, 0, learning(small=True), arrays={"held_out_deviations": shares})
    assert held_out_share(found, (-3, 0, 3)) == pytest.approx(0.8)
    assert held_out_share(found, (4,)) == pytest.approx(0.2)


def test_interventions_are_looked_at_when_the_plain_run_is_early() -> None:
    never = learning(small=False) | {"rsn_train": [0.0] * 11}
    seed = {("plain", 0.8): run(0.8, 0, learning(small=True)), ("shuffled", 0.8): run(0.8, 0, never)}
    assert matched_epoch(seed, "shuffled") == 3
    sparse = dataclasses.replace(seed["shuffled", 0.8], epochs=(0, 2, 10))
    assert matched_epoch({**seed, ("shuffled", 0.8): sparse}, "shuffled") == 2


def test_what_was_not_observed_is_said() -> None:
    arrays = of_embeddings(["random"] * 3, 0)
    bare = run(0.8, 0, learning(small=True), arrays=arrays)
    with pytest.raises(InputError, match="observable"):
        of_attention.value_gap(bare)
    del arrays["frozen_direction"]
    with pytest.raises(InputError, match="observable"):
        from_frozen_direction(bare, REASONING)
    assert embedding("random", 0).shape == (TASK.vocab_size, 1600)
