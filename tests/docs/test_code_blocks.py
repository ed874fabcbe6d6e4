"""The Python of every page runs: here, or in the page's own test."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import sim
from tests.docs.pages import PAGES, blocks
from validate.cli import main

pytestmark = pytest.mark.usefixtures("here")
OWN_TEST = {
    "README.md": "tests/docs/test_readme.py",
    "docs/corpus.md": "tests/docs/test_corpus_page.py",
    "docs/tutorial.md": "tests/docs/test_tutorial.py",
    **{
        f"docs/howto/{page}.md": "tests/docs/test_any_model_page.py"
        for page in ("advise", "any_model", "record", "series")
    },
    "docs/howto/extend.md": "tests/docs/test_model_page.py",
    "docs/howto/rule.md": "tests/docs/test_accepted_as_printed.py",
}
HERE = {"docs/engine.md", "docs/reference.md"}
"""Pages whose code needs runs; they are made below."""
TINY = {
    "task": {
        "keys": "20..59",
        "reasoning_anchors": "11..13",
        "memory_anchors": [1],
        "held_out": [[11, 13]],
        "n_anchors": 2,
        "length": 9,
        "vocab_size": 128,
    },
    "data": {"source": "draw", "n_sequences": 100},
    "init_rates": [0.8],
    "training": {"epochs": 1, "snapshot_epochs": [0], "snapshot_tensors": "all"},
}


OTHERS = [page for page in PAGES if blocks(page, "python") and page not in {*OWN_TEST, *HERE}]


def execute(page: str) -> None:
    exec(compile("\n".join(blocks(page, "python")), page, "exec"), {"__name__": "page"})


def test_attention_is_read_as_the_engines_page_says() -> None:
    model = {"kind": "transformer", "norm": "pre", "d_m": 8, "d_f": 8, "d_k": 4}
    sim.train(sim.make_run_config(TINY | {"model": model}), "runs/transformer", workers=1)
    execute("docs/engine.md")


def test_runs_become_a_table_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    data = {**TINY, "model": {"d_m": 8, "d_f": 8}}
    sim.train(sim.make_run_config(data), "runs/mine", workers=1)
    shown = [line for block in blocks("docs/reference.md", "console") for line in block.splitlines()]
    first, *_ = [
        line.removeprefix("$ anchorflow ") for line in shown if line.startswith("$ anchorflow table")
    ]
    assert main(shlex.split(first)) == 0
    assert Path("metrics.csv").read_text().startswith("run,model,init_rate")
    pytest.importorskip("pandas")
    capsys.readouterr()
    execute("docs/reference.md")
    assert capsys.readouterr().out.startswith("0.8 0 ")


def test_runs_continue_as_the_page_says() -> None:
    sim.train(sim.make_run_config({**TINY, "model": {"d_m": 8, "d_f": 8}}), "runs/mine", workers=1)
    (command,) = [block for block in blocks("docs/engine.md", "console") if "--resume" in block]
    assert main(shlex.split(command.removeprefix("$ anchorflow "))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", OTHERS)
def test_the_code_of_every_other_page_runs(page: str) -> None:
    execute(page)
