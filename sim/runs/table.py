"""Runs as tables: a row for each run, evaluation and data set; in a long table, for each statistic too."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.config.language import LanguageTask
from sim.config.run import SECTIONS, MemberConfig
from sim.data.text import require
from sim.runs.manifest import digest
from sim.runs.outputs import OutputFile
from theory.task.held_out import plain_sets
from theory.task.task import Task

COLUMNS = {
    "run": "the run's folder",
    "model": "kind of model",
    "init_rate": "γ",
    "seed": "the run's seed",
    "learning_rate": "training.learning_rate",
    "epoch": "epochs trained; a fraction where a run is evaluated within epochs",
    "step": "steps taken",
    "sum_learning_rate": "Σ learning rate, the time of the gradient flow",
    "data_set": "mem, rsn_train, rsn_test, or a mapping's name",
    "loss": "mean cross-entropy in nats; empty if it is not finite",
    "accuracy": "share of sequences whose most probable label is right; of GPT-2, of next tokens",
}
"""The columns of the short table and their meaning."""
LAST_HEADER = ("data set", "accuracy", "loss (nats)")
ALWAYS = ("init_rate", "seed")
"""Axes that every long table has."""
MEASURED = ("epoch", "step", "data_set", "statistic", "value")
"""The columns of a long table after the axes. Σ learning rate belongs to no data set."""
_OF_TASK = ("q", "n_keys", "length", "vocab_size", "corpus", "task")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet computes."""

NamedRun = tuple[str, MemberConfig, Sequence[Mapping[str, Any]]]
"""A run's name in the table, its configuration and its metrics."""


def metric_records(
    path: Path, config: MemberConfig, metrics: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a run's metrics as rows of ``COLUMNS``."""
    shared = {
        "run": str(path),
        "model": config.model.kind,
        "init_rate": config.init_rate,
        "seed": config.seed,
        "learning_rate": config.training.learning_rate,
    }
    return [
        shared
        | {name: line[name] for name in ("epoch", "step", "sum_learning_rate")}
        | {"data_set": part, "loss": line["loss"].get(part), "accuracy": line["accuracy"][part]}
        for line in metrics
        for part in line["accuracy"]
    ]


def shown_name(config: MemberConfig, part: str) -> str:
    """Return what a data set is called in tables for readers; files keep its key."""
    return config.task.data_sets.get(part, part) if isinstance(config.task, Task) else part


def last_rows(config: MemberConfig, metrics: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a line of ``LAST_HEADER`` for each data set at the last evaluation, as text."""
    loss = metrics[-1]["loss"]
    return [
        [shown_name(config, part), f"{value:.3f}", "–" if loss.get(part) is None else f"{loss[part]:.3f}"]
        for part, value in metrics[-1]["accuracy"].items()
    ]


def long_records(runs: Iterable[NamedRun], axes: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return runs as rows of "run", the axes and ``MEASURED``.

    Axes are the settings that get a column, by default those in which the runs differ; a run without such a
    setting has None there.
    """
    listed, rows = list(runs), []
    shown = axes_of(config for _, config, _ in listed) if axes is None else axes
    for name, config, metrics in listed:
        settings = settings_of(config)
        shared = {"run": name} | {axis: settings.get(axis) for axis in shown}
        for line in metrics:
            at = (*shared.values(), line["epoch"], line["step"])
            values = [("", "sum_learning_rate", line["sum_learning_rate"])]
            values += [
                (part, statistic, line[statistic].get(part))
                for part in line["accuracy"]
                for statistic in ("loss", "accuracy")
            ]
            rows += [dict(zip((*shared, *MEASURED), (*at, *value), strict=True)) for value in values]
    return rows


def axes_of(configs: Iterable[MemberConfig]) -> list[str]:
    """Return γ and the seed, then the settings in which runs differ.

    They are named as in a sweep's file: by the key alone where no other section has the same, "model" for
    the kind of model, q, n_keys (N_Z), and "task" where tasks differ in something else.
    """
    flat = [settings_of(config) for config in configs]
    keys = {key: None for settings in flat for key in settings if key not in ALWAYS}
    return [*ALWAYS, *(key for key in keys if len({settings.get(key) for settings in flat}) > 1)]


def settings_of(config: MemberConfig) -> dict[str, Any]:
    """Return every setting of a run by its name in the table, as a number or a text."""
    sections = {name: getattr(config, name).model_dump(mode="json") for name in SECTIONS}
    kind = sections["model"].pop("kind")  # A training of the user's own may have a setting with that name.
    counts = Counter(key for values in sections.values() for key in values)
    # A model of the user's own may have settings with such names.
    counts.update({"run", "model", *ALWAYS, *_OF_TASK, *MEASURED})
    flat = dict[str, Any]()
    for section, values in sections.items():
        for key, value in values.items():
            name = key if counts[key] == 1 else f"{section}.{key}"
            flat[name] = json.dumps(value) if isinstance(value, list | dict) else value
    member = {"init_rate": config.init_rate, "seed": config.seed}
    return member | flat | {"model": kind} | dict.fromkeys(_OF_TASK) | _task_settings(config.task)


def _task_settings(task: Task | LanguageTask) -> dict[str, Any]:
    """Return a task's settings; "task" is a digest of everything that the other columns do not tell apart."""
    if isinstance(task, LanguageTask):
        return {"corpus": "+".join(task.names), "task": _digest(task.model_dump(mode="json"))}
    mappings = [
        [m.name, list(m.anchors), m.rule.kind, m.rule.parameters(), plain_sets(m.sets)] for m in task.mappings
    ]
    # Consecutive keys are told apart by the first one and n_keys.
    n, first = len(task.keys), task.keys[0]
    keys = [first] if task.keys == tuple(range(first, first + n)) else list(task.keys)
    numbers = {"q": task.n_anchors, "n_keys": n, "length": task.length, "vocab_size": task.vocab_size}
    return numbers | {"task": _digest([keys, mappings])}


def _digest(value: Any) -> str:
    return digest(json.dumps(value, sort_keys=True).encode())[:8]


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with the same keys as CSV text with a header; numbers in full, missing ones empty.

    A text that a spreadsheet would compute, such as the name of a folder, has a quote before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows = [[*records[0]], *([*record.values()] for record in records)] if records else []
    writer.writerows(
        [f"'{v}" if isinstance(v, str) and v.startswith(_FORMULA) else v for v in row] for row in rows
    )
    return text.getvalue()


def frame(records: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> Any:
    """Return rows as a pandas DataFrame; without pandas an ImportError names what installs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "to_frame needs pandas: pip install 'anchorflow[table]', or take to_records() for plain dicts"
        ) from None
    return pd.DataFrame(list(records), columns=list(columns))


def write_table(
    records: Sequence[Mapping[str, Any]], file: Path, argument: str = "out", *, overwrite: bool = False
) -> None:
    """Write rows to an ``OutputFile``: as Parquet if its name ends in .parquet, else as CSV."""
    OutputFile(file, argument, overwrite).write(table_content(records, file.name))


def table_content(records: Sequence[Mapping[str, Any]], name: str) -> bytes | str:
    """Return rows as Parquet if a file's name ends in .parquet, else as CSV."""
    if not name.endswith(".parquet"):
        return csv_text(records)
    parquet, arrow = require("pyarrow.parquet", "table"), require("pyarrow", "table")
    columns = list(records[0]) if records else []
    arrays = [arrow.array(_of_one_type([record[column] for record in records])) for column in columns]
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(arrays, names=columns), buffer)
    return buffer.getvalue()


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column with values of one type, as Parquet needs: numbers beside words become words."""
    kinds = {type(value) for value in values if value is not None}
    common: Any = float if kinds == {int, float} else str
    return values if len(kinds) < 2 else [None if value is None else common(value) for value in values]
