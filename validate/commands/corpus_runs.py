"""The actions of corpus that train GPT-2 and judge its runs: train, compare, and demo, which does both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

import sim
import validate
from sim.config.language import CorpusSource, Layout, Unit, corpus_name
from sim.config.model import kind_of
from sim.config.presets import load_preset, merge, preset_names
from sim.config.run import make_run_config
from sim.data.text import SEPARATOR
from theory import InputError
from theory.edge.errors import renamed
from validate.commands.corpus import SourceOptions
from validate.commands.options import CommandOptions, Option, Positional, TrainingOptions, nested, options_of
from validate.commands.train import print_runs
from validate.terminal.output import print_json, print_table, say, tell

PRESETS = (*(name for name in preset_names() if name.startswith("language-")), "paper-gpt2")
QUESTIONS = "questions.txt"
TOY = "toy-facts.txt"
TEXTS = 1200
"""How many questions, and how many toy texts, are written."""
SEQUENCES, FEWEST = 300, 50
"""Sequences that are drawn from each corpus, and the fewest that the user's text may have."""
CONTEXT = 96
"""Tokens per sequence: a window of the text, across documents."""


class Train(TrainingOptions, SourceOptions):
    """Train GPT-2 on one text or several, for every γ and seed, one run folder each.

    Each FILE, a text as for corpus predict, is a corpus, named after it and evaluated separately; all have
    equally many sequences. The first is the one that compare expects to be learned first. Estimates,
    progress, Ctrl-C and --resume work as in anchorflow train.

    example: anchorflow corpus train a.txt b.txt --documents line --out runs/two
    """

    vocabulary: int | None = None
    """Keep this many of the most frequent tokens, <other> and <end> included; the rest become <other>."""
    whole_vocabulary: bool = False
    """Keep every token of the tokenizer, not only those that occur."""
    context: int = 128
    """Tokens per sequence."""
    sequences: int | None = None
    """Sequences per corpus; by default as many as the smallest has, at most 500."""
    layout: Layout = "cut"
    """cut documents to the context, pad them and refuse longer ones, or pack them without padding."""
    preset: str = Field(default="language-demo", description=f"Start from: {', '.join(PRESETS)}.")
    out: Path = Path("runs/corpus")
    """The folder that receives one run folder for each γ and seed."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where runs that can share a trainer train together."""

    @classmethod
    def known_keys(cls) -> list[Option]:
        """Return an option for every key of a language model's configuration but for task and data."""
        config = make_run_config(load_preset("language-demo"))
        return [key for key in options_of(config) if key.key != "task" and not key.key.startswith("data.")]


def train(options: Train) -> int:
    """Train, each file a corpus, and say where the runs are."""
    from validate.terminal.progress import train_with_progress

    base = load_preset(options.preset)
    if kind_of(base["model"]) != "gpt2":
        remedy = f"choose from {', '.join(PRESETS)}"
        raise InputError("preset", options.preset, "trains no language model", remedy)
    names = {"length": "context", "n_sequences": "sequences"}
    names |= {f"task.{key}": name for key, name in names.items()}
    with renamed(names):
        task = sim.make_language_task(
            [_source(f, options.field, options.documents, options.separator) for f in options.files],
            tokenizer=options.tokenizer or "",
            length=options.context,
            n_sequences=options.sequences,
            **{name: getattr(options, name) for name in ("vocabulary", "whole_vocabulary", "layout")},
        )
        config = make_run_config(merge(base, nested(options.keys)) | {"task": task.model_dump(mode="json")})
        planned = {options.out / member.name: member for member in config.members()}
        train_with_progress(planned, options.execution())
    print_runs(planned, options.out, options.import_first, as_json=options.as_json)
    return 0


def _source(
    file: Path, fields: tuple[str, ...] = (), unit: Unit = "paragraph", separator: str = SEPARATOR
) -> CorpusSource:
    from sim.data.text import fields_of

    name, fields = corpus_name(str(file)), fields or fields_of(file)
    return CorpusSource(name=name, files=(str(file),), fields=fields, documents=unit, separator=separator)


class Compare(CommandOptions):
    """Say whether the losses of two corpora separate, and whether the text predicts its words' cosines.

    RUN is a run folder of a language model on two corpora, or a folder of these. The corpus whose FILE came
    first in training is expected to be learned first. Runs that differ only in the seed are taken together;
    the largest γ is the small initial scale, and the smallest the control. Predictions come from the
    sequences that each run trained on, and the control from the same sequences, shuffled. The exit code is 1
    if a claim fails.

    example: anchorflow corpus compare runs/corpus --out runs/corpus-report
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    out: Path | None = None
    """Write comparison.html, comparison.json and the figures here."""


def compare(options: Compare) -> int:
    """Compare, print, and write the page if asked to."""
    from sim.runs.outputs import OutputFolder
    from validate.corpus.comparison import FILES, FOLDERS, NOT_LEARNED, LanguageComparison

    if options.out is not None:
        OutputFolder(options.out).check(FILES, FOLDERS)
    comparison = LanguageComparison.of(validate.group_runs(options.runs))
    if options.out is not None:
        comparison.write(options.out)
    if options.as_json:
        print_json(comparison.to_json())
        return int(comparison.fails)
    tell("\n".join(comparison.headline() if comparison.learned else [NOT_LEARNED]) + "\n")
    for table in comparison.tables():
        print_table(*table)
    if command := comparison.missing_command():
        print(f"what is missing: {command}")
    if options.out is not None:
        print(f"page: {options.out / 'comparison.html'}")
    return int(comparison.fails)


class Demo(TrainingOptions):
    """Train a small GPT-2 on a text and on generated questions in the form of PrOntoQA, and judge.

    It trains three seeds each at γ = 0.8 and 0.3. FILE is a text as for corpus predict; without one it is a
    toy text of arbitrary facts. Verdicts are about the losses of the two corpora and about the cosines of
    their words, which the text predicts before training. The exit code is 1 if a claim fails.

    example: anchorflow corpus demo --out runs/corpus-demo
    """

    file: Annotated[Path | None, Positional("FILE")] = None
    """The other text."""
    out: Path = Path("runs/corpus-demo")
    """The folder for the texts, the runs and the page."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where runs that can share a trainer train together."""


def demo(options: Demo) -> int:
    """Write the texts, train, compare, judge."""
    from sim.runs.outputs import OutputFolder
    from sim.training.launch import check_machine
    from validate.corpus.comparison import FILES, FOLDERS
    from validate.terminal.progress import train_with_progress

    execution, folder, other = options.execution(), OutputFolder(options.out), options.file
    # Checked here too, so that an unavailable device is refused before the texts are written.
    check_machine(execution)
    if other is not None:
        if (name := corpus_name(str(other))) == corpus_name(QUESTIONS):
            problem = f"its corpus would be named {name}, like that of the generated questions"
            raise InputError("file", str(other), problem, "give it another name")
        try:
            n = sim.make_language_task([_source(other)], length=CONTEXT, layout="pack").n_sequences
        except InputError as error:
            if error.argument == "fields":
                remedy = "give one with texts there, or use anchorflow corpus train, which has --field"
                raise InputError("file", str(other), f"{error.problem}: {error.value!r}", remedy) from None
            if error.argument != "length":
                raise
            n = 0  # Too short for even one sequence.
        if n < FEWEST:
            problem = f"has {n} sequences of {CONTEXT} tokens"
            raise InputError("file", str(other), problem, f"give a text of {FEWEST * CONTEXT} words or more")
    folder.check((*FILES, QUESTIONS, TOY), FOLDERS)
    questions = folder.write(QUESTIONS, "\n\n".join(q.text for q in sim.prontoqa_questions(TEXTS)) + "\n")
    other = other or folder.write(TOY, "\n\n".join(sim.toy_facts(TEXTS)) + "\n")
    task = sim.make_language_task([_source(questions), _source(other)], length=CONTEXT, layout="pack")
    own = task.model_dump(mode="json") | {"n_sequences": min(SEQUENCES, task.n_sequences)}
    config = make_run_config(load_preset("language-demo") | {"task": own})
    planned = {options.out / member.name: member for member in config.members()}
    train_with_progress(planned, execution)
    say("comparing prediction and observation, drawing figures")
    return compare(Compare(runs=tuple(planned), out=options.out, json=options.as_json))
