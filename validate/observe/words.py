"""The most frequent words of language models' runs, in a file beside the kept arrays of numbers."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from sim import Run
from sim.config.run import MemberConfig
from sim.data.corpus import printable
from sim.runs.files import write_json
from validate.observe.observations import Observations
from validate.observe.store import KEPT

WORDS = "language_words.json"
"""Words by task and seed, in the folder of all kept studies; ``keep`` renews it."""
Words = dict[str, list[str]]
"""Words by corpus, the most frequent first."""


def words_of(run: Run) -> Words:
    """Return the words of the matrices that are observed of a run, for each corpus."""
    # It imports torch, which drawing kept runs does without.
    from validate.observe.language import most_frequent

    return {name: [printable(c.words[t]) for t in most_frequent(c)] for name, c in run.corpora().items()}


def keep_words(run: Run, folder: Path) -> None:
    """Write a run's words into the file of a folder with kept studies."""
    write_json(folder / WORDS, dict(sorted((_kept(folder) | {_key(run.config): words_of(run)}).items())))


def shown_words(run: Observations) -> Words:
    """Return a run's words, from its folder, the file beside kept runs or that of the package."""
    if run.run_folder is not None:
        words = words_of(Run.open(run.run_folder))
    else:
        beside = {} if run.path is None else _kept(run.path.parent.parent)
        words = (_kept(KEPT) | beside).get(_key(run.config), {})
    # GPT-2's tokenizer writes a space as Ġ and a new line as Ċ.
    return {n: [word.replace("Ġ", "␣").replace("Ċ", r"\n") for word in own] for n, own in words.items()}


def _kept(folder: Path) -> dict[str, Words]:
    file = folder / WORDS
    kept: dict[str, Words] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return kept


def _key(config: MemberConfig) -> str:
    """Return a number for a task and seed, which draw the text whatever the model."""
    return sha256(config.model_dump_json(include={"task", "seed"}).encode()).hexdigest()
