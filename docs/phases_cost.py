"""Measure what the phase diagrams cost, and write it to docs/sweeps.md: python docs/phases_cost.py [--page].

Rates are steps a second of processor time, which other work on the machine disturbs less than wall time. With
--page the page alone is renewed, from the kept rates.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from command_line import has_flag
from marked import replaced
from phases_runs import DOCS, FOLDER

from sim.config.run import Kernels, MemberConfig, steps_in_epoch
from sim.fast.matmul import matmul_route
from sim.runs.files import write_atomically
from sim.runs.provenance import commit_text, machine, software
from sim.training.kernels import choose_kernels
from sim.training.start import choose_member_route
from sim.training.trainer import Trainer
from validate.sweeps import load_sweep

SWEEPS: dict[str, Kernels] = {
    "phases-emb-mlp": "auto",
    "phases-transformer": "auto",
    "phases-small-emb-mlp": "auto",
    "phases-small-transformer": "compiled",
}
"""The sweeps' files, and the kernels that each is trained with."""
PAGE, RATES = DOCS / "sweeps.md", FOLDER / "rates.json"
CORES = 64
ROUNDS, STEPS = 5, 20


def rate_of(member: MemberConfig, kernels: Kernels) -> dict[str, Any]:
    """Return the processor time of a member's step and of one evaluation: the medians of some rounds."""
    trainer = Trainer([member])
    with matmul_route(choose_member_route(member).route):
        used = choose_kernels(trainer, kernels).used
        trainer.step(*trainer.batches.at(0))
        rounds = [(_seconds_of_steps(trainer), _seconds_of_evaluation(trainer)) for _ in range(ROUNDS)]
    step, evaluation = (sorted(each)[ROUNDS // 2] for each in zip(*rounds, strict=True))
    return {
        "step_seconds": step,
        "evaluation_seconds": evaluation,
        "kernels": used,
        "steps_in_epoch": steps_in_epoch(len(trainer.datasets[0].train), member.training.batch_size),
    }


def _seconds_of_steps(trainer: Trainer) -> float:
    start = time.process_time()
    for position in range(STEPS):
        trainer.step(*trainer.batches.at(position))
    return (time.process_time() - start) / STEPS


def _seconds_of_evaluation(trainer: Trainer) -> float:
    start = time.process_time()
    trainer.evaluate()
    return time.process_time() - start


def measure() -> dict[str, Any]:
    """Return the rates of a run of every sweep and norm, and where they were measured."""
    torch.set_num_threads(1)
    # Asked for first: measuring takes minutes, in which the checkout may change.
    origin = {**software(), **machine()}
    found: dict[str, Any] = {}
    for name, kernels in SWEEPS.items():
        members = list(load_sweep(DOCS / "configs" / f"{name}.toml").members.values())
        firsts = {str(getattr(member.model, "norm", "")): member for member in reversed(members)}
        found[name] = {norm: rate_of(member, kernels) for norm, member in firsts.items()}
    where = {key: origin[key] for key in ("commit", "dirty", "versions", "processor")}
    return {"measured": where, "rates": found}


def cost(name: str, rates: dict[str, Any]) -> dict[str, float]:
    """Return the runs, steps and core seconds of a sweep, and its seconds on so many cores."""
    runs, steps = [], 0
    for member in load_sweep(DOCS / "configs" / f"{name}.toml").members.values():
        rate, training = rates[name][str(getattr(member.model, "norm", ""))], member.training
        own = training.epochs * rate["steps_in_epoch"]
        evaluations = training.epochs * training.evaluations_per_epoch / training.evaluate_every + 1
        runs.append(own * rate["step_seconds"] + evaluations * rate["evaluation_seconds"])
        steps += own
    loads = [0.0] * CORES
    for seconds in runs:
        loads[loads.index(min(loads))] += seconds
    return {"runs": len(runs), "steps": steps, "core_seconds": sum(runs), "on_cores": max(loads)}


def table(data: dict[str, Any]) -> str:
    """Return the costs as a Markdown table, with where the rates come from."""
    lines = [
        f"| file | runs | steps | steps a second and core | one core | {CORES} cores |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, by_norm in data["rates"].items():
        found = cost(name, data["rates"])
        rates = sorted(1 / rate["step_seconds"] for rate in by_norm.values())
        shown = " to ".join(dict.fromkeys(_spaced(_two_digits(rate)) for rate in (rates[0], rates[-1])))
        steps = _spaced(found["steps"])
        times = f"{_duration(found['core_seconds'])} | {_duration(found['on_cores'])}"
        lines.append(f"| `docs/configs/{name}.toml` | {found['runs']} | {steps} | {shown} | {times} |")
    where = data["measured"]
    origin = f"{where['processor']}, torch {where['versions']['torch']}, commit `{commit_text(where)}`"
    return "\n".join([*lines, "", f"Measured on: {origin}."])


def _spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _two_digits(value: float) -> float:
    return round(value, 1 - math.floor(math.log10(value)))


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def main() -> None:
    """Measure unless the page alone is wanted, and renew the page."""
    if not has_flag(__doc__, "--page", "renew the page alone"):
        write_atomically(RATES, json.dumps(measure(), indent=1) + "\n")
    data = json.loads(Path(RATES).read_text())
    write_atomically(PAGE, replaced(PAGE.read_text(), "phases", table(data)))


if __name__ == "__main__":
    main()
