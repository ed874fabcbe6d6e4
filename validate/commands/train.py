"""anchorflow train: train every γ and seed of a configuration, one run folder each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pydantic import Field

import sim
from sim.config.language import LanguageTask
from sim.config.model import KINDS
from sim.config.presets import experiment_for, load_preset, merge, over_preset, preset_names
from sim.config.run import Kernels, RunConfig, make_run_config
from sim.config.task_files import as_task, read_description, task_table
from sim.config.training import OPTIMIZERS
from theory import InputError
from theory.edge.errors import unknown_key
from theory.edge.reading import is_folder
from validate.commands.options import Option, Positional, TrainingOptions, nested, options_of, union
from validate.terminal.output import print_json, print_table, tell


class Options(TrainingOptions):
    """Train a model for every γ and seed of a configuration, one run folder each.

    FILE.toml is a task, a configuration, or the configuration of a run, runs/mine/NAME/config.json. A
    task alone is trained at γ = 0.3 and 0.8 with three seeds for about as many steps as the demo takes; a
    task with noise tokens is trained with the preset cpu, a Transformer, and one seed (--seeds 0 1 2 for
    three).

    With --resume a run folder, or a folder of them, can take the place of FILE.toml: the runs in it
    continue, each with its own configuration, and runs that were planned there but never started are
    trained.

    A configuration may hold preset, init_rates, seeds, task ("emb-mlp", "paper", a task file or a table)
    and the sections model, data and training. Its keys override those of the preset, and options override
    both. The keys of model depend on its kind: --model.kind KIND --help shows them.

    example: anchorflow train my_task.toml --out runs/mine --seeds 0 1 2
    """

    config: Annotated[str | None, Positional("FILE.toml")] = None
    """A task or a configuration; without one, give --preset, --task or keys of the model."""
    preset: str | None = Field(default=None, description=f"Start from a preset: {', '.join(preset_names())}.")
    task: str | None = None
    """A task instead of the configuration's: a task file, or a name, as for predict."""
    out: Path = Path("runs/train")
    """The folder that receives one run folder for each γ and seed."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where runs that can share a trainer train together."""
    kernels: Kernels = "auto"
    """PyTorch's kernels, or compiled for the model, which needs a C++ compiler and pays off in long runs."""
    tensorboard: Path | None = None
    """Also log every evaluation to TensorBoard, into this folder."""

    @classmethod
    def known_keys(cls) -> list[Option]:
        """Return an option for every key of a configuration, of every kind of model and optimiser."""
        models = [RunConfig(model=kind()) for kind in KINDS.complete().values()]
        trainings = [RunConfig(training=optimizer()) for optimizer in OPTIMIZERS.complete().values()]
        return union(map(_keys_of, models + trainings))

    @classmethod
    def shown_keys(cls, given: dict[str, Any], keys: dict[str, Any]) -> list[Option]:
        """Return the keys of the kind of model that was asked for, with their values."""
        kinds = {key.key: key.kind for key in cls.known_keys()}
        shown = _keys_of(configuration_of(cls(**given, keys=keys)))
        return [replace(key, kind=kinds[key.key]) for key in shown]


def _keys_of(config: RunConfig) -> list[Option]:
    own = {option.key for option in options_of(Options)}
    return [key for key in options_of(config) if key.key not in own]


def run(options: Options) -> int:
    """Train, and say where the runs are."""
    from sim.runs.beginning import check_own_files
    from sim.runs.folder import import_option, planned_runs, read_config, read_plans

    execution, folder, begin = options.execution(), options.out, None
    new = options.model_fields_set & {"preset", "task"} | options.keys.keys()
    is_named = options.config is not None and is_folder(options.config)
    if is_named and not options.resume:
        first = import_option(options.import_first)
        remedy = f"to continue its runs: anchorflow train --resume {quote(str(options.config))}{first}"
        raise InputError("config", str(options.config), "a folder", remedy)
    if options.resume and (is_named or not (options.config or new)):
        folder = Path(options.config or options.out)
        for name in sorted(new | ({"out"} & options.model_fields_set if is_named else set())):
            value, problem = options.keys.get(name, getattr(options, name, "")), "begins a new training"
            raise InputError(name, str(value), problem, f"leave it out: the runs in {folder} continue")
        # First the runs that were begun: they record the file with a model of the user's own.
        found = [path for path in sim.find_runs([folder]) if path != folder or not read_plans(folder)]
        begun = {path: read_config(path) for path in found}
        planned = planned_runs(folder) | begun
        for path, member in planned.items():
            check_own_files(path, member)
    else:
        config = configuration_of(options)
        if options.config is None and not any(name.startswith(("preset", "task", "model")) for name in new):
            remedy = "give FILE.toml, or name it: --task emb-mlp, --preset cpu"
            raise InputError("command", "anchorflow train", "needs something to train", remedy)
        planned = {folder / member.name: member for member in config.members()}
        begin = partial(_note_plan, folder, config)
    from validate.terminal.progress import train_with_progress  # It loads SciPy; bad input is refused before.

    noted = () if options.tensorboard is None else (_logger(options.tensorboard, planned),)
    train_with_progress(planned, execution, begin, *noted)
    print_runs(planned, folder, options.import_first, as_json=options.as_json)
    return 0


def _logger(folder: Path, planned: Mapping[Path, sim.MemberConfig]) -> Callable[[sim.Progress], None]:
    """Return a function that logs a run's new evaluations to TensorBoard after an epoch."""
    from validate.record.recorder import summary_writer

    make, paths = summary_writer(), {member.name: path for path, member in planned.items()}
    boards, logged = dict[str, Any](), dict.fromkeys(paths, -1)

    def log(run: sim.Progress) -> None:
        every = planned[paths[run.name]].training.evaluate_every
        if run.epoch % every and not run.has_ended:
            return
        try:
            lines = sim.RunFolder(paths[run.name]).read_metrics()
        except InputError:  # They are being written, and are logged after a later epoch.
            return
        if run.name not in boards:
            boards[run.name] = make(str(folder / run.name))
        for line in [line for line in lines if line["step"] > logged[run.name]]:
            for kind in ("loss", "accuracy"):
                for part, value in line[kind].items():
                    if value is not None:  # A loss that is not finite.
                        boards[run.name].add_scalar(f"{kind}/{part}", value, line["step"])
        boards[run.name].flush()
        logged[run.name] = lines[-1]["step"]

    return log


def configuration_of(options: Options) -> RunConfig:
    """Return the configuration: the preset's keys, the file's over them, the command line's over both."""
    described = read_description(options.config) if options.config else {}
    if options.task is not None:
        described = described | {"task": options.task}
    named = described.pop("preset", None)
    preset = named if options.preset is None else options.preset
    base: dict[str, Any] = {} if preset is None else load_preset(preset)
    if preset is None and described.keys() == {"task"}:
        described = {"task": dict(task_table(described["task"]))}
        length = options.keys.get("training.epochs", 0)
        base = experiment_for(as_task(described["task"]), length if length > 0 else None)
    for key in sorted(described.keys() - RunConfig.model_fields):
        raise unknown_key(f"{options.config}: key", key, {"preset", *RunConfig.model_fields} - {"sources"})
    model = described.get("model", {})
    if "model.kind" in options.keys and isinstance(model, dict):
        # The file's keys of the model stay; a preset's belong to its own kind.
        described = described | {"model": model | {"kind": options.keys["model.kind"]}}
    return make_run_config(merge(over_preset(base, described), nested(options.keys)))


def _note_plan(folder: Path, config: RunConfig) -> None:
    """Note the runs to be trained into a folder, so that --resume also trains those that were never begun."""
    from sim.runs.files import only_writer, write_json, writing
    from sim.runs.folder import PLAN, read_plans
    from sim.runs.outputs import PATIENCE

    plan = config.model_dump(mode="json")
    if config.sources:  # Where a preset's values come from, which a dump leaves out.
        plan["sources"] = config.sources
    with only_writer(folder / PLAN, wait=PATIENCE):  # Another command may plan runs into the same folder now.
        plans = read_plans(folder)
        if plans[-1:] != [plan]:  # Of two plans for a run the last one counts.
            with writing(folder):
                write_json(folder / PLAN, [*(other for other in plans if other != plan), plan])


def print_runs(folders: Iterable[Path], out: Path, import_first: str | None, *, as_json: bool) -> None:
    """Say where the runs are, how well they do, and the command that compares them with the theory."""
    from sim.runs.folder import import_option
    from sim.runs.table import shown_name

    runs = [sim.Run.open(path) for path in folders]
    if as_json:
        last = [{"config": r.config.model_dump(mode="json"), "final": r.metrics[-1]} for r in runs]
        print_json([{"path": str(r.path)} | line for r, line in zip(runs, last, strict=True)])
        return
    parts = {part: shown_name(r.config, part) for r in runs for part in r.metrics[-1]["accuracy"]}
    columns = {
        f"{kind} {name}": (kind, part) for kind in ("accuracy", "loss") for part, name in parts.items()
    }
    rows = []
    for run in runs:
        values = [run.metrics[-1][kind].get(part) for kind, part in columns.values()]
        # A data set that a run lacks, or a loss that overflowed, has a dash.
        rows.append([str(run.path), *("–" if value is None else f"{value:.3f}" for value in values)])
    epochs = " or ".join(str(n) for n in sorted({r.snapshot_epochs[-1] for r in runs}))
    title = f"after {epochs} epoch{'s' * (epochs != '1')}"
    print_table(title, ["run", *columns], rows, spare=list(columns)[len(parts) :])
    task, command = runs[0].config.task, "compare"
    if isinstance(task, LanguageTask):
        command = "corpus compare"
        if len(task.corpora) < 2:
            tell("to compare a text with another, train on both: anchorflow corpus train FILE FILE")
            return
    first = import_option(import_first)
    tell(f"compare them with the theory: anchorflow {command} {quote(str(out))}{first}")
