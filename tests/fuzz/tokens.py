"""Tokens that steer a terminal, break a page or are no LaTeX."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
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


def hostile_tokens(folder: Path) -> Iterator[Case]:
    """Each token on a terminal, in PNG, SVG, HTML and JSON: escaped, well formed, without a warning."""
    words = ["dog", "cat", "sees", "a", "hostile"]
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    for token in HOSTILE:
        # A word of the text becomes the token, by a rule of the tokenizer.
        vocabulary = {word: i for i, word in enumerate(["[UNK]", *words[:-1], token])}
        tokenizer = {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": {"type": "Replace", "pattern": {"String": "hostile"}, "content": token},
            "pre_tokenizer": split,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        }
        yield partial(_predicted, repr(token)[:40], words, json.dumps(tokenizer))


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
