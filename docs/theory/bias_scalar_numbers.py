"""Train on a fixed list of tasks and rank them by their bias: ``python docs/theory/bias_scalar_numbers.py``.

The tasks, the scalars, their rivals and the settings of training were committed before any of these runs,
except that the first task had been trained once, at a smaller rate, to choose the length of a run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from printing import end_with_reader, observations
from scipy.stats import spearmanr

from sim import EmbMLPConfig, RunConfig, TrainingConfig, train
from sim.config.task_files import any_task_table
from sim.seeds import numpy_stream
from theory import (
    Expression,
    Lookup,
    Mapping,
    Sum,
    Task,
    Window,
    count_population,
    draw_tables,
    drive_spectra,
)
from theory.integrate.first_passage import first_passage

KEPT = Path(__file__).with_name("bias_scalar.json")
SEEDS, N_STEPS, BATCH, RATE, INIT_RATE = (0, 1), 8000, 50, 3e-3, 0.8


def task(
    rule: str | None,
    memory: Any = None,
    *,
    n_keys: int = 12,
    n_rsn: int = 5,
    n_mem: int = 5,
    q: int = 2,
    held_out: bool = True,
) -> Task:
    """A task with keys from 40 on, reasoning anchors from 1 and memory anchors from 20."""
    anchors = range(1, 1 + n_rsn)
    pairs = [(2, 4), (4, 2)] if held_out and q == 2 else []
    reasoning = Mapping(anchors, Sum() if rule is None else Expression(rule), "rule", pairs)
    table = Mapping(range(20, 20 + n_mem), memory or Lookup(), "memory")
    return Task(
        keys=range(40, 40 + n_keys), n_anchors=q, length=q + 1, vocab_size=100, mappings=[reasoning, table]
    )


TASKS = {
    "sum": task(None),
    "sum, ten memory anchors": task(None, n_mem=10),
    "sum, three memory anchors": task(None, n_mem=3),
    "sum, 24 keys": task(None, n_keys=24),
    "sum, eight reasoning anchors": task(None, n_rsn=8),
    "sum, one anchor": task(None, q=1, n_rsn=8, n_mem=8),
    "sum, three anchors": task(None, q=3, n_rsn=4, n_mem=3),
    "double sum": task("key + 2 * (a1 + a2)"),
    "larger anchor": task("key + max(a1, a2)"),
    "product": task("key + a1 * a2"),
    "modular sum": task("40 + (key + a1 + a2) % 12"),
    "modular sum of seven": task("40 + (key + a1 + a2) % 7", n_keys=14),
    "modular product": task("40 + (key * a1 * a2) % 13", n_keys=13),
    "sum, memory of four labels": task(None, Lookup(40, 43)),
    "modular sum, memory of four labels": task("40 + (key + a1 + a2) % 12", Lookup(40, 43)),
    "sum, memory in a window": Task(
        keys=range(40, 52),
        n_anchors=2,
        length=3,
        vocab_size=100,
        mappings=[
            Mapping(range(10, 15), Sum(), "rule", [(11, 13), (13, 11)]),
            Mapping(range(1, 6), Window(), "memory"),
        ],
    ),
}


def half(population: Any, name: str) -> float:
    """The accuracy half-way between the best constant answer and the best one from token counts."""
    mass = population.data_sets[name][:, :, None] * population.label_distributions
    return float(mass.sum(axis=(0, 1)).max() + mass.max(axis=2).sum()) / 2


def scalars(one: Task, tables: Any) -> dict[str, float]:
    """The scalar of each drawn task, the first the one that is judged, and its rivals."""
    memory = next(m for m in one.mappings if m.is_table)
    labels = np.unique(next(t for t in tables if t is not None))
    spectra = drive_spectra(one, tables)
    return {
        "explained ratio": spectra.explained_ratio,
        "half-energy ratio": spectra.half_energy_ratio,
        "top ratio": spectra.top_ratio,
        "rival: table size": float(len(one.keys) * one.n_combinations(memory)),
        "rival: number of memory labels": float(len(labels)),
        "rival: memory anchors N_A": float(len(memory.anchors)),
    }


def observe(name: str) -> dict[str, Any]:
    """Train one task and return its scalars and, for each seed, the bias (log2 of a ratio of times)."""
    one = TASKS[name]
    size = sum((one.n_combinations(m, held_out=True)) for m in one.mappings) * len(one.keys)
    per_epoch = -(-size // BATCH)
    epochs = -(-N_STEPS // per_epoch)
    config = RunConfig(
        task=any_task_table(one),
        model=EmbMLPConfig(d_m=40, d_f=80),
        training=TrainingConfig(
            epochs=epochs,
            batch_size=BATCH,
            learning_rate=RATE,
            evaluate_every=max(1, epochs // 80),
            snapshot_epochs=(0,),
        ),
        init_rates=(INIT_RATE,),
        seeds=SEEDS,
    )
    biases, found = [], []
    with tempfile.TemporaryDirectory() as folder:
        for run in train(config, folder, workers=1):
            tables = draw_tables(one, numpy_stream(run.config.seed, "data/table"))
            population = count_population(one, tables)
            found.append(scalars(one, tables))
            biases.append(bias(run.metrics, population, one))
    return {"bias": biases, "scalars": {key: float(np.mean([f[key] for f in found])) for key in found[0]}}


def bias(metrics: Any, population: Any, one: Task) -> float:
    """log2 of the time to half of the memory accuracy over the same for reasoning training.

    Half: see ``half``. A kind that does not get there counts with the end of the run: a bound.
    """
    rule = next(m for m in one.mappings if not m.is_table)
    names = {"mem": "memory", "rsn_train": "rule train" if rule.held_out else "rule"}
    times = [line["sum_learning_rate"] for line in metrics]
    passages = {}
    for part, name in names.items():
        values = [line["accuracy"][part] for line in metrics]
        passages[part] = min(first_passage(times, values, half(population, name)), times[-1])
    return float(np.log2(passages["mem"] / passages["rsn_train"]))


def correlations(kept: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Spearman's rank correlation of each scalar with the mean bias, with a bootstrap interval over tasks."""
    measured = np.array([np.mean(row["bias"]) for row in kept.values()])
    rng = np.random.default_rng(0)
    draws = rng.integers(len(measured), size=(2000, len(measured)))
    out = {}
    for key in next(iter(kept.values()))["scalars"]:
        values = np.array([row["scalars"][key] for row in kept.values()])
        resampled = [spearmanr(values[d], measured[d]).statistic for d in draws if len(set(values[d])) > 1]
        low, high = np.quantile(resampled, [0.025, 0.975])
        out[key] = float(spearmanr(values, measured).statistic), float(low), float(high)
    return out


def main() -> None:
    kept = observations(KEPT, TASKS, observe, __doc__)
    for name, row in kept.items():
        values = ", ".join(f"{value:.2f}" for value in row["bias"])
        print(f"{name:36}bias {values:14}explained ratio {row['scalars']['explained ratio']:6.2f}")
    for key, (rho, low, high) in correlations(kept).items():
        print(f"{key:36}Spearman {rho:5.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    end_with_reader()
    main()
