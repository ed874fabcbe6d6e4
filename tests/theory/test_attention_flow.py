"""The one-layer Transformer: Lemma 1 against drawn models, Lemmas 3 and 4 against autograd, Theorem 2."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import binomtest

import theory
from tests.theory.any_rule import every_sequence
from tests.theory.flow_reference import relative, small_task
from theory import OneLayerParameters, Task

KINDS = {"Prop. 3": 4, "Prop. 2": 1, "eq. 29": 7}
"""A reasoning anchor, a memory anchor and a key, by what is said of their embeddings."""
SCALES = np.array([1e-4, 3e-4, 1e-3, 3e-3])
TASK = small_task(length=5)
EVERY = [*every_sequence(TASK, held_out=True)]
SEQUENCES = np.array([[token for token, _ in tokens] for tokens, _ in EVERY])
DISTRIBUTIONS = np.array([[float(labels.get(i, 0)) for i in range(20)] for _, labels in EVERY])
"""Exact where the table is random."""
C = theory.expected_token_label_matrix(TASK, held_out=True)
C_LAST = theory.last_position_matrix(TASK, held_out=True)


def random_parameters(seed, *, embedding, query=1.0):
    """Every matrix of order one but the embedding, W_Q and W_K, whose scales are given."""
    rng = np.random.default_rng(seed)
    shapes = [(20, 20), *[(20, 3)] * 3, (3, 20), (20, 7), (7, 20)]
    scales = [embedding, query, query, 1.0, 1.0, 1.0, 1.0]
    return OneLayerParameters(
        *(s * rng.standard_normal(x) / np.sqrt(x[0]) for s, x in zip(scales, shapes, strict=True))
    )


def autograd_flow(parameters, activation=torch.tanh):
    """−∂loss/∂W for W_emb and W_V of Definition 2, full causal attention, float64."""
    W = {name: torch.tensor(matrix, requires_grad=True) for name, matrix in vars(parameters).items()}
    X = W["W_emb"][torch.tensor(SEQUENCES)]
    scores = X @ W["W_Q"] @ (X @ W["W_K"]).mT / W["W_Q"].shape[1] ** 0.5
    future = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool).triu(1)
    A = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
    h = (A @ X @ W["W_V"] @ W["W_O"] + X)[:, -1]
    logits = activation(h @ W["W_f1"]) @ W["W_f2"] + h
    loss = -(torch.tensor(DISTRIBUTIONS) * torch.log_softmax(logits, -1)).sum(-1).mean()
    loss.backward()
    return logits.detach().numpy(), -W["W_emb"].grad.numpy(), -W["W_V"].grad.numpy()


@pytest.mark.parametrize(("name", "activation"), [("tanh", torch.tanh), ("identity", lambda z: z)])
def test_lemma_3_and_4_equal_autograd(name, activation, record_error):
    parameters = random_parameters(1, embedding=2.0, query=2.0)
    logits, embedding, value = autograd_flow(parameters, activation)
    of_labels = parameters, SEQUENCES, DISTRIBUTIONS
    for equation, found, wanted in (
        ("eq. 9", theory.one_layer_logits(parameters, SEQUENCES, activation=name), logits),
        ("Lemma 3", theory.lemma3_flow(*of_labels, activation=name), embedding),
        ("Lemma 4", theory.lemma4_flow(*of_labels, activation=name), value),
    ):
        record_error(equation, np.abs(found - wanted).max(), below=1e-10)


def test_exact_drive_equals_autograd_at_vanishing_embeddings(record_error):
    p = random_parameters(2, embedding=0.0)
    observed = autograd_flow(p)[1]
    exact = theory.transformer_drive(C, C_LAST, 5, p.W_f1 @ p.W_f2, p.W_V @ p.W_O)
    record_error("eq. 28", np.abs(exact - observed).max(), below=1e-10)


@pytest.mark.parametrize(("equation", "token"), KINDS.items())
def test_exact_form_is_the_limit_and_the_printed_form_is_not(equation, token, record_error):
    exact, printed = [], []
    for scale in SCALES:
        p = random_parameters(6, embedding=scale, query=scale)
        observed = autograd_flow(p)[1][token]
        W_f, W_VO = p.W_f1 @ p.W_f2, p.W_V @ p.W_O
        exact.append(relative(theory.transformer_drive(C, C_LAST, 5, W_f, W_VO)[token], observed))
        printed.append(relative(theory.paper_transformer_drive(C, 5, W_f, W_VO)[token], observed))
    # First order in the embedding, with second-order terms of relative size 1e-2 at the largest scale.
    assert theory.fit_exponent(SCALES, exact).value == pytest.approx(1, abs=0.02)
    assert exact[0] < 1e-3
    # The printed form misses the last position's own weight: its error does not fall with the scale.
    assert min(printed) > 0.01
    assert printed[0] == pytest.approx(printed[1], rel=0.05)
    record_error(equation, exact[0])
    record_error(f"{equation}, printed form", printed[0])


def test_value_drive_is_the_limit_of_lemma_4(record_error):
    errors = []
    for scale in SCALES:
        p = random_parameters(8, embedding=scale, query=scale)
        predicted = theory.value_drive(p.W_emb, C, 5, p.W_f1 @ p.W_f2, p.W_O)
        errors.append(relative(predicted, autograd_flow(p)[2]))
    assert theory.fit_exponent(SCALES, errors).value == pytest.approx(1, abs=0.02)
    record_error("eq. 38", errors[0], below=1e-3)


def anchors_over(n_keys):
    """Two kinds of anchors, half of the tokens each, memory uniform on the first of 8 labels; 6 rows."""
    table = np.zeros((6, 8))
    table[:3] = np.random.default_rng(0).dirichlet(np.ones(8), 3)
    table[3:, :n_keys] = 1 / n_keys
    return table, np.full(6, 1 / 6)


def test_theorem_2_as_printed(record_error):
    """N_Z = d_m: memory is not driven, and the printed form is the product of the means."""
    table, shares = anchors_over(8)
    terms = theory.theorem_2_terms(table, shares, [0, 1, 2], [3, 4, 5])
    assert terms.memory_drive < 1e-15
    assert terms.memory_share < 1e-14
    u = 1 / 8
    mean_anchor, labels = (table[:3] - u).mean(axis=0), table.mean(axis=0) - u
    right = np.random.default_rng(1).standard_normal((8, 3))
    derived = theory.find_derivation("theorem 2").function()(mean_anchor[None], labels[None], right)
    record_error("Theorem 2", np.abs(terms.printed @ right - derived).max(), below=1e-14)
    # Growth along it: the memory anchors' embeddings, at their start, have no part in it.
    left, values, _ = np.linalg.svd(terms.printed)
    assert values[1] < 1e-15
    assert abs(left[:, 0] @ mean_anchor) == pytest.approx(np.linalg.norm(mean_anchor))


@pytest.mark.parametrize("n_keys", [2, 5, 8])
def test_what_the_proof_leaves_out(n_keys):
    """Its covariance, token by token; off N_Z = d_m also the drive of memory, √(1/N_Z − 1/d_m) long."""
    table, shares = anchors_over(n_keys)
    shares = np.array([1, 2, 3, 4, 5, 6]) / 21
    terms = theory.theorem_2_terms(table, shares, [0, 1, 2], [3, 4, 5])
    centred = table - shares @ table
    covariance = sum(p * np.outer(row, row) for p, row in zip(shares, centred, strict=True))
    np.testing.assert_allclose(terms.mean_of_products - terms.product_of_means, covariance, atol=1e-15)
    assert terms.left_out == pytest.approx(
        np.linalg.norm(covariance) / np.linalg.norm(covariance + terms.product_of_means)
    )
    assert terms.memory_drive == pytest.approx(np.sqrt(1 / n_keys - 1 / 8), abs=1e-12)
    drive, half = shares @ (table - 1 / 8), (table[:3] - 1 / 8).mean(axis=0) / 2
    assert terms.memory_share == pytest.approx(np.linalg.norm(drive - half) / np.linalg.norm(drive))


def test_an_anchor_that_is_not_driven_hides_no_other():
    """Without the combinations that end in 12 no training sequence does."""
    task = Task(
        keys=range(20, 26), reasoning_anchors=[11, 12], memory_anchors=[1, 2], n_anchors=2, length=4,
        vocab_size=60, held_out=[(11, 12), (12, 12)],
    )  # fmt: skip
    grown = theory.predict_value_growth(task, form="exact", held_out=True)
    assert np.linalg.norm(grown.direction) == pytest.approx(1)
    assert np.isnan(grown.alignment[12])
    assert grown.reasoning == grown.alignment[11] > 0
    assert grown.memory == pytest.approx(np.abs(grown.alignment[[1, 2]]).mean())
    assert grown.selectivity == grown.reasoning / grown.memory
    grown.alignment[[1, 2]] = 0.0
    assert grown.selectivity == np.inf
    grown.alignment[11] = 0.0
    assert np.isnan(grown.selectivity)


@pytest.mark.parametrize("form", ["paper", "exact"])
@pytest.mark.parametrize(("n_keys", "q", "vocab_size"), [(4, 1, 24), (6, 1, 35), (7, 2, 36), (5, 2, 25)])
def test_anchors_that_all_see_the_same_labels_have_no_direction(form, n_keys, q, vocab_size):
    """Their labels are uniform on the keys: what is left of P^s − P̄ is rounding."""
    total = " + ".join(f"a{k + 1}" for k in range(q))
    rule = theory.Expression(f"18 + (key + {total}) % {n_keys}")
    mappings = [
        theory.Mapping([1, 2, 3], theory.Lookup(), "table"),
        theory.Mapping([8, 9, 10], rule, "modular"),
    ]
    keys = range(18, 18 + n_keys)
    task = Task(keys=keys, mappings=mappings, n_anchors=q, length=q + 1, vocab_size=vocab_size)
    grown = theory.predict_value_growth(task, form=form, reference="marginal")
    assert np.isnan([grown.reasoning, grown.memory, grown.selectivity]).all()


SOURCES = ["embedding", "position", "layer_norm"]


def attention_rows(d_m, d_k, gamma, row, n, rng, source="embedding", fan_in=None):
    """Draw row i of the attention of n models on i different tokens, at the spreads of Section 2.4."""
    rows = np.empty((n, row))
    for sample in rows:
        x = rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "position":
            x += rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "layer_norm":
            x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        w_q, w_k = rng.standard_normal((2, d_m, d_k)) * (fan_in or d_m) ** -gamma
        sample[:] = softmax((x[-1] @ w_q) @ (x @ w_k).T / d_k**0.5)
    return rows


def half_difference_std(rows):
    """The logits' standard deviation, from log A_1 − log A_2 = S_1 − S_2 of uncorrelated logits."""
    return np.sqrt(np.mean(np.log(rows[:, 0] / rows[:, 1]) ** 2) / 2)


@pytest.mark.statistical
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "gamma", [pytest.param(0.3, marks=pytest.mark.slow), pytest.param(0.5, marks=pytest.mark.long), 0.8]
)
def test_logit_std_against_drawn_models(source, gamma, record_error):
    n = 1000
    rows = attention_rows(200, 64, gamma, 3, n, np.random.default_rng(5), source=source)
    ratio = half_difference_std(rows) / theory.attention_logit_std(200, gamma, source=source)
    # The square of a nearly normal value has relative variance 2 + excess kurtosis, here at most 6/d_k from
    # the inner product of d_k terms and less than 0.2 from the norms; 3.9 standard errors are p = 1e-4.
    standard_error = math.sqrt((2 + 6 / 64 + 0.2) / n) / 2
    record_error("Lemma 1", abs(ratio - 1), below=3.9 * standard_error)


@pytest.mark.statistical
@pytest.mark.parametrize("by_proof", [False, True])
def test_logit_std_depends_on_d_k_by_the_fan_in_alone(by_proof):
    """W_Q and W_K at d_m^-γ as in Section 2.4, and at d_k^-γ as in the proof of Lemma 1."""
    for d_k in (4, 16, 64):
        fan_in = d_k if by_proof else None
        predicted = theory.attention_logit_std(64, 0.4, fan_in=fan_in)
        assert predicted == pytest.approx(64**-0.6 * (d_k / 64) ** (-0.8 * by_proof))
        rows = attention_rows(64, d_k, 0.4, 2, 2000, np.random.default_rng(d_k), fan_in=fan_in)
        standard_error = math.sqrt((2 + 6 / d_k + 0.5) / 2000) / 2
        # Row 2 pairs a token with itself, whose logit is larger by sqrt(1 + 2/d_m).
        assert abs(half_difference_std(rows) / predicted - 1) < 3.9 * standard_error + 1 / 64


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("gamma", "row"),
    [(0.5, 2), (0.8, 9), *(pytest.param(*case, marks=pytest.mark.long) for case in ((0.5, 9), (0.8, 4)))],
)
def test_probability_lies_in_the_interval_of_drawn_models(gamma, row):
    n = 1500
    spread = theory.attention_logit_std(200, gamma) * math.sqrt(row - 1) / row**1.5
    rows = attention_rows(200, 64, gamma, row, n, np.random.default_rng(11))
    for factor in (0.5, 1.0, 2.0):
        inside = int((np.abs(rows[:, 0] - 1 / row) <= factor * spread).sum())
        interval = binomtest(inside, n).proportion_ci(0.9999, method="exact")
        predicted = theory.average_attention_probability(factor * spread, 200, gamma, row)
        # An excess kurtosis of at most 6/d_k + 8/d_m = 0.13 moves a distribution function by 0.023 × 0.13
        # on each side; terms of second order in the logits are below 0.5 % here.
        assert interval.low - 0.01 <= predicted <= interval.high + 0.01


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("tolerance", [0.1, 0.01])
@pytest.mark.parametrize("fan_in", [None, 64])
def test_smallest_init_rate_inverts_both_statements(source, tolerance, fan_in):
    how = {"source": source, "fan_in": fan_in}
    std = {"embedding": 200**0.2, "position": 2 * 200**0.2, "layer_norm": 200.0}[source]  # |x|² at γ = 0.4
    assert theory.attention_logit_std(200, 0.4, **how) == pytest.approx(
        std * (fan_in or 200) ** -0.8, rel=1e-12
    )
    assert theory.average_attention_probability(tolerance, 200, 0.4, 1, **how) == 1
    proven = theory.smallest_init_rate(tolerance, 200, 9, **how)
    assert theory.average_attention_bound(tolerance, 200, proven, 9, **how) == pytest.approx(1 - tolerance)
    first = theory.smallest_init_rate(tolerance, 200, 9, proven=False, **how)
    assert theory.average_attention_probability(tolerance, 200, first, 2, **how) == pytest.approx(
        1 - tolerance
    )
    assert first < proven
