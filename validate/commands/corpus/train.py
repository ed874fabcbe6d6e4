"""anchorflow corpus train: GPT-2 on the user's own texts."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from sim.config.language import CorpusSource, Layout, Unit, corpus_name
from sim.config.presets import load_preset, merge, preset_names
from sim.config.run import RunConfig, make_run_config
from validate.commands.engines import TrainingOptions
from validate.commands.options import Option, Positional, nested, options_of
from validate.commands.train import print_runs

if TYPE_CHECKING:
    from sim import LanguageTask

PRESETS = tuple(name for name in preset_names() if name.startswith("language-"))


class Options(TrainingOptions):
    """Train GPT-2 on one text or several, for every γ and seed, one run folder each.

    Each FILE is a corpus with losses of its own, named after it; all have as many sequences. What is trained,
    how long and how far it is are said as for anchorflow train, and Ctrl-C and --resume work alike.

    example: anchorflow corpus train questions.txt stories.txt --documents line --out runs/mine
    """

    files: Annotated[tuple[Path, ...], Positional("FILE")]
    """Text, JSON Lines or Parquet, a corpus each."""
    field: tuple[str, ...] = ()
    """Keys or columns with the text, in every file; else text, or those of PrOntoQA."""
    documents: Unit = "paragraph"
    """What a document is in a text file."""
    tokenizer: Path | None = None
    """A tokenizer.json of Hugging Face; else words in lower case."""
    vocabulary: int | None = None
    """Keep so many most frequent tokens; others are <other>."""
    whole_vocabulary: bool = False
    """Keep every token of the tokenizer, not only those that occur."""
    context: int = 128
    """Tokens of a sequence."""
    sequences: int | None = None
    """Sequences of each corpus; else what the smallest has, at most 500."""
    layout: Layout = "cut"
    """cut documents to the context, pad them and refuse longer ones, or pack them without padding."""
    preset: str = Field(default="language-demo", description=f"Start from: {', '.join(PRESETS)}.")
    out: Path = Path("runs/corpus")
    """The folder that receives one run folder for each γ and seed."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where all members train together."""

    @classmethod
    def known_keys(cls) -> list[Option]:
        """Return an option for every key of a language model's configuration but for task and data."""
        config = make_run_config(load_preset("language-demo"))
        return [key for key in options_of(config) if key.key != "task" and not key.key.startswith("data.")]


def run(options: Options) -> int:
    """Train, and say where the runs are."""
    config = configuration_of(task_of(options), options.preset, nested(options.keys))
    from validate.training import train_with_progress

    runs = train_with_progress(config, options.out, options.execution())
    print_runs(runs, f"anchorflow corpus compare {quote(str(options.out))}", as_json=options.as_json)
    return 0


def task_of(options: Options) -> LanguageTask:
    """Return the task of the files that are named, each a corpus; they are read to see what they have."""
    from sim.data.language import make_language_task
    from sim.data.text import fields_of

    sources = [
        CorpusSource(
            name=corpus_name(str(file)),
            files=(str(file),),
            fields=options.field or fields_of(file),
            documents=options.documents,
        )
        for file in options.files
    ]
    how = {name: getattr(options, name) for name in ("vocabulary", "whole_vocabulary", "layout")}
    tokenizer = "" if options.tokenizer is None else str(options.tokenizer)
    lengths: dict[str, Any] = {"length": options.context, "n_sequences": options.sequences}
    return make_language_task(sources, tokenizer=tokenizer, **lengths, **how)


def configuration_of(task: LanguageTask, preset: str, over: dict[str, Any]) -> RunConfig:
    """Return the configuration of a task: a preset's keys, and others over them."""
    return make_run_config(merge(load_preset(preset), over) | {"task": task.model_dump(mode="json")})
