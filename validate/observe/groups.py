"""Runs grouped into settings, equal in all but the seed, and the command that trains missing runs."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig, sources
from sim.config.section import flattened
from sim.runs.folder import is_run_folder
from sim.runs.manifest import digest
from sim.runs.provenance import model_file
from sim.runs.table import shown_name
from theory import InputError, Task
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.edge.display import Shown
from theory.edge.reading import normalized
from validate.observe import Observations, Source, find_observations
from validate.observe.times import early_epoch

_MOST_NAMED, _LONGEST = 3, 80
COMPARE = "anchorflow compare "


@dataclass(frozen=True, repr=False)
class Setting(Shown):
    """Runs that differ in nothing but the seed.

    Attributes
    ----------
    label : str
        γ, and whatever else distinguishes this setting from the others shown.
    runs : tuple of Observations
        Sorted by seed.
    """

    label: str
    runs: tuple[Observations, ...]

    @property
    def config(self) -> MemberConfig:
        """The configuration that the runs share, with the seed of the first."""
        return self.runs[0].config

    @property
    def task(self) -> Task:
        """The task that all runs share."""
        return self.runs[0].task

    @property
    def init_rate(self) -> float:
        """γ of all runs."""
        return self.config.init_rate

    @property
    def kind(self) -> str:
        """The kind of model."""
        return self.config.model.kind

    @property
    def family(self) -> str:
        """The configuration without γ and seed, as JSON: the same for settings that a curve over γ joins."""
        return self.config.model_dump_json(exclude={"seed", "init_rate"})

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""
        return [run.config.seed for run in self.runs]

    @property
    def seeds_text(self) -> str:
        """How many seeds there are: "1 seed", "3 seeds"."""
        return f"{len(self.runs)} seed{'s' * (len(self.runs) > 1)}"

    def configured(self) -> dict[str, tuple[Any, str]]:
        """Return the value of every key but γ and seed, and its source: paper, sibling, chosen or user."""
        values = self.config.model_dump(mode="json")
        recorded = self.runs[0].provenance.get("sources", {})
        named = {name: (name.split("."), source) for name, source in sources(self.config, recorded).items()}
        # A kept run may have recorded a key that its optimiser no longer has.
        return {
            name: (values[section][key], source)
            for name, ((section, key), source) in named.items()
            if key in values[section]
        }

    def epochs(self) -> list[int]:
        """Return the snapshot epochs that all runs have."""
        return sorted(set.intersection(*(set(run.epochs) for run in self.runs)))

    def nearest(self, epoch: float) -> int:
        """Return the common snapshot epoch nearest to another one."""
        return min(self.epochs(), key=lambda have: abs(have - epoch))

    def has(self, name: str) -> bool:
        """Return whether every run has an array."""
        return all(name in run.arrays for run in self.runs)

    def array(self, name: str, epoch: int | None = None) -> FloatArray:
        """Return an array of every seed, at an epoch unless it has none, shape (n_seeds, ...).

        A run that lacks it raises ``NotObservedError``.
        """
        found = [run.array(name) if epoch is None else run.at(name, epoch) for run in self.runs]
        return np.array(found, dtype=np.float64)

    def cosines(self, tokens: Sequence[int], epoch: int) -> FloatArray:
        """Return every seed's cosine matrix of some anchors, shape (n_seeds, n, n)."""
        listed = list(tokens)
        return np.array([run.cosines(listed, epoch) for run in self.runs])

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = []
        for run in self.runs:
            last = run.metrics[-1]
            reached = ", ".join(
                f"{shown_name(run.config, part)} {value:.3f}" for part, value in last["accuracy"].items()
            )
            rows.append([run.source, str(run.config.seed), f"{last['epoch']:g}", reached])
        title = f"{self.label}: {self.kind}, seeds {', '.join(map(str, self.seeds))}"
        return title, ["run", "seed", "epochs", "accuracy"], rows


@checked
def group_runs(runs: Source | Iterable[Setting | Source]) -> list[Setting]:
    """Group runs by all but the seed, small γ first.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these or of Setting
        A path is a run folder, a kept file, or a folder of either; settings are returned as they are.

    Raises
    ------
    InputError
        If there is no run, or one configuration and seed comes twice.
    """
    sources: Any = list(runs) if isinstance(runs, Iterable) and not isinstance(runs, str) else [runs]
    if sources and all(isinstance(source, Setting) for source in sources):
        return list(sources)
    grouped: dict[str, list[Observations]] = defaultdict(list)
    for run in find_observations(sources):
        key = json.dumps(run.config.model_dump(mode="json", exclude={"seed"}), sort_keys=True)
        if any(other.config.seed == run.config.seed for other in grouped[key]):
            raise InputError("run", run.source, "the same configuration and seed twice", "name it once")
        grouped[key].append(run)
    if not grouped:
        raise InputError("run", [], "no run given", "name at least one run folder")
    flat = {key: dict(flattened("", json.loads(key))) for key in grouped}
    differing = _telling(list(flat.values()))
    settings = []
    for key, alike in grouped.items():
        label = f"γ = {flat[key]['init_rate']}"
        for name in differing:
            value = flat[key].get(name, "none")
            if len(value) > _LONGEST:  # As of a whole table: its ends and a digest.
                value = f"{value[:30]} ... {value[-10:]} {digest(value.encode())[:8]}"
            label += f", {name.split('.')[-1]} = {value}"
        settings.append(Setting(label, tuple(sorted(alike, key=lambda run: run.config.seed))))
    return sorted(settings, key=lambda setting: (setting.init_rate, setting.label))


def _telling(flat: list[dict[str, str]]) -> list[str]:
    """Return the keys other than γ that differ; of many, a few that still distinguish all settings."""

    def distinct(keys: list[str]) -> int:
        return len({tuple(f.get(key) for key in keys) for f in flat})

    differing = [key for key in sorted(set().union(*flat) - {"init_rate"}) if distinct([key]) > 1]
    if len(differing) <= _MOST_NAMED:
        return differing
    chosen = ["init_rate"]
    for key in sorted(differing, key=lambda k: (k != "model.kind", max(len(f.get(k, "")) for f in flat), k)):
        if distinct([*chosen, key]) > distinct(chosen):
            chosen.append(key)
    return chosen[1:]


def early_text(setting: Setting) -> str:
    """Return the early epochs of a setting's runs: "epoch 50", "epochs 40 to 50"."""
    epochs = [*map(early_epoch, setting.runs)]
    first, last = min(epochs), max(epochs)
    return f"epoch {first}" if first == last else f"epochs {first} to {last}"


def missing_command(
    like: Setting, rates: Sequence[float], seeds: Sequence[int], longer: int = 1, *, apart: bool = False
) -> str:
    """Return the command that trains runs at some γ and seeds, ``longer`` times as long as those of ``like``.

    They take the configuration of the first run folder of ``like`` and go beside it, or if they are longer or
    are to be judged ``apart``, into a folder of their own. If all of them exist, the command compares them.
    """
    source, training = like.runs[0].run_folder, like.config.training
    assert source is not None
    beside = normalized(source).parent  # The run may have been named . or ../NAME.
    name = beside.name + "-longer" * (longer > 1)
    if apart:
        name = f"{re.sub(r'-seeds[0-9]+-[0-9]+$', '', beside.name)}-seeds{seeds[0]}-{seeds[-1]}"
    out = beside.parent / name
    if not source.is_absolute():
        out = Path(os.path.relpath(out))
    options = [str(source / "config.json"), "--init-rates", *map(str, rates), "--seeds", *map(str, seeds)]
    options += ["--out", str(out)]
    if longer > 1:
        options += ["--training.epochs", str(longer * training.epochs)]
        if training.snapshot_epochs:
            reached = [str(longer * e) for e in training.snapshot_epochs if e <= training.epochs]
            options += ["--training.snapshot-epochs", *reached]
    own = model_file(like.config.model)
    imports = ["--import", own] if own else []
    names = [like.config.model_copy(update={"init_rate": r, "seed": s}).name for r in rates for s in seeds]
    if all(is_run_folder(out / name) for name in names):
        command = "anchorflow corpus compare " if isinstance(like.config.task, LanguageTask) else COMPARE
        return command + shlex.join([str(out), *imports])
    return shlex.join(["anchorflow", "train", *options, *imports])
