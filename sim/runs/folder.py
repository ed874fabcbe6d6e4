"""The run folder: everything about one run, readable without the code that made it.

config.json        the resolved configuration
provenance.json    status, commit, versions, device, seeds, wall time, peak memory
metrics.jsonl      losses and accuracies, one line per evaluation
statistics.safetensors   token-label counts N of the training data
snapshots/         all tensors at epoch 0, the embedding (or all again) at the chosen epochs
checkpoints/       the whole state at the two newest checkpoints
manifest.json      a checksum of every other file
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import safetensors

from sim.config.run import MOST_RUNS, MemberConfig, make_member_config, make_run_config
from sim.config.task_files import own_task
from sim.errors import DamagedError
from sim.runs.files import read_tensors, write_tensors, writing
from sim.runs.manifest import Manifest
from sim.runs.records import (
    Arrays,
    CheckpointState,
    Provenance,
    plain,
    read_evaluations,
    read_json,
    read_record,
)
from theory import InputError
from theory.edge.errors import in_file
from theory.edge.reading import as_path, is_file, is_folder, load_json, open_regular

FORMAT_VERSION = 2
CONFIG, METRICS, STATISTICS = "config.json", "metrics.jsonl", "statistics.safetensors"
PLAN = "planned.json"
"""In a folder of runs: the configurations that were to be trained into it."""
_IDENTITY = (CONFIG, "provenance.json", METRICS)
"""Any of these marks a run folder: one that has lost another of them is refused, not passed over."""
REMEDY = "restore it, or move the folder away and train the run again"
_CONTINUE = "free space or restore access; the same command, with --resume if it has that, continues"
_Content = TypeVar("_Content")


def snapshot_name(epoch: int) -> str:
    """Return the file of a snapshot inside a run folder."""
    return f"snapshots/epoch_{epoch:06d}.safetensors"


def checkpoint_name(step: int) -> str:
    """Return the file of a checkpoint inside a run folder."""
    return f"checkpoints/step_{step:09d}.safetensors"


def is_run_folder(path: Path) -> bool:
    """Return whether a folder has a file that marks a run folder, readable or not."""
    return is_folder(path) and any(os.access(path / name, os.F_OK) for name in _IDENTITY)


def runs_inside(folder: Path, *levels: int) -> list[Path]:
    """Return the run folders at these levels below a folder, sorted: 1 for a study's, 2 for its variants'."""
    # Hidden folders are left out: runs that are being made or replaced, and those that a kill then leaves.
    patterns = ["[!.]*/" * level + name for level in levels for name in _IDENTITY]
    return sorted({file.parent for pattern in patterns for file in folder.glob(pattern)})


@dataclass(frozen=True)
class RunFolder(Manifest):
    """A run folder, which lists the files written into it and verifies those read from it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path("path", self.path))  # A string works as well.

    def write(self, name: str, content: bytes | str) -> Path:
        """Write or replace one of its files; refuse if the folder was moved since the run began."""
        with self._writing():
            return super().write(name, content)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with writing(self.path, remedy=_CONTINUE):
            if not (self.path / CONFIG).is_file():
                problem = "this run's folder, or the file that identifies it, was moved or deleted"
                remedy = "put it back and continue with --resume, or train into a new folder"
                raise InputError("out", str(self.path), problem, remedy)
            yield

    def write_metrics(self, evaluations: Sequence[Mapping[str, Any]]) -> None:
        """Write the evaluations so far, instead of those that the file holds."""
        self.write(METRICS, "".join(map(_line, evaluations)))

    def append_metrics(self, evaluation: Mapping[str, Any]) -> None:
        """Add an evaluation to those written before."""
        with self._writing():
            self.append(METRICS, _line(evaluation))

    def write_arrays(self, name: str, arrays: Arrays, meta: Mapping[str, str]) -> None:
        """Write a snapshot, statistics or a checkpoint."""
        self.write(name, write_tensors(arrays, dict(meta)))

    def write_checkpoint(self, arrays: Arrays, state: CheckpointState) -> None:
        """Write a checkpoint, then drop those that are no longer needed."""
        self.write_arrays(checkpoint_name(state.step), arrays, {"state": state.model_dump_json()})
        self.drop_checkpoints(state.step)

    def drop_checkpoints(self, now: int) -> None:
        """Drop the checkpoints after step ``now``, and all but the two newest of the others."""
        steps = self.checkpoint_steps()
        for step in set(steps) - set([step for step in steps if step <= now][:2]):
            with writing(self.path, remedy=_CONTINUE):
                (self.path / checkpoint_name(step)).unlink()
                self.forget(checkpoint_name(step))

    def set_aside(self, step: int) -> Path:
        """Rename a damaged checkpoint, so that its name is free again; return its new name."""
        file = self.path / checkpoint_name(step)
        with writing(self.path, remedy=_CONTINUE):
            self.forget(checkpoint_name(step))
            return file.replace(file.with_name(f"{file.name}.damaged"))

    def checkpoint_steps(self) -> list[int]:
        """Return the steps of all checkpoints, newest first."""
        return self._numbers("checkpoints", "step")[::-1]

    def snapshot_epochs(self) -> list[int]:
        """Return the epochs of all snapshots, in order."""
        return self._numbers("snapshots", "epoch")

    def _numbers(self, inside: str, prefix: str) -> list[int]:
        """Return the numbers in the names of a folder's files; refuse a folder that is unreadable or lost."""
        try:
            names = [file.name for file in (self.path / inside).iterdir()]
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not any(n.startswith(inside) for n in self.listed()):
                return []  # Nothing has been written into it yet.
            problem = f"cannot be read ({error.strerror})"
            raise InputError("run", str(self.path / inside), problem, REMEDY) from None
        matches = [re.fullmatch(rf"{prefix}_(\d{{6,}})\.safetensors", name) for name in names]
        return sorted(int(match[1]) for match in matches if match)

    def read_checkpoint(self, step: int) -> tuple[Arrays, CheckpointState]:
        """Return a checkpoint's tensors and other state; raise DamagedError if it is not as written."""
        arrays, meta = read_tensors(self.verified(checkpoint_name(step)))
        state = read_record(CheckpointState, meta.get("state", "").encode())
        if state.step != step:
            raise DamagedError(f"is of step {state.step}")
        return arrays, state

    def epochs_done(self) -> int:
        """Return the number of whole epochs in the newest readable checkpoint, 0 without one."""
        for step in self.checkpoint_steps():
            with suppress(DamagedError, FileNotFoundError):  # A process that trains it drops old ones.
                return self.read_checkpoint(step)[1].epoch
        return 0

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the metrics written so far."""
        return self.read(METRICS, lambda content: read_evaluations(content.splitlines()))

    @property
    def has_metrics(self) -> bool:
        """Whether the run was evaluated; a link that leads nowhere is no reason to think not."""
        return os.path.lexists(self.path / METRICS)

    @property
    def has_provenance(self) -> bool:
        """Whether the run was started."""
        return (self.path / "provenance.json").exists()

    def read_provenance(self) -> dict[str, Any]:
        """Return the content of provenance.json; refuse a run that was never started."""
        if not self.has_provenance and "provenance.json" not in self.listed():
            raise unfinished(self.path, {"status": "not begun"})
        return self.read("provenance.json", lambda content: plain(read_record(Provenance, content)))

    def shape_of(self, name: str, array: str) -> tuple[int, ...] | None:
        """Return the shape of an array in one of its files, or None; only the file's header is read."""
        file = self.path / name
        with self._naming(name), open_regular(file):  # The library would wait for a pipe.
            try:
                with safetensors.safe_open(file, "numpy") as held:
                    return tuple(held.get_slice(array).get_shape()) if array in held.keys() else None  # noqa: SIM118
            except safetensors.SafetensorError as error:
                raise DamagedError(f"cannot be read ({error})") from None

    def read(self, name: str, parse: Callable[[bytes], _Content]) -> _Content:
        """Return one of its files, verified and parsed; refuse one that is missing, changed or damaged."""
        with self._naming(name):
            return parse(self.verified(name))

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise _incomplete(self.path, name) from None
        except InputError:  # The list of checksums itself is damaged.
            raise
        except ValueError as error:  # DamagedError, or content that is not JSON.
            raise InputError("run", str(self.path / name), str(error), REMEDY) from None

    def check_complete(self) -> dict[str, Any]:
        """Return the provenance of a complete run; refuse any other, and one that lacks a part."""
        provenance = self.read_provenance()
        if provenance["status"] != "complete":
            raise unfinished(self.path, provenance)
        self.snapshot_epochs()  # Refuses their folder if it is unreadable or lost.
        for name in self.listed():  # A complete run needs no checkpoints any more.
            if not name.startswith("checkpoints/") and not os.access(self.path / name, os.F_OK):
                raise _incomplete(self.path, name)
        return provenance


def _line(evaluation: Mapping[str, Any]) -> str:
    return json.dumps(evaluation, allow_nan=False) + "\n"


def read_config(path: Path) -> MemberConfig:
    """Read a run folder's configuration, whatever the run's status."""
    if is_file(path):
        remedy = "name a folder that anchorflow train made"
        raise InputError("run", str(path), "a file, not a run's folder", remedy)
    if not is_folder(path):
        remedy = f"check the path, or train into it: anchorflow train CONFIG.toml --out {quote(str(path))}"
        raise InputError("run", str(path), "no such folder", remedy)
    if not is_run_folder(path):
        inside = [f", such as {quote(str(run.parent))}" for run in runs_inside(path, 2, 3)[:1]]
        remedy = "name a run folder, or a folder of runs" + "".join(inside)
        raise InputError("run", str(path), "not a run folder", remedy)
    folder = RunFolder(path)
    if not (path / Manifest.name).is_file():
        raise _incomplete(path, Manifest.name)
    data = folder.read(CONFIG, read_json)
    version = data.pop("format_version", None) if isinstance(data, dict) else None
    if version != FORMAT_VERSION:
        problem = f"has format version {version!r}, but this program reads {FORMAT_VERSION}"
        raise InputError("run", str(path), problem, "train it again, or use the program that made it")
    try:
        return make_member_config(own_task(data))
    except InputError as error:
        where, remedy = f"{path / CONFIG}: {error.argument}", REMEDY
        if error.problem == "unknown kind":
            file = folder.read_provenance().get("model_file") if folder.has_provenance else None
            remedy = f"import the file that registers it:{import_option(file or 'FILE')}"
        raise InputError(where, error.value, error.problem, remedy) from None


def _incomplete(folder: Path, part: str) -> InputError:
    remedy = "name a run folder, or move it away and train the run again"
    return InputError("run", str(folder), f"incomplete: {part} is missing", remedy)


def read_plans(folder: Path) -> list[Any]:
    """Return the configurations that were to be trained into a folder, as plain data; none without a plan."""
    file = folder / PLAN
    plans = load_json(file) if is_file(file) else []
    if not isinstance(plans, list) or not all(isinstance(plan, dict) for plan in plans[:MOST_RUNS]):
        raise InputError("file", str(file), "not a list of configurations", "move it away")
    if len(plans) > MOST_RUNS:
        raise InputError("file", str(file), f"holds {len(plans)} plans", "move it away")
    return plans


def planned_runs(folder: Path) -> dict[Path, MemberConfig]:
    """Return the runs that were to be trained into a folder."""
    with in_file(folder / PLAN):
        configs = [make_run_config(own_task(plan)) for plan in read_plans(folder)]
        if (n := sum(len(config.init_rates) * len(config.seeds) for config in configs)) > MOST_RUNS:
            raise InputError("file", str(folder / PLAN), f"plans {n} runs", f"plan at most {MOST_RUNS}")
        return {folder / member.name: member for config in configs for member in config.members()}


def import_option(file: str | None) -> str:
    """Return the command-line option that imports a file or module; nothing without one."""
    return f" --import {quote(file)}" if file else ""


def unfinished(folder: Path, provenance: Mapping[str, Any]) -> InputError:
    """Return the refusal of a run that is still in training, was stopped, or diverged."""
    if provenance["status"] == "diverged":
        remedy = "train it again with a smaller training.learning_rate and --overwrite"
        return InputError("run", str(folder), str(provenance.get("reason")), remedy)
    # Continue everything that was planned with it, rather than this run alone.
    begun = folder.parent if (folder.parent / PLAN).is_file() else folder
    first, again = import_option(provenance.get("model_file")), "or train it again with --overwrite"
    remedy = f"continue it: anchorflow train --resume {quote(str(begun))}{first}; {again}"
    return InputError("run", str(folder), f"not finished (status: {provenance['status']})", remedy)
