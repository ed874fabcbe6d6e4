"""Print the numbers of docs/theory/layer_norm.md: python docs/theory/layer_norm_numbers.py [section ...].

Sections: regimes course. No training; the second takes a quarter of a minute.
"""

from __future__ import annotations

import numpy as np
from printing import print_sections

import theory as th
from theory.arrays import FloatArray

RATES = (0.3, 0.5, 0.65, 0.8, 1.0, 1.2)


def regimes() -> None:
    print("## the paper's Transformer (d_m 200, d_k 64, d_f 512, L 9, ReLU), epsilon 1e-5")
    print(f"first norm reads a variance of epsilon at gamma = {th.epsilon_init_rate(200):.3f}")
    print("gamma  1/sqrt(v + eps)  v/(v + eps)  second post norm    attention / residual    FFN / residual")
    print(
        "                                                         none   pre    post      none   pre    post"
    )
    for gamma in RATES:
        variance = 2 * 200 ** (-2 * gamma)
        shares = [th.initial_norm_share(200, gamma, norm="post", n_norms=n) for n in (1, 2)]
        gains = [th.branch_gains(200, 64, 512, 9, gamma, norm=norm) for norm in ("none", "pre", "post")]
        attention = "  ".join(f"{gain.attention:5.3f}" for gain in gains)
        forward = "  ".join(f"{gain.feed_forward:5.3f}" for gain in gains)
        print(
            f"{gamma:<5}  {(variance + 1e-5) ** -0.5:<15.1f}  {shares[0]:<11.4f}  {shares[1]:<18.6f}  "
            f"{attention}     {forward}"
        )


def course() -> None:
    print("## mean cosine among memory anchors, mean of all tables; AdamW at 1e-4, batch 100, gamma 0.8")
    print("norm  step  embedding  displacement  behind the norm  |w| / |w(0)|")
    task, steps = th.Task.paper(), [200, 500, 1000, 2000]
    joint = np.stack(
        [
            th.last_position_ratio(task, s, held_out=True)
            * th.last_position_distribution(task, s, held_out=True)
            for s in range(200)
        ]
    )
    memory = list(task.memory_anchors)
    for norm in ("none", "pre", "post"):
        rng = np.random.default_rng(0)
        W_E, W_U, position = (200**-0.8 * rng.standard_normal(s) for s in ((200, 200), (200, 200), 200))
        path = th.last_token_adam(
            joint,
            W_E,
            W_U,
            steps,
            th.AdamSettings(1e-4),
            position=position,
            norm=norm,
            n_layers=2,
            batch_size=100,
        )
        for step, rows in zip(steps, path, strict=True):
            own, start = rows[memory], W_E[memory]
            size = np.linalg.norm(own) / np.linalg.norm(start)
            means = [_mean(own), _mean(own - start), _mean(own - own.mean(axis=1, keepdims=True))]
            print(
                f"{norm:5} {step:<5} {means[0]:<10.3f} {means[1]:<13.3f} {means[2]:<16.3f} {size:.2f}",
                flush=True,
            )


def _mean(rows: FloatArray) -> float:
    return float(th.off_diagonal(th.cosine_matrix(rows)).mean())


SECTIONS = {"regimes": regimes, "course": course}

if __name__ == "__main__":
    print_sections(SECTIONS, __doc__)
