"""Numbers that the commands print with --json, and short training runs in float64."""

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim import load_preset, make_run_config, train
from validate.cli import main

EMB_MLP = {"task": "emb-mlp", "training": {"epochs": 2, "dtype": "float64", "snapshot_epochs": [1]}}


def said(*arguments: str) -> str:
    """Return what a command prints that succeeds, whatever its verdicts."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = main([*arguments])
    assert code in (0, 1), arguments
    return out.getvalue()


def command(*arguments: str) -> dict[str, float]:
    """Return every number of a command's JSON by its path."""
    return dict(leaves(json.loads(said(*arguments, "--json"))))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in nested lists and dictionaries with its path."""
    if isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def transformer() -> dict[str, Any]:
    """Return the preset that stands for the paper's Transformer, cut to two epochs of few sequences."""
    preset = json.loads(json.dumps(load_preset("group-quarter") | {"seeds": [0], "init_rates": [0.3, 0.8]}))
    del preset["sources"]
    preset["training"] |= EMB_MLP["training"] | {"schedule_epochs": 20}
    preset["data"]["n_sequences"] = 2000
    return preset


def entries() -> Iterator[tuple[str, Any]]:
    for task in ("emb-mlp", "paper"):
        yield f"predict {task}", command("predict", task)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in {"emb-mlp": EMB_MLP, "transformer": transformer()}.items():
            for run in train(make_run_config(data), Path(folder) / name, workers=1):
                label = f"{name}, γ = {run.config.init_rate:g}"
                yield f"{label}: embedding", [run.embedding(epoch) for epoch in (0, 1, 2)]
                lines = dict(leaves(run.metrics))
                yield f"{label}: metrics", {key: lines[key] for key in lines if "second" not in key}
