"""Print every number of docs/theory/adaptive.md: ``python docs/theory/adaptive_numbers.py SECTION ...``."""

from __future__ import annotations

import argparse

import numpy as np
import torch
from printing import CommandLine, end_with_reader

from sim.config.run import make_run_config
from sim.seeds import numpy_stream
from sim.training.trainer import Trainer
from theory import (
    AdamSettings,
    EmbMLPParameters,
    adam_steps,
    adaptive_flow,
    cosine_matrix,
    count_population,
    draw_tables,
    expected_cosine,
    frozen_direction,
    frozen_flow,
    off_diagonal,
)

SMALL = {
    "keys": "20..49",
    "n_anchors": 2,
    "length": 3,
    "vocab_size": 80,
    "mappings": [
        {"name": "reasoning", "anchors": "7..12", "rule": "sum", "held_out": [[7, 12]]},
        {"name": "memory", "anchors": "1..6", "rule": "lookup", "low": 20, "high": 69},
    ],
}
"""A ninth of the sequences: for many steps on the full batch."""
ENOUGH = 0.9
"""The cosine with training that is asked for."""


class Setting:
    """The paper's Emb-MLP task in one run's setting: what is trained, and the same as a population."""

    def __init__(
        self, gamma: float, batch: str, d_m: int, d_f: int, n_orders: int, task: object = "emb-mlp"
    ) -> None:
        training = {
            "epochs": 1000,
            "batch_size": batch if batch == "full" else int(batch),
            "optimizer": "adamw",
            "learning_rate": 1e-4,
        }
        model = {"kind": "emb-mlp", "d_m": d_m, "d_f": d_f}
        seeds = list(range(n_orders))
        config = make_run_config(
            {
                "task": task,
                "init_rates": [gamma],
                "seeds": seeds,
                "model": model,
                "data": {"table_seed": 0},
                "training": training,
            }
        )
        self.trainer = Trainer(config.members())
        for tensor in self.trainer.parameters.values():
            # The members differ in the order of batches alone.
            tensor.copy_(tensor[:1].expand_as(tensor).clone())
        start = {name: tensor[0].double().numpy() for name, tensor in self.trainer.parameters.items()}
        self.initial = EmbMLPParameters(**start)
        known = config.build_task()
        self.population = count_population(known, draw_tables(known, numpy_stream(0, "data/table")))
        self.anchors = list(known.anchors)
        own = self.trainer.training
        self.settings = AdamSettings(own.learning_rate, (own.beta1, own.beta2), own.epsilon, own.weight_decay)
        self.batch = None if batch == "full" else int(batch)
        self.n_train = self.trainer.n_train

    def train(self, steps: list[int]) -> np.ndarray:
        """Return W_emb after some steps, shape (n_steps, n_orders, d, d_m)."""
        kept, norms, trainer = [], [], self.trainer
        for step in range(max(steps) + 1):
            if step in steps:
                kept.append(trainer.parameters["W_emb"].double().numpy().copy())
            if step % 50 == 0:
                norms.append(trainer.gradients(*trainer.batches.at(trainer.position))[2])
            if step < max(steps):
                trainer.advance(trainer.position + 1)
        print(f"gradient norms, every 50 steps: at most {float(torch.stack(norms).max()):.3f}")
        return np.array(kept)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b))


def cosine_rmse(a: np.ndarray, b: np.ndarray) -> float:
    difference = cosine_matrix(a) - cosine_matrix(b)
    return float(np.sqrt(np.mean(off_diagonal(difference) ** 2)))


def candidates(s: Setting, short: bool) -> dict[str, dict[str, object]]:
    """Return the rungs that follow Adam, each by what it does not leave out; ``short``: two of them."""
    batches: dict[str, object] = {"batch_size": s.batch, "n_sequences": s.n_train}
    if short:
        return {"coupled": batches | {"softmax": "uniform"}, "tanh, live": batches | {"activation": "tanh"}}
    found: dict[str, dict[str, object]] = {
        "frozen, Adam": {"moving": ("W_emb",), "softmax": "uniform"},
        "coupled, Adam": {"softmax": "uniform"},
        "softmax live": {},
    }
    if s.batch is not None:
        found["frozen, noise"] = found["frozen, Adam"] | batches
        found["coupled, noise"] = found["coupled, Adam"] | batches
        found["live, noise"] = batches
        found["tanh, noise"] = batches | {"activation": "tanh"}
    else:
        found["tanh"] = {"activation": "tanh"}
    return found


def ladder(arguments: list[str]) -> None:
    """Displacement of the anchors: every rung against training, with the ceiling that noise sets."""
    parser = CommandLine(__doc__)
    parser.add_argument("gamma", type=float)
    parser.add_argument("batch")
    parser.add_argument("steps", type=int, nargs="+")
    parser.add_argument("--d_m", type=int, default=64)
    parser.add_argument("--d_f", type=int, default=128)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--small", action="store_true", help="a small task, not the paper's")
    parser.add_argument("--flow", action="store_true", help="adaptive_flow in place of adam_steps")
    o = parser.parse_args(arguments)
    n_orders = 1 if o.batch == "full" else o.orders
    s = Setting(o.gamma, o.batch, o.d_m, o.d_f, n_orders, SMALL if o.small else "emb-mlp")
    anchors = s.anchors
    trained = s.train(o.steps)
    start, C = s.initial.W_emb, s.population.token_label_matrix()
    eq5 = frozen_direction(C, s.initial)
    print(f"γ = {o.gamma}, batch {o.batch}, d_m = {o.d_m}, d_f = {o.d_f}, {n_orders} orders of batches")
    print(f"{'rung':16}{'steps':>6}{'cosine':>8}{'mean run':>9}{'ceiling':>8}{'size':>6}{'RMSE':>7}")

    def report(name: str, step: int, moved: np.ndarray, W_emb: np.ndarray, ceiling: float) -> None:
        runs = trained[o.steps.index(step)]
        shifts = runs[:, anchors] - start[anchors]
        each = np.mean([cosine(moved, shift) for shift in shifts])
        size = np.linalg.norm(moved) / np.mean([np.linalg.norm(shift) for shift in shifts])
        rmse = np.mean([cosine_rmse(W_emb[anchors], run[anchors]) for run in runs])
        mean = cosine(moved, shifts.mean(axis=0))
        print(f"{name:16}{step:6}{each:8.3f}{mean:9.3f}{ceiling:8.3f}{size:6.2f}{rmse:7.3f}", flush=True)

    rates = [s.settings.rate * step for step in o.steps]
    for step, W_emb in zip(o.steps, frozen_flow(C, s.initial, rates).W_emb, strict=True):
        report("eq. 5", step, eq5[anchors], W_emb, 1.0)
        sign = np.sign(eq5)
        report(
            "its sign",
            step,
            s.settings.rate * step * sign[anchors],
            start + s.settings.rate * step * sign,
            1.0,
        )
    for name, options in candidates(s, o.flow).items():
        if o.flow:
            path = adaptive_flow(s.population, s.initial, rates, s.settings, **options)  # type: ignore[arg-type]
            print(name, path.solver)
        else:
            path = adam_steps(s.population, s.initial, o.steps, s.settings, **options)  # type: ignore[arg-type]
        for k, step in enumerate(o.steps):
            moved = (path.W_emb[k] - start)[anchors]
            ceiling = expected_cosine(moved, path["variance"][k][anchors])
            report(name, step, moved, path.W_emb[k], ceiling)


def full(arguments: list[str]) -> None:
    """Every rung as a flow against AdamW's exact steps on the full batch, which are training itself."""
    parser = CommandLine(__doc__)
    parser.add_argument("gamma", type=float)
    parser.add_argument("steps", type=int, nargs="+")
    parser.add_argument("--d_m", type=int, default=64)
    parser.add_argument("--d_f", type=int, default=128)
    parser.add_argument("--small", action="store_true", help="a small task, not the paper's")
    o = parser.parse_args(arguments)
    s = Setting(o.gamma, "full", o.d_m, o.d_f, 1, SMALL if o.small else "emb-mlp")
    start, anchors, rates = s.initial.W_emb, s.anchors, [s.settings.rate * step for step in o.steps]
    exact = adam_steps(s.population, s.initial, o.steps, s.settings, activation="tanh")
    print(f"γ = {o.gamma}, full batch, d_m = {o.d_m}, d_f = {o.d_f}: flows against AdamW's own steps")
    print(f"{'rung':16}{'gradients':>10}{'steps':>6}{'cosine':>8}{'RMSE':>7}")
    for name, (n_gradients, W_emb) in full_batch_flows(s, rates).items():
        cosines = [
            cosine((w - start)[anchors], (e - start)[anchors])
            for w, e in zip(W_emb, exact.W_emb, strict=True)
        ]
        for step, found, w, e in zip(o.steps, cosines, W_emb, exact.W_emb, strict=True):
            rmse = cosine_rmse(w[anchors], e[anchors])
            print(f"{name:16}{n_gradients:10}{step:6}{found:8.3f}{rmse:7.3f}")
        low = [step for step, found in zip(o.steps, cosines, strict=True) if found < ENOUGH]
        print(f"{name:16} first below {ENOUGH}: {low[0] if low else 'at no step'}", flush=True)


def full_batch_flows(s: Setting, rates: list[float]) -> dict[str, tuple[int, np.ndarray]]:
    """Return every rung's number of gradients and its W_emb at some Σ rates."""
    C = s.population.token_label_matrix()
    eq5 = frozen_direction(C, s.initial)
    found = {
        "eq. 5": (0, frozen_flow(C, s.initial, rates).W_emb),
        "its sign": (0, s.initial.W_emb + np.multiply.outer(rates, np.sign(eq5))),
    }
    for name, options in candidates(s, short=False).items():
        path = adaptive_flow(s.population, s.initial, rates, s.settings, **options)  # type: ignore[arg-type]
        found[name] = path.solver.n_evaluations, path.W_emb
    return found


SECTIONS = {"ladder": ladder, "full": full}
EXAMPLES = {"ladder": ["0.8", "100", "30", "--small"], "full": ["0.8", "30", "--small"]}
"""What a section is run with if nothing else is asked for: some seconds."""


def main() -> None:
    end_with_reader()
    torch.set_num_threads(1)
    parser = CommandLine(__doc__)
    parser.add_argument("section", choices=SECTIONS, nargs="?", default="ladder")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    SECTIONS[options.section](options.arguments or EXAMPLES[options.section])


if __name__ == "__main__":
    main()
