"""Texts become documents and documents token numbers; what is no text is refused by file and line."""

import gzip
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
from sim.data.token_arrays import read_token_arrays
from tests.toy_text import save_tokenizer
from theory import InputError, corpus_counts


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@given(
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    lines=st.lists(st.sampled_from(["one two", "", "three", " "]), max_size=8),
)
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
        ("a.doc", "x", r"unknown kind of corpus; give a file that ends in one of .csv, .json"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_documents(_file(tmp_path, name, content)))


def test_a_marker_ends_a_document_whatever_holds_the_text(tmp_path: Path) -> None:
    """Two stories joined by the marker are two documents, and the marker is no word."""
    text = "One cat ran.\\n\\nIt slept.<|endoftext|>Two dogs ran."
    for name, content, n in (
        ("a.txt", text.replace("\\n", "\n"), 3),
        ("a.jsonl", f'{{"text": "{text}"}}\n', 2),
        ("a.json", f'["{text}"]', 2),
    ):
        documents = list(read_documents(_file(tmp_path, name, content)))
        assert len(documents) == n
        assert not {"<", "|", "endoftext"} & set(build_corpus(documents).words)
        assert len(list(read_documents(_file(tmp_path, name, content), separator=""))) == n - 1
    file = _file(tmp_path, "b.txt", "one### two\n### ###three")
    read = list(read_documents(file, unit="file", separator="###"))
    assert read == ["one", "two", "three"]


def test_a_warning_says_where_markers_or_clauses_are_counted_as_words() -> None:
    marked = ["<|user|> hi there <|bot|> good day to you"] * 3
    told = r"62% of all tokens are parts of markers, such as '<\|user\|>', which occurs 3 times; if"
    with pytest.warns(UserWarning, match=told) as warned:
        build_corpus(marked, vocabulary=3, context=2)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="57% of the letters belong to scripts without spaces"):
        build_corpus(["我喜欢猫，你喜欢狗。 The end"])
    build_corpus(["我喜欢猫"], tokenizer="characters")  # A warning would be an error.
    build_corpus(["a plain text about <b>cats</b> | dogs"] * 9, vocabulary=3, context=2)


def test_special_tokens_of_a_tokenizer_that_dominate_are_named(tmp_path: Path) -> None:
    library = pytest.importorskip("tokenizers")
    file = save_tokenizer(tmp_path / "tokenizer.json", {"a": 0, "<pad>": 1, "[UNK]": 2}, "[UNK]")
    tokenizer = library.Tokenizer.from_file(str(file))
    tokenizer.add_special_tokens(["<pad>"])
    tokenizer.save(str(file))
    build_corpus(["a a a"], tokenizer=file)
    with pytest.warns(UserWarning, match="60% of all tokens are special ones, most of them '<pad>'"):
        build_corpus(["a <pad> <pad> a <pad>"], tokenizer=file)


def test_every_character_is_a_token(tmp_path: Path) -> None:
    corpus = build_corpus(["aab B\n"], tokenizer="characters")
    assert [corpus.words[i] for i in corpus.tokens] == ["a", "a", "b", " ", "B", "\\n"]


def test_lists_columns_and_compressed_files(tmp_path: Path) -> None:
    rows = [{"text": 'one, "two"', "n": "1"}, {"text": "three\nfour", "n": "2"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    table = "text,n\n" + '"one, ""two""",1\n"three\nfour",2\n'
    for name, content in (
        ("a.json", json.dumps(rows).encode()),
        ("a.jsonl.gz", gzip.compress(lines.encode())),
        ("a.csv", table.encode()),
        (
            "a.TSV.gz",
            gzip.compress(table.replace(",n", "\tn").replace(",1", "\t1").replace(",2", "\t2").encode()),
        ),
    ):
        assert list(read_documents(_file(tmp_path, name, content))) == [row["text"] for row in rows]
    assert list(read_documents(_file(tmp_path, "a.json", '["x", {"text": "y"}]'))) == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"text": "x"}', "not a list"),
        (
            "a.json",
            '{"text": "x"}\n{"text": "y"}',
            "not valid JSON .*name a file with one object per line .jsonl",
        ),
        ("a.json", "[3]", "entry 1 is neither a JSON object nor a text"),
        ("a.csv", "words\nx\n", "row 1: no such field"),
        ("a.csv", "text\none\ntwo, and three\n", "row 2 has more cells than the header; put quotes"),
        ("a.csv", "words\nx, y\n", "row 1 has more cells"),
        ("a.jsonl.gz", gzip.compress(b"{}" * 500, mtime=0)[:-9], "not valid gzip"),
        ("a.jsonl.gz", b"plain", "not valid gzip"),
    ],
)
def test_a_damaged_list_column_or_archive_is_refused(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        list(read_documents(_file(tmp_path, name, content)))


def test_arrays_of_tokens(tmp_path: Path) -> None:
    file = save_tokenizer(tmp_path / "tokenizer.json", {"a": 0, "b": 1, "<|endoftext|>": 2}, "a")
    np.array([0, 1, 2, 1, 0], np.uint16).tofile(tmp_path / "a.bin")
    np.save(tmp_path / "b.npy", np.array([[1, 1], [0, 2]]))
    corpus = read_token_arrays([tmp_path / "a.bin", tmp_path / "b.npy"], dtype="uint16", tokenizer=file)
    assert [tokens.tolist() for tokens in corpus] == [[0, 1, 2], [1, 0], [1, 1], [0, 2]]
    assert corpus.words == ("a", "b", "<|endoftext|>")
    plain = read_token_arrays([tmp_path / "a.bin"], dtype="uint16", separator="1")
    assert [tokens.tolist() for tokens in plain] == [[0, 1], [2, 1], [0]]
    assert plain.words == ("<0>", "<1>", "<2>")
    for asked in ({}, {"tokenizer": file}):
        with pytest.raises(InputError, match="separator = '</s>': no token of that name"):
            read_token_arrays([tmp_path / "a.bin"], dtype="uint16", separator="</s>", **asked)


@pytest.mark.parametrize(
    ("array", "dtype", "message"),
    [
        (np.zeros(3), None, "of float64, shape"),
        (np.zeros((1, 1, 1), int), None, "give integers, shape"),
        (np.array([-1, 3]), None, "its numbers reach from -1 to 3"),
        (b"123", None, "dtype = None: bare numbers"),
        (b"123", "uint16", "not an array of numbers"),
        (b"12", "word", "not an array of numbers"),
        ({"zipped": np.array([1])}, None, "not an array of numbers"),
    ],
)
def test_what_is_no_array_of_tokens_is_refused(tmp_path: Path, array: Any, dtype: Any, message: str) -> None:
    path = tmp_path / ("a.bin" if isinstance(array, bytes) else "a.npy")
    with path.open("wb") as file:
        saved: Any = np.savez if isinstance(array, dict) else np.save
        file.write(array) if isinstance(array, bytes) else saved(file, array)
    with pytest.raises(InputError, match=message):
        read_token_arrays([path], dtype=dtype)


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
