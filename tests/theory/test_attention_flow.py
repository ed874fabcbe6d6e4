"""Lemma 3, 4 and Propositions 2, 3 against autograd of the one-layer Transformer (Definition 2)."""

import numpy as np
import pytest
import torch

from theory import (
    OneLayerParameters,
    Task,
    draw_tables,
    enumerate_population,
    expected_token_label_matrix,
    fit_exponent,
    labels_of,
    last_position_matrix,
    lemma3_flow,
    lemma4_flow,
    one_layer_logits,
    paper_transformer_drive,
    transformer_drive,
    value_drive,
)

NAMES = ("W_emb", "W_Q", "W_K", "W_V", "W_O", "W_f1", "W_f2")
KINDS = {"reasoning anchor": 4, "memory anchor": 1, "key": 7}


def small_task(length=5, held_out=((3, 4),)):
    return Task(
        keys=range(6, 10),
        reasoning_anchors=[3, 4, 5],
        memory_anchors=[1, 2],
        n_anchors=2,
        length=length,
        vocab_size=22,
        held_out=held_out,
    )


def population_and_labels(task):
    """The training population with each sequence's label distribution: exact where the table is random."""
    population = enumerate_population(task)
    train = ~population.held_out
    sequences, d = population.sequences[train], task.vocab_size
    distributions = np.eye(d)[labels_of(task, population, draw_tables(task, np.random.default_rng(0)))[train]]
    tables = [i for i, m in enumerate(task.mappings) if m.is_table]
    distributions[np.isin(population.mapping[train], tables)] = np.isin(range(d), task.keys) / len(task.keys)
    return sequences, distributions


def random_parameters(d, rng, *, embedding=1.0, query=1.0, d_k=3, d_f=7):
    """Every matrix of order one but the embedding, W_Q and W_K, whose scales are given."""
    shapes = [(d, d), *[(d, d_k)] * 3, (d_k, d), (d, d_f), (d_f, d)]
    scales = [embedding, query, query, 1.0, 1.0, 1.0, 1.0]
    return OneLayerParameters(
        *(s * rng.standard_normal(x) / np.sqrt(x[0]) for s, x in zip(scales, shapes, strict=True))
    )


def autograd_flow(parameters, sequences, distributions, activation=torch.tanh):
    """−∂loss/∂W for W_emb and W_V of Definition 2, full causal attention, float64."""
    W = {n: torch.tensor(getattr(parameters, n), requires_grad=True) for n in NAMES}
    X = W["W_emb"][torch.tensor(sequences)]
    scores = X @ W["W_Q"] @ (X @ W["W_K"]).mT / W["W_Q"].shape[1] ** 0.5
    future = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool).triu(1)
    A = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
    h = (A @ X @ W["W_V"] @ W["W_O"] + X)[:, -1]
    logits = activation(h @ W["W_f1"]) @ W["W_f2"] + h
    loss = -(torch.tensor(distributions) * torch.log_softmax(logits, -1)).sum(-1).mean()
    loss.backward()
    return logits.detach().numpy(), -W["W_emb"].grad.numpy(), -W["W_V"].grad.numpy()


def relative_error(predicted, observed):
    return np.linalg.norm(predicted - observed) / np.linalg.norm(observed)


@pytest.mark.parametrize(("name", "activation"), [("tanh", torch.tanh), ("identity", lambda z: z)])
def test_lemma_3_and_4_equal_autograd(name, activation, record_error):
    sequences, distributions = population_and_labels(small_task())
    parameters = random_parameters(22, np.random.default_rng(1), embedding=2.0, query=2.0)
    logits, embedding, value = autograd_flow(parameters, sequences, distributions, activation)
    errors = {
        "eq. 9": np.abs(one_layer_logits(parameters, sequences, activation=name) - logits).max(),
        "Lemma 3": np.abs(
            lemma3_flow(parameters, sequences, distributions, activation=name) - embedding
        ).max(),
        "Lemma 4": np.abs(lemma4_flow(parameters, sequences, distributions, activation=name) - value).max(),
    }
    for equation, error in errors.items():
        assert error < 1e-10
        record_error(equation, error)


def test_exact_drive_equals_autograd_at_vanishing_embeddings(record_error):
    task = small_task()
    sequences, distributions = population_and_labels(task)
    p = random_parameters(22, np.random.default_rng(2), embedding=0.0)
    _, observed, _ = autograd_flow(p, sequences, distributions)
    C = expected_token_label_matrix(task, held_out=True)
    exact = transformer_drive(C, last_position_matrix(task, held_out=True), 5, p.W_f1 @ p.W_f2, p.W_V @ p.W_O)
    assert np.abs(exact - observed).max() < 1e-10
    record_error("eq. 28", np.abs(exact - observed).max())


@pytest.mark.parametrize("kind", KINDS)
def test_exact_form_is_the_limit_and_the_printed_form_is_not(kind, record_error):
    task, token = small_task(), KINDS[kind]
    sequences, distributions = population_and_labels(task)
    C, C_last = expected_token_label_matrix(task, held_out=True), last_position_matrix(task, held_out=True)
    scales = np.array([1e-4, 3e-4, 1e-3, 3e-3])
    exact, printed = [], []
    for scale in scales:
        p = random_parameters(22, np.random.default_rng(6), embedding=scale, query=scale)
        _, observed, _ = autograd_flow(p, sequences, distributions)
        W_f, W_VO = p.W_f1 @ p.W_f2, p.W_V @ p.W_O
        exact.append(relative_error(transformer_drive(C, C_last, 5, W_f, W_VO)[token], observed[token]))
        printed.append(relative_error(paper_transformer_drive(C, 5, W_f, W_VO)[token], observed[token]))
    # First order in the embedding, with second-order terms of relative size 1e-2 at the largest scale.
    assert fit_exponent(scales, exact).value == pytest.approx(1, abs=0.02)
    assert exact[0] < 1e-3
    # The printed form misses the last position's own weight: its error does not fall with the scale.
    assert min(printed) > 0.01
    assert printed[0] == pytest.approx(printed[1], rel=0.05)
    equation = {"memory anchor": "Prop. 2", "reasoning anchor": "Prop. 3", "key": "eq. 29"}[kind]
    record_error(equation, exact[0])
    record_error(f"{equation}, printed form", printed[0])


def test_value_drive_is_the_limit_of_lemma_4(record_error):
    task = small_task()
    sequences, distributions = population_and_labels(task)
    C = expected_token_label_matrix(task, held_out=True)
    scales, errors = np.array([1e-4, 3e-4, 1e-3, 3e-3]), []
    for scale in scales:
        p = random_parameters(22, np.random.default_rng(8), embedding=scale, query=scale)
        predicted = value_drive(p.W_emb, C, 5, p.W_f1 @ p.W_f2, p.W_O)
        errors.append(relative_error(predicted, autograd_flow(p, sequences, distributions)[2]))
    assert fit_exponent(scales, errors).value == pytest.approx(1, abs=0.02)
    assert errors[0] < 1e-3
    record_error("eq. 38", errors[0])
