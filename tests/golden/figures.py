"""Arrays that figures draw, predictions as JSON, observations of tiny and kept runs, rows of a report."""

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sim import make_run_config, train
from tests.golden import leaves
from tests.validate.test_sampled_prediction import LARGE
from theory import Lookup, Mapping, Shift, Sum, Task
from validate import FIGURES, Prediction, Report, draw_figure, group_runs, observe_path

SHIFTS = [
    Mapping((1, 2, 3, 4), Shift({1: 5, 2: 1, 3: -2, 4: -8}), "shifts"),
    Mapping((5, 6, 7), Sum(), "sums", {(5, 6)}),
    Mapping((8, 9), Lookup(), "table"),
]
TASKS = {
    "emb-mlp": Task.paper(length=3),
    "held out": Task(
        keys=range(20, 32), reasoning_anchors=range(5, 9), memory_anchors=range(1, 5), n_anchors=2,
        length=5, vocab_size=64, held_out={(5, 6), (6, 5), (7, 7)},
    ),
    "shifts": Task(keys=range(20, 40), n_anchors=2, length=5, vocab_size=64, mappings=SHIFTS),
}  # fmt: skip
KEPT = Path(__file__).parents[2] / "validate" / "kept"
TRAINING = {"epochs": 2, "batch_size": 50, "learning_rate": 1e-2, "snapshot_epochs": [1], "dtype": "float64"}
TRAINED = {
    "emb-mlp": {"d_m": 8, "d_f": 12},
    "transformer": {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 3, "n_heads": 2, "norm": "pre"},
}


def entries() -> Iterator[tuple[str, Any]]:
    return chain(_figures(), _predictions(), _observed(), _report())


def _figures() -> Iterator[tuple[str, Any]]:
    """Yield what each figure draws, one panel after the other: that each has its title, direct tests say."""
    for number in FIGURES:
        panels = [ax for ax in draw_figure(number).figure_.axes if ax.get_label() != "<colorbar>"]
        yield f"Fig. {number}: lines", [_sorted([line.get_xydata() for line in ax.lines]) for ax in panels]
        yield f"Fig. {number}: points", [_sorted([c.get_offsets() for c in ax.collections]) for ax in panels]
        filled = [[np.ma.filled(image.get_array(), np.nan) for image in ax.images] for ax in panels]
        yield f"Fig. {number}: images", [_sorted(images) for images in filled]


def _sorted(arrays: list[Any]) -> list[Any]:
    """Return arrays in an order that is not that of drawing."""
    flat = [np.nan_to_num(np.asarray(a, dtype=float).ravel(), nan=1e9).tolist() for a in arrays]
    return sorted(flat, key=lambda row: (len(row), row))


def _predictions() -> Iterator[tuple[str, Any]]:
    for name, task in TASKS.items():
        yield f"predict {name}", dict(leaves(Prediction.of(task).to_json()))
    sampled = Prediction.of(Task.from_toml(LARGE), n_samples=2000, seed=3)
    yield "predict sampled", dict(leaves(sampled.to_json()))


def _observed() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, model in TRAINED.items():
            config = {
                "task": TASKS["held out"],
                "model": model,
                "seeds": [1],
                "init_rates": [0.5],
                "data": {"source": "draw", "n_sequences": 1024},
                "training": TRAINING | {"snapshot_tensors": "all"},
            }
            (run,) = train(make_run_config(config), Path(folder) / name, workers=1)
            yield from _arrays(f"tiny {name}", observe_path(run.path).arrays)
    for file in ("emb-mlp/gamma0.8_seed0", "group-2024/gamma0.8_seed0", "language/gamma0.8_seed1"):
        yield from _arrays(file, observe_path(KEPT / f"{file}.safetensors").arrays)


def _arrays(name: str, arrays: Any) -> Iterator[tuple[str, Any]]:
    for key in sorted(arrays):
        unsigned = key.startswith("pca") or key == "wv_direction"
        yield f"{name}: {key}", np.abs(arrays[key]) if unsigned else arrays[key]


def _report() -> Iterator[tuple[str, Any]]:
    kept = [f"gamma{rate}_seed{seed}" for rate in (0.3, 0.8) for seed in (0, 2)]
    settings = group_runs([KEPT / "emb-mlp" / f"{name}.safetensors" for name in kept])
    data = Report.build("golden", settings, draw=False).to_json()
    for section in ("comparison", "error_budget", "settings"):
        yield f"report: {section}", dict(leaves(data[section]))
