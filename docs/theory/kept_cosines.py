"""Cosines predicted beforehand for Figs. 4, 5, 9 and the demo, kept for their figures.

python docs/theory/kept_cosines.py narrow      the Emb-MLP's, by a narrow network: a minute or two
python docs/theory/kept_cosines.py course      the printed Transformer's, by AdamW's mean course, as far as
                                               it holds beside the kept runs: half an hour of one core
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from printing import names_among

from sim.config.run import make_member_config
from theory import cosine_matrix, off_diagonal
from theory.flows.learning_curves import recorded_steps
from theory.flows.predicted_embedding import GROWTH, Wanted
from validate.compare.flow import flow_cosines
from validate.figures import beforehand
from validate.observe import kept
from validate.predict.course import follow
from validate.predict.predictors import uniform_cosines

ACCURACIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EPOCHS, STARTS, HOLDS = (1, 2, 5, 10), (1000, 1001), 1.2
"""HOLDS is the limit of the RMSE over another seed's, as in transformer_course.toml."""


def narrow() -> None:
    """Predict at the small γ of the figures."""
    found: dict[str, Any] = {"accuracies": ACCURACIES, "seconds": {}, "cosines": {}}
    for rate in ("0.8", "0.5"):
        config = {"task": "emb-mlp", "init_rate": float(rate), "seed": 0, "training": {"epochs": 100}}
        matrices, apart, _, seconds = flow_cosines(make_member_config(config), ACCURACIES)
        told = f"{seconds:.0f} s; two starts apart by {min(apart):.3f} to {max(apart):.3f}"
        print(f"γ = {rate}: {told}", flush=True)
        found["seconds"][rate] = round(seconds, 1)
        found["cosines"][rate] = [off_diagonal(matrix).round(3).tolist() for matrix in matrices]
    write(beforehand.NARROW, found)


def course() -> None:
    """Follow two starts over the first epochs, beside the kept runs of the same setting."""
    runs = [run for name in ("printed", "printed-seeds") for run in kept(name) if run.config.init_rate == 0.8]
    task, config, began = runs[0].task, runs[0].config, time.process_time()
    steps = tuple(line["step"] for line in runs[0].metrics if line["epoch"] in EPOCHS)
    grid = recorded_steps(400_000, GROWTH)
    grid = grid[: np.searchsorted(grid, steps[-1]) + 1]
    courses = (follow(config.model_copy(update={"seed": seed}), grid, 20_000) for seed in STARTS)
    points = Wanted(steps, by_accuracy=False).embedding(courses, "rsn_train")
    found: dict[str, Any] = {"seconds": {"0.8": round(time.process_time() - began)}, "cosines": {"0.8": {}}}
    for k, epoch in enumerate(EPOCHS):
        each = np.array([off_diagonal(cosine_matrix(W[k][[*task.anchors]])) for W in points.W_emb])
        seen = np.array([off_diagonal(run.cosines(task.anchors, epoch)) for run in runs])
        others = np.array([np.roll(seen, shift, axis=0) for shift in range(1, len(seen))])
        known = off_diagonal(uniform_cosines(task, task.anchors))
        seed, ours, order = (
            np.sqrt(((guess - seen) ** 2).mean(axis=-1)).mean()
            for guess in (others, each.mean(axis=0), known)
        )
        print(f"epoch {epoch}: another seed {seed:.3f}, mean course {ours:.3f}, P^s − u {order:.3f}")
        if ours <= HOLDS * seed:
            found["cosines"]["0.8"][epoch] = each.round(3).tolist()
    write(beforehand.COURSE, found)


def write(name: str, found: dict[str, Any]) -> None:
    """Write what is kept of a prediction."""
    text = json.dumps(found, allow_nan=False) + "\n"
    Path(beforehand.__file__).with_name(beforehand.FILES[name]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sections = {"narrow": narrow, "course": course}
    for chosen in names_among(__doc__, "section", list(sections)):
        sections[chosen]()
