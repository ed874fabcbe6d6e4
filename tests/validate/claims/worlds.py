"""For each claim that needs runs, a world in which it holds and one in which it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.validate.claims.synthetic import (
    EPOCHS,
    MEMORIES,
    RANGES,
    SCAN,
    TASK,
    embedding,
    learning,
    looks,
    losses,
    of_embeddings,
    ramp,
    run,
    world,
)
from tests.validate.figures.synthetic_language import make_language_observations
from theory import Lookup, Mapping, Shift, Task
from validate.claims.measures.order import scrambled
from validate.judge.learning_times import PARTS, load_predictions
from validate.observe import Observations
from validate.observe.embedding import embedding_geometry

World = Callable[[bool], Any]
RATES = {"lr1": 1e-5, "lr2": 1e-4, "lr3": 1e-3}


def by_scale(shape: str = "distributions") -> World:
    """Small initial weights look small; in the opposite world large ones do."""

    def made(holds: bool) -> Any:
        return world(lambda _, rate, seed: looks(rate, seed, small=(rate > 0.55) is holds, shape=shape))

    return made


def scan(holds: bool) -> Any:
    """The bias grows with γ; or the other way round. Before training it is no order of γ."""

    def build(_: str, rate: float, seed: int) -> Observations:
        place = SCAN.index(rate) if holds else len(SCAN) - 1 - SCAN.index(rate)
        memory, test = ramp(2.1 + 0.9 * place), ramp(7.3 - 0.8 * place)
        test[0] = 0.001 * float(scrambled(len(SCAN))[SCAN.index(rate)])
        return run(rate, seed, {"mem": memory, "rsn_train": ramp(2), "rsn_test": test})

    return world(build)


def ranges(holds: bool) -> Any:
    """Each group's outputs are uniform on its own labels; or on the widest range."""

    def build(_: str, rate: float, seed: int) -> Observations:
        arrays = {}
        for mapping in RANGES.mappings:
            labels = RANGES.label_range(mapping if holds else RANGES.mappings[-1])
            distribution = np.zeros(RANGES.vocab_size)
            distribution[labels.start : labels.stop] = 1 / len(labels)
            own = RANGES.label_range(mapping)
            arrays[f"outputs/{mapping.name}"] = np.stack([distribution] * len(EPOCHS))
            arrays[f"label_mass/{mapping.name}"] = np.full(
                len(EPOCHS), distribution[own.start : own.stop].sum()
            )
        return run(rate, seed, {"mem": ramp(2)}, task=RANGES, arrays=arrays)

    return world(build)


def memories(holds: bool) -> Any:
    """The table of windows is learned first; or last."""

    def build(_: str, rate: float, seed: int) -> Observations:
        late, early = ramp(8), ramp(2)
        accuracy = {"mem1": late, "mem2": early} if holds else {"mem1": early, "mem2": late}
        return run(rate, seed, {"mem": late, **accuracy}, task=MEMORIES)

    return world(build)


def rates(holds: bool) -> Any:
    """The bias at every rate and a spike at the highest; or the reverse and a spike at the middle one."""

    def build(variant: str, rate: float, seed: int) -> Observations:
        accuracy = learning(small=(rate > 0.55) is holds)
        loss = {part: losses(values) for part, values in accuracy.items()}
        if variant == ("lr3" if holds else "lr2"):
            loss["mem"][10] = 5.0
        return run(rate, seed, accuracy, loss=loss, learning_rate=RATES.get(variant, 1e-4))

    return world(build, tuple(RATES))


def optimisers(holds: bool) -> Any:
    """AdamW knows nothing of γ and SGD does; or both do."""

    def build(variant: str, rate: float, seed: int) -> Observations:
        same = holds and variant != "sgd"
        small = same or rate > 0.55
        found = looks(rate, seed, small=small)
        # The two γ draw their weights for themselves.
        kind = "distributions" if small else "random"
        own = of_embeddings(["random", kind, kind], seed + 50 * (rate > 0.55))
        return replace(found, arrays=found.arrays | own)

    return world(build)


def shuffled(holds: bool) -> Any:
    """Shuffled labels leave the geometry and take the rule; or take the geometry and leave the rule."""

    def build(variant: str, rate: float, seed: int) -> Observations:
        kind = "distributions" if holds or variant == "plain" else "random"
        arrays = of_embeddings(["random", kind, kind], seed + 100 * (variant == "plain"))
        return run(rate, seed, learning(small=variant == "plain" or not holds), arrays=arrays)

    return world(build)


def spread(holds: bool) -> Any:
    """The embedding follows the changed labels; or stays with the plain ones."""
    anchors = TASK.reasoning_anchors
    table = {a: a + 30 * (i >= len(anchors) // 2) for i, a in enumerate(anchors)}
    mappings = [Mapping(TASK.memory_anchors, Lookup(), "memory"), Mapping(anchors, Shift(table), "reasoning")]
    task = Task(keys=TASK.keys, mappings=mappings, n_anchors=2, length=9, vocab_size=160)

    def build(variant: str, rate: float, seed: int) -> Observations:
        changed = variant == "spread"
        W = embedding("distributions", seed, task if changed and holds else TASK)
        found = embedding_geometry(W, TASK)
        arrays = {name: np.stack([found[name]] * len(EPOCHS)) for name in ("gram", "norms")}
        return run(rate, seed, learning(small=True), task=task if changed else TASK, arrays=arrays)

    return world(build)


def noise(holds: bool) -> Any:
    """With noise the sums are not learned, without it they are; or the other way round."""

    def find(needs: Any) -> Any:
        return world(
            lambda _, rate, seed: run(rate, seed, learning(small=(needs.study == "emb-mlp") is holds))
        )(needs)

    return find


def composition(holds: bool) -> Any:
    """The held-out pair is composed at 0.8 and copies its mirror pair at 0.5; or the other way round."""

    def build(_: str, rate: float, seed: int) -> Observations:
        shares = np.full((len(EPOCHS), 21), 1e-4 * seed)
        composes = (rate > 0.55) is holds
        shares[:, [10, 13] if composes else [14, 20]] = [0.9 + 0.01 * seed, 0.1 - 0.02 * seed]
        return run(rate, seed, learning(small=True), arrays={"held_out_deviations": shares})

    return world(build)


def frozen(holds: bool) -> Any:
    """Predicted embeddings are enough; or random ones are."""
    return world(lambda v, rate, seed: run(rate, seed, learning(small=(v == "frozen") is holds)))


def languages(holds: bool) -> Any:
    """Small weights set the first corpus apart and align words as counts say; or large ones do."""

    def build(_: str, rate: float, seed: int) -> Observations:
        small = (rate > 0.55) is holds
        found = make_language_observations(rate, seed)
        for number, line in enumerate(found.metrics):
            gap = 0.0 if number == 0 else 2.0 if small else -0.5
            # Below their tokens' entropy at the end: cosines of a model that knows nothing count for nothing.
            first = line["loss"]["prontoqa"] - (1.5 if number else 0.0)
            line["loss"] = {"prontoqa": first, "tinystories": first + gap + 0.01 * seed}
        contrast = 0.01 * seed + (0.5 if small else -0.5)
        arrays = dict(found.arrays) if small else _swapped(found.arrays)
        for mean in ("mean_cosine", "mean_cosine_matched"):
            arrays[f"{mean}/tinystories"] = arrays[f"{mean}/prontoqa"] + contrast
        return replace(found, arrays=arrays)

    return world(build)


def _swapped(arrays: Any) -> dict[str, Any]:
    """Shuffled text predicts what the text itself does not."""
    names = {"predicted": "control", "control": "predicted"}
    parts = {name: name.partition("/") for name in arrays}
    return {f"{names.get(kind, kind)}/{rest}": arrays[name] for name, (kind, _, rest) in parts.items()}


def predicted_times(holds: bool) -> Any:
    """Every run learns as it was predicted; or late, what it should not, and not what it should."""

    def build(variant: str, rate: float, seed: int) -> Observations:
        optimizer = "sgd" if variant == "sgd" else "adamw"
        known = [p for p in load_predictions() if (p.optimizer, p.init_rate) == (optimizer, rate)]
        found = run(rate, seed, learning(small=True))
        # A setting without a prediction has a rate that none is for.
        training = {"optimizer": optimizer, "learning_rate": known[0].rate if known else 7e-7}
        config = found.config.model_copy(
            update={"training": found.config.training.model_copy(update=training)}
        )
        if not known:
            return replace(found, config=config)
        accuracy = {part: known[0].curves.accuracy[name][0] for part, name in PARTS.items()}
        if not holds:
            accuracy = _otherwise(accuracy, shift=10 + 5 * (SCAN.index(rate) % 2))
        metrics = [
            {"epoch": k, "step": step, "sum_learning_rate": step * known[0].rate * (1 + 0.002 * seed)}
            | {
                kind: {part: float(values[k]) for part, values in accuracy.items()}
                for kind in ("accuracy", "loss")
            }
            for k, step in enumerate(known[0].curves.steps.tolist())
        ]
        return replace(found, config=config, metrics=metrics)

    return world(build, ("adamw", "sgd"))


def _otherwise(accuracy: dict[str, Any], shift: int) -> dict[str, Any]:
    """Return the sums some records early, memory learned where it is not, and the test set 0.6 off."""
    train, memory = accuracy["rsn_train"], accuracy["mem"]
    early = np.append(train[shift:], np.full(shift, train[-1]))
    late = np.linspace(0, 1, len(memory)) if memory.max() < 0.5 else np.zeros(len(memory))
    return {"mem": late, "rsn_train": early, "rsn_test": (accuracy["rsn_test"] + 0.6) % 1}


WORLDS: dict[int, World] = {
    **dict.fromkeys((1, 2, 4, 5, 6, 8, 10, 11, 12, 13, 14, 17, 25, 26, 29), by_scale()),
    **dict.fromkeys((9, 27), by_scale("eq. 14")),
    3: scan,
    15: ranges,
    16: memories,
    18: rates,
    21: optimisers,
    22: shuffled,
    23: spread,
    24: frozen,
    30: noise,
    31: composition,
    **dict.fromkeys(range(32, 38), languages),
    39: predicted_times,
}
