"""``compare_embedding``: an embedding that follows the corpus is told from one that does not."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr, ttest_1samp

import theory
from sim import build_corpus
from tests.toy_text import toy_documents
from theory import InputError
from validate import compare_embedding, read_embedding
from validate.corpus.association import associate, jackknife_estimate

CORPUS = build_corpus(toy_documents(200))
V = CORPUS.vocab_size
C = theory.as_matrix(theory.bigram_operator(theory.corpus_counts(CORPUS, V)))
NOISE = np.random.default_rng(1).standard_normal((V, 40))


def comparison(embedding, corpus=CORPUS, **settings):
    settings = {"tokens": range(V), "predictors": ("bigram",)} | settings
    return compare_embedding(embedding, corpus, **settings).comparisons


def test_correlations_are_those_of_scipy_on_the_definition():
    embedding = C @ NOISE[:, :5] + 0.01 * NOISE[:, :5]
    for mean_removed, found in zip((False, True), comparison(embedding), strict=True):
        rows = [matrix - mean_removed * matrix.mean(axis=0) for matrix in (C, embedding)]
        predicted, observed = (theory.off_diagonal(theory.cosine_matrix(matrix)) for matrix in rows)
        assert found.mean_removed == mean_removed
        ranked, own = spearmanr(predicted.round(10), observed.round(10)).statistic, found.association
        assert own.pearson.mean == pytest.approx(pearsonr(predicted, observed).statistic)
        assert own.spearman.mean == pytest.approx(ranked)
        means = predicted.mean(), observed.mean()
        assert (own.predicted_mean, own.observed_mean) == pytest.approx(means)


def test_every_column_and_key_is_its_own_measure():
    """All numbers of a line differ: each is found under its own name in the table, the text and the JSON."""
    shown = compare_embedding(C @ NOISE[:, :5] + 0.02 * NOISE[:, :5], CORPUS, controls=1, bands=(1, 300))
    plain = json.loads(json.dumps(shown.to_json(), allow_nan=False))
    names = {"Pearson": "pearson", "Spearman": "spearman", "control": "control", "gain": "gain"}
    table = shown.table()
    for comparison, row, record in zip(shown.comparisons, table.rows, plain["comparisons"], strict=True):
        cells, found = dict(zip(table.header, row, strict=True)), comparison.association
        assert len(set(cells.values())) == len(cells)
        for header, name in names.items():
            assert cells[header] == str(getattr(found, name))
            assert record[name] == getattr(found, name).as_dict()
        assert cells["mean"] == f"{found.predicted_mean:.3f}"
        assert cells["observed"] == f"{found.observed_mean:.3f}"
        assert record["predicted_mean"] == found.predicted_mean
        assert record["observed_mean"] == found.observed_mean
        assert cells["n"] == str(record["n_tokens"])
        assert found.gain.mean == pytest.approx(found.pearson.mean - found.control.mean)
        assert cells["predictor"].startswith(record["predictor"])
        assert ("mean removed" in cells["predictor"]) == record["mean_removed"]
    assert str(shown).splitlines()[0].split()[:2] == ["predictor", "tokens"]
    rounded = replace(shown.comparisons[0].association, predicted_mean=-1e-5, observed_mean=-0.0)
    assert rounded.cells()[-2:] == ["0.000", "0.000"]  # A mean that rounds to zero has no sign.


def test_the_control_has_the_frequencies_alone():
    """An embedding along the columns of a shuffled corpus's C is explained by the control as well."""
    r = CORPUS.counts / CORPUS.counts.sum()
    frequencies = np.outer(r, r - 1 / V)
    found = comparison(frequencies.T + 1e-4 * C.T, predictors=("readout",), controls=5)[0].association
    assert found.control.mean > 0.5
    structured = comparison(C.T, predictors=("readout",), controls=5)[0].association
    assert structured.gain.low > 0 > structured.control.mean - 0.5
    assert found.gain.mean < structured.gain.mean


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=20).filter(lambda x: np.std(x) > 1e-3))
def test_the_jackknife_of_a_mean_gives_students_interval(values):
    """The values without each one in turn have the means of the others: the interval is the exact one."""
    x, n = np.array(values), len(values)
    estimate = jackknife_estimate(np.array([x.mean(), *((x.sum() - x) / (n - 1))]))
    exact = ttest_1samp(x, 0.0).confidence_interval(0.95)
    assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high), rel=1e-6, abs=1e-6)


@pytest.mark.statistical
def test_intervals_cover_the_correlation_of_the_whole_vocabulary_at_their_level():
    """95 % of 200 intervals, each from 40 tokens, hold the truth; intervals at 90 % would not pass."""
    rng = np.random.default_rng(0)

    def cosines(n):
        signal, noise = rng.standard_normal((n, 3)) + 0.4, rng.standard_normal((n, 3))
        return theory.cosine_matrix(signal), theory.cosine_matrix(signal + noise)

    truth = pearsonr(*(theory.off_diagonal(matrix) for matrix in cosines(1000))).statistic
    pearson, gain = [], []
    for _ in range(200):
        (predicted, observed), (control, _) = cosines(40), cosines(40)
        association = associate(predicted, observed, [control], rng)
        pearson.append(association.pearson.low <= truth <= association.pearson.high)
        gain.append(association.gain.low <= truth <= association.gain.high)
    assert 0.93 <= np.mean(pearson) <= 0.985
    assert 0.93 <= np.mean(gain) <= 0.985


def test_bands_hold_the_tokens_that_occur_so_often():
    found = compare_embedding(NOISE, CORPUS, predictors=("bigram",), bands=(1, 200, 400), controls=1)
    often = CORPUS.counts
    sizes = {c.tokens: c.association.n_tokens for c in found.comparisons}
    expected = {"most frequent": V}
    for name, low, high in (("1 to 199", 1, 200), ("200 to 399", 200, 400), ("400 or more", 400, math.inf)):
        n = int(((often >= low) & (often < high)).sum())
        expected |= {name: n} if n > 1 else {}
    assert sizes == expected
    assert len(expected) > 2
    few = compare_embedding(NOISE, CORPUS, predictors=("bigram",), bands=(1,), top=4, controls=1)
    assert {c.association.n_tokens for c in few.comparisons} == {4}


def test_a_band_whose_tokens_have_no_rows_is_undefined_and_the_rest_is_compared():
    """Both rare tokens come last and have no next one: no row of "bigram"."""
    corpus = [[0, 1, 2, 3, 4]] * 30 + [[0, 5], [1, 6]]
    found = compare_embedding(NOISE[:7], corpus, predictors=("bigram",), bands=(1, 5), controls=1)
    sizes = {c.tokens: c.association.n_tokens for c in found.comparisons}
    assert sizes == {"most frequent": 4, "1 to 4": 0, "5 or more": 4}
    assert all(math.isnan(c.association.pearson.mean) for c in found.comparisons if c.tokens == "1 to 4")
    assert "nan" not in str(found)
    json.dumps(found.to_json(), allow_nan=False)


def test_tokens_and_labels_stand_for_a_corpus():
    rng = np.random.default_rng(0)
    tokens, labels = rng.integers(0, 9, (400, 3)), rng.integers(0, 12, 400)
    rows = theory.token_label_matrix(tokens, labels, 12)
    gram = theory.corpus_gram(theory.pair_counts(tokens, labels, 12), range(9))
    assert gram == pytest.approx(rows[:9] @ rows[:9].T / 9, rel=1e-9, abs=1e-15)
    found = comparison(rows, (tokens, labels), tokens=range(9), controls=2)[0].association
    assert found.pearson.mean == pytest.approx(1, abs=1e-9)
    assert abs(found.control.mean) < 0.9


def test_any_holder_of_an_embedding_will_do(tmp_path):
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


def test_more_rows_than_tokens_are_padding_only_if_declared():
    longer = np.concatenate([NOISE, NOISE[:3]])
    words = rf"embedding = {V + 3}: rows for a vocabulary of {V}; .*padded=True"
    with pytest.raises(InputError, match=words):
        comparison(longer)
    assert len(comparison(longer, padded=True)) == 2


@pytest.fixture
def files(here):
    Path("text.safetensors").write_text("no tensors")
    safetensors.torch.save_file({"a": torch.ones(3), "b.weight": torch.ones(V, 2)}, "model.safetensors")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("embedding", "settings", "message"),
    [
        ("text.safetensors", {}, "not a safetensors file"),
        ("model.safetensors", {}, "tensor = None: none has a usual name of an embedding; name one of a, b.w"),
        ("model.safetensors", {"tensor": "b.wieght"}, "did you mean 'b.weight'"),
        ("model.safetensors", {"tensor": "a"}, "not a matrix of numbers"),
        (NOISE, {"tensor": "a"}, "the embedding is not a file"),
        (torch.tensor(NOISE).to_sparse(), {}, "not a matrix of numbers"),
        (torch.ones(V, 2, device="meta"), {}, "not a matrix of numbers"),
        (NOISE * np.nan, {}, "holds NaN"),
        (NOISE[:-1], {"padded": True, "tokens": range(3)}, "rows for a vocabulary"),
        (NOISE, {"bands": (5, 1)}, "bands = "),
        (NOISE, {"predictors": ()}, "predictors = "),
        (NOISE, {"tokens": [V]}, f"tokens = {V}"),
        (NOISE, {"tokens": [1]}, "fewer than two"),
        (NOISE, {"corpus": [[0, V]]}, "sequences = "),
    ],
)
def test_what_cannot_be_compared_is_refused(embedding, settings, message):
    with pytest.raises(InputError, match=message):
        comparison(embedding, **settings)


def test_the_command_says_what_the_function_returns(here, cli):
    """For a tensor that is named, and for the one with a usual name, which has the rows of the text."""
    Path("toy.txt").write_text("\n\n".join(toy_documents(200)))
    tensors = {"W_E": C @ np.linalg.qr(NOISE[:, :1] @ NOISE[:, :1].T + np.eye(V))[0], "noise": NOISE}
    safetensors.numpy.save_file(tensors, "model.safetensors")
    command = ["corpus", "embedding", "toy.txt", "--checkpoint", "model.safetensors", "--controls", "1"]
    options = ["--predictor", "tied", "bigram", "--top", "20", "--seed", "3", "--json"]
    found = cli(*command, "--tensor", "noise", *options).json()
    settings: dict[str, Any] = {"predictors": ("tied", "bigram"), "top": 20, "controls": 1, "seed": 3}
    expected = compare_embedding("model.safetensors", CORPUS, tensor="noise", **settings).to_json()
    named = {"checkpoint": "model.safetensors", "tensor": "noise"}
    assert found == named | expected
    words = ["dog", "cat", "hill", "the"]
    raw, _ = cli(*command, "--predictor", "bigram", "--tokens", *words, "--json").json()["comparisons"]
    assert (raw["tokens"], raw["n_tokens"]) == ("chosen", len(words))
    assert raw["pearson"]["mean"] == pytest.approx(1)
    assert "gain: " in cli(*command).out
