"""Time of the flows against the time of training the same network to the same Σ learning rate.

Run as ``python -m tests.bench.bench_flows``. One thread, one process, the paper's Emb-MLP setting:
d_m = 200, d_f = 512, 20 000 sequences, γ = 0.8, through the first three rank steps. Training is timed
over some steps and, where the table says so, extrapolated: a step's cost does not change along a run.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from theory import (
    IDENTITY,
    TANH,
    Activation,
    EmbMLPParameters,
    Solver,
    Task,
    Trajectory,
    cosine_matrix,
    count_population,
    draw_tables,
    enumerate_population,
    escape_threshold,
    labels_of,
    linearised_flow,
    measured_rank_steps,
    off_diagonal,
    population_flow,
)

END = 830.0
"""Σ learning rate: just beyond the third rank step of the linear network."""
TIMES = np.linspace(0.0, END, 84)
ANCHORS = list(range(1, 21))


class Setting:
    """The paper's Emb-MLP task with one drawn table, and one draw of the weights."""

    def __init__(self) -> None:
        task = Task.paper(length=3)
        tables = draw_tables(task, np.random.default_rng(1))
        self.population = count_population(task, tables)
        everything = enumerate_population(task)
        labels = labels_of(task, everything, tables)
        self.sequences = torch.as_tensor(everything.sequences[~everything.held_out])
        self.labels = torch.as_tensor(labels[~everything.held_out])
        rng = np.random.default_rng(0)
        self.initial = EmbMLPParameters.draw(task.vocab_size, d_m=200, d_f=512, init_rate=0.8, rng=rng)


def timed(run: Callable[[], Trajectory]) -> tuple[float, Trajectory]:
    start = time.perf_counter()
    trajectory = run()
    return time.perf_counter() - start, trajectory


def train(
    setting: Setting, activation: Activation, rate: float, batch: int | None, n_steps: int
) -> tuple[float, np.ndarray]:
    """Return the seconds a step takes and the embedding after ``n_steps``, float32 as users train."""
    torch.set_num_threads(1)
    weights = [torch.tensor(m, dtype=torch.float32, requires_grad=True) for m in setting.initial.matrices]
    generator = torch.Generator().manual_seed(0)
    n, order, position = len(setting.labels), torch.empty(0, dtype=torch.long), 0
    start = time.perf_counter()
    for _ in range(n_steps):
        if batch is None:
            sequences, labels = setting.sequences, setting.labels
        else:
            if position + batch > len(order):
                order, position = torch.randperm(n, generator=generator), 0
            rows = order[position : position + batch]
            sequences, labels, position = setting.sequences[rows], setting.labels[rows], position + batch
        hidden = torch.nn.functional.embedding_bag(sequences, weights[0], mode="sum") @ weights[1]
        value = torch.tanh(hidden) if activation is TANH else hidden
        loss = torch.nn.functional.cross_entropy(value @ weights[2], labels)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.sub_(gradient, alpha=rate)
    seconds = (time.perf_counter() - start) / n_steps
    return seconds, weights[0].detach().double().numpy()


def cosine_error(a: np.ndarray, b: np.ndarray) -> float:
    difference = cosine_matrix(a[ANCHORS]) - cosine_matrix(b[ANCHORS])
    return float(np.abs(off_diagonal(difference)).max())


def flows(setting: Setting, quick: bool) -> dict[str, tuple[float, Trajectory]]:
    C, S = setting.population.token_label_matrix(), setting.population.cooccurrence()
    runs: dict[str, Callable[[], Trajectory]] = {
        "linearised": lambda: linearised_flow(C, S, setting.initial, TIMES),
        "population, identity": lambda: population_flow(setting.population, setting.initial, TIMES),
    }
    if not quick:
        few, loose = TIMES[::4], Solver(rtol=1e-3, atol=1e-4)
        runs["population, tanh"] = lambda: population_flow(
            setting.population, setting.initial, few, activation=TANH, solver=loose
        )
    return {name: timed(run) for name, run in runs.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the tanh flow")
    parser.add_argument("--full", action="store_true", help="run linear SGD at the smaller rate to the end")
    options = parser.parse_args(arguments)
    setting = Setting()
    print(f"{platform.processor() or platform.machine()}, one thread, Σ learning rate {END:g}")
    done = flows(setting, options.quick)
    level = escape_threshold(setting.initial)
    print(f"\n{'flow':24}{'seconds':>9}{'evaluations':>13}   rank steps at")
    for name, (seconds, path) in done.items():
        steps = ", ".join(f"{t:.0f}" for t in measured_rank_steps(path, level, 3))
        print(f"{name:24}{seconds:9.1f}{path.solver.n_evaluations:13}   {steps}")
    header = "".join(f"{'/ ' + name:>23}" for name in done)
    print(f"\n{'training':26}{'rate':>6}{'steps':>8}{'timed':>7}{'seconds':>9}{header}   cosine error")
    reference = done["population, identity"][1].W_emb[-1]
    for activation in (IDENTITY, TANH):
        small = 1.0 if options.full and activation is IDENTITY else 0.02
        # The last is the batch and rate of the Emb-MLP's own runs (sim.TrainingConfig's defaults).
        plans = ((None, 0.1, 0.002), (100, 0.1, 1.0), (100, 0.01, small), (100, 1e-4, 2e-4))
        for batch, rate, share in plans:
            steps = round(END / rate)  # type: ignore[assignment]
            n_timed = max(10, round(steps * share))
            per_step, W_emb = train(setting, activation, rate, batch, n_timed)
            name = f"{'full batch' if batch is None else 'SGD, batch 100'}, {activation.name}"
            ratios = "".join(f"{per_step * steps / seconds:22.1f}x" for seconds, _ in done.values())
            compared = n_timed == steps and activation is IDENTITY
            error = f"{cosine_error(W_emb, reference):15.3f}" if compared else ""
            print(f"{name:26}{rate:6g}{steps:8}{n_timed:7}{per_step * steps:9.1f}{ratios}{error}", flush=True)


if __name__ == "__main__":
    main()
