"""The page "From a text file to a verdict": its files are written, its commands run, its numbers made."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

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
def test_every_command_runs_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
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


def test_matched_stories_have_the_questions_numbers() -> None:
    """As many distinct tokens, the same lengths, and every kept word where it was."""
    questions = [" a b c d e f", " a b c d e f a b", " a b c d e f" * 2]
    stories = ['the cat sat.\n\n"the cat sat," the dog said. the end', "the cat and the dog sat. the cat sat"]
    tokenizer = _bytes_tokenizer([*questions, *stories, "X X X X"])
    texts = load_script("corpus_matched").matched_texts(questions, stories, tokenizer, 2)
    assert texts == [" X cat X the dog sat", " X cat sat. X X cat sat X the dog X"]
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    assert [len(one) for one in ids] == [6, 12]
    assert len({token for one in ids for token in one}) == 6


def _bytes_tokenizer(texts: list[str]) -> Any:
    """Return a tokenizer of GPT-2's kind in which every word of some texts is one token."""
    tokenizers = pytest.importorskip("tokenizers")
    found = tokenizers.Tokenizer(tokenizers.models.BPE())
    found.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False, min_frequency=1)
    found.train_from_iterator([f" {text}" for text in texts], trainer)
    return found


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
