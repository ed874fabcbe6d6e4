"""The predicted times at which an Emb-MLP learns a task, as ``anchorflow predict --curves`` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, cast

from sim.config.model import EmbMLPConfig, TransformerConfig
from sim.config.run import MemberConfig
from sim.runs.files import finite
from theory import InputError, LearningCurves, predict_learning
from theory.flows.learning_curves import training_size


def predict_for(config: MemberConfig, seeds: Sequence[int], **options: Any) -> LearningCurves:
    """Return the predicted curves of a run's setting, from initial weights of their own.

    Options are those of ``predict_learning``, errors as in ``flow_arguments``.
    """
    setting = flow_arguments(config)
    return predict_learning(n_epochs=config.training.epochs, seeds=seeds, **setting, **options)


def flow_arguments(config: MemberConfig) -> dict[str, Any]:
    """Return the setting of a run as arguments of theory's flows.

    A run is refused unless it is of an Emb-MLP, drawn at one γ, at a constant rate, without momentum, on the
    whole population with its own labels.
    """
    model, training = config.model, config.training
    if not isinstance(model, EmbMLPConfig) or model.activation not in ("tanh", "identity"):
        raise InputError("config", config.name, "not an Emb-MLP with tanh or identity", "choose another run")
    check_course(config)
    drawn = model.one_initial_scale and model.initial_embedding == "random"
    whole = config.data.source == "enumerate" and not config.data.shuffle_labels
    if not (drawn and whole) or training.batch_size == "full":
        problem, remedy = "this kind of training is not predicted", "choose a run drawn at one γ"
        raise InputError("config", config.name, problem, f"{remedy}, on all sequences, in batches")
    task = config.build_task()
    return {
        "task": task,
        "settings": training.flow(),
        "init_rate": config.init_rate,
        "d_m": model.d_m,
        "d_f": model.d_f,
        "batch_size": min(training.batch_size, training_size(task)),
        "clip_norm": training.clip_norm,
        "activation": model.activation,
    }


def check_course(config: MemberConfig) -> None:
    """Refuse a training whose mean course is not followed, of any model."""
    training = config.training
    if training.schedule != "constant" or training.flow() is None or training.frozen:
        problem, remedy = "this kind of training is not predicted", "choose AdamW, or SGD without momentum"
        raise InputError("config", config.name, problem, f"{remedy}, at a constant rate, of all tensors")


def time_rows(curves: LearningCurves) -> list[list[str]]:
    """Return one line per data set: when its accuracy passes one half, and accuracy and loss at the end."""
    rows = []
    for name, loss in curves.loss.items():
        steps = curves.half_time(name)
        more = "> " * math.isinf(steps)
        steps = float(curves.steps[-1]) if more else steps
        when = [f"{more}{steps:.0f}", f"{more}{steps / curves.steps_per_epoch:.4g}"]
        rows.append([name, *when, f"{curves.accuracy[name][:, -1].mean():.3f}", f"{loss[:, -1].mean():.3f}"])
    return rows


def bias_sentences(curves: LearningCurves) -> list[str]:
    """Return the log2 ratio of the times of every two data sets of which at least one is learned."""
    names = sorted(curves.loss, key=curves.half_time, reverse=True)
    sentences = []
    for slow, fast in combinations(names, 2):
        bias = curves.bias(slow, fast)
        if math.isinf(bias):
            end = math.log2(curves.steps[-1] / curves.half_time(fast))
            sentences.append(
                f"{slow} after {fast}: more than {end:.2f} doublings (it is not learned by the end)."
            )
        elif not math.isnan(bias):
            sentences.append(f"{slow} after {fast}: {bias:.2f} doublings.")
    return sentences


def fallen_sentences(curves: LearningCurves) -> list[str]:
    """Return a sentence for each data set that was half learned, and is not at the end."""
    return [
        f"{name} falls back: half learned at epoch {curves.half_time(name) / curves.steps_per_epoch:.4g}, "
        f"and {rows[:, -1].mean():.3f} right at the end."
        for name, rows in curves.accuracy.items()
        if math.isfinite(curves.half_time(name)) and rows[:, -1].mean() < 0.5
    ]


def setting(member: MemberConfig) -> str:
    """Name the network and the optimiser of the curves."""
    model, training = cast("EmbMLPConfig | TransformerConfig", member.model), member.training
    return (
        f"γ = {member.init_rate:g}, {training.title} {training.learning_rate:g}, "
        f"batch {training.batch_size}, d_m {model.d_m}, d_f {model.d_f}"
    )


def sure_sentences(member: MemberConfig, curves: LearningCurves, route: str) -> list[str]:
    """Return sentences on the uncertainty of the times, and on times beyond the end."""
    sentences = [f"One start and one memory table (seed {member.seed}), nothing fitted."]
    if route == "flow":
        sentences.append("How far such times are from those of trained runs: anchorflow claims 39 --verbose.")
    else:
        sentences.append(
            "From a narrower network that learns alike (docs/theory/learning_times.md says how nearly); a "
            "warning names the data sets whose times depend on the width."
        )
    if any(math.isinf(curves.half_time(name)) for name in curves.loss):
        epochs = curves.steps[-1] // curves.steps_per_epoch
        sentences.append(f"The curves end at epoch {epochs}: --epochs follows them further.")
    return sentences


def curves_json(curves: LearningCurves) -> dict[str, Any]:
    """Return plain data; null for a time that is not reached."""
    return {
        "steps": curves.steps.tolist(),
        "steps_per_epoch": curves.steps_per_epoch,
        "loss": {name: rows.mean(axis=0).tolist() for name, rows in curves.loss.items()},
        "accuracy": {name: rows.mean(axis=0).tolist() for name, rows in curves.accuracy.items()},
        "half_learned": {name: finite(curves.half_time(name)) for name in curves.loss},
    }
