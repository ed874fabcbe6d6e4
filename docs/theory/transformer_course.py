"""AdamW's mean course of a Transformer beside its runs, at the settings of transformer_course.toml.

python docs/theory/transformer_course.py                  print the table from what is kept
python docs/theory/transformer_course.py --run            train and follow first: minutes of a core each
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from printing import CommandLine, print_markdown

import sim
from sim.config.run import MemberConfig
from sim.models.base import model_of
from sim.training.trainer import Trainer
from theory import cosine_matrix, off_diagonal
from theory.edge.arrays import FloatArray
from theory.flows.learning_curves import Followed, recorded_steps
from theory.flows.mean_training import MOST_GRADIENTS
from theory.flows.predicted_embedding import GROWTH, Wanted
from validate.judge.measures.prediction import RIVALS
from validate.predict.course import follow
from validate.predict.predictors import uniform_cosines

HERE = Path(__file__).parent
SETTINGS = tomllib.loads((HERE / "transformer_course.toml").read_text(encoding="utf-8"))
KEPT = HERE / "transformer_course.json"
SEEDS, STARTS, ORDER = (0, 1, 2), (1000, 1001), 77
LEVELS, LEARNED, FIRST, LAST = (0.1, 0.3), "rsn_train", 100, 6000


def member(name: str, seed: int) -> MemberConfig:
    """Return a run of a setting."""
    given: dict[str, Any] = SETTINGS["base"] | SETTINGS[name]
    training = {key: given[key] for key in ("epochs", "learning_rate", "batch_size")}
    data = {"task": given["task"], "init_rates": [given["init_rate"]], "seeds": [seed]}
    model = {"kind": "transformer"} | given["model"]
    return sim.make_run_config(data | {"training": training, "model": model}).members()[0]


def trained(config: MemberConfig, steps: Iterable[int], order: int | None = None) -> Iterator[Followed]:
    """Yield the points of a run, whose batches have an order of their own if one is given."""
    trainer = Trainer([config])
    if order is not None:
        trainer.generators[0].manual_seed(order)
        trainer.begin_epoch()
    data, model = trainer.datasets[0], model_of(config.model)
    rows, taken = data.parts[LEARNED], 0
    for step in steps:
        while taken < step:
            trainer.advance(trainer.position + 1)
            taken += 1
        with torch.no_grad():
            found = model.scores(trainer.parameters, data.tokens[None, rows], data.labels[None, rows])
        embedding = trainer.parameters[config.model.embedding][0].numpy().copy()
        yield Followed(step, embedding, {LEARNED: (found.loss / found.n, found.correct / found.n)})


def until_learned(course: Iterable[Followed]) -> tuple[list[Followed], float]:
    """Return the points up to the last level, and the processor time that they took."""
    began, points = time.process_time(), []
    for point in course:
        points.append(point)
        if point.scores[LEARNED][1] >= LEVELS[-1]:
            break
    return points, time.process_time() - began


def measured(name: str) -> dict[str, Any]:
    """Return what the conditions compare at a setting."""
    steps, own = recorded_steps(LAST, GROWTH), [member(name, seed) for seed in SEEDS]
    anchors = list(own[0].build_task().anchors)
    runs = [until_learned(trained(config, steps)) for config in own]
    points, seconds = runs[0]
    until = [point.step for point in points]
    other = [*trained(own[0], until, ORDER)]
    began = time.process_time()
    same = [*follow(own[0], until, MOST_GRADIENTS)]
    cost = (time.process_time() - began) / seconds
    courses = [until_learned(follow(member(name, seed), steps, MOST_GRADIENTS))[0] for seed in STARTS]

    def moved(at: Followed) -> FloatArray:
        return (at.W_emb - points[0].W_emb)[anchors].ravel()

    def cosine(a: FloatArray, b: FloatArray) -> float:
        return round(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), 4)

    displacement = [
        (here.step, round(here.scores[LEARNED][1], 3), *(cosine(moved(x), moved(here)) for x in beside))
        for here, *beside in zip(points, other, same, strict=True)
        if here.step >= FIRST
    ]
    wanted = Wanted(LEVELS, by_accuracy=True)
    observed = wanted.embedding((run for run, _ in runs), LEARNED)
    predicted = wanted.embedding(courses, LEARNED)
    task, errors = own[0].build_task(), dict[str, Any]()
    known = off_diagonal(uniform_cosines(task, anchors)), RIVALS["same mapping or not"](task, task.anchors)
    for k, level in enumerate(LEVELS):
        seen = np.array([off_diagonal(cosine_matrix(W[k][anchors])) for W in observed.W_emb])
        ours = off_diagonal(predicted.cosines(anchors)[k])
        guesses = ours, np.roll(seen, -1, axis=0), *known
        each = [np.sqrt(np.mean((x - seen) ** 2, axis=1)) for x in guesses]
        errors[f"{level:g}"] = [round(float(error.mean()), 4) for error in each]
    times = {"runs": observed.steps.round(1).tolist(), "courses": predicted.steps.round(1).tolist()}
    return {"rmse": errors, "displacement": displacement, "cost": round(cost, 2), "steps": times}


def row(name: str, found: dict[str, Any]) -> list[str]:
    """Return a line of the table: at each accuracy another seed's RMSE and others' over it; and cost."""
    ours, seed, uniform, mapping = zip(*found["rmse"].values(), strict=True)
    over = [[x / y for x, y in zip(each, seed, strict=True)] for each in (uniform, mapping, ours)]
    cells = [", ".join(f"{x:.3f}" for x in seed), *(", ".join(f"{x:.2f}" for x in each) for each in over)]
    return [f"Transformer, {name}", *cells, "", f"{found['cost']:.1f}", ""]


if __name__ == "__main__":
    line = CommandLine(__doc__)
    line.add_argument("--run", action="store_true", help="train and follow first")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if line.parse_args().run:
        torch.set_num_threads(1)
        for name in [name for name in SETTINGS if name not in {"base", *kept}]:
            kept[name] = measured(name)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(name, kept[name], flush=True)
    heads = ("another seed", "P^s − u", "same mapping or not", "course", "narrow network")
    header = ["setting", *heads, "cost: course", "narrow network"]
    print_markdown(header, (row(name, kept[name]) for name in kept))
    for name in kept:
        below = max(order - course for *_, order, course in kept[name]["displacement"])
        print(f"{name}: the displacement's cosine is at most {below:.4f} below the other order's")
