"""``compare_embedding``: an embedding that follows the corpus is told from one that does not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from scipy.stats import pearsonr, spearmanr

from sim import build_corpus
from tests.toy_text import toy_documents
from theory import (
    InputError,
    as_matrix,
    bigram_operator,
    corpus_counts,
    corpus_gram,
    cosine_matrix,
    off_diagonal,
    pair_counts,
    token_label_matrix,
)
from validate import compare_embedding, read_embedding
from validate.corpus.association import associate

CORPUS = build_corpus(toy_documents(200))
V = CORPUS.vocab_size
C = as_matrix(bigram_operator(corpus_counts(CORPUS, V)))
ROWS = {"bigram": C, "readout": C.T, "tied": C + C.T}
NOISE = np.random.default_rng(1).standard_normal((V, 40))


def comparison(embedding: Any, corpus: Any = CORPUS, **settings: Any) -> Any:
    settings = {"tokens": range(V), "predictors": ("bigram",)} | settings
    return compare_embedding(embedding, corpus, **settings).comparisons


@pytest.mark.parametrize("predictor", ROWS)
@pytest.mark.parametrize("mean_removed", [False, True])
def test_an_embedding_along_the_rows_is_matched_exactly(predictor: str, mean_removed: bool) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((V, V)))
    found = comparison(7.0 * ROWS[predictor] @ turn, predictors=(predictor,))[mean_removed].found
    assert found.pearson.mean == pytest.approx(1, abs=1e-9)
    assert found.spearman.mean == pytest.approx(1, abs=1e-6)
    assert found.predicted_mean == pytest.approx(found.observed_mean, abs=1e-12)
    assert found.gain.mean == pytest.approx(1 - found.control.mean)


def test_correlations_are_those_of_scipy_on_the_definition() -> None:
    embedding = C @ NOISE[:, :5][:V] + 0.01 * NOISE[:, :5]
    for mean_removed, found in enumerate(comparison(embedding)):
        rows = [C, embedding]
        if mean_removed:
            rows = [matrix - matrix.mean(axis=0) for matrix in rows]
        predicted, observed = (off_diagonal(cosine_matrix(matrix)) for matrix in rows)
        assert found.mean_removed == bool(mean_removed)
        assert found.found.pearson.mean == pytest.approx(pearsonr(predicted, observed).statistic)
        assert found.found.spearman.mean == pytest.approx(
            spearmanr(predicted.round(10), observed.round(10)).statistic
        )
        assert found.found.predicted_mean == pytest.approx(predicted.mean())
        assert found.found.observed_mean == pytest.approx(observed.mean())


def test_the_control_has_the_frequencies_alone() -> None:
    """An embedding along the columns of a shuffled corpus's C is explained by the control as well."""
    r = CORPUS.counts / CORPUS.counts.sum()
    frequencies = np.outer(r, r - 1 / V)
    found = comparison(frequencies.T + 1e-4 * C.T, predictors=("readout",), controls=5)[0].found
    assert found.control.mean > 0.5
    structured = comparison(C.T, predictors=("readout",), controls=5)[0].found
    assert structured.gain.low is not None
    assert structured.gain.low > 0 > structured.control.mean - 0.5
    assert found.gain.mean < structured.gain.mean


@pytest.mark.statistical
def test_intervals_cover_the_correlation_of_the_whole_vocabulary() -> None:
    """Tokens drawn from one distribution: of 80 intervals, 69 would be four standard errors below 95 %."""
    rng = np.random.default_rng(0)

    def cosines(n: int) -> tuple[np.ndarray, np.ndarray]:
        signal, noise = rng.standard_normal((n, 6)) + 0.4, rng.standard_normal((n, 6))
        return cosine_matrix(signal), cosine_matrix(signal + noise)

    truth = pearsonr(*(off_diagonal(matrix) for matrix in cosines(1000))).statistic
    held = 0
    for _ in range(80):
        predicted, observed = cosines(40)
        low, high = (lambda e: (e.low, e.high))(associate(predicted, observed, [predicted], rng).pearson)
        held += low <= truth <= high
    assert held >= 69


def test_bands_hold_the_tokens_that_occur_so_often() -> None:
    found = compare_embedding(NOISE, CORPUS, predictors=("bigram",), bands=(1, 200, 400), controls=1)
    often = CORPUS.counts
    sizes = {c.tokens: c.found.n_tokens for c in found.comparisons}
    expected = {"most frequent": V}
    for name, low, high in (("1 to 199", 1, 200), ("200 to 399", 200, 400), ("400 or more", 400, math.inf)):
        n = int(((often >= low) & (often < high)).sum())
        expected |= {name: n} if n > 1 else {}
    assert sizes == expected
    assert len(expected) > 2
    few = compare_embedding(NOISE, CORPUS, predictors=("bigram",), bands=(1,), top=4, controls=1)
    assert {c.found.n_tokens for c in few.comparisons} == {4}


def test_tokens_and_labels_stand_for_a_corpus() -> None:
    rng = np.random.default_rng(0)
    tokens, labels = rng.integers(0, 9, (400, 3)), rng.integers(0, 12, 400)
    rows = token_label_matrix(tokens, labels, 12)
    gram = corpus_gram(pair_counts(tokens, labels, 12), range(9))
    assert gram == pytest.approx(rows[:9] @ rows[:9].T / 9, rel=1e-9, abs=1e-15)
    found = comparison(rows, (tokens, labels), tokens=range(9), controls=2)[0].found
    assert found.pearson.mean == pytest.approx(1, abs=1e-9)
    assert abs(found.control.mean) < 0.9


def test_any_holder_of_an_embedding_will_do(tmp_path: Path) -> None:
    weights = torch.tensor(NOISE)
    layer = torch.nn.Embedding.from_pretrained(weights)
    file = tmp_path / "model.safetensors"
    half = weights.to(torch.bfloat16)
    safetensors.torch.save_file({"transformer.wte.weight": weights, "odd": half.clone()}, file)
    expected = comparison(NOISE)
    for held in (weights, layer, file, str(file), NOISE.tolist()):
        assert comparison(held) == expected
    assert comparison(file, tensor="odd") == comparison(half.to(torch.float64).numpy())
    assert read_embedding(file, "odd").dtype == np.float64


def test_more_rows_than_tokens_are_padding_only_if_said_so() -> None:
    longer = np.concatenate([NOISE, NOISE[:3]])
    with pytest.raises(
        InputError, match=rf"embedding = {V + 3}: rows for a vocabulary of {V}; .*padded=True"
    ):
        comparison(longer)
    assert len(comparison(longer, padded=True)) == 2
    with pytest.raises(InputError, match="rows for a vocabulary"):
        comparison(NOISE[:-1], padded=True, tokens=range(3))


def test_a_token_without_a_row_is_left_out() -> None:
    rows = NOISE.copy()
    rows[2] = 0
    assert comparison(rows)[0].found.n_tokens == V - 1


def test_printing_and_json() -> None:
    found = compare_embedding(NOISE, CORPUS, controls=1)
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["predictor", "tokens", "n", "Pearson"]
    assert len(lines) == 1 + len(found.comparisons) + len(found.NOTES)
    assert "<td>bigram, mean removed</td>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["comparisons"][0]["pearson"]["low"] < plain["comparisons"][0]["pearson"]["high"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.safetensors").write_text("no tensors")
    safetensors.torch.save_file({"a": torch.ones(3), "b.weight": torch.ones(V, 2)}, "model.safetensors")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("embedding", "settings", "message"),
    [
        ("missing.safetensors", {}, "no such file"),
        ("text.safetensors", {}, "not a safetensors file"),
        (
            "model.safetensors",
            {},
            "tensor = None: none is called as embeddings usually are; name one of a, b.w",
        ),
        ("model.safetensors", {"tensor": "b.wieght"}, "did you mean 'b.weight'"),
        ("model.safetensors", {"tensor": "a"}, "not a matrix of numbers"),
        (NOISE, {"tensor": "a"}, "the embedding is not a file"),
        (NOISE * np.nan, {}, "holds NaN"),
        (NOISE, {"bands": (5, 1)}, "bands = "),
        (NOISE, {"predictors": ()}, "predictors = "),
        (NOISE, {"predictors": ("context",)}, "predictors = 'context'"),
        (NOISE, {"tokens": [V]}, f"tokens = {V}"),
        (NOISE, {"tokens": [1]}, "fewer than two"),
        (np.zeros((V, 3)), {}, "fewer than two"),
        (NOISE, {"corpus": [[0, V]]}, "sequences = "),
        (NOISE, {"corpus": []}, "no token follows another"),
        (NOISE, {"corpus": ([0, 1], [1])}, "labels = "),
        (NOISE, {"corpus": 5}, "sequences = 5"),
    ],
)
def test_what_cannot_be_compared_is_refused(embedding: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        comparison(embedding, **settings)
