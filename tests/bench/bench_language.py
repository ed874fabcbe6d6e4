"""How fast GPT-2 trains on a CPU, against Hugging Face's own Trainer at the same size in the same run."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from sim import (
    CorpusSource,
    MemberConfig,
    Trainer,
    make_language_task,
    make_run_config,
    prontoqa_questions,
    toy_facts,
)
from sim.fast.matmul import matmul_route
from sim.fast.memory import keep_freed_memory
from sim.training.kernels import member_route

SIZES = {"n_layers": 2, "n_heads": 4, "d_m": 128}
LENGTH, BATCH = 128, 16
STEPS, ROUNDS = 20, 3
OURS, THEIRS, LIMIT = "anchorflow", "Hugging Face Trainer", "limit"


def bench_language(steps: int = STEPS, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return tokens per second of one thread: this engine's, Hugging Face's, and their ratio.

    Both train the same sequences with AdamW and clipping, in float32, on one thread; rounds alternate. There
    is no padding that one of them could skip. Without transformers and accelerate there is no comparison.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    keep_freed_memory()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = _rounds(Path(folder), steps, rounds)
    finally:
        torch.set_num_threads(before)
    limits = found.pop(LIMIT)
    shares = [ours / limit for ours, limit in zip(found[OURS], limits, strict=True)]
    ratios = [ours / theirs for ours, theirs in zip(found[OURS], found[THEIRS], strict=False)]
    rates = {name: _spread(values) for name, values in found.items() if values}
    return {
        "what": _what(),
        "tokens_per_second": rates,
        "ratio": _spread(ratios) if ratios else None,
        "share_of_limit": _spread(shares),
    }


def _rounds(folder: Path, steps: int, rounds: int) -> dict[str, list[float]]:
    member = _member(folder)
    trainer = Trainer([member])
    theirs = _hugging_face(trainer, folder) if find_spec("transformers") and find_spec("accelerate") else None
    found: dict[str, list[float]] = {OURS: [], THEIRS: [], LIMIT: []}
    with matmul_route(member_route(member).route):
        for _ in range(rounds):
            found[LIMIT].append(_limit(member))
            found[OURS].append(_rate(trainer, steps))
            if theirs is not None:
                found[THEIRS].append(theirs(steps))
    return found


def _limit(member: MemberConfig) -> float:
    """Return the tokens per second of a step of nothing but its products with weights."""
    route = member_route(member)
    d_m, layers = SIZES["d_m"], SIZES["n_layers"]
    weights = 12 * layers * d_m**2 + member.task.vocab_size * d_m
    return max(route.gflops.values()) * 1e9 / (6 * weights)


def language_table(found: dict[str, Any]) -> list[str]:
    """Return lines: tokens per second, and the ratio."""
    lines = ["", found["what"]]
    for name, rate in found["tokens_per_second"].items():
        lines.append(f"{name:>24}{rate['median']:>10.0f} [{rate['min']:.0f}, {rate['max']:.0f}]")
    low, median, high = (found["share_of_limit"][key] for key in ("min", "median", "max"))
    lines.append(f"{'share of products alone':>24}{median:>10.2f} [{low:.2f}, {high:.2f}]")
    if found["ratio"] is None:
        return [*lines, "Hugging Face's Trainer not measured: pip install 'anchorflow[language]'"]
    low, median, high = (found["ratio"][key] for key in ("min", "median", "max"))
    return [*lines, f"{'times Hugging Face':>24}{median:>10.2f} [{low:.2f}, {high:.2f}]"]


class _Clock:
    """A callback of Hugging Face's Trainer that notes when each step ends."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: self.ends.append(time.perf_counter()) if name == "on_step_end" else None


def _what() -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in SIZES.items())
    return f"GPT-2 ({sizes}), {BATCH} sequences of {LENGTH}, one thread: tokens per second, median [range]"


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _member(folder: Path) -> MemberConfig:
    texts = {
        "questions": [question.text for question in prontoqa_questions(2000)],
        "facts": toy_facts(8000),
    }
    sources = []
    for name, own in texts.items():
        file = folder / f"{name}.txt"
        file.write_text("\n\n".join(own))
        sources.append(CorpusSource(name=name, files=(str(file),)))
    task = make_language_task(sources, length=LENGTH, layout="pack")
    training = {"batch_size": BATCH, "learning_rate": 3e-4, "epochs": 1000}
    return make_run_config(
        {"task": task.model_dump(mode="json"), "model": {"kind": "gpt2", **SIZES}, "training": training}
    ).members()[0]


def _steps(trainer: Trainer, steps: int) -> None:
    for _ in range(steps):
        trainer.advance(trainer.position + 1)


def _rate(trainer: Trainer, steps: int) -> float:
    _steps(trainer, 2)
    start = time.perf_counter()
    _steps(trainer, steps)
    return steps * BATCH * LENGTH / (time.perf_counter() - start)


def _hugging_face(trainer: Trainer, folder: Path) -> Callable[[int], float]:
    """Return a function that takes some steps with Hugging Face's Trainer, and says how fast they were."""
    library: Any = import_module("transformers")
    vocab_size = trainer.task.vocab_size
    sizes = {"n_embd": SIZES["d_m"], "n_layer": SIZES["n_layers"], "n_head": SIZES["n_heads"]}
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    special = dict.fromkeys(("bos_token_id", "eos_token_id"))
    config = library.GPT2Config(vocab_size=vocab_size, n_positions=LENGTH, **sizes, **dropout, **special)
    model = library.GPT2LMHeadModel(config)
    # Its loss shifts the labels itself.
    data = [{"input_ids": row, "labels": row} for row in trainer.datasets[0].tokens]

    def rate(steps: int) -> float:
        clock = _Clock()
        settings = library.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=BATCH,
            max_steps=steps + 2,
            learning_rate=3e-4,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        library.Trainer(model=model, args=settings, train_dataset=data, callbacks=[clock]).train()
        return steps * BATCH * LENGTH / (clock.ends[-1] - clock.ends[1])

    return rate
