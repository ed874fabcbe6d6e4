"""Print the tables of docs/theory/adaptive.md: ``python docs/theory/adaptive_numbers.py SECTION ...``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from printing import print_sections
from small_runs import SMALL, Setting, trained

from theory import (
    AdamSettings,
    Task,
    adam_steps,
    cosine_matrix,
    frozen_direction,
    frozen_flow,
    off_diagonal,
)
from theory.edge.arrays import FloatArray

RUNGS: dict[str, dict[str, Any]] = {
    "frozen, Adam": {"moving": ("W_emb",), "softmax": "uniform"},
    "coupled": {"softmax": "uniform"},
    "softmax live": {},
    "softmax live, tanh": {"activation": "tanh"},
}


def compared(setting: Setting, start: FloatArray, ours: FloatArray, run: FloatArray) -> tuple[float, ...]:
    """Return the cosine of the anchors' displacements, their ratio of lengths, and the RMSE of cosines."""
    anchors = list(setting.task.anchors)
    a, b = (ours - start)[anchors], (run - start)[anchors]
    norms = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    difference = off_diagonal(cosine_matrix(ours[anchors]) - cosine_matrix(run[anchors]))
    return (
        float(np.sum(a * b) / norms[0] / norms[1]),
        norms[0] / norms[1],
        float((difference**2).mean() ** 0.5),
    )


def embeddings(setting: Setting, marks: list[int], order: int) -> list[FloatArray]:
    """Return W_emb of a run after some steps."""
    course = enumerate(trained(setting, marks[-1], order), 1)
    return [weights[0].double().numpy().copy() for step, weights in course if step in marks]


def displacement() -> None:
    """Displacement of the anchors at batch 100, the paper's task at d_m 64, d_f 128: every rung."""
    print(
        "| γ | steps | rung | cosine without noise | with noise | length | RMSE of cosines |\n"
        + "| --- " * 7
        + "|"
    )
    task, settings = Task.paper(length=3), AdamSettings(1e-4)
    for gamma in (0.3, 0.6, 0.9):
        setting = Setting(task, settings, gamma, d_m=64, d_f=128, batch=100)
        population, initial, *_ = setting.start()
        marks = [300, 1000, 3000]
        runs = [embeddings(setting, marks, order) for order in range(2)]
        times = [settings.rate * mark for mark in marks]
        C = population.token_label_matrix()
        paths = {"eq. 5": [frozen_flow(C, initial, times).W_emb] * 2}
        paths["its sign"] = [
            initial.W_emb + np.multiply.outer(times, np.sign(frozen_direction(C, initial)))
        ] * 2
        for name, options in RUNGS.items():
            noise: dict[str, Any] = {"batch_size": 100, "n_sequences": setting.n_train}
            plain: dict[str, Any] = {}
            both = (adam_steps(population, initial, marks, settings, **options, **n) for n in (plain, noise))
            paths[name] = [path.W_emb for path in both]
        for k, mark in enumerate(marks):
            for name, (without, with_noise) in paths.items():
                rows = [
                    [compared(setting, initial.W_emb, path[k], run[k]) for run in runs]
                    for path in (without, with_noise)
                ]
                cosine, length, rmse = np.mean(rows[1], axis=0)
                unaided = np.mean(rows[0], axis=0)[0]
                cells = f"{unaided:.3f} | {cosine:.3f} | {length:.2f} | {rmse:.3f}"
                print(f"| {gamma} | {mark} | {name} | {cells} |", flush=True)


def validity() -> None:
    """Where the flow holds: rates and batch sizes at Σ rate 0.2, the worst of γ 0.3, 0.6 and 0.9."""
    print(
        "| rate | batch | noise | cosine of two runs | with a run | length | RMSE of cosines |\n"
        + "| --- " * 7
        + "|"
    )
    warnings.simplefilter("ignore")
    for rate in (1e-4, 1e-3, 3e-3, 1e-2):
        for batch in (1, 4, 16, 50, 200):
            rows = []
            for gamma in (0.3, 0.6, 0.9):
                settings = AdamSettings(rate)
                setting = Setting(SMALL, settings, gamma, batch=batch)
                population, initial, *_ = setting.start()
                mark, n = round(0.2 / rate), setting.n_train
                options: dict[str, Any] = {
                    "batch_size": batch,
                    "n_sequences": n,
                    "activation": "tanh",
                }
                flow = adam_steps(population, initial, [mark], settings, **options).W_emb[0]
                runs = [embeddings(setting, [mark], order)[0] for order in range(2)]
                among = compared(setting, initial.W_emb, runs[0], runs[-1])[0]
                found = np.mean([compared(setting, initial.W_emb, flow, run) for run in runs], axis=0)
                rows.append([among, *found])
            table = np.array(rows)
            length = table[np.argmax(np.abs(np.log(table[:, 2]))), 2]
            noise = f"{rate * (n - batch) / (n - 1) / batch:.1e}"
            cells = [
                f"{table[:, 0].min():.3f}",
                f"{table[:, 1].min():.3f}",
                f"{length:.2f}",
                f"{table[:, 3].max():.3f}",
            ]
            print(f"| {rate:g} | {batch} | {noise} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    print_sections({"displacement": displacement, "validity": validity}, __doc__)
