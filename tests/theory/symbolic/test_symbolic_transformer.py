"""Lemma 3, Propositions 2 and 3 and Lemma 4 against autograd on a small enumerated task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import torch
from symbolic_reference import negative_gradient, relative, soft_cross_entropy, transformer

from theory import Task, enumerate_population, expected_token_label_matrix, label_distribution, token_ratio
from theory.arrays import FloatArray
from theory.symbolic import find_derivation

Record = Callable[[str, float], None]
L, Q, D_F, D_K = 5, 2, 12, 7
TASK = Task(
    keys=range(7, 11),
    reasoning_anchors=[1, 2, 3],
    memory_anchors=[4, 5, 6],
    n_anchors=Q,
    length=L,
    vocab_size=17,
)
D = TASK.vocab_size
TOKENS = {"reasoning anchor": 2, "memory anchor": 5, "key": 8}
SCALES = np.array([4e-5, 2e-5, 1e-5])


@dataclass(frozen=True)
class Data:
    """A population with the label distribution of every sequence: memory labels averaged over all tables."""

    sequences: npt.NDArray[np.int64]
    labels: FloatArray

    def distribution(self, weights: FloatArray) -> FloatArray:
        return (weights @ self.labels / weights.sum())[None]


@pytest.fixture(scope="module")
def data() -> Data:
    population = enumerate_population(TASK)
    labels = np.zeros((len(population), D))
    for row, sequence in enumerate(population.sequences):
        anchors = [int(t) for t in sequence if t in TASK.anchors]
        memory = anchors[0] in TASK.memory_anchors
        keys = list(TASK.keys)
        labels[row, keys if memory else keys[population.key[row]] + sum(anchors)] = (
            1 / len(keys) if memory else 1
        )
    return Data(population.sequences, labels)


def _weights(embedding_scale: float, seed: int = 5) -> dict[str, FloatArray]:
    """Draw W_Q, W_K and the other matrices at order one, and the embeddings at a given scale."""
    rng = np.random.default_rng(seed)
    shapes = {"W_emb": (D, D), "W_Q": (D, D_K), "W_K": (D, D_K), "W_V": (D, D_K), "W_O": (D_K, D)}
    shapes |= {"W_f1": (D, D_F), "W_f2": (D_F, D)}
    drawn = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
    return drawn | {"W_emb": embedding_scale * rng.normal(size=(D, D))}


def _flow(data: Data, weights: dict[str, FloatArray]) -> dict[str, FloatArray]:
    sequences, targets = torch.tensor(data.sequences), torch.tensor(data.labels)
    return negative_gradient(
        lambda w: soft_cross_entropy(transformer(sequences, w, torch.tanh), targets), weights
    )


def _matrices(weights: dict[str, FloatArray], *names: str) -> list[FloatArray]:
    return [weights[name] for name in names or ("W_f1", "W_f2", "W_V", "W_O")]


def _forward(data: Data, weights: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A_L X, softmax and slopes of every sequence, attention being the average."""
    X = weights["W_emb"][data.sequences]
    mean = X.mean(1)
    entering = mean @ weights["W_V"] @ weights["W_O"] + X[:, -1]
    hidden = entering @ weights["W_f1"]
    out = np.exp(np.tanh(hidden) @ weights["W_f2"] + entering)
    return mean, out / out.sum(1, keepdims=True), 1 - np.tanh(hidden) ** 2


@pytest.fixture(scope="module")
def averaged() -> dict[str, FloatArray]:
    weights = _weights(1.0)
    return weights | {"W_Q": np.zeros((D, D_K))}


def test_lemma_3_is_the_gradient_of_the_network(
    data: Data, averaged: dict[str, FloatArray], record_error: Record
) -> None:
    few = Data(data.sequences[::29], data.labels[::29])
    share, flow = find_derivation("lemma 3").function(), _flow(few, averaged)["W_emb"]
    _, p, slopes = _forward(few, averaged)
    for token in TOKENS.values():
        counts, last = (few.sequences == token).sum(1), few.sequences[:, -1] == token
        rows = [
            share(counts[i], float(last[i]), L, few.labels[[i]], p[[i]], slopes[[i]], *_matrices(averaged))
            for i in np.flatnonzero(counts)
        ]
        error = relative(np.sum(rows, axis=0)[0] / len(few.labels), flow[token])
        record_error("Lemma 3", error)
        assert error < 1e-12


def test_lemma_4_is_the_gradient_of_the_network(
    data: Data, averaged: dict[str, FloatArray], record_error: Record
) -> None:
    few = Data(data.sequences[::29], data.labels[::29])
    share, flow = find_derivation("lemma 4").function(), _flow(few, averaged)["W_V"]
    mean, p, slopes = _forward(few, averaged)
    matrices = _matrices(averaged, "W_f1", "W_f2", "W_O")
    rows = [share(mean[[i]], few.labels[[i]], p[[i]], slopes[[i]], *matrices) for i in range(len(mean))]
    error = relative(np.mean(rows, axis=0), flow)
    record_error("Lemma 4", error)
    record_error("eq. 35", error)
    assert error < 1e-12
    ones = np.ones_like(slopes)
    linear = [share(mean[[i]], few.labels[[i]], p[[i]], ones[[i]], *matrices) for i in range(len(mean))]
    # Without the slopes it is the gradient of a linear feed-forward part only.
    assert relative(np.mean(linear, axis=0), flow) > 0.01


def _eq_29(data: Data, token: int, weights: dict[str, FloatArray]) -> FloatArray:
    counts = (data.sequences == token).sum(1).astype(float)
    last = (data.sequences[:, -1] == token).astype(float)
    made: FloatArray = find_derivation("eq 29").function()(
        counts.mean(),
        data.distribution(counts),
        last.sum() / counts.sum(),
        data.distribution(last),
        L,
        *_matrices(weights),
        D,
    )
    return made[0]


@pytest.mark.parametrize("kind", TOKENS)
def test_eq_29_is_the_limit_of_small_embeddings(data: Data, kind: str, record_error: Record) -> None:
    """The error falls as ε: the softmax leaves 1/d by the logits' own size (W_Q, W_K enter at ε²)."""
    errors = [
        relative(_eq_29(data, TOKENS[kind], w), _flow(data, w)["W_emb"][TOKENS[kind]])
        for w in map(_weights, SCALES)
    ]
    assert np.polyfit(np.log(SCALES), np.log(errors), 1)[0] == pytest.approx(1, abs=0.05)
    record_error("eq. 28", errors[-1])
    record_error("eq. 29", errors[-1])


def test_query_and_key_matrices_enter_at_second_order(data: Data) -> None:
    """So that averaged attention need not be assumed where the embeddings are small."""
    scales, gaps = np.array([4e-2, 2e-2, 1e-2]), []
    for weights in map(_weights, scales):
        averaged = _flow(data, weights | {"W_Q": np.zeros((D, D_K))})["W_emb"]
        gaps.append(relative(_flow(data, weights)["W_emb"], averaged))
    assert np.polyfit(np.log(scales), np.log(gaps), 1)[0] == pytest.approx(2, abs=0.1)


def _paper_and_exact(token: int, weights: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    ratio, matrices = token_ratio(TASK, token), _matrices(weights)
    if token in TASK.memory_anchors:
        given = (np.isin(np.arange(D), TASK.keys).astype(float)[None], 4)
        paper = find_derivation("prop 2").function()(ratio, *given, L, *matrices, D)
        return paper[0], find_derivation("prop 2 exact").function()(ratio, *given, Q, L, *matrices, D)[0]
    given = (token, 7, 1, 4, 3, Q)  # type: ignore[assignment]
    paper = find_derivation("prop 3").function()(ratio, *given, L, *matrices, D)
    return paper[0], find_derivation("prop 3 exact").function()(ratio, *given, L, *matrices, D)[0]


@pytest.mark.parametrize("kind", ["reasoning anchor", "memory anchor"])
def test_exact_propositions_hold_and_the_papers_do_not(data: Data, kind: str, record_error: Record) -> None:
    """A floor that does not fall with ε: the paper's share 1/L of the last position is 1/(q(L−q)) = 1/6."""
    token, paper, exact = TOKENS[kind], [], []
    for weights in map(_weights, SCALES):
        flow = _flow(data, weights)["W_emb"][token]
        forms = _paper_and_exact(token, weights)
        paper.append(relative(forms[0], flow))
        exact.append(relative(forms[1], flow))
    equation = "Prop. 2" if kind == "memory anchor" else "Prop. 3"
    record_error(equation, exact[-1])
    record_error(f"{equation}, printed form", paper[-1])
    assert np.polyfit(np.log(SCALES), np.log(exact), 1)[0] == pytest.approx(1, abs=0.05)
    assert paper[-1] > 0.05
    assert paper[-1] == pytest.approx(paper[0], rel=0.1)


def test_exact_propositions_are_eq_29_with_the_tasks_own_statistics(data: Data) -> None:
    weights = _weights(1e-3)
    for kind in ("reasoning anchor", "memory anchor"):
        exact = _paper_and_exact(TOKENS[kind], weights)[1]
        assert relative(exact, _eq_29(data, TOKENS[kind], weights)) < 1e-12


def test_propositions_agree_with_the_numeric_label_distributions(record_error: Record) -> None:
    weights = _weights(1.0)
    feed = weights["W_f2"].T @ weights["W_f1"].T + np.eye(D)
    value = weights["W_O"].T @ weights["W_V"].T + np.eye(D)
    for token in (2, 5):
        drive = token_ratio(TASK, token) / L * (label_distribution(TASK, token) - 1 / D)
        error = relative(_paper_and_exact(token, weights)[0], drive @ feed @ value)
        record_error("eq. 11" if token == 2 else "eq. 10", error)
        assert error < 1e-12


@pytest.mark.parametrize("kind", TOKENS)
def test_share_of_the_last_place_is_the_enumerated_one(data: Data, kind: str) -> None:
    counts, last = data.sequences == TOKENS[kind], data.sequences[:, -1] == TOKENS[kind]
    name = "rho key" if kind == "key" else "rho anchor"
    assert find_derivation(name).function()(L, Q) == pytest.approx(last.sum() / counts.sum(), rel=1e-14)


def test_shares_of_all_tokens_make_one_last_place() -> None:
    """A sum rule at the paper's sizes: Σ_s r_s ρ_s = 1."""
    task = Task.paper()
    anchor, key = (find_derivation(f"rho {kind}").function()(9, 2) for kind in ("anchor", "key"))
    total = sum(
        token_ratio(task, s) * (anchor if s in task.anchors else key) for s in (*task.anchors, *task.keys)
    )
    assert total == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize("kind", TOKENS)
def test_with_all_matrices_small_only_the_last_place_counts(data: Data, kind: str) -> None:
    token = TOKENS[kind]
    last = (data.sequences[:, -1] == token).astype(float)
    counts = (data.sequences == token).sum()
    made = find_derivation("all small").function()(
        counts / len(last), last.sum() / counts, data.distribution(last), D
    )
    errors = []
    for scale in (1e-2, 1e-3):
        weights = {name: scale * value for name, value in _weights(1.0).items()}
        errors.append(relative(made[0], _flow(data, weights)["W_emb"][token]))
    # The first correction is the larger of ε (softmax) and ε² (the products of matrices).
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 0.02


def test_keys_are_not_told_apart_where_all_matrices_are_small(data: Data) -> None:
    """A key in the last position is noise, whose label distribution is the same for every key."""
    distributions = [data.distribution((data.sequences[:, -1] == key).astype(float)) for key in TASK.keys]
    for distribution in distributions:
        np.testing.assert_allclose(distribution, distributions[0], atol=1e-15)


def test_eq_38_is_the_limit_of_small_embeddings(data: Data, record_error: Record) -> None:
    C, errors = expected_token_label_matrix(TASK), []
    for weights in map(_weights, SCALES):
        made = find_derivation("eq 38").function()(
            weights["W_emb"], C, L, *_matrices(weights, "W_f1", "W_f2", "W_O")
        )
        errors.append(relative(made, _flow(data, weights)["W_V"]))
    assert np.polyfit(np.log(SCALES), np.log(errors), 1)[0] == pytest.approx(1, abs=0.05)
    for number in (36, 37, 38):
        record_error(f"eq. {number}", errors[-1])
