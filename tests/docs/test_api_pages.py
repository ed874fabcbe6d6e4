"""The API pages: every public name stands on one of them, every function has an example, and examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import sim
import theory
import validate
from tests.docs.pages import ROOT, blocks

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/api").glob("*.md"))}
DIRECTIVE = re.compile(
    r"^\.\. (?:(currentmodule)|auto(?:function|class|exception|data)):: (\S+)$", re.MULTILINE
)
PUBLIC = {f"{package.__name__}.{name}" for package in (theory, sim, validate) for name in package.__all__}
SLOW = {"train", "verdicts", "corpus", "theorems", "flows"}
"""Pages whose examples take a second or more."""


def examples(page: str) -> list[str]:
    return blocks(f"docs/api/{page}.md", "pycon")


def documented(text: str) -> list[str]:
    found, module = [], ""
    for current, name in DIRECTIVE.findall(text):
        if current:
            module = name
        else:
            found.append(f"{module}.{name}")
    # Constants and unions have no docstring of their own: a sentence names them.
    return found + [f"{module}.{name}" for name in re.findall(r"`([A-Z]\w+)`", text)]


@pytest.mark.long
def test_every_public_name_is_documented_once() -> None:
    found = [name for text in PAGES.values() for name in documented(text)]
    assert sorted(set(found) ^ PUBLIC) == [], "documented or public, not both"
    assert len(found) == len(set(found))


@pytest.mark.long
def test_every_public_function_has_an_example() -> None:
    shown = "".join(block for page in PAGES for block in examples(page))
    functions = [
        name
        for name in sorted(PUBLIC)
        if inspect.isfunction(getattr(__import__(name.split(".")[0]), name.split(".")[1]))
    ]
    # Once where it is imported, and once where it is called.
    used = re.compile(r"(?<![\w.])(\w+)\(")
    called = set(used.findall(shown))
    assert [name for name in functions if name.split(".")[1] not in called] == []


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.long] if p in SLOW else []) for p in PAGES if examples(p)],
)
def test_examples_print_what_the_page_says(page: str, here: Path) -> None:
    source = "\n".join(examples(page))
    test = doctest.DocTestParser().get_doctest(source, {}, page, f"docs/api/{page}.md", 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert report == []
