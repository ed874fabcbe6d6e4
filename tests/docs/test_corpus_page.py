"""The page "From a text file to a verdict": its files are written, its commands run, its numbers made."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sim.config.language import LanguageTask
from sim.data.language import digest_of
from tests.docs.pages import ROOT, follow
from tests.docs_script import load_script
from validate.studies import load_study

QUICK = shlex.split(
    "--context 16 --model.d-m 8 --model.n-heads 2 --model.n-layers 1 --training.epochs 1 "
    "--training.snapshot-epochs 1 --sequences 20 --training.evaluation-size 10 --workers 1"
)
"""What makes the page's training short; the default test is about the commands."""
DATA = ROOT.parent / "shared" / "data"


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_every_command_runs_from_an_empty_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = follow(
        "docs/corpus.md",
        capsys,
        lambda words: [*words, *QUICK] if words[:2] == ["corpus", "train"] else words,
    )
    assert all(code == 0 or (code == 1 and " compare " in command) for command, (code, _) in ended.items())
    said = [out for _, out in ended.values()]
    assert len(said) == 6
    assert said[1].startswith("1000 documents")
    assert "nearest to 'jompus'" in said[1]
    assert Path("runs/questions/prediction.html").exists()
    assert "tied: rows of C + C^T" in said[2]
    assert "after 1 epoch" in said[3]
    assert "losses at the end (nats)" in said[4]  # An epoch teaches nothing: the longer command is named.
    assert "--training.epochs 4" in said[4]
    assert Path("runs/two-report/comparison.html").exists()
    assert len(said[5].splitlines()) == 6


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}")
def test_the_matched_stories_are_those_of_the_study(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    said = load_script("corpus_matched").main(DATA, tmp_path / "matched.jsonl")
    assert [line.split(", ")[1] for line in said.splitlines()] == ["140 distinct tokens"] * 2
    task = load_study("language-matched").configs[None].members()[0].task
    assert isinstance(task, LanguageTask)
    assert task.corpora[1].sha256 == (digest_of(str(tmp_path / "matched.jsonl")),)
