"""Every derived statement as a function: equal to the numeric theory, which other tests hold to autograd."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri, softmax

import theory
from tests.theory.any_rule import counts_of_sum
from tests.theory.flow_reference import relative, slope, small_example
from theory import TANH, EmbMLPParameters, Mapping, OneLayerParameters, Shift, Task, find_derivation
from theory.flows.gradient import population_field, token_gradient
from theory.flows.ladder import linearised_drive, product_field

D, D_M, D_F, N, L = 20, 6, 11, 40, 3
RNG = np.random.default_rng(1)
SEQUENCES, DRAWN = RNG.integers(0, D, size=(N, L)), RNG.integers(0, D, size=N)
SEQUENCES[0] = [3, 3, 5]  # a token that occurs twice
WEIGHTS = EmbMLPParameters(*(RNG.normal(size=shape) for shape in ((D, D_M), (D_M, D_F), (D_F, D))))
START = WEIGHTS.scaled(1 / 3)
LABELS, COUNTS = np.eye(D)[DRAWN], np.eye(D)[SEQUENCES].sum(axis=1)
POPULATION = theory.CountPopulation(
    COUNTS, np.zeros((1, D)), LABELS[:, None], {"training": np.full((N, 1), 1 / N)}
)
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
ALL = ("W_emb", "W1", "W2")
PAPER = Task.paper()
Record = Any


def formula(name: str) -> Any:
    return find_derivation(name).function()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("eq 22", (2, 5, 3, 60)),  # N_A^(q − 1) is beyond 64 bits
        ("key distribution", (9, 1, 4, 1, 5, 3, 2, 9)),
        ("lemma 1", (2, 1, 50, 9)),
        ("eq 13", (1, 3, 0, 1, 50, 1, 2)),
    ],
)
def test_numpys_integers_are_numbers_too(name: str, numbers: tuple[int, ...]) -> None:
    assert formula(name)(*np.array(numbers)) == formula(name)(*numbers) > 0


# The Emb-MLP.


def test_lemma_2_is_the_gradient_of_the_network(record_error: Record) -> None:
    W_emb, W1, W2 = WEIGHTS.matrices
    value = np.tanh(COUNTS @ W_emb @ W1)
    p, slopes, share = softmax(value @ W2, axis=1), 1 - value**2, formula("lemma 2")
    made = [
        sum(share(COUNTS[i, s], LABELS[[i]], p[[i]], slopes[[i]], W1, W2)[0] for i in range(N)) / N
        for s in range(D)
    ]
    error = relative(np.array(made), population_field(POPULATION, TANH)(WEIGHTS.matrices).W_emb)
    record_error("Lemma 2", error, below=1e-12)


def test_prop_1_starts_from_the_network_of_definition_1() -> None:
    small, w, v = 0.3, RNG.normal(size=(1, 2)), RNG.normal(size=(1, 2))
    W1, W2 = WEIGHTS.W1[:2, :2], WEIGHTS.W2[:2, :3]
    values: dict[str, Any] = {"epsilon": small, "c_s": 2, "w": w, "v": v, "W1": W1, "W2": W2}
    logits = find_derivation("prop 1").steps[0].expression
    symbols = sorted(logits.free_symbols, key=str)
    made = sp.lambdify(symbols, logits, [{"sigma": np.tanh}, "numpy"])(*(values[str(s)] for s in symbols))
    np.testing.assert_allclose(made, np.tanh(small * (2 * w + v) @ (small * W1)) @ (small * W2))


def test_prop_1_is_the_frozen_direction(record_error: Record) -> None:
    wanted = theory.frozen_direction(C, WEIGHTS)
    for s in range(D):
        ratio = COUNTS[:, s].mean()
        law = (COUNTS[:, s] @ LABELS / N / ratio)[None]
        leading = formula("prop 1")(ratio, law, WEIGHTS.W1, WEIGHTS.W2, D)[0]
        record_error(("Prop. 1", "eq. 4"), relative(leading, wanted[s]), below=1e-12)


SMALL = Task(
    keys=range(12, 20),
    reasoning_anchors=range(1, 5),
    memory_anchors=[8],
    n_anchors=3,
    length=4,
    vocab_size=40,
)


@pytest.mark.parametrize(
    ("name", "token", "task"),
    [
        ("cor 1", 4, Task.paper(3)),
        ("cor 2", 11, Task.paper(3)),
        ("cor 2", 20, Task.paper(3)),
        ("cor 2", 2, SMALL),
    ],
)
def test_corollaries_are_the_frozen_flow(name: str, token: int, task: Task, record_error: Record) -> None:
    d, rng = task.vocab_size, np.random.default_rng(2)
    W1, W2 = rng.normal(size=(20, 30)), rng.normal(size=(30, d))
    is_key = np.isin(np.arange(d), task.keys).astype(float)[None]
    anchors = task.reasoning_anchors
    sizes = len(task.keys), len(anchors), task.n_anchors
    given = (is_key, sizes[0]) if name == "cor 1" else (token, task.keys[0], anchors[0], *sizes)
    made = formula(name)(theory.token_ratio(task, token), *given, W1, W2, d)
    initial = EmbMLPParameters(np.zeros((d, 20)), W1, W2)
    error = relative(
        made[0], theory.frozen_direction(theory.expected_token_label_matrix(task), initial)[token]
    )
    equations = ("Cor. 1", "eq. 26") if name == "cor 1" else ("Cor. 2", "eq. 27")
    record_error(equations, error, below=1e-12)


FLOWS: dict[str, Any] = {
    "coupled": partial(theory.coupled_flow, C),
    "linearised": partial(theory.linearised_flow, C, S),
    "population": partial(theory.population_flow, POPULATION),
}


@pytest.mark.parametrize("rung", FLOWS)
def test_quantities_are_conserved_on_every_rung(rung: str, record_error: Record) -> None:
    path = FLOWS[rung](START, [0.0, 0.3], solver=theory.EXACT, keep=ALL)
    for name, (first, second) in (("conserved 1", ALL[:2]), ("conserved 2", ALL[1:])):
        before, after = (formula(name)(path[first][k], path[second][k]) for k in range(2))
        record_error("conserved matrices", float(np.abs(after - before).max()))
        # The integrator's relative tolerance, over the some hundred steps it takes.
        assert relative(after, before) < 1e-6
        assert relative(formula(name)(path[first][1], path[second][0]), before) > 1e-4


def test_the_drives_and_the_flow_of_the_three_matrices() -> None:
    B = START.W_emb @ START.W1 @ START.W2
    np.testing.assert_allclose(formula("linearised")(C, S, B, D), linearised_drive(C, S, B), atol=1e-14)
    values = dict(zip(ALL, START.matrices, strict=True)) | {"R": token_gradient(POPULATION, B)}
    flow = product_field(lambda B: token_gradient(POPULATION, B))(START.matrices)
    for matrix, number, made_of in ((0, 0, "conserved 1"), (1, 1, "conserved 1"), (2, 1, "conserved 2")):
        expression = find_derivation(made_of).steps[number].expression
        symbols = sorted(expression.atoms(sp.MatrixSymbol), key=lambda m: m.name)
        made = sp.lambdify(symbols, expression)(*(values[m.name] for m in symbols))
        assert relative(made, flow[matrix]) < 1e-12


def test_the_rest_at_a_saddle_of_rank_two() -> None:
    rng, d, d_m, d_f, k = np.random.default_rng(0), 7, 5, 6, 2
    X, Y = (np.linalg.qr(rng.standard_normal((n, k)))[0] for n in (d_m, d_f))
    P, R = (np.linalg.qr(rng.standard_normal((d, k)))[0] for _ in range(2))
    E, w, F = (rng.standard_normal(shape) for shape in ((d, d_m), (d_m, d_f), (d_f, d)))
    off_x, off_y = np.eye(d_m) - X @ X.T, np.eye(d_f) - Y @ Y.T
    residual = (np.eye(d) - P @ P.T) @ rng.standard_normal((d, d)) @ (np.eye(d) - R @ R.T)
    modes = P @ X.T, X @ np.diag([2.0, 3.0]) @ Y.T, Y @ R.T
    rest = E @ off_x, off_x @ w @ off_y, off_y @ F
    scales, errors = [1e-2, 1e-3], []
    for scale in scales:
        near = EmbMLPParameters(*(a + scale * b for a, b in zip(modes, rest, strict=True))).matrices
        # With S the identity the drive is G minus the change of B.
        moved = product_field(lambda B: residual - (B - modes[0] @ modes[1] @ modes[2]))(near)
        errors.append(relative(moved.W_emb / scale, formula("saddle")(scale, residual, rest[2], rest[1])))
    assert errors[0] < 1
    assert slope(scales, errors) == pytest.approx(1, abs=0.1)


# Label distributions and Theorem 1.

sizes = st.integers(1, 12)


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 4))
def test_eq_22_its_moments_and_zero_outside(n_keys: int, n_anchors: int, q: int) -> None:
    counts = counts_of_sum(n_keys, *[n_anchors] * (q - 1))
    counted = [Fraction(n, sum(counts)) for n in counts]
    inside = range(-3, len(counted) + 3)
    made = [formula("eq 22")(r, n_keys, n_anchors, q) for r in inside]
    np.testing.assert_allclose(made, [0, 0, 0, *map(float, counted), 0, 0, 0], rtol=1e-12, atol=0)
    if q == 2:  # also where there are more anchors than keys, which the symbolic cases leave to symmetry
        trapezoid = [formula("trapezoid")(r, n_keys, n_anchors) for r in inside]
        np.testing.assert_allclose(trapezoid, made, rtol=1e-14, atol=0)
    mean = sum((p * r for r, p in enumerate(counted)), Fraction(0))
    variance = sum((p * (r - mean) ** 2 for r, p in enumerate(counted)), Fraction(0))
    moved = float(mean + 5 + 21 + (q - 1) * 3)
    assert formula("mu_s")(5, 21, 3, n_keys, n_anchors, q) == pytest.approx(moved, rel=1e-13)
    assert formula("sigma_p")(n_keys, n_anchors, q) == pytest.approx(float(variance), abs=1e-11)


@pytest.mark.parametrize(("q", "length"), [(2, 3), (2, 9), (1, 4), (3, 6)])
def test_a_keys_distribution_is_the_numeric_one(q: int, length: int, record_error: Record) -> None:
    task = Task(
        keys=range(21, 61), reasoning_anchors=range(11, 17), memory_anchors=range(1, 7), n_anchors=q,
        length=length, vocab_size=130,
    )  # fmt: skip
    for token in (21, 60):
        made = [formula("key distribution")(i, token, 21, 11, 40, 6, q, length) for i in range(130)]
        error = float(np.abs(made - theory.label_distribution(task, token)).max())
        record_error(("eq. 23", "eq. 24", "eq. 25"), error, below=1e-12)


@given(
    width=st.floats(2.0, 12.0),
    means=st.tuples(st.floats(180, 220), st.floats(180, 220)),
    c1=st.floats(0.1, 3.0),
    c2=st.floats(0.05, 1.0),
)
def test_inner_product_is_the_plain_sum(
    width: float, means: tuple[float, float], c1: float, c2: float
) -> None:
    """Wide enough for Poisson's remainder (e^{−π²σ²} < 1e-17) and far from the edges (15 widths)."""
    a, b = (c1 * (c2 * np.exp(-((np.arange(400) - mean) ** 2) / (2 * width**2)) - 1 / 400) for mean in means)
    made = formula("gaussian inner product")(c1, c2, width, means[0] - means[1], 400)
    assert made == pytest.approx(float(a @ b), abs=1e-12 * float(np.linalg.norm(a) * np.linalg.norm(b)))


def test_cosine_is_that_of_eq_14(record_error: Record) -> None:
    tokens = list(PAPER.reasoning_anchors)
    made = formula("cosine")(1.0, np.sqrt(6), np.subtract.outer(tokens, tokens), 200)
    error = float(np.abs(made - theory.cosine_matrix(theory.eq14_embedding(PAPER, tokens))).max())
    # s = 11 stands 11 coordinates from the edge. Of a single Gaussian erfc(11/√12)/2 = 4e-6 is lost; its
    # weight 2·√(2π)σ/d over the square 4.28 makes that 5e-8 at most.
    record_error("eq. 14", error, below=5e-8)
    assert made[4, 9] == pytest.approx(0.344, abs=5e-4)


def test_theorem_1_is_the_numeric_embedding(record_error: Record) -> None:
    given = 15, 21, 11, 100, 10, 2, 0.5, theory.token_ratio(PAPER, 15), 9, 200
    wanted = theory.gaussian_embedding(PAPER, [15], learning_rate=0.5)[0]
    error = relative(formula("theorem 1")(np.arange(200), *given), wanted)
    record_error(("Theorem 1", "eq. 12"), error, below=1e-12)


def test_leading_order_of_bound_13_is_the_numeric_one(record_error: Record) -> None:
    """Skewed shifts, so that both parts of the noise term are there; ndtri gives the quantile."""
    shifts = Mapping(range(4), Shift({0: 5, 1: 1, 2: -2, 3: -8}))
    task = Task(keys=range(200, 210), mappings=[shifts], n_anchors=9, length=10, vocab_size=420)
    bound = theory.inner_product_bound(task, range(4), learning_rate=3.0, init_rate=0.7, confidence=0.9)
    shape = theory.gaussian_shape(task, 0, learning_rate=3.0)
    moments = shape.C1, shape.sigma_P, shape.skewness, shape.excess_kurtosis
    made = formula("eq 13")(*moments, 420, 0.7, -ndtri(0.1 / 20))
    error = abs(made / (bound.shape_leading + bound.noise_leading) - 1)
    record_error("eq. 13, leading order", error, below=1e-12)


# The one-layer Transformer.

EXAMPLE = small_example(length=5)
TASK = EXAMPLE.task
TOKENS = {"reasoning anchor": 4, "memory anchor": 2, "key": 8}
MODEL = OneLayerParameters.draw(D, d_k=7, d_f=12, init_rate=0.5, rng=np.random.default_rng(5))
W_F, W_VO = MODEL.W_f1 @ MODEL.W_f2, MODEL.W_V @ MODEL.W_O
MATRICES = MODEL.W_f1, MODEL.W_f2, MODEL.W_V, MODEL.W_O


def test_lemmas_3_and_4_are_the_numeric_flows(record_error: Record) -> None:
    few, labels = EXAMPLE.sequences[::29], np.eye(D)[EXAMPLE.labels[::29]]
    model = OneLayerParameters(MODEL.W_emb, 0 * MODEL.W_Q, MODEL.W_K, *MATRICES[2:], *MATRICES[:2])
    X = model.W_emb[few]
    entering = X.mean(1) @ W_VO + X[:, -1]
    hidden = np.tanh(entering @ model.W_f1)
    p, slopes = softmax(hidden @ model.W_f2 + entering, axis=1), 1 - hidden**2
    rows = [(labels[[i]], p[[i]], slopes[[i]]) for i in range(len(few))]
    wanted = theory.lemma3_flow(model, few, labels)
    for token in TOKENS.values():
        counts, last = np.equal(few, token).sum(1), few[:, -1] == token
        shares = [
            formula("lemma 3")(counts[i], float(last[i]), 5, *rows[i], *MATRICES)
            for i in np.flatnonzero(counts)
        ]
        record_error("Lemma 3", relative(np.sum(shares, axis=0)[0] / len(few), wanted[token]), below=1e-12)
    right = MODEL.W_f1, MODEL.W_f2, MODEL.W_O
    made = np.mean([formula("lemma 4")(X[[i]].mean(1), *row, *right) for i, row in enumerate(rows)], axis=0)
    record_error(("Lemma 4", "eq. 35"), relative(made, theory.lemma4_flow(model, few, labels)), below=1e-12)


def test_eq_29_eq_38_and_the_propositions_are_the_numeric_drives(record_error: Record) -> None:
    C, C_last = theory.expected_token_label_matrix(TASK), theory.last_position_matrix(TASK)
    exact = theory.transformer_drive(C, C_last, 5, W_F, W_VO)
    printed = theory.paper_transformer_drive(C, 5, W_F, W_VO)
    for kind, token in TOKENS.items():
        ratio = theory.token_ratio(TASK, token)
        law = theory.label_distribution(TASK, token)[None]
        last = theory.last_position_distribution(TASK, token)[None]
        share = C_last[token] @ (last[0] - 1 / D) / np.sum((last - 1 / D) ** 2) / ratio
        error = relative(formula("eq 29")(ratio, law, share, last, 5, *MATRICES, D)[0], exact[token])
        record_error(("eq. 28", "eq. 29"), error, below=1e-12)
        assert formula("rho key" if kind == "key" else "rho anchor")(5, 2) == pytest.approx(share, rel=1e-13)
        np.testing.assert_allclose(formula("all small")(ratio, share, last, D)[0], C_last[token], atol=1e-15)
        if kind == "key":
            continue
        memory = kind == "memory anchor"
        is_key = np.isin(np.arange(D), TASK.keys).astype(float)[None]
        given = (ratio, is_key, 5) if memory else (ratio, token, 5, 3, 5, 2, 2)
        number, proposition = (10, "prop 2") if memory else (11, "prop 3")
        error = relative(formula(proposition)(*given, 5, *MATRICES, D)[0], printed[token])
        record_error(f"eq. {number}", error, below=1e-12)
        extra = (2,) if memory else ()
        made = formula(f"{proposition} exact")(*given, *extra, 5, *MATRICES, D)
        assert relative(made[0], exact[token]) < 1e-12
    made = formula("eq 38")(MODEL.W_emb, C, 5, MODEL.W_f1, MODEL.W_f2, MODEL.W_O)
    error = relative(made, theory.value_drive(MODEL.W_emb, C, 5, W_F, MODEL.W_O))
    record_error(("eq. 36", "eq. 37", "eq. 38"), error, below=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 0.8])
def test_lemma_1_is_the_numeric_bound(gamma: float, record_error: Record) -> None:
    made = formula("lemma 1")(0.3, gamma, 200, 9)
    error = abs(made - theory.average_attention_bound(0.3, 200, gamma, 9))
    record_error("Lemma 1, bound", error, below=1e-12)
    assert 0 < made < 1


def test_the_matrix_of_theorem_2_is_eq_38_of_the_tasks_own_drives(record_error: Record) -> None:
    rng = np.random.default_rng(3)
    C, W_f = theory.expected_token_label_matrix(PAPER), rng.normal(size=(200, 200))
    W_O = rng.normal(size=(5, 200))
    right = (W_f + np.eye(200)).T @ W_O.T
    given = 0.3, 9, theory.label_table(PAPER), theory.token_ratios(PAPER)[:, None], right, 200
    error = relative(formula("theorem 2 matrix")(*given), theory.value_drive(0.3 * C, C, 9, W_f, W_O))
    record_error("Theorem 2, matrix", error, below=1e-12)
