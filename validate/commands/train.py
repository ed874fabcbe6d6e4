"""anchorflow train: every γ and seed of a configuration, each into a run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from sim.config.presets import load_preset, merge
from sim.config.run import Kernels, RunConfig, make_run_config
from sim.task_defaults import experiment_for
from sim.task_files import as_task, read_description, task_table
from theory import InputError
from validate.commands.parsing import as_dict, flags, parse, positional, value_of

if TYPE_CHECKING:
    from sim import Run

EXAMPLE = "anchorflow train my_task.toml --out runs/mine --init-rates 0.3 0.8 --seeds 0 1 2"


@dataclasses.dataclass
class Options:
    """Train a model for every γ and seed of a configuration, one run folder each.

    FILE.toml is a task, a configuration or, as runs/mine/NAME/config.json, that of a run. A task alone is
    trained at γ = 0.3 and 0.8 with three seeds for about as many steps as the demo takes.

    With --resume a run folder, or a folder of them, can take the place of FILE.toml: the runs in it continue,
    each with its own configuration.

    A configuration may hold init_rates, seeds, task ("emb-mlp", "paper", a task file or a table) and the
    sections model, data and training. Its keys override those of the preset, and options override both. The
    keys of model depend on its kind: --model.kind transformer --help and --model.kind one-layer --help show
    those of the Transformers.
    """

    config: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")] = None
    """A task or a configuration; without one, the preset or the defaults below."""
    preset: str | None = None
    """A configuration by its name, to start from."""
    task: str | None = None
    """A task instead of the configuration's: a task file, "emb-mlp" or "paper"."""
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
    if file and "--resume" in arguments and Path(file).is_dir():
        return _go_on(Path(file), parse(Options, "train", arguments, EXAMPLE))
    data = _described(
        file, *(value_of(name, arguments) for name in ("--preset", "--task", "--training.epochs"))
    )
    config = make_run_config(_with_kind(data, value_of("--model.kind", arguments)))
    options = parse(_with_flags(config), "train", arguments, EXAMPLE)
    changed = as_dict(options)
    own = Options(**{field.name: changed.pop(field.name) for field in dataclasses.fields(Options)})
    if own.config is not None and own.config != file:
        # It stands behind an option, where only parsing tells it from the option's value.
        last = max(i for i, argument in enumerate(arguments) if argument == own.config)
        return run([own.config, *arguments[:last], *arguments[last + 1 :]])
    from validate.training import train_with_progress

    config = make_run_config(changed | {"task": config.task})
    runs = train_with_progress(config, own.out, own.workers, **_how(own))
    return _tell(runs, own.out, as_json=own.json)


def _described(file: str | None, preset: str | None, task: str | None, epochs: str | None) -> dict[str, Any]:
    """Return the keys of the configuration that a file, a preset and a task describe together."""
    described = read_description(file) if file else {}
    if task is not None:
        described = described | {"task": task}
    if preset is not None:
        return merge(load_preset(preset), described)
    if described.keys() == {"task"}:
        described["task"] = dict(task_table(described["task"]))
        length = int(epochs) if epochs and epochs.isdecimal() and int(epochs) else None
        return experiment_for(as_task(described["task"]), length) | described
    return described


def _go_on(folder: Path, options: Options) -> int:
    """Go on with the runs in a folder."""
    from sim.runs.folder import read_config
    from sim.runs.run import find_runs
    from validate.training import train_members_with_progress

    for name in ("preset", "task", "out"):
        value = getattr(options, name)
        if value != getattr(Options, name):
            raise InputError(
                name, str(value), f"runs in {folder} go on as and where they are", "leave it out"
            )
    paths = find_runs([folder])
    members = [read_config(path) for path in paths]
    runs = train_members_with_progress(members, paths, options.workers, **_how(options))
    return _tell(runs, folder, as_json=options.json)


def _how(options: Options) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("device", "kernels", "resume", "overwrite")}


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


def _tell(runs: Sequence[Run], out: Path, *, as_json: bool) -> int:
    """Say where the runs are and how well they do."""
    from validate.console import print_json, print_table

    if as_json:
        print_json(
            [
                {"path": str(r.path), "config": r.config.model_dump(mode="json"), "final": r.metrics[-1]}
                for r in runs
            ]
        )
        return 0
    parts = dict.fromkeys(part for r in runs for part in r.metrics[-1]["accuracy"])
    keys = [(kind, part) for kind in ("accuracy", "loss") for part in parts]
    rows = [
        [str(r.path), *(f"{r.metrics[-1][kind].get(part, float('nan')):.3f}" for kind, part in keys)]
        for r in runs
    ]
    epochs = " or ".join(str(n) for n in sorted({r.config.training.epochs for r in runs}))
    print_table(f"after {epochs} epochs", ["run", *(f"{kind} {part}" for kind, part in keys)], rows)
    print(f"compare them with the theory: anchorflow compare {out}")
    return 0
