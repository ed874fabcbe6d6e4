"""Runs grouped into settings: everything equal but the seed."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sim.config.run import MemberConfig
from sim.runs.run import Run, find_runs
from theory import InputError, Task
from theory.checked import checked
from theory.paths import PathLike

if TYPE_CHECKING:
    from validate.figures.members import Members

_MOST_NAMED = 3
"""A label names every setting that differs, or if these are more, as many as tell the runs apart."""


class Configured(Protocol):
    """Anything that knows the configuration of the run it is or tells of."""

    @property
    def config(self) -> MemberConfig:
        """The run's configuration."""

    @property
    def task(self) -> Task:
        """The run's task."""


Member = TypeVar("Member", bound=Configured)


@dataclass(frozen=True)
class Group(Generic[Member]):
    """Runs, or what was observed of them, that differ in nothing but the seed.

    Attributes
    ----------
    label : str
        γ, and whatever else tells this setting from the others it is shown with.
    runs : tuple
        Sorted by seed.
    """

    label: str
    runs: tuple[Member, ...]

    @property
    def task(self) -> Task:
        """The task that all runs share."""
        return self.runs[0].task

    @property
    def init_rate(self) -> float:
        """γ of all runs."""
        return self.runs[0].config.init_rate


class Setting(Group[Run]):
    """Runs that differ in nothing but the seed."""

    @cached_property
    def members(self) -> Members:
        """The same runs as they were observed, which takes a moment at first use."""
        from validate.figures.members import Members
        from validate.observe import observe

        return Members(self.label, tuple(observe(run) for run in self.runs))

    def epochs(self) -> list[int]:
        """Return the snapshot epochs that all runs have."""
        return sorted(set.intersection(*(set(run.snapshot_epochs) for run in self.runs)))


def as_settings(given: PathLike | Iterable[Setting | Run | PathLike]) -> list[Setting]:
    """Return settings as they are, and group runs and paths; parameters as in ``compare_runs``."""
    listed: list[Any] = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if listed and all(isinstance(each, Setting) for each in listed):
        return listed
    return group_runs(listed)


@checked
def group_runs(runs: PathLike | Iterable[Run | PathLike]) -> list[Setting]:
    """Group runs by all but the seed, small γ first; a path is a run folder or a folder of them.

    Raises
    ------
    InputError
        If there is no run, or one configuration and seed comes twice.
    """
    listed = [runs] if isinstance(runs, (str, os.PathLike)) else runs
    opened = [
        run
        for each in listed
        for run in ([each] if isinstance(each, Run) else map(Run.open, find_runs(each)))
    ]
    return [Setting(label, found) for label, found in by_setting(opened, lambda run: str(run.path))]


def by_setting(
    members: Sequence[Member], name: Callable[[Member], str]
) -> list[tuple[str, tuple[Member, ...]]]:
    """Return each setting's label and members, sorted by seed; small γ first.

    ``name`` says what a refusal calls a member; for the rest see ``group_runs``.
    """
    if not members:
        raise InputError("run", [], "no run given", "name at least one run folder")
    grouped: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        key = json.dumps(member.config.model_dump(mode="json", exclude={"seed"}), sort_keys=True)
        if any(other.config.seed == member.config.seed for other in grouped[key]):
            raise InputError("run", name(member), "the same configuration and seed twice", "name it once")
        grouped[key].append(member)
    differing = _differing([_flat(json.loads(key)) for key in grouped])
    settings = [
        (_label(_flat(json.loads(key)), differing), tuple(sorted(found, key=lambda m: m.config.seed)))
        for key, found in grouped.items()
    ]
    return sorted(settings, key=lambda setting: (setting[1][0].config.init_rate, setting[0]))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, dict):
        return {prefix: json.dumps(value)}
    out: dict[str, str] = {}
    for key, inner in value.items():
        out |= _flat(inner, f"{prefix}.{key}" if prefix else key)
    return out


def _differing(flat: list[dict[str, str]]) -> list[str]:
    keys = sorted(set().union(*flat) - {"init_rate"})
    found = [k for k in keys if len({f.get(k) for f in flat}) > 1]
    return found if len(found) <= _MOST_NAMED else _telling(flat, found)


def _telling(flat: list[dict[str, str]], keys: list[str]) -> list[str]:
    """Return few of the keys that still tell all settings apart: the kind of model first, then short ones."""
    chosen = ["init_rate"]
    for key in sorted(keys, key=lambda k: (k != "model.kind", max(len(f.get(k, "")) for f in flat), k)):
        if _distinct(flat, [*chosen, key]) > _distinct(flat, chosen):
            chosen.append(key)
    return chosen[1:]


def _distinct(flat: list[dict[str, str]], keys: list[str]) -> int:
    return len({tuple(f.get(k) for k in keys) for f in flat})


def _label(flat: dict[str, str], differing: list[str]) -> str:
    others = "".join(f", {key.split('.')[-1]} = {flat.get(key, 'none')}" for key in differing)
    return f"γ = {flat['init_rate']}{others}"
