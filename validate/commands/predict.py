"""anchorflow predict: what the theory says about a task before any training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from validate.commands.parsing import parse

if TYPE_CHECKING:
    from theory import Task
    from validate.prediction import Prediction

EXAMPLE = "anchorflow predict emb-mlp --out runs/prediction"


@dataclasses.dataclass
class Options:
    """Predict label distributions and the embedding's early geometry from a task alone.

    TASK.toml describes a task (or is a configuration with a [task] table); "emb-mlp" and "paper" name the
    paper's own.
    """

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK.toml")]
    """A TOML file, or a preset's name."""
    out: Path | None = None
    """Write prediction.json, the task and the figures here."""
    json: bool = False
    """Print the prediction as JSON on standard output."""


def run(arguments: Sequence[str]) -> int:
    """Predict, print, and write if asked to."""
    options = parse(Options, "predict", arguments, EXAMPLE)
    from validate.console import print_json
    from validate.prediction import Prediction

    prediction = Prediction.of(read_task(options.task))
    if options.out is not None:
        prediction.write(options.out)
    if options.json:
        print_json(prediction.to_json())
        return 0
    print_prediction(prediction)
    if options.out is not None:
        print(f"written to {options.out}")
    return 0


def read_task(name: str) -> Task:
    """Return the task that a preset's name or a TOML file describes."""
    from sim.config import PRESETS, as_task
    from theory.task_toml import load_toml, task_from_dict

    if name in PRESETS:
        return as_task(name)
    data: dict[str, Any] = load_toml(Path(name))
    return as_task(data["task"]) if "task" in data else task_from_dict(data)


def print_prediction(prediction: Prediction) -> None:
    """Print one line a token kind, and the cosines of each mapping's anchors."""
    from validate.console import print_table

    header = ["token", "kind", "r_s", "mean label", "std of the label", "|P^s - u|^2"]
    rows = [
        [str(t.token), t.kind, f"{t.ratio:.4g}", f"{t.mean:.2f}", f"{t.std:.2f}", f"{t.norm2:.3g}"]
        for t in prediction.tokens
    ]
    print_table("label distributions of the training data (eq. 7, 8, 23-25)", header, rows)
    header = ["anchors", "predictor", "mean", "smallest", "largest", "mean of pairs 1, 2, ... apart"]
    print_table("predicted cosine similarity, all pairs", header, prediction.cosine_rows())
