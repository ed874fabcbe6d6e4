"""anchorflow train: every γ and seed of a configuration, each into a run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from sim.config import Kernels, RunConfig, make_run_config
from sim.presets import load_preset, merge
from theory.task_toml import load_toml
from validate.commands.parsing import as_dict, flags, parse, positional, value_of

EXAMPLE = "anchorflow train --out runs/mine --init-rates 0.3 0.8 --seeds 0 1 --training.epochs 20"


@dataclasses.dataclass
class Options:
    """Train a model for every γ and seed of a configuration, one run folder each.

    CONFIG.toml may hold init_rates, seeds, task ("emb-mlp", "paper" or a table) and the sections model,
    data and training; each key can be overridden here, and lies itself over those of the preset. The keys
    of model depend on its kind: those of the Transformers are shown by --model.kind transformer --help and
    --model.kind one-layer --help.
    """

    config: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG.toml")] = None
    """The configuration; without one, the preset or the defaults below."""
    preset: str | None = None
    """A configuration by its name, to start from."""
    task: str | None = None
    """A task by its name, "emb-mlp" or "paper", instead of the configuration's."""
    out: Path = Path("runs/train")
    """The folder that receives one run folder for each γ and seed."""
    workers: int = 0
    """Processes side by side; 0 takes one for each core."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where all members train together."""
    kernels: Kernels = "auto"
    """torch's own, or compiled for the model first, which needs a C++ compiler: for long runs."""
    resume: bool = False
    """Continue runs that exist, skip those that are complete."""
    overwrite: bool = False
    """Replace runs that exist."""
    json: bool = False
    """Print the runs as JSON on standard output."""


def run(arguments: Sequence[str]) -> int:
    """Train, and say where the runs are."""
    file = positional(arguments)
    preset = value_of("--preset", arguments)
    data = merge(load_preset(preset) if preset else {}, load_toml(Path(file)) if file else {})
    config = make_run_config(_with_kind(data, value_of("--model.kind", arguments)))
    options = parse(_with_flags(config), "train", arguments, EXAMPLE)
    changed = as_dict(options)
    own = {field.name: changed.pop(field.name) for field in dataclasses.fields(Options)}
    task = config.task if own["task"] is None else own["task"]
    return _train(make_run_config(changed | {"task": task}), Options(**own))


def _with_kind(data: dict[str, Any], kind: str | None) -> dict[str, Any]:
    """Return the configuration with the model's kind that the command line asks for."""
    model = data.get("model", {})
    return data | {"model": model | {"kind": kind}} if kind and isinstance(model, dict) else data


def _with_flags(config: RunConfig) -> type[Any]:
    """Return the command's options together with one for every key of the configuration."""
    keys = flags(config)
    inherited = [(f.name, f.type, f) for f in dataclasses.fields(keys) if f.name != "task"]
    made = dataclasses.make_dataclass("TrainOptions", inherited, bases=(Options,))
    made.__doc__ = Options.__doc__
    return made


def _train(config: RunConfig, options: Options) -> int:
    from validate.console import print_json, print_table
    from validate.training import train_with_progress

    runs = train_with_progress(
        config,
        options.out,
        options.workers,
        device=options.device,
        kernels=options.kernels,
        resume=options.resume,
        overwrite=options.overwrite,
    )
    if options.json:
        print_json(
            [
                {"path": str(r.path), "config": r.config.model_dump(mode="json"), "final": r.metrics[-1]}
                for r in runs
            ]
        )
        return 0
    parts = list(runs[0].metrics[-1]["accuracy"])
    rows = [
        [str(r.path), *(f"{r.metrics[-1][kind][p]:.3f}" for kind in ("accuracy", "loss") for p in parts)]
        for r in runs
    ]
    header = ["run", *(f"{kind} {p}" for kind in ("accuracy", "loss") for p in parts)]
    print_table(f"after {config.training.epochs} epochs", header, rows)
    print(f"compare them with the theory: anchorflow compare {options.out}")
    return 0
