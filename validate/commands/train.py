"""anchorflow train: train every γ and seed of a configuration into run folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from sim.config.model import KINDS, kind_of
from sim.config.presets import load_preset, merge, over_preset, preset_names
from sim.config.run import Kernels, MemberConfig, RunConfig, make_run_config
from sim.config.task_defaults import WITH_NOISE, experiment_for
from sim.config.task_files import as_task, is_task_file, read_description, task_table
from theory import InputError
from theory.reading import is_folder
from validate.commands.engines import TrainingOptions
from validate.commands.options import Option, Positional, nested, options_of, union
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from sim import Run

PLAN = "planned.json"
"""In a folder of runs: the configurations that were to be trained into it."""


class Options(TrainingOptions):
    """Train a model for every γ and seed of a configuration, one run folder each.

    FILE.toml is a task, a configuration, or the configuration of a run, runs/mine/NAME/config.json. A
    task alone is trained at γ = 0.3 and 0.8 with three seeds for about as many steps as the demo takes; a
    task with noise tokens is trained by the preset cpu: a Transformer with one seed (--seeds 0 1 2 gives
    it three).

    With --resume a run folder, or a folder of them, can take the place of FILE.toml: the runs in it
    continue, each with its own configuration, and runs that were planned there but never started are
    trained.

    A configuration may hold init_rates, seeds, task ("emb-mlp", "paper", a task file or a table) and the
    sections model, data and training. Its keys override those of the preset, and options override both.
    The keys of model depend on its kind: --model.kind transformer --help and --model.kind one-layer
    --help show those of the Transformers.
    """

    config: Annotated[str | None, Positional("FILE.toml", is_file=True)] = None
    """A task or a configuration; without one, the preset or the defaults below."""
    preset: str | None = Field(None, description=f"Start from a preset: {', '.join(preset_names())}.")
    task: str | None = None
    """A task instead of the configuration's: a task file, "emb-mlp" or "paper"."""
    out: Path = Path("runs/train")
    """The folder that receives one run folder for each γ and seed."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where all members train together."""
    kernels: Kernels = "auto"
    """PyTorch's kernels, or compiled for the model, which needs a C++ compiler and pays off in long runs."""


def configuration_keys() -> list[Option]:
    """Return an option for every key of a configuration, of every kind of model."""
    return union(_keys_of(RunConfig(model=kind())) for kind in KINDS.values())


def _keys_of(config: RunConfig) -> list[Option]:
    own = options_of(Options)
    return [key for key in options_of(config) if key.key not in {option.key for option in own}]


def _shown_keys(given: dict[str, Any]) -> list[Option]:
    """Return what the help shows: the keys of the kind of model that was asked for, with their values."""
    own = {name: given.pop(name) for name in Options.model_fields if name in given}
    kinds = {key.key: key.kind for key in configuration_keys()}
    return [replace(key, kind=kinds[key.key]) for key in _keys_of(configuration_of(Options(**own), given))]


COMMAND = Command(
    "train",
    Options,
    "anchorflow train my_task.toml --out runs/mine --seeds 0 1 2",
    configuration_keys,
    _shown_keys,
)


def run(arguments: Sequence[str]) -> int:
    """Train, and say where the runs are."""
    options, keys = COMMAND.parse_with_keys(arguments)
    config: RunConfig | None = None
    if options.config and options.resume and is_folder(options.config):
        folder = Path(options.config)
        planned = _begun(folder, options, keys)
    else:
        folder, config = options.out, configuration_of(options, keys)
        _check_resumes(options)
        planned = {folder / member.name: member for member in config.members()}
    from sim.training.execution import Execution
    from validate.training import announced

    execution = Execution(device=options.device, kernels=options.kernels, **options.execution())
    with announced(planned, execution) as report:
        from sim.runs.run import Run
        from sim.training.launch import train_members

        if config is not None:
            _note_plan(folder, config)
        train_members(list(planned.values()), list(planned), execution, report=report)
        runs = [Run.open(path) for path in planned]
    first = f" --import {quote(options.import_first)}" if options.import_first else ""
    print_runs(runs, f"anchorflow compare {quote(str(folder))}{first}", as_json=options.as_json)
    return 0


def _plans(folder: Path) -> list[Any]:
    """Return the configurations that were to be trained into a folder."""
    from sim.runs.files import read_regular

    file = folder / PLAN
    try:
        plans = list(json.loads(read_regular(file)))
        for plan in plans:
            make_run_config(plan)
    except FileNotFoundError:
        return []
    except (OSError, TypeError, ValueError, RecursionError):
        remedy = "move it away, or choose another folder"
        raise InputError("out", str(file), "was not written by this program", remedy) from None
    return plans


def _note_plan(folder: Path, config: RunConfig) -> None:
    """Note the runs that are to be trained into a folder, so that --resume begins those that were not."""
    from sim.runs.files import write_json, writing

    plans, plan = _plans(folder), config.model_dump(mode="json")
    if plan not in plans:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / PLAN, [*plans, plan])


def configuration_of(options: Options, keys: dict[str, Any]) -> RunConfig:
    """Return the configuration: the preset's keys, the file's over them, the command line's over both."""
    described = _described(options)
    data = _over_preset(described, options, keys.get("training.epochs"))
    given = nested(keys)
    model = data.get("model", {})
    if isinstance(model, dict):
        # A kind on the command line changes the kind alone: the file's other keys stay.
        data["model"] = model | {"kind": given.get("model", {}).get("kind", kind_of(model))}
        _check_model(data["model"], described.get("model", {}), options, keys)
    return make_run_config(merge(data, given))


def _described(options: Options) -> dict[str, Any]:
    """Return the keys of the configuration that a file and a task describe together."""
    described = read_description(options.config) if options.config else {}
    if "preset" in described:
        problem = f"is no key of a configuration, such as {options.config}"
        remedy = "remove it, and give the option --preset NAME"
        raise InputError("preset", described["preset"], problem, remedy)
    if options.task is None:
        return described
    if options.config and is_task_file(options.config):
        problem = f"a second task: {options.config} is a task file itself"
        raise InputError("task", options.task, problem, "name one of the two")
    return described | {"task": options.task}


def _over_preset(described: dict[str, Any], options: Options, epochs: int | None) -> dict[str, Any]:
    """Return the described keys over those of the preset, or of the experiment that a task alone gets."""
    if options.preset is not None:
        return over_preset(load_preset(options.preset), described)
    if described.keys() == {"task"}:
        described = {"task": dict(task_table(described["task"]))}
        length = epochs if epochs and epochs > 0 else None
        return experiment_for(as_task(described["task"]), length) | described
    return described


def _check_model(
    model: dict[str, Any], described: dict[str, Any], options: Options, keys: dict[str, Any]
) -> None:
    """Refuse keys that this kind of model lacks, whether an option or the preset sets them."""
    kind = kind_of(model)
    if not isinstance(kind, str) or kind not in KINDS:
        return  # The configuration refuses it.
    fields = KINDS[kind].model_fields
    option = next((k for k in keys if k.startswith("model.") and k[len("model.") :] not in fields), None)
    if option is not None:
        remedy = f"those that it has: anchorflow train --model.kind {kind} --help"
        raise InputError("option", "--" + option.replace("_", "-"), f"{kind} has no such key", remedy)
    lacking = next((key for key in model if key not in described and key not in fields), None)
    if lacking is not None:
        preset = options.preset or f"{WITH_NOISE}, which a task with noise is trained by,"
        problem = f"has no {lacking}, which the preset {preset} sets"
        remedy = f'put kind = "{kind}" below [model] in a configuration that names the task'
        raise InputError("model.kind", kind, problem, remedy)


def _check_resumes(options: Options) -> None:
    """Refuse --resume alone where no run is: it would begin those of the default configuration."""
    from sim.runs.places import runs_inside

    described = options.config or options.preset or options.task
    if options.overwrite or not options.resume:
        return  # Both together are refused with the execution.
    if not described and not runs_inside(options.out, 1):
        problem = f"names nothing to continue, and {options.out} holds no run"
        remedy = "name the folder of the runs: anchorflow train --resume FOLDER"
        raise InputError("resume", True, problem, remedy)


def _begun(folder: Path, options: Options, keys: dict[str, Any]) -> dict[Path, MemberConfig]:
    """Return the runs in a folder, and those that were planned there and not begun."""
    from sim.runs.folder import read_config
    from sim.runs.run import find_runs

    given = options.model_fields_set & {"preset", "task", "out"} | keys.keys()
    if given:
        name = min(given)
        value = str(keys.get(name, getattr(options, name, None)))
        raise InputError(name, value, f"the runs in {folder} continue as and where they are", "leave it out")
    members = [member for plan in _plans(folder) for member in make_run_config(plan).members()]
    planned = {folder / member.name: member for member in members}
    begun = [path for path in find_runs([folder]) if not planned or path != folder]
    return planned | {path: read_config(path) for path in begun}


def print_runs(runs: Sequence[Run], compare: str, *, as_json: bool) -> None:
    """Say where the runs are, how well they do, and the command that compares them with the theory."""
    from validate.terminal.tables import print_json, print_table

    if as_json:
        last = [{"config": r.config.model_dump(mode="json"), "final": r.metrics[-1]} for r in runs]
        print_json([{"path": str(r.path)} | each for r, each in zip(runs, last, strict=True)])
        return
    parts = dict.fromkeys(part for r in runs for part in r.metrics[-1]["accuracy"])
    columns = {f"{kind} {part}": (kind, part) for kind in ("accuracy", "loss") for part in parts}
    values = [[r.metrics[-1][kind].get(part) for kind, part in columns.values()] for r in runs]
    # A data set that a run lacks, or a loss that overflowed, has a dash.
    cells = [["–" if value is None else f"{value:.3f}" for value in row] for row in values]
    rows = [[str(r.path), *row] for r, row in zip(runs, cells, strict=True)]
    epochs = " or ".join(str(n) for n in sorted({r.snapshot_epochs[-1] for r in runs}))
    title = f"after {epochs} epoch{'s' * (epochs != '1')}"
    print_table(title, ["run", *columns], rows, spare=list(columns)[len(parts) :])
    print(f"compare them with the theory: {compare}")
