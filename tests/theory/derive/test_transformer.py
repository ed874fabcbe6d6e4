"""Lemmas 3 and 4, Propositions 2 and 3 against autograd on a small enumerated task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.theory.derive.reference import Record, descent, order, relative, softmax, transformer
from tests.theory.derive.test_labels import SMALL, enumerated
from theory import Task, expected_token_label_matrix, find_derivation, label_distribution, token_ratio

L, Q, D_F, D_K = 5, 2, 12, 7
TASK = Task(**SMALL)
D = TASK.vocab_size
TOKENS = {"reasoning anchor": 2, "memory anchor": 5, "key": 8}
SCALES = np.array([4e-5, 2e-5, 1e-5])
SEQUENCES: np.ndarray
LABELS: np.ndarray
SEQUENCES, LABELS = enumerated(TASK)
Weights = dict[str, np.ndarray]


def formula(name: str) -> Any:
    return find_derivation(name).function()


def weights(embedding_scale: float) -> Weights:
    """Draw the embeddings at a given scale and the other matrices at order one."""
    rng = np.random.default_rng(5)
    shapes = {"W_emb": (D, D), "W_Q": (D, D_K), "W_K": (D, D_K), "W_V": (D, D_K), "W_O": (D_K, D)}
    shapes |= {"W_f1": (D, D_F), "W_f2": (D_F, D)}
    drawn = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
    return drawn | {"W_emb": embedding_scale * rng.normal(size=(D, D))}


def matrices(w: Weights, *names: str) -> list[np.ndarray]:
    return [w[name] for name in names or ("W_f1", "W_f2", "W_V", "W_O")]


def distribution(rows: np.ndarray) -> np.ndarray:
    """Return the mean label row of sequences, each with its weight."""
    return np.asarray((rows @ LABELS / rows.sum())[None])


def test_lemmas_3_and_4_are_the_gradient_of_the_network(record_error: Record) -> None:
    few, labels = SEQUENCES[::29], LABELS[::29]
    w = weights(1.0) | {"W_Q": np.zeros((D, D_K))}
    flow = descent(transformer, w, few, labels)
    X = w["W_emb"][few]
    entering = X.mean(1) @ w["W_V"] @ w["W_O"] + X[:, -1]
    hidden = np.tanh(entering @ w["W_f1"])
    p, slopes = softmax(hidden @ w["W_f2"] + entering), 1 - hidden**2

    def rows(i: int) -> tuple[np.ndarray, ...]:
        return labels[[i]], p[[i]], slopes[[i]]

    for token in TOKENS.values():
        counts, last = np.equal(few, token).sum(1), few[:, -1] == token
        shares = [
            formula("lemma 3")(counts[i], float(last[i]), L, *rows(i), *matrices(w))
            for i in np.flatnonzero(counts)
        ]
        error = relative(np.sum(shares, axis=0)[0] / len(few), flow["W_emb"][token])
        record_error("Lemma 3", error)
        assert error < 1e-12
    right = matrices(w, "W_f1", "W_f2", "W_O")
    share = formula("lemma 4")
    made = np.mean([share(X[[i]].mean(1), *rows(i), *right) for i in range(len(few))], axis=0)
    record_error("Lemma 4", relative(made, flow["W_V"]))
    record_error("eq. 35", relative(made, flow["W_V"]))
    assert relative(made, flow["W_V"]) < 1e-12
    # Without the slopes it is the gradient of a linear feed-forward part only.
    ones = [share(X[[i]].mean(1), *rows(i)[:2], np.ones((1, D_F)), *right) for i in range(len(few))]
    assert relative(np.mean(ones, axis=0), flow["W_V"]) > 0.01


def eq_29(token: int, w: Weights) -> np.ndarray:
    counts = np.equal(SEQUENCES, token).sum(1).astype(float)
    last = (SEQUENCES[:, -1] == token).astype(float)
    statistics = counts.mean(), distribution(counts), last.sum() / counts.sum(), distribution(last)
    made: np.ndarray = formula("eq 29")(*statistics, L, *matrices(w), D)[0]
    return made


def propositions(token: int, w: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's form and the exact one, from the task's own numbers."""
    memory = token in TASK.memory_anchors
    given = [np.isin(np.arange(D), TASK.keys).astype(float)[None], 4] if memory else [token, 7, 1, 4, 3, Q]
    number, extra = ("prop 2", [Q]) if memory else ("prop 3", [])
    start, end = [token_ratio(TASK, token), *given], [L, *matrices(w), D]
    return formula(number)(*start, *end)[0], formula(f"{number} exact")(*start, *extra, *end)[0]


@pytest.mark.slow
def test_eq_29_and_the_propositions_at_small_embeddings(record_error: Record) -> None:
    """The exact forms' errors fall as ε; the printed form keeps a floor, 1/L for 1/(q(L−q)) = 1/6."""
    flows = [(w, descent(transformer, w, SEQUENCES, LABELS)) for w in map(weights, SCALES)]
    for kind, token in TOKENS.items():
        errors = [relative(eq_29(token, w), flow["W_emb"][token]) for w, flow in flows]
        assert order(SCALES, errors) == pytest.approx(1, abs=0.05)
        for number in (28, 29):
            record_error(f"eq. {number}", errors[-1])
        if kind == "key":
            continue
        forms = [(propositions(token, w), flow["W_emb"][token]) for w, flow in flows]
        paper, exact = ([relative(pair[form], flow) for pair, flow in forms] for form in (0, 1))
        name = "Prop. 2" if kind == "memory anchor" else "Prop. 3"
        record_error(name, exact[-1])
        record_error(f"{name}, printed form", paper[-1])
        assert order(SCALES, exact) == pytest.approx(1, abs=0.05)
        assert paper[-1] > 0.05
        assert paper[-1] == pytest.approx(paper[0], rel=0.1)
    C = expected_token_label_matrix(TASK)
    right = [matrices(w, "W_f1", "W_f2", "W_O") for w, _ in flows]
    value = formula("eq 38")
    errors = [
        relative(value(w["W_emb"], C, L, *m), flow["W_V"]) for (w, flow), m in zip(flows, right, strict=True)
    ]
    assert order(SCALES, errors) == pytest.approx(1, abs=0.05)
    for number in (36, 37, 38):
        record_error(f"eq. {number}", errors[-1])


def test_the_propositions_are_eq_29_with_the_tasks_statistics(record_error: Record) -> None:
    w = weights(1.0)
    feed = w["W_f2"].T @ w["W_f1"].T + np.eye(D)
    value = w["W_O"].T @ w["W_V"].T + np.eye(D)
    for token, number in ((2, 11), (5, 10)):
        paper, exact = propositions(token, w)
        drive = token_ratio(TASK, token) / L * (label_distribution(TASK, token) - 1 / D)
        record_error(f"eq. {number}", relative(paper, drive @ feed @ value))
        assert relative(paper, drive @ feed @ value) < 1e-12
        assert relative(exact, eq_29(token, w)) < 1e-12


@pytest.mark.parametrize("kind", TOKENS)
def test_shares_of_the_last_place(kind: str) -> None:
    counts = np.equal(SEQUENCES, TOKENS[kind])
    last = counts[:, -1]
    made = formula("rho key" if kind == "key" else "rho anchor")(L, Q)
    assert made == pytest.approx(last.sum() / counts.sum(), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOKENS)
def test_with_all_matrices_small_only_the_last_place_counts(kind: str) -> None:
    token = TOKENS[kind]
    last = (SEQUENCES[:, -1] == token).astype(float)
    counts = np.equal(SEQUENCES, token).sum()
    made = formula("all small")(counts / len(last), last.sum() / counts, distribution(last), D)
    errors = []
    for scale in (1e-2, 1e-3):
        w = {name: scale * value for name, value in weights(1.0).items()}
        errors.append(relative(made[0], descent(transformer, w, SEQUENCES, LABELS)["W_emb"][token]))
    # The first correction is the larger of ε (softmax) and ε² (the products of matrices).
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 0.02
