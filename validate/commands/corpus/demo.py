"""anchorflow corpus demo: two corpora, from their text to verdicts, in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sim.config.language import CorpusSource, corpus_name
from theory import InputError
from validate.commands.corpus.train import configuration_of
from validate.commands.engines import TrainingOptions
from validate.commands.options import Positional

QUESTIONS = "questions.txt"
TOY = "toy-facts.txt"
TEXTS = 1200
"""Questions, and toy texts, that are written."""
SEQUENCES, FEWEST = 300, 50
"""Sequences of each corpus that are drawn, and the fewest that a text of the user's may have."""
CONTEXT = 96
"""Tokens of a sequence: a window of the text, whatever its documents are."""


class Options(TrainingOptions):
    """Train a small GPT-2 on generated questions, in the form of PrOntoQA, beside a text, and judge.

    γ = 0.8 and 0.3, three seeds each. FILE is any text, or JSON Lines or Parquet with the key text; without
    one it is a toy text of arbitrary facts. Verdicts are about the losses of the two corpora and about the
    cosines of their words, which the text predicts before training. The exit code is 1 if a condition fails.

    example: anchorflow corpus demo --out runs/corpus-demo
    """

    file: Annotated[Path | None, Positional("FILE")] = None
    """The other text."""
    out: Path = Path("runs/corpus-demo")
    """The folder for the texts, the runs and the page."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where all members train together."""


def run(options: Options) -> int:
    """Write the texts, train, compare, judge."""
    from sim import prontoqa_questions, toy_facts
    from sim.data.language import make_language_task
    from sim.runs.outputs import OutputFolder
    from sim.training.launch import check_machine
    from validate.commands.corpus.compare import tell_and_write
    from validate.corpus.comparison import FILES, FOLDERS, LanguageComparison
    from validate.judge.groups import group_runs
    from validate.terminal.tables import say
    from validate.training import train_with_progress

    execution, folder, other = options.execution(), OutputFolder(options.out), options.file
    # Here too, so that a device that cannot be had is refused before the texts are written.
    check_machine(execution)
    if other is not None:
        n = make_language_task([_source(other)], length=CONTEXT, layout="pack").n_sequences
        if n < FEWEST:
            problem = f"has {n} sequences of {CONTEXT} tokens"
            raise InputError("file", str(other), problem, f"give a text of {FEWEST * CONTEXT} words or more")
    folder.check((*FILES, QUESTIONS, TOY), FOLDERS)
    questions = folder.write(QUESTIONS, "\n\n".join(q.text for q in prontoqa_questions(TEXTS)) + "\n")
    other = other or folder.write(TOY, "\n\n".join(toy_facts(TEXTS)) + "\n")
    corpora = [_source(questions), _source(other)]
    n = min(SEQUENCES, make_language_task(corpora, length=CONTEXT, layout="pack").n_sequences)
    task = make_language_task(corpora, length=CONTEXT, n_sequences=n, layout="pack")
    runs = train_with_progress(configuration_of(task, "language-demo", {}), options.out, execution)
    say("comparing prediction and observation, drawing figures")
    return tell_and_write(LanguageComparison.of(group_runs(runs)), options.out, as_json=options.as_json)


def _source(file: Path) -> CorpusSource:
    from sim.data.text import fields_of

    return CorpusSource(name=corpus_name(str(file)), files=(str(file),), fields=fields_of(file))
