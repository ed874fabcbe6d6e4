"""Numbers that the commands print with --json, and a short training run in float64."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim import load_preset, make_run_config, train

TRAINED = {
    "emb-mlp": {"task": "emb-mlp", "training": {"epochs": 2, "dtype": "float64", "snapshot_epochs": [1]}},
    "transformer": {
        **{key: value for key, value in load_preset("group-quarter").items() if key != "sources"},
        "seeds": [0],
        "init_rates": [0.3, 0.8],
    },
}


def command(*arguments: str) -> dict[str, float]:
    """Return every number of a command's JSON by its path."""
    program = [sys.executable, "-m", "anchorflow", *arguments, "--json"]
    out = subprocess.run(program, capture_output=True, text=True, check=False)
    return dict(leaves(json.loads(out.stdout)))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in nested lists and dictionaries with its path."""
    if isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    for arguments in (["predict", "emb-mlp"], ["predict", "paper"]):
        numbers = command(*arguments)
        yield " ".join(arguments), [numbers[key] for key in sorted(numbers)]
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in TRAINED.items():
            data: dict[str, Any] = json.loads(json.dumps(settings))
            if name == "transformer":
                data["training"] |= {
                    "epochs": 2,
                    "schedule_epochs": 20,
                    "dtype": "float64",
                    "snapshot_epochs": [1],
                }
                data["data"]["n_sequences"] = 2000
            for run in train(make_run_config(data), Path(folder) / name, workers=1):
                label = f"{name}, γ = {run.config.init_rate:g}"
                yield f"{label}: embedding", [run.embedding(epoch) for epoch in (0, 1, 2)]
                numbers = dict(leaves(run.metrics))
                yield f"{label}: metrics", [numbers[k] for k in sorted(numbers) if "second" not in k]
