"""Texts become documents and documents token numbers; what is no text is refused by file and line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sim import build_corpus, read_documents
from sim.data.corpus import OTHER, in_words
from theory import InputError, corpus_counts


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("paragraph", ["one\ntwo\n", "\n \nthree\n", "\nfour"]),
        ("line", ["one\n", "two\n", "three\n", "four"]),
        ("file", ["one\ntwo\n\n \nthree\n\nfour"]),
    ],
)
def test_documents_of_a_text_file(tmp_path: Path, unit: str, expected: list[str]) -> None:
    file = _file(tmp_path, "a.txt", "\ufeffone\ntwo\n\n \nthree\n\nfour")
    found = list(read_documents(file, unit=unit))  # type: ignore[arg-type]
    assert [text.split() for text in found] == [text.split() for text in expected]


def test_documents_of_json_lines(tmp_path: Path) -> None:
    lines = [{"q": "one", "steps": ["two", "three"]}, {"q": "", "steps": []}, {"q": "four", "steps": []}]
    file = _file(tmp_path, "a.jsonl", "\n\n".join(map(json.dumps, lines)))
    assert [text.split() for text in read_documents(file, fields=("q", "steps"))] == [
        ["one", "two", "three"],
        ["four"],
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\nbad \xff\n", r"a.txt': line 2 is not text in UTF-8"),
        ("a.jsonl", '{"text": "x"}\n\n{oops\n', r"line 3 is not valid JSON"),
        ("a.jsonl", '{"text": "x"}\n[1]\n', r"line 2 is not a JSON object"),
        ("a.jsonl", '{"texts": "x"}\n', r"line 1: no such field; did you mean 'texts'"),
        ("a.jsonl", '{"text": 3}\n', r"line 1: neither a text nor a list of texts"),
        ("a.jsonl", "[" * 100_000, r"line 1 is not valid JSON"),
        ("a.doc", "x", r"unknown kind of corpus; give a file that ends in one of .jsonl, .md"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_documents(_file(tmp_path, name, content)))


def test_a_parquet_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["one two", "three"], "n": [1, 2]}), tmp_path / "a.parquet")
    assert list(read_documents(tmp_path / "a.parquet")) == ["one two", "three"]
    with pytest.raises(InputError, match="unknown column; did you mean 'text'"):
        list(read_documents(tmp_path / "a.parquet", fields=("texts",)))
    with pytest.raises(InputError, match="row 1: neither a text"):
        list(read_documents(tmp_path / "a.parquet", fields=("n",)))
    with pytest.raises(InputError, match="not valid Parquet"):
        list(read_documents(_file(tmp_path, "b.parquet", "no")))


@pytest.mark.parametrize("module", ["pyarrow", "tokenizers"])
def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    file = _file(tmp_path, "a.parquet", "x")
    with pytest.raises(InputError, match=rf"{module}.*pip install 'anchorflow\[corpus\]'"):
        list(read_documents(file)) if module == "pyarrow" else build_corpus(["a"], tokenizer=file)


def test_a_tokenizer_of_hugging_face(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2, "z": 3}, unk_token="?"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    plain.save(str(tmp_path / "tokenizer.json"))
    corpus = build_corpus(["a b", "b c"], tokenizer=tmp_path / "tokenizer.json")
    assert corpus.words == ("a", "b", "?", "z")
    assert [tokens.tolist() for tokens in corpus] == [[0, 1], [1, 2]]
    few = build_corpus(["a b", "b c"], tokenizer=tmp_path / "tokenizer.json", vocabulary=1)
    assert few.words == ("b", OTHER)
    assert [tokens.tolist() for tokens in few] == [[1, 0], [0, 1]]
    with pytest.raises(InputError, match="not a tokenizer"):
        build_corpus(["a"], tokenizer=_file(tmp_path, "b.json", "{}"))


def test_words_and_marks() -> None:
    text = "Don't stop: the mother-in-distribution's 3rd café_x “ok”"
    words = ["don't", "stop", ":", "the", "mother-in-distribution's", "3rd", "café", "_", "x", "“", "ok", "”"]
    assert in_words(text) == words


def test_tokens_are_numbered_by_frequency_and_documents_stay_apart() -> None:
    corpus = build_corpus(["b a", "a c a", "  ", "b"])
    assert corpus.words == ("a", "b", "c")
    assert [tokens.tolist() for tokens in corpus] == [[1, 0], [0, 2, 0], [1]]
    assert [tokens.tolist() for tokens in corpus] == [tokens.tolist() for tokens in corpus]
    assert corpus_counts(corpus, 3).pairs.toarray().tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_a_trimmed_vocabulary_has_one_token_for_the_rest() -> None:
    corpus = build_corpus(["a b c a", "a b d"], vocabulary=2)
    assert corpus.words == ("a", "b", OTHER)
    assert [tokens.tolist() for tokens in corpus] == [[0, 1, 2, 0], [0, 1, 2]]
    assert corpus.most_frequent(5) == [0, 1]
    assert build_corpus(["a b"], vocabulary=9).words == ("a", "b")


def test_documents_are_cut_at_the_context() -> None:
    corpus = build_corpus(["a b c d e", "f g"], context=2)
    assert [len(tokens) for tokens in corpus] == [2, 2, 1, 2]
    assert np.array_equal(np.concatenate(list(corpus)), corpus.tokens)


def test_a_word_that_does_not_occur() -> None:
    corpus = build_corpus(["happily happy sad"])
    assert corpus.token("sad") == 2
    with pytest.raises(InputError, match="token = 'happi': not in the corpus; did you mean one of 'happ"):
        corpus.token("happi")
    with pytest.raises(InputError, match="the most frequent are 'happily', 'happy', 'sad'"):
        corpus.token("zzz")


def test_a_corpus_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="no document holds a word"):
        build_corpus([" ", "\n"])
