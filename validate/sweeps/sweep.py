"""A sweep: the runs of a study's file, each in a folder that is named by the hash of its configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sim.config.run import MemberConfig
from sim.runs.table import axes_of, settings_of
from theory.paths import PathLike, as_path
from validate.studies import load_study

_DIGITS = 12


@dataclass(frozen=True)
class Sweep:
    """Runs over axes.

    Attributes
    ----------
    name : str
    purpose : str
    members : mapping of str to MemberConfig
        Every run by its name, in the order of the file.
    """

    name: str
    purpose: str
    members: Mapping[str, MemberConfig]

    @cached_property
    def axes(self) -> list[str]:
        """The settings in which the runs differ, after γ and the seed, by their names in the table."""
        return axes_of(self.members.values())

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The value of each axis in each run, by the run's name."""
        flat = {name: settings_of(member) for name, member in self.members.items()}
        return {name: {axis: each.get(axis) for axis in self.axes} for name, each in flat.items()}

    @property
    def values(self) -> dict[str, list[Any]]:
        """The values of each axis, in the order of the runs."""
        rows = self.settings.values()
        return {axis: list(dict.fromkeys(row[axis] for row in rows)) for axis in self.axes}

    def paths(self, out: PathLike) -> dict[str, Path]:
        """Return the folder of each run inside ``out``."""
        return {name: as_path("out", out) / name for name in self.members}


def load_sweep(source: str | Path) -> Sweep:
    """Return the sweep in a study's file, or in the study of a name.

    Runs that two variants share are one run.

    Raises
    ------
    InputError
        If the file makes no sense, as ``load_study`` says.
    """
    study = load_study(source)
    members = [member for config in study.configs.values() for member in config.members()]
    return Sweep(study.name, study.purpose, {run_name(member): member for member in members})


def run_name(config: MemberConfig) -> str:
    """Return a run's name: the beginning of the SHA-256 of what its configuration sets.

    Defaults are left out, so that a setting which a later version adds changes no name.
    """
    data = config.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps({"kind": config.model.kind, **data}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
