"""Arrays that figures draw, predictions as JSON, observations of tiny and kept runs, rows of a report."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sim import make_run_config, train
from tests.golden.commands import leaves
from theory import Expression, Lookup, Mapping, Shift, Sum, Task
from validate import FIGURES, Prediction, Report, draw_figure, group_runs, observe_path

KEPT = Path(__file__).parents[2] / "validate" / "kept"
TASKS = {
    "emb-mlp": (Task.paper(length=3), {}),
    "held out": (
        Task(
            keys=range(20, 32),
            n_anchors=2,
            length=5,
            vocab_size=64,
            reasoning_anchors=range(5, 9),
            memory_anchors=range(1, 5),
            held_out={(5, 6), (6, 5), (7, 7)},
        ),
        {},
    ),
    "shifts": (
        Task(
            keys=range(20, 40),
            n_anchors=2,
            length=5,
            vocab_size=64,
            mappings=[
                Mapping((1, 2, 3, 4), Shift({1: 5, 2: 1, 3: -2, 4: -8}), "shifts"),
                Mapping((5, 6, 7), Sum(), "sums", {(5, 6)}),
                Mapping((8, 9), Lookup(), "table"),
            ],
        ),
        {},
    ),
    "sampled": (
        Task(
            keys=range(50, 90),
            n_anchors=5,
            length=6,
            vocab_size=97,
            mappings=[
                Mapping(
                    range(1, 14),
                    Expression("(key * min(a1, a2) + a3 * a4 + 3 * a5) // 30 % 97"),
                    "own",
                    [(1, 2, 3, 4, 5)],
                ),
                Mapping((21, 22, 23), Lookup(), "memory"),
            ],
        ),
        {"n_samples": 2000, "seed": 3},
    ),
}
TRAINED = {
    "emb-mlp": {"d_m": 8, "d_f": 12},
    "transformer": {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 3, "n_heads": 2, "norm": "pre"},
}


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    return chain(_figures(), _predictions(), _observed(), _report())


def _figures() -> Iterator[tuple[str, Any]]:
    for number in FIGURES:
        figure = draw_figure(number).figure_
        assert figure is not None
        seen: Counter[str] = Counter()
        for ax in figure.axes:
            if ax.get_label() == "<colorbar>":
                continue
            name = " ".join((ax.get_title() or ax.get_ylabel()).split())
            seen[name] += 1
            key = f"Fig. {number}, {name} ({seen[name]})"
            yield f"{key}: lines", _sorted([line.get_xydata() for line in ax.lines])
            yield f"{key}: points", _sorted([c.get_offsets() for c in ax.collections])
            yield f"{key}: images", _sorted([np.ma.filled(i.get_array(), np.nan) for i in ax.images])


def _sorted(arrays: list[Any]) -> list[float]:
    """Return arrays flattened in an order that is not that of drawing."""
    flat = [np.nan_to_num(np.asarray(a, dtype=float).ravel(), nan=1e9) for a in arrays]
    return [x for row in sorted(flat, key=lambda a: (len(a), a.tolist())) for x in row]


def _predictions() -> Iterator[tuple[str, Any]]:
    for name, (task, options) in TASKS.items():
        numbers = dict(leaves(Prediction.of(task, **options).to_json()))
        yield f"predict {name}", [numbers[key] for key in sorted(numbers)]


def _observed() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, model in TRAINED.items():
            config = make_run_config(
                {
                    "task": TASKS["held out"][0],
                    "model": model,
                    "seeds": [1],
                    "init_rates": [0.5],
                    "data": {"source": "draw", "n_sequences": 1024},
                    "training": {
                        "epochs": 2,
                        "batch_size": 50,
                        "learning_rate": 1e-2,
                        "snapshot_epochs": [1],
                        "snapshot_tensors": "all",
                        "dtype": "float64",
                    },
                }
            )
            (run,) = train(config, Path(folder) / name, workers=1)
            yield from _arrays(f"tiny {name}", observe_path(run.path).arrays)
    for file in ("emb-mlp/gamma0.8_seed0", "group-2024/gamma0.8_seed0", "language/gamma0.8_seed1"):
        yield from _arrays(file, observe_path(KEPT / f"{file}.safetensors").arrays)


def _arrays(name: str, arrays: Any) -> Iterator[tuple[str, Any]]:
    for key in sorted(arrays):
        unsigned = key.startswith("pca") or key == "wv_direction"
        yield f"{name}: {key}", np.abs(arrays[key]) if unsigned else arrays[key]


def _report() -> Iterator[tuple[str, Any]]:
    files = [
        KEPT / "emb-mlp" / f"gamma{rate}_seed{seed}.safetensors" for rate in (0.3, 0.8) for seed in (0, 2)
    ]
    settings = group_runs(files)
    data = Report.build("golden", settings, draw=False).to_json()
    for section in ("comparison", "error_budget", "settings"):
        numbers = dict(leaves(data[section]))
        yield f"report: {section}", [numbers[key] for key in sorted(numbers)]
