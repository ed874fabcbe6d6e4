"""anchorflow predict: what the theory says about a task before any training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.predict.prediction import Prediction


class Options(CommandOptions):
    """Predict label distributions and the embedding's early geometry from a task alone.

    TASK.toml describes a task, or is a configuration that holds one; "emb-mlp" and "paper" name the paper's
    own.
    """

    file: Annotated[str | None, Positional("TASK.toml", is_file=True)] = None
    """A TOML file, or a preset's name."""
    task: str | None = None
    """The same, as an option."""
    out: Path | None = None
    """Write prediction.json, the task and the figures here."""
    samples: int = 100_000
    """Sequences drawn for each token, for a rule with too many labels to count."""
    seed: int = 0
    """The seed of these draws."""


COMMAND = Command("predict", Options, "anchorflow predict emb-mlp --out runs/prediction")


def run(arguments: Sequence[str]) -> int:
    """Predict, print, and write if asked to."""
    options = COMMAND.parse(arguments)
    from sim.config.task_files import as_task
    from sim.runs.outputs import OutputFolder
    from validate.predict.prediction import FILES, FOLDERS, Prediction
    from validate.terminal.tables import print_json

    if (options.file is None) == (options.task is None):
        raise InputError(
            "task", [options.file, options.task], "one task is required", "give TASK.toml or --task"
        )
    if options.out is not None:
        OutputFolder(options.out).check(FILES, FOLDERS)
    task = as_task(options.file or options.task or "")
    prediction = Prediction.of(task, n_samples=options.samples, seed=options.seed)
    if options.out is not None:
        prediction.write(options.out)
    if options.as_json:
        print_json(prediction.to_json())
        return 0
    print_prediction(prediction)
    if options.out is not None:
        print(f"written to {options.out}")
    return 0


def print_prediction(prediction: Prediction) -> None:
    """Print one line per kind of token, and the cosines of each mapping's anchors."""
    from validate.terminal.tables import print_table, tell

    header = ["token", "kind", "r_s", "mean label", "std of the label", "|P^s - u|^2"]
    print_table("label distributions of the training data (eq. 7, 8, 23-25)", header, prediction.token_rows())
    header = ["anchors", "predictor", "mean", "smallest", "largest", "mean of pairs 1, 2, ... apart"]
    print_table("predicted cosine similarity, all pairs", header, prediction.cosine_rows())
    for sentence in [*prediction.notes(), *prediction.left_out()]:
        tell(sentence)
