"""Several runs as one long table: a row for each run, evaluation, data set and statistic."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sim.config.language import LanguageTask
from sim.config.run import SECTIONS, MemberConfig
from theory.task.task import Task

ALWAYS = ("init_rate", "seed")
"""Axes that every table has."""
MEASURED = ("epoch", "step", "data_set", "statistic", "value")
"""The columns after the axes. Σ learning rate, the time of the gradient flow, is of no data set."""
_OF_TASK = ("q", "n_keys", "length", "vocab_size", "corpus", "task")

NamedRun = tuple[str, MemberConfig, Sequence[Mapping[str, Any]]]
"""A run's name in the table, its configuration and its metrics."""


def axes_of(configs: Iterable[MemberConfig]) -> list[str]:
    """Return the settings in which runs differ, besides γ and the seed, which come first.

    They are named as in a sweep's file: by the key alone where no other section has the same, "model" for
    the kind of model, q, n_keys (N_Z), and "task" where tasks differ in something else.
    """
    flat = [settings_of(config) for config in configs]
    keys = {key: None for each in flat for key in each if key not in ALWAYS}
    return [*ALWAYS, *(key for key in keys if len({each.get(key) for each in flat}) > 1)]


def long_records(runs: Iterable[NamedRun], axes: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return runs as rows of "run", the axes and ``MEASURED``.

    Parameters
    ----------
    runs : iterable of (str, MemberConfig, list of dict)
    axes : sequence of str, optional
        The settings that get a column; by default those in which the runs differ. A run without such a
        setting has None there.
    """
    listed = list(runs)
    shown = axes_of(config for _, config, _ in listed) if axes is None else axes
    return [row for run in listed for row in _rows(run, shown)]


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with the same keys as CSV text with a header; numbers in full, what is missing empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if records:
        writer.writerow(records[0])
        writer.writerows(record.values() for record in records)
    return text.getvalue()


def is_long(columns: Sequence[str]) -> bool:
    """Return whether these are the columns of a long table, whatever its axes."""
    return tuple(columns[:1]) == ("run",) and tuple(columns[-len(MEASURED) :]) == MEASURED


def _rows(run: NamedRun, axes: Sequence[str]) -> Iterable[dict[str, Any]]:
    name, config, metrics = run
    settings = settings_of(config)
    shared = {"run": name} | {axis: settings.get(axis) for axis in axes}
    for line in metrics:
        at = shared | {"epoch": line["epoch"], "step": line["step"]}
        yield at | dict(zip(MEASURED[2:], ("", "sum_learning_rate", line["sum_learning_rate"]), strict=True))
        for part in line["accuracy"]:
            for statistic in ("loss", "accuracy"):
                value = line[statistic].get(part)
                yield at | {"data_set": part, "statistic": statistic, "value": value}


def settings_of(config: MemberConfig) -> dict[str, Any]:
    """Return every setting of a run by its name in the table, as a number or a text."""
    sections = {name: getattr(config, name).model_dump(mode="json") for name in SECTIONS}
    counts = Counter(key for values in sections.values() for key in values)
    flat = {
        (key if counts[key] == 1 else f"{section}.{key}"): _plain(value)
        for section, values in sections.items()
        for key, value in values.items()
    }
    flat["model"] = flat.pop("kind")
    own = {"init_rate": config.init_rate, "seed": config.seed}
    return own | flat | dict.fromkeys(_OF_TASK) | _task_settings(config.task)


def _task_settings(task: Task | LanguageTask) -> dict[str, Any]:
    if isinstance(task, LanguageTask):
        return {"corpus": "+".join(task.names), "task": _digest(task.model_dump(mode="json"))}
    numbers = {
        "q": task.n_anchors,
        "n_keys": len(task.keys),
        "length": task.length,
        "vocab_size": task.vocab_size,
    }
    rest = [[m.name, list(m.anchors), m.rule.kind, m.rule.parameters()] for m in task.mappings]
    return numbers | {"task": _digest(rest)}


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
