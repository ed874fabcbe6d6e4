"""Requests that make no sense are refused before any work, by the name of the argument.

``tests/fuzz`` feeds every public function wrong types and numbers; here are requests of which
each argument alone would do.
"""

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import theory
from tests.theory.any_rule import MODULAR, task_of
from tests.theory.flow_reference import parameters, small_example, small_task
from theory import Mapping, OneLayerParameters, SGDSettings, Shift, Sum, Task, Trajectory

PAPER, POPULATION = Task.paper(), small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
START = parameters()
ANCHORS = list(range(11, 21))
MODEL = OneLayerParameters.draw(6, d_k=3, d_f=7, init_rate=0.5, rng=np.random.default_rng(0))
TOKENS, TARGETS = np.zeros((2, 3), int), np.full((2, 6), 1 / 6)
EMBEDDING = Trajectory(np.zeros(1), {"W_emb": np.ones((1, 2, 2))})
FROZEN = theory.frozen_flow(C, START, [0.0, 1.0])
ONE_LABEL = Task(keys=[9], mappings=[Mapping([1], Shift({1: 0}))], n_anchors=1, length=2, vocab_size=20)
SHIFTED = Task(
    keys=range(20, 30), n_anchors=2, length=3, vocab_size=60, mappings=[Mapping([1, 2], Shift({1: 5, 2: 1}))]
)
ALWAYS_FIVE = Task(
    keys=[9, 10], mappings=[Mapping([1, 2], lambda key, anchors: 5)], n_anchors=1, length=2, vocab_size=20
)
MEMORY = Task(keys=range(5, 9), memory_anchors=[1, 2], n_anchors=1, length=3, vocab_size=12)
MANY_ENTRIES = Task(
    keys=range(1000, 2000), reasoning_anchors=range(1, 200), n_anchors=3, length=4, vocab_size=4000
)
TINY = {"init_rate": 0.5, "d_m": 4, "d_f": 4, "batch_size": 5}
COUNTS = theory.corpus_counts([[0, 1]], 4)
DOCUMENTS = [[0, 1, 2], [1, 0, 2]] * 30 + [[3, 0]]
FLOWS: list[Callable[..., object]] = [
    partial(theory.frozen_flow, C, START),
    partial(theory.coupled_flow, C, START),
    partial(theory.linearised_flow, C, S, START),
    partial(theory.population_flow, POPULATION, START),
]

REFUSED: dict[str, list[Callable[[], object]]] = {
    # Labels and samples.
    "token": [
        *(partial(theory.label_distribution, PAPER, t) for t in ([], [[11]], [11, 200], [1.5], -1, True)),
        lambda: theory.token_ratio(PAPER, 200),
        lambda: theory.last_position_distribution(PAPER, 200),
        lambda: COUNTS.label_distribution(1),
        lambda: COUNTS.label_distribution([0, 1]),
        lambda: theory.nearest_tokens(DOCUMENTS, 5, 3, [0, 1]),
        lambda: theory.label_table(
            Task(keys=range(50_000), reasoning_anchors=[50_001], n_anchors=1, length=2, vocab_size=200_000)
        ),
    ],
    "vocab_size": [
        lambda: theory.token_label_counts([[0]], [0], 10**6),
        lambda: theory.token_label_matrix([[0]], [0], 10**6),
        lambda: theory.cooccurrence_matrix([[0]], 10**18),
        lambda: theory.corpus_associations([[0, 1]], 4097),
        *(
            lambda f=f: f(Task(keys=[5], memory_anchors=[1], n_anchors=1, length=2, vocab_size=10**6))
            for f in (theory.expected_cooccurrence, theory.last_position_matrix)
        ),
    ],
    "role": [lambda: theory.label_distribution(PAPER, 1, role="anker")],
    "labels": [
        lambda: theory.token_label_matrix([[1, 2]], [1, 2], 20),
        lambda: theory.token_label_counts([[1]], [-1], 20),
    ],
    "sequences": [
        lambda: theory.token_label_counts([1, 2], [1, 2], 20),
        lambda: theory.token_label_matrix([[1, 99]], [1], 20),
        lambda: theory.cooccurrence_matrix(np.zeros((0, 3), int), 20),
        lambda: theory.one_layer_logits(MODEL, TOKENS + 6),
        lambda: theory.one_layer_logits(MODEL, TOKENS[0]),
        lambda: theory.lemma4_flow(MODEL, TOKENS * 1.0, TARGETS),
        lambda: theory.build_construction(PAPER).last_row([[1, 2, 3]]),
        *(
            lambda s=s: theory.corpus_counts(s, 5)
            for s in ([], [[1], [], [2]], [[0, 9]], [[0, -1]], [[0.5, 1]], "01", [[[0], [1, 2]]])
        ),
        lambda: theory.context_operator(iter([[0, 1]]), 5),
        lambda: theory.corpus_associations([np.zeros(10**6, int)], 5),
        lambda: theory.corpus_geometry([[0, 1]] * 39, 5, [0]),
        lambda: theory.corpus_geometry([[0]] * 50, 5, [0]),
    ],
    "task": [
        lambda: theory.count_population(PAPER),
        # More sequences than any float can count.
        lambda: theory.count_population(Task.paper(length=200)),
        lambda: theory.enumerate_population(Task.paper(length=200)),
        *(
            lambda f=f: f(Task.paper(length=200), SGDSettings(0.1), **TINY)
            for f in (partial(theory.predict_learning, n_epochs=1), theory.predicted_embedding)
        ),
        lambda: theory.label_entropies(MANY_ENTRIES),
        lambda: theory.gaussian_shape(ONE_LABEL, 1),
        lambda: theory.predict_value_growth(MEMORY),
        lambda: theory.build_construction(MEMORY),
        lambda: theory.build_construction(
            Task(keys=[5], reasoning_anchors=[1], n_anchors=1, length=2, vocab_size=10**6)
        ),
    ],
    "tables": [lambda: theory.count_population(small_task(), [np.zeros((5, 3), int), None])],
    "anchor": [
        lambda: theory.gaussian_shape(PAPER, 5),
        lambda: theory.gaussian_shape(task_of(MODULAR), 1),
    ],
    # Shapes.
    "rows": [
        lambda: theory.cosine_matrix([1.0, 2.0]),
        lambda: theory.cosine_matrix([[1.0, np.nan]]),
        lambda: theory.principal_components([[1.0, 2.0]], 1),
    ],
    "other": [
        lambda: theory.cosine_matrix([[1.0, 2.0]], [[1.0]]),
        lambda: COUNTS + theory.corpus_counts([[0, 1]], 5),
    ],
    "anchors": [partial(theory.finite_sample_cosines, PAPER, [11, s]) for s in (25, 200)],
    "matrix": [lambda: theory.off_diagonal(np.ones((2, 3)))],
    "n_components": [lambda: theory.principal_components(np.eye(3), 4)],
    "tokens": [
        lambda: theory.eq14_embedding(task_of(Sum()), [1, 6]),
        lambda: theory.eq14_embedding(SHIFTED, [20, 1]),  # Renumbered, its anchors keep their labels.
        lambda: theory.corpus_geometry(DOCUMENTS, 5, [0, 0]),
        lambda: theory.corpus_geometry(DOCUMENTS, 10**15, [0]),
    ],
    "candidates": [
        lambda: theory.nearest_tokens(DOCUMENTS, 10**15, 0, [1]),
        lambda: theory.nearest_tokens(DOCUMENTS, 5, 0, [0]),
    ],
    "bounds": [lambda: theory.fit_width(PAPER, ANCHORS, np.eye(10), bounds=(2.0, 1.0))],
    "observed": [lambda: theory.fit_width(PAPER, [11], np.eye(1))],
    "x": [
        lambda: theory.fit_exponent([1, 2], [1, 2]),
        # The mean of equal logarithms may differ from them in the last bit.
        *(
            lambda x=x, n=n: theory.fit_exponent([x] * n, range(1, n + 1))
            for x in (2, 5, 7)
            for n in (3, 5, 7)
        ),
    ],
    "y": [lambda: theory.fit_exponent([1, 2, 3], [1, 0, 2]), lambda: theory.fit_exponent([1, 2, 3], [1, 2])],
    "init_rate, rng": [lambda: theory.gaussian_embedding(PAPER, [15], init_rate=0.8)],
    "exact": [lambda: theory.inner_product_difference(np.zeros((2, 3)), np.zeros((2, 4)))],
    # Flows.
    "W1": [lambda: theory.EmbMLPParameters(np.zeros((3, 2)), np.zeros((3, 4)), np.zeros((4, 3)))],
    "W2": [lambda: theory.EmbMLPParameters(np.zeros((3, 2)), np.zeros((2, 4)), np.zeros((4, 5)))],
    "W_emb": [lambda: theory.EmbMLPParameters(np.zeros(3), np.zeros((2, 4)), np.zeros((4, 3)))],
    "C": [
        lambda: theory.frozen_flow(np.zeros((7, 7)), START, [1.0]),
        lambda: theory.linearised_flow(np.full_like(C, np.nan), S, START, [1.0]),
        lambda: theory.transformer_drive(TARGETS, TARGETS, 3, MODEL.W_emb, MODEL.W_emb),
    ],
    "S": [
        lambda: theory.linearised_flow(C, S + np.triu(np.ones_like(S), 1), START, [1.0]),
        lambda: theory.saddle_staircase(C, np.triu(np.ones((20, 20))), START, 2),
    ],
    "population": [
        lambda: theory.population_flow(POPULATION, parameters(vocab_size=21), [1.0]),
        lambda: theory.one_mode_answers(theory.count_population(ALWAYS_FIVE)),
    ],
    "times": [
        *(partial(f, times=t) for f in FLOWS for t in ([-1.0], [np.nan], [2.0, 1.0], [], [[0.0]])),
    ],
    "keep": [*(partial(f, times=[1.0], keep=("W3",)) for f in FLOWS), lambda: FROZEN["W1"]],
    "weight_decay": [partial(f, times=[1.0], weight_decay=-0.1) for f in FLOWS],
    "batch_size": [
        lambda: theory.predict_learning(
            small_task(), SGDSettings(0.1), n_epochs=1, **TINY | {"batch_size": 1000}
        ),
    ],
    "steps": [
        lambda: theory.predicted_embedding(small_task(), SGDSettings(0.1), steps=[], **TINY),
    ],
    "accuracies": [
        lambda: theory.predicted_embedding(small_task(), SGDSettings(0.1), accuracies=[0.5, 0.1], **TINY)
    ],
    "data_set": [
        partial(theory.predicted_embedding, small_task(), SGDSettings(0.1), data_set=name, **TINY)
        for name in ("sums", "")
    ],
    "seeds": [lambda: theory.predict_learning(small_task(), SGDSettings(0.1), n_epochs=1, seeds=(), **TINY)],
    "n_modes": [
        lambda: theory.measured_rank_steps(EMBEDDING, 1.0, 3),
        lambda: theory.saddle_staircase(C, S, START, 7),
    ],
    "B": [lambda: theory.answer_accuracy(POPULATION, np.ones((3, 3)))],
    "activation": [
        partial(FLOWS[3], times=[0.0], activation="relu"),
        lambda: theory.one_layer_logits(MODEL, TOKENS, activation=3),
        lambda: theory.Activation("nearly", lambda h: h + 1e-6, np.ones_like),
        lambda: theory.Activation("nearly", lambda h: h, lambda h: np.full_like(h, 1 + 1e-6)),
    ],
    # The Transformer.
    "vocab_size, d_k, d_f": [
        lambda: OneLayerParameters.draw(10**7, d_k=1, d_f=1, init_rate=0.5, rng=np.random.default_rng(0))
    ],
    "W_O": [lambda: dataclasses.replace(MODEL, W_O=np.zeros((4, 6)))],
    "targets": [lambda: theory.lemma3_flow(MODEL, TOKENS, TARGETS[:, :5])],
    "W_VO": [lambda: theory.paper_transformer_drive(MODEL.W_emb, 3, MODEL.W_emb, MODEL.W_O)],
    "W_f": [lambda: theory.value_drive(MODEL.W_emb, MODEL.W_emb, 3, MODEL.W_O, MODEL.W_O)],
    "tolerance": [lambda: theory.smallest_init_rate(1.0, 200, 9)],
    "shares": [lambda: theory.theorem_2_terms(np.eye(2), [0.5, 0.6], [0], [1])],
    "p": [
        lambda: theory.cliff_sequence(0.1, 9, 8, 2),
        lambda: theory.mass_outside(np.zeros((2, 9)), np.array([1, 8]), 2),
    ],
    "q": [
        lambda: theory.cliff_step(0.1, 2, 2),
        lambda: theory.is_cliff([], 1, 1),
        lambda: theory.printed_conditions(2, 2),
    ],
    "sequence": [lambda: theory.is_cliff(np.zeros((2, 9)), 1, 2)],
    # Matrices of a corpus.
    "operator": [lambda: theory.as_matrix(theory.bigram_operator(theory.corpus_counts([[0, 1]], 4097)))],
    "n": [lambda: theory.top_singular(theory.bigram_operator(COUNTS), 4)],
}


@pytest.mark.parametrize(
    ("argument", "call"), [(name, call) for name, calls in REFUSED.items() for call in calls]
)
def test_what_makes_no_sense_is_refused_by_name(argument, call):
    with pytest.raises(theory.InputError, match=f"^{argument} = "):
        call()


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: FROZEN["W1"], "add 'W1' to keep"),
        (lambda: FROZEN["W3"], "choose from W_emb, W1, W2, B"),
        (lambda: theory.gaussian_shape(MEMORY, 1), "choose one of another task"),
        (lambda: theory.eq14_embedding(MEMORY, [1]), "keys or anchors from another task"),
        (lambda: theory.population_flow(POPULATION, START, [0.0], activation="relu"), "identity, tanh"),
        (lambda: theory.nearest_tokens(iter(DOCUMENTS), 5, 0, [1, 2]), "only once; give a list"),
    ],
)
def test_a_remedy_is_one_that_helps(call: Callable[[], object], remedy: str) -> None:
    with pytest.raises(theory.InputError, match=remedy):
        call()
