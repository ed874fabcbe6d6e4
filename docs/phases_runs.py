"""The kept runs of the phase diagrams: a file for each sweep, with every accuracy of every run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sim import Run
from sim.config.run import MemberConfig
from validate.judge.times import DATA_SETS
from validate.sweeps import Plan, Sweep, load_sweep, plan_of

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "results" / "phases"
SWEEPS = {"emb-mlp": "Emb-MLP", "transformer": "Transformer"}
"""The sweeps that are kept, and the model of each."""
ORIGIN = ("commit", "dirty", "python", "versions", "processor")
"""What a run's provenance says of the code and the machine that trained it."""


@dataclass(frozen=True)
class Kept:
    """What is kept of one sweep.

    Attributes
    ----------
    name : str
        One of ``SWEEPS``.
    data : dict
        The file's content.
    """

    name: str
    data: Mapping[str, Any]

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep's file, which has the configuration of every run by the run's name."""
        return load_sweep(config_file(self.name))

    @property
    def origins(self) -> list[dict[str, Any]]:
        """The code and the machines that trained the runs; each run says which of them."""
        found: list[dict[str, Any]] = self.data["origins"]
        return found

    @property
    def state(self) -> dict[str, int]:
        """How many runs the sweep has, and how many of them are complete and diverged."""
        found: dict[str, int] = self.data["state"]
        return found

    @cached_property
    def runs(self) -> list[tuple[MemberConfig, list[dict[str, Any]]]]:
        """The configuration and the metrics of each complete run, in the order of the sweep's file."""
        kept = {run["run"]: run for run in self.data["runs"]}
        members = self.sweep.members.items()
        return [(member, _metrics(member, kept[name])) for name, member in members if name in kept]


def config_file(name: str) -> Path:
    """Return the file of a sweep that is kept."""
    return DOCS / "configs" / f"phases-small-{name}.toml"


def kept_file(name: str) -> Path:
    """Return where a sweep is kept."""
    return FOLDER / f"{name}.json"


def read(name: str) -> Kept:
    """Return what is kept of a sweep."""
    return Kept(name, json.loads(kept_file(name).read_text()))


def gather(name: str, out: Path) -> Kept:
    """Return what is to be kept of a sweep, from the folder of its runs: the accuracies of complete ones."""
    plan = plan_of(load_sweep(config_file(name)), out)
    origins: list[dict[str, Any]] = []
    done = [run for run, state in plan.states.items() if state == "complete"]
    runs = [_run(run, Run.open(plan.paths[run]), origins) for run in done]
    return Kept(name, {"state": _state(plan), "origins": origins, "runs": runs})


def text_of(kept: Kept) -> str:
    """Return the file's text: JSON with a line for each run."""
    head = {key: value for key, value in kept.data.items() if key != "runs"}
    lines = ",\n".join(json.dumps(run) for run in kept.data["runs"])
    return f'{json.dumps(head, indent=1)[:-2]},\n "runs": [\n{lines}\n]}}\n'


def _state(plan: Plan) -> dict[str, int]:
    states = list(plan.states.values())
    return {"runs": len(states)} | {state: states.count(state) for state in ("complete", "diverged")}


def _run(name: str, run: Run, origins: list[dict[str, Any]]) -> dict[str, Any]:
    origin = {key: run.provenance[key] for key in ORIGIN} | {"kernels": run.provenance["kernels"]["used"]}
    if origin not in origins:
        origins.append(origin)
    accuracy = {part: [round(line["accuracy"][part], 5) for line in run.metrics] for part in DATA_SETS}
    return {
        "run": name,
        "origin": origins.index(origin),
        "wall_seconds": round(run.provenance["wall_seconds"], 1),
        "step": [line["step"] for line in run.metrics],
        "accuracy": accuracy,
    }


def _metrics(config: MemberConfig, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics of a run; its rate is constant, so that Σ learning rate is rate × steps."""
    rate = config.training.learning_rate
    return [
        {
            "step": step,
            "sum_learning_rate": rate * step,
            "accuracy": {part: run["accuracy"][part][i] for part in DATA_SETS},
        }
        for i, step in enumerate(run["step"])
    ]
