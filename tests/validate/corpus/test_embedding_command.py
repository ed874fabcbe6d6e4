"""anchorflow corpus embedding: a checkpoint on the command line says what compare_embedding says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from sim import Corpus, build_corpus, read_documents
from tests.toy_text import toy_documents
from theory import as_matrix, bigram_operator, corpus_counts
from validate import compare_embedding
from validate.cli import main

COMMAND = ["corpus", "embedding", "toy.txt", "--checkpoint", "model.safetensors", "--controls", "1"]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Write a text, and a checkpoint of two tensors: rows of its C, turned, and noise."""
    monkeypatch.chdir(tmp_path)
    Path("toy.txt").write_text("\n\n".join(toy_documents(200)))
    found = build_corpus(read_documents("toy.txt"))
    rng = np.random.default_rng(0)
    C = as_matrix(bigram_operator(corpus_counts(found, found.vocab_size)))
    noise = rng.standard_normal(C.shape)
    save_file({"W_E": C @ np.linalg.qr(noise)[0], "noise": noise}, "model.safetensors")
    return found


def test_json_is_what_the_function_returns(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--predictor", "tied", "bigram", "--top", "20", "--seed", "3", "--json"]
    assert main([*COMMAND, "--tensor", "noise", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = compare_embedding(
        *("model.safetensors", corpus),
        tensor="noise",
        predictors=("tied", "bigram"),
        top=20,
        controls=1,
        seed=3,
    )
    assert found == {"checkpoint": "model.safetensors", "tensor": "noise"} | expected.to_json()


@pytest.mark.usefixtures("corpus")
def test_the_rows_of_the_text_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Named words alone are compared; without --tensor it is the matrix with the usual name."""
    words = ["dog", "cat", "hill", "the"]
    assert main([*COMMAND, "--predictor", "bigram", "--tokens", *words, "--json"]) == 0
    raw, _ = json.loads(capsys.readouterr().out)["comparisons"]
    assert (raw["tokens"], raw["n_tokens"]) == ("chosen", len(words))
    assert raw["pearson"]["mean"] == pytest.approx(1)
    assert main(COMMAND) == 0
    said = capsys.readouterr().out
    assert "most frequent" in said
    assert "gain: " in said
