"""Tokens that steer a terminal, break a page or are no LaTeX, and tokenizers that are unusual but legal."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.fuzz.driver import Case, Ending, ran

HOSTILE = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x00", "a\nb", "\r", "\t", "\x7f", "\x9b31m", "\u202eevil", "\u2028"),
    *("\ufffe", "\ufdd0", "\x0b\x0c", "<script>alert(1)</script>", "</svg>", "]]>", "&amp;", "&#0;", '"><b>'),
    *("$x^$", "\\frac{", "$", "_{", "%s", "{0}", "[/x]", "[red]", "=cmd()", "", " ", "x" * 5000),
    *("👩‍👩‍👧", "a\u0301" * 40),
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e]")
PREDICT = ("corpus", "predict", "notes.txt", "--tokenizer", "tokenizer.json", "--out", "out", "--top", "5")


def tokenizer(vocabulary: dict[str, int], **rest: Any) -> dict[str, Any]:
    """Return the JSON of a tokenizer whose tokens are words between spaces."""
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    } | rest


def hostile_tokens(folder: Path) -> Iterator[Case]:
    """Each token on a terminal, in PNG, SVG, HTML and JSON: escaped, well formed, without a warning."""
    words = ["dog", "cat", "sees", "a", "hostile"]
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    for token in HOSTILE:
        # A word of the text becomes the token, by a rule of the tokenizer.
        vocabulary = {word: i for i, word in enumerate(["[UNK]", *words[:-1], token])}
        rule = {"type": "Replace", "pattern": {"String": "hostile"}, "content": token}
        whole = tokenizer(vocabulary, pre_tokenizer=split, normalizer=rule)
        yield partial(_predicted, repr(token)[:40], words, json.dumps(whole))


def _predicted(what: str, words: list[str], whole: str) -> Ending:
    """Predict from 60 documents, and return how it ended and what is wrong with what it printed and wrote."""
    turned = (words[i % len(words) :] + words[: i % len(words)] for i in range(60))
    Path("notes.txt").write_text("\n\n".join(" ".join(each) for each in turned))
    Path("tokenizer.json").write_text(whole)
    with catching() as warned:
        ending = ran(PREDICT)
    wrong = [f"warning: {record.getMessage()}" for record in warned]
    wrong += ["steers the terminal"] * bool(CONTROL.search(ending.out.replace("\n", "") + ending.said))
    for file in Path("out").rglob("*.*"):
        if file.suffix in (".svg", ".html", ".json"):
            wrong += [f"{file.name}: {fault}" for fault in faults(file.suffix, file.read_text("utf-8"))]
    shutil.rmtree("out", ignore_errors=True)
    return ending.of(f"corpus predict of {what}", "; ".join(wrong))


@contextlib.contextmanager
def catching() -> Iterator[list[logging.LogRecord]]:
    """Yield a list of what libraries log."""
    handler, records = logging.Handler(), list[logging.LogRecord]()
    handler.emit = records.append  # type: ignore[assignment, method-assign]
    logging.getLogger().addHandler(handler)
    try:
        yield records
    finally:
        logging.getLogger().removeHandler(handler)


def faults(suffix: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a file that has tokens in it."""
    if CONTROL.search(text):
        yield "control characters"
    if suffix == ".svg":
        try:
            ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            yield f"not well formed ({error})"
    elif suffix == ".json":
        json.loads(text)
    elif re.search(r"<script>alert|<b>", text):
        yield "markup of a token"


def _model(kind: str, vocabulary: Any, **options: Any) -> dict[str, Any]:
    return tokenizer({}, model={"type": kind, "vocab": vocabulary} | options)


def _words(**numbers: int) -> dict[str, Any]:
    return _model("WordLevel", {"[UNK]": 0} | numbers, unk_token="[UNK]")


def _added(number: int, content: str) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": True, **flags}


USUAL = _words(dog=1, cat=2, sees=3, a=4, fox=5)
LETTERS = {letter: i for i, letter in enumerate("dogcatsefxhil")}
PIECES = [["dog", -1.0], ["cat", -1.5], ["sees", -2.0], ["a", -1.0], ["<unk>", -9.0]]
PREFIX = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
CUT = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
PAD = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
UNUSUAL: dict[str, dict[str, Any]] = {
    "gaps in the numbers": _words(dog=7, cat=90, sees=1000),
    "one token": _words(),
    "no token": _model("WordLevel", {}, unk_token="[UNK]"),
    "no unknown token": _model("WordLevel", {"dog": 0, "cat": 1}, unk_token="[none]"),
    "a number of 10⁶": _words(dog=10**6, cat=1),
    "a number of 10⁹": _words(dog=10**9, cat=1),
    "a negative number": _words(dog=-1, cat=1),
    "a number twice": _words(dog=1, cat=1, sees=2, a=3),
    "a number beyond 32 bits": _words(dog=2**33, cat=1),
    "added tokens beyond": USUAL | {"added_tokens": [_added(6, "fox"), _added(7, "hostile")]},
    "an added token far beyond": USUAL | {"added_tokens": [_added(10**9, "far")]},
    "two spellings of one text": _words(**{"dog": 1, "\x1b": 2, "\\x1b": 3, "cat": 4}),
    "no pre-tokenizer": USUAL | {"pre_tokenizer": None},
    "bytes": _model("BPE", LETTERS | {"Ġ": 13}, merges=[]) | {"pre_tokenizer": BYTES},
    "unigram": _model("Unigram", PIECES, unk_id=4, byte_fallback=False),
    "unigram without unknown": _model("Unigram", PIECES[:4], unk_id=None, byte_fallback=False),
    "word pieces": _model("WordPiece", {"[UNK]": 0, "d": 1, "##og": 2, "cat": 3}, **PREFIX),
    "cut short": USUAL | {"truncation": CUT},
    "padded": USUAL | {"padding": PAD | {"strategy": {"Fixed": 50}}},
    "nothing left": USUAL | {"normalizer": {"type": "Replace", "pattern": {"Regex": "."}, "content": ""}},
    "dropout": _model("BPE", LETTERS | {"do": 13}, dropout=0.5, merges=[["d", "o"]]),
}


def unusual_tokenizers(folder: Path) -> Iterator[Case]:
    """Tokenizers that the library reads, or nearly: used, or refused in a sentence."""
    words = ["dog", "cat", "sees", "a", "fox", "hostile"]
    for what, whole in UNUSUAL.items():
        yield partial(_predicted, what, words, json.dumps(whole))
    yield partial(_predicted, "nested without end", words, "[" * 10**5)
