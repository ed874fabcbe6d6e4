"""Float64 training of every kind of model: weights, and scores."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import sim
from sim import RunConfig, Trainer, build, make_run_config
from sim.models.initial import initial_std, tensor_specs
from tests.sim.conftest import SMALL_TASK
from tests.toy_text import toy_documents

TASK = SMALL_TASK | {"length": 5}
SMALL = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "n_layers": 2}
BIASED = {"biases": True, "bias_scale": 1.0, "scale_residual": True}
MODELS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"d_m": 8, "d_f": 12, "embedding_fan_in": "d_vob"},
    "emb-mlp, predicted start": {"d_m": 8, "d_f": 12, "initial_embedding": "shuffled-distributions"},
    "one-layer": {"kind": "one-layer", "d_f": 12, "d_k": 4},
    "post, ReLU": SMALL | {"norm": "post", "read_out_bias": True, "norm_biases": True, "bias_scale": 1.0},
    "pre, GELU, 2 heads": SMALL | BIASED | {"norm": "pre", "activation": "gelu", "n_heads": 2},
    "pre, every token": SMALL | {"norm": "pre", "loss": "next-token", "n_layers": 3},
    "pre-queries": SMALL | BIASED | {"norm": "pre-queries", "n_heads": 2},
    "no norm": SMALL | {"norm": "none", "positions": "none", "tensor_init_rates": {"W_Q": 0.2, "W_U": 0.9}},
}
TRAINING = {
    "adamw": {"learning_rate": 3e-3},
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.1, "clip_norm": 0.3},
    "full batch": {"batch_size": "full", "learning_rate": 1e-2, "clip_norm": 0.0},
    "warm-up": {"schedule": "warmup-cosine", "warmup_epochs": 1, "schedule_epochs": 7, "learning_rate": 1e-3},
    "warm-up by epoch, frozen": {
        "schedule": "warmup-cosine",
        "warmup_epochs": 1,
        "schedule_every": "epoch",
        "frozen": ["W_E", "0.W_Q"],
        "evaluations_per_epoch": 3,
    },
}


def config(model: dict[str, Any], training: dict[str, Any], **rest: Any) -> RunConfig:
    """Return a configuration of two members in float64."""
    shared = {"epochs": 2, "batch_size": 16, "dtype": "float64", "evaluate_every": 1, "evaluation_size": 30}
    task = TASK if "kind" in model else SMALL_TASK
    data: dict[str, Any] = {"init_rates": [0.3, 0.8], "task": task} | rest
    if "kind" in model and model["kind"] != "gpt2":
        data = {"data": {"source": "draw", "n_sequences": 400}} | data
    return make_run_config(data | {"model": model, "training": shared | training})


def trained(configuration: RunConfig) -> Iterator[tuple[str, Any]]:
    """Yield weights, sums of learning rates and scores after two epochs of both members together."""
    trainer = Trainer(configuration.members())
    yield "start", trainer.parameters
    for _ in range(2):
        trainer.advance()
    yield "end", [trainer.parameters, trainer.sum_learning_rate]
    yield "scores", trainer.evaluate()


def language(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield GPT-2's training on two small corpora, padded, cut and packed."""
    corpora = []
    for name, seed in (("first", 0), ("second", 1)):
        (folder / f"{name}.txt").write_text("\n\n".join(toy_documents(30, seed)))
        corpora.append({"name": name, "files": [str(folder / f"{name}.txt")]})
    for layout in ("pad", "cut", "pack"):
        task = {"corpora": corpora, "n_sequences": 20, "length": 8 if layout == "cut" else 30}
        task |= {"vocab_size": 12, "layout": layout}
        model = {"kind": "gpt2", "d_m": 8, "n_heads": 2}
        for what, value in trained(config(model, {"learning_rate": 3e-3}, task=task)):
            yield f"gpt2, {layout}: {what}", value


def entries() -> Iterator[tuple[str, Any]]:
    torch.set_num_threads(1)
    for name, model in MODELS.items():
        for what, value in trained(config(model, TRAINING["adamw"])):
            yield f"{name}: {what}", value
    for name, training in TRAINING.items():
        for what, value in trained(config(MODELS["post, ReLU"], training)):
            yield f"{name}: {what}", value
    (first, _) = config(MODELS["pre, every token"], {}).members()
    tokens = torch.arange(20).view(1, 4, 5) % 48
    weights = build([first])
    assert not isinstance(first.model, sim.EmbMLPConfig)
    yield "label logits", sim.model_of(first.model).logits(weights, tokens)
    cache = sim.forward_cache(weights, tokens, first.model)  # type: ignore[arg-type]
    yield "forward cache", {name: value.clamp(min=-9) for name, value in cache.items()}
    yield "initial scales", [initial_std(first, n, s) for n, s in tensor_specs(first).items()]
    with tempfile.TemporaryDirectory() as folder:
        yield from language(Path(folder))
    learned = sim.train_associations([[1, 2, 3, 1], [0, 2, 1, 2]], 4, steps=5, rate=0.5)
    yield "associations", learned.output
