"""Tables of runs and sweeps, and the runs of every study."""

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim import find_runs
from tests.golden import said
from tests.validate.sweeps.toy import TOY
from validate import load_study, study_names
from validate.sweeps import load_sweep, run_name

SWEEP = (
    TOY.replace("toy", "golden")
    .replace("epochs = 2", "epochs = 3")
    .replace("snapshot_epochs = []", "snapshot_epochs = [1]")
    .replace("2e-3", "2e-2")
)


def coded(rows: Sequence[Sequence[Any]]) -> list[list[float]]:
    """Return a table's cells as numbers: of a word its hash, as a run's name is one."""

    def number(text: Any) -> float:
        try:
            return float(text)
        except (TypeError, ValueError):
            return float(int(hashlib.sha256(str(text).encode()).hexdigest()[:6], 16))

    return [[number(cell) for cell in row] for row in rows]


def table(text: str) -> list[list[float]]:
    """Return a table in CSV, its header included, but for the column that names a run's folder."""
    rows = list(csv.reader(io.StringIO(text)))
    left_out = rows[0].index("run")
    return coded([[cell for i, cell in enumerate(row) if i != left_out] for row in rows])


def entries() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from of_a_sweep(folder)
    for study in study_names():
        rows = [
            [variant or "", config.init_rate, config.seed, run_name(config)]
            for variant, whole in load_study(study).configs.items()
            for config in whole.members()
        ]
        yield f"study {study}: variants, γ, seeds, hashes", coded(rows)


def of_a_sweep(folder: Path) -> Iterator[tuple[str, Any]]:
    file, out = folder / "golden.toml", folder / "out"
    file.write_text(SWEEP)
    sweep = load_sweep(file)
    yield "sweep: names of runs", coded([list(sweep.members)])
    yield "sweep: settings", coded([list(row.values()) for row in sweep.settings.values()])
    said("sweep", str(file), "--out", str(out), "--workers", "1")
    runs = [str(path) for path in find_runs(out)]
    yield "table --csv -", table(said("table", *runs, "--csv", "-"))
    yield "table --long --csv -", table(said("table", *runs, "--long", "--csv", "-"))
    show = ["sweep", "show", str(out), "--x", "init_rate", "--y", "learning_rate", "--json"]
    for label, options in {
        "accuracy": [],
        "loss of memory at epoch 1": ["--statistic", "loss", "--data-set", "mem", "--epoch", "1"],
        "sums less memory": ["--data-set", "rsn_train", "--minus", "mem"],
        "highest test accuracy": ["--measure", "highest_test_accuracy"],
        "bias": ["--measure", "bias"],
    }.items():
        shown = json.loads(said(*show, *options))
        for key in ("values", "interval_low", "interval_high", "seeds"):
            yield f"show {label}: {key}", shown[key]
