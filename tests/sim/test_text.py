"""Texts become documents and documents token numbers; what is no text is refused by file and line."""

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Corpus, build_corpus, read_documents
from sim.data.corpus import OTHER
from sim.data.text import PRONTOQA, fields_of
from tests.toy_text import save_tokenizer
from theory import InputError, corpus_counts


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@given(lines=st.lists(st.sampled_from(["one two", "", "three", " "]), max_size=8))
def test_documents_of_a_text_file(tmp_path_factory: Any, end: str, lines: list[str]) -> None:
    """Lines, paragraphs and whole files, whatever ends a line and with a byte order mark; nothing between."""
    file = _file(tmp_path_factory.mktemp("text"), "a.txt", "\ufeff" + end.join(lines))
    paragraphs = "\n".join(line.strip() for line in lines).split("\n\n")
    expected = {"line": lines, "paragraph": paragraphs, "file": ["\n".join(lines)]}
    for unit, documents in expected.items():
        read = [text.replace(end, "\n") for text in read_documents(file, unit=unit)]  # type: ignore[arg-type]
        assert read == [text.strip() for text in documents if text.strip()]


def test_documents_of_json_lines(tmp_path: Path) -> None:
    lines = [{"q": "one", "steps": ["two", "three"]}, {"q": "", "steps": []}, {"q": "four", "steps": []}]
    file = _file(tmp_path, "a.JSONL", "\n\n".join(map(json.dumps, lines)))
    documents = [text.split() for text in read_documents(file, fields=("q", "steps"))]
    assert documents == [["one", "two", "three"], ["four"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\nbad \xff\n", r"a.txt': line 2 is not text in UTF-8"),
        ("a.jsonl", '{"text": "x"}\n\n{oops\n', r"line 3 is not valid JSON"),
        ("a.jsonl", '{"text": "x"}\n[1]\n', r"line 2 is not a JSON object"),
        ("a.jsonl", '{"texts": "x"}\n', r"fields = 'text': .*line 1: no such field; did you mean 'texts'"),
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


def test_tokens_are_numbered_by_frequency_and_documents_stay_apart() -> None:
    corpus = build_corpus(["b a", "a c a", "  ", "b"])
    assert corpus.words == ("a", "b", "c")
    assert [tokens.tolist() for tokens in corpus] == [[1, 0], [0, 2, 0], [1]]
    assert corpus_counts(corpus, 3).pairs.toarray().tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_accents_that_are_characters_of_their_own_divide_no_word() -> None:
    expected = ("cafe\u0301s", ",", "i\u0307", "l'e\u0301te\u0301")
    assert build_corpus(["Cafe\u0301s, İ l'e\u0301te\u0301"]).words == expected


def test_a_word_that_does_not_occur() -> None:
    corpus = build_corpus(["happily happy sad"])
    assert corpus.token("sad") == 2
    with pytest.raises(InputError, match="token = 'happi': not in the corpus; did you mean one of 'happ"):
        corpus.token("happi")
    with pytest.raises(InputError, match="the most frequent are 'happily', 'happy', 'sad'"):
        corpus.token("zzz")
    # Nor does another one that looks alike stand for it.
    assert Corpus(np.zeros(1, np.int32), np.ones(1, np.int64), ("\n", "\\n")).token("\n") == 0


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1).filter(any), st.integers(1, 5))
def test_tokens_trimmed_and_cut_are_the_words(texts: list[list[str]], n: int) -> None:
    corpus = build_corpus([" ".join(text) for text in texts], vocabulary=n, context=n)
    documents = [text for text in texts if text]
    often = Counter(itertools.chain(*documents))
    kept = {corpus.words[i] for i in corpus.most_frequent(n)}
    assert len(kept) == min(n, len(often))
    assert min(often[word] for word in kept) >= max((often[w] for w in often.keys() - kept), default=0)
    expected = [word if word in kept else OTHER for text in documents for word in text]
    assert [corpus.words[i] for i in corpus.tokens] == expected
    pieces = [text[i : i + n] for text in documents for i in range(0, len(text), n)]
    assert [len(document) for document in corpus] == [len(piece) for piece in pieces]


@pytest.mark.parametrize("method", ["most_frequent", "trimmed", "cut"])
@pytest.mark.parametrize("number", [0, -1, 1.5, True])
def test_a_number_of_tokens_is_a_whole_number_from_one_on(method: str, number: Any) -> None:
    with pytest.raises(InputError, match=rf"^(n|length) = {number}: "):
        getattr(build_corpus(["a b", "c"]), method)(number)


@pytest.mark.parametrize(
    ("vocabulary", "unknown"), [({"a": 0, "b": 10**9}, "a"), ({"a": 0, "b": 1}, "none"), ({}, "none")]
)
def test_an_unusable_tokenizer_is_refused(tmp_path: Path, vocabulary: dict[str, int], unknown: str) -> None:
    file = save_tokenizer(tmp_path / "tokenizer.json", vocabulary, unknown)
    with pytest.raises(InputError, match=r"^tokenizer = .*; give a tokenizer"):
        build_corpus(["a c"], tokenizer=file)


def test_a_tokenizers_file_neither_cuts_a_text_nor_fills_it_up(tmp_path: Path) -> None:
    """Some hold how a model's batches are made: those of sentence encoders ask for 128 tokens each."""
    file = save_tokenizer(tmp_path / "tokenizer.json", {"a": 0, "b": 1, "[PAD]": 2}, "a")
    made = pytest.importorskip("tokenizers").Tokenizer.from_file(str(file))
    made.enable_truncation(3)
    made.enable_padding(pad_id=2, length=3)
    made.save(str(file))
    corpus = build_corpus(["a b a b", "b"], tokenizer=file)
    assert [document.tolist() for document in corpus] == [[0, 1, 0, 1], [1]]


@pytest.mark.parametrize(
    ("name", "problem"), [("/dev/zero", "not a regular file"), (".", "a folder"), ("no.json", "no such file")]
)
def test_a_tokenizer_that_is_no_file_is_refused_unread(name: str, problem: str) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(InputError, match=f"{re.escape(name)}.*{problem}"):
        build_corpus(["a c"], tokenizer=name)


@pytest.mark.parametrize(
    ("name", "record", "fields"),
    [
        ("a.jsonl", {"text": "x"}, ("text",)),
        ("a.ndjson", dict.fromkeys(PRONTOQA, "x"), PRONTOQA),
        ("a.txt", dict.fromkeys(PRONTOQA, "x"), ("text",)),
    ],
)
def test_the_keys_with_the_text_are_those_of_the_first_object(
    name: str, record: dict[str, str], fields: tuple[str, ...], tmp_path: Path
) -> None:
    assert fields_of(_file(tmp_path, name, f"\n{json.dumps(record)}")) == fields
