"""A run's metrics as a tidy table: one row for each run, evaluation and data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sim.config.run import MemberConfig

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
    "accuracy": "share of sequences whose most probable label is right",
}
"""The columns and their meaning."""


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


def frame(records: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> Any:
    """Return rows as a pandas DataFrame.

    Raises
    ------
    ImportError
        Without pandas, with the command that installs it; ``to_records`` gives the same rows as dicts.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "to_frame needs pandas: pip install 'anchorflow[table]', or take to_records() for plain dicts"
        ) from None
    return pd.DataFrame(list(records), columns=list(columns))
