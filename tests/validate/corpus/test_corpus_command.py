"""anchorflow corpus predict: from files to tables, JSON and a page; bad input leaves nothing behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import build_corpus
from tests.toy_text import ANIMALS, PLACES, toy_documents
from tests.validate.pseudo_terminal import in_forked_terminal
from theory import InputError, corpus_counts, corpus_geometry
from validate import CorpusPrediction
from validate.cli import main
from validate.corpus.page import write


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("toy.txt").write_text("\n\n".join(toy_documents(400)))
    return tmp_path


def test_json_says_what_the_theory_says(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dog", "cat", "hill", "the"]
    assert main(["corpus", "predict", "toy.txt", "--tokens", *words, "--nearest", "dog", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    corpus = build_corpus(toy_documents(400))
    expected = corpus_geometry(corpus, corpus.vocab_size, [corpus.token(word) for word in words])
    assert found["words"] == words
    assert found["documents"] == 400
    assert found["distinct_pairs"] == corpus_counts(corpus, corpus.vocab_size).pairs.nnz
    assert np.array(found["cosine"]["value"]) == pytest.approx(expected.cosine.value)
    assert np.array(found["cosine"]["standard_error"]) == pytest.approx(expected.cosine.standard_error)
    assert found["departs"] == pytest.approx(expected.departs)
    assert set(found["neighbours"]["dog"]["words"][:2]) == set(ANIMALS) - {"dog"}
    assert min(found["neighbours"]["dog"]["cosine"][:2]) > 0.9


def test_tables_in_a_terminal_of_80_columns(forked: Any, toy: Path) -> None:
    shown = in_forked_terminal(forked, ["corpus", "predict", "toy.txt", "--nearest", "hill"], toy)
    assert shown.code == 0
    assert max(map(len, shown.lines)) <= 80
    assert "400 documents" in shown.text
    assert re.search(r"word\s+share\s+departs\s+distinct\s+most like\s+cosine", shown.text)
    neighbours = shown.text.split("nearest to 'hill'")[1]
    assert re.search(rf"({'|'.join(set(PLACES) - {'hill'})})\s+\d+\s+\d\.\d{{3}} ± [\d.e-]+", neighbours)


@pytest.mark.usefixtures("blank_pictures")
def test_a_folder_is_written_and_nothing_else_is_replaced(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["corpus", "predict", "toy.txt", "--top", "5", "--nearest", "dog", "--out", "out"]
    assert main(command) == 0
    assert main(command) == 0
    written = {file.relative_to("out").as_posix() for file in Path("out").rglob("*") if file.is_file()}
    assert written == {
        *("prediction.json", "prediction.html", "manifest.json"),
        *("figures/geometry.png", "figures/geometry.svg"),
    }
    page = Path("out/prediction.html").read_text()
    assert "Nearest to “dog”" in page
    assert "data:image/png;base64" in page
    Path("out/prediction.html").write_text("mine")
    capsys.readouterr()
    assert main(command) == 2
    assert "prediction.html" in capsys.readouterr().err
    assert Path("out/prediction.html").read_text() == "mine"


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    found = CorpusPrediction.of(build_corpus(toy_documents(60)), words=["dog", "cat"])
    (tmp_path / "prediction.html").write_text("mine")
    with pytest.raises(InputError, match=r"prediction\.html"):
        write(found, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["prediction.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty.txt"], "no document holds a word"),
        (["latin.txt"], "not text in UTF-8"),
        (["broken.jsonl"], "line 2 is not valid JSON"),
        (["missing.txt"], "no such file"),
        (["toy.txt", "--tokens", "dogg"], "did you mean one of 'dog'"),
        (["toy.txt", "--nearest", "dogg"], "did you mean one of 'dog'"),
        (["toy.txt", "--documents", "file"], "too few documents"),
        (["toy.txt", "--top", "0"], "give at least 1"),
        (["toy.txt", "--tokens", "dog", "dog"], "name each once"),
        ([], "give one file or more"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    toy: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("empty.txt").touch()
    Path("latin.txt").write_bytes("déjà vu".encode("latin-1"))
    Path("broken.jsonl").write_text('{"text": "a b"}\n{"text": \n')
    before = set(toy.rglob("*"))
    assert main(["corpus", "predict", *arguments, "--out", "out"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err.splitlines()[-1]
    assert len(said.err.splitlines()) == 1
    assert set(toy.rglob("*")) == before


def test_a_pair_whose_difference_may_be_none_has_no_time() -> None:
    """Two words with one distribution: no time is printed at which they differ, whatever chance says."""
    squares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        texts = [f"{rng.choice(['x', 'y'])} {rng.choice(list('abc'))} z" for _ in range(400)]
        found = CorpusPrediction.of(build_corpus(texts), words=["x", "y", "a"])
        squares.append(found.geometry.apart.value[0, 1])
        assert np.isinf(found.geometry.distinct[0, 1])
        assert [row[3] for row in found.token_rows()][:2] == ["–", "–"]
        assert np.isfinite(found.geometry.distinct[0, 2])
    assert min(squares) < 0 < max(squares)


def test_what_has_no_cosine_is_a_dash_and_null() -> None:
    found = CorpusPrediction.of(build_corpus(["a b c"] * 50 + ["once a"]), words=["a", "once"])
    assert found.token_rows()[1][-2:] == ["–", "–"]
    assert found.to_json()["cosine"]["value"][0][1] is None
