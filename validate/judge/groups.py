"""Runs grouped into settings: everything equal but the seed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.config.run import MemberConfig, sources
from theory import InputError, Task
from theory.arrays import FloatArray
from theory.checked import checked
from theory.display import Shown
from validate.observe import Observations, Source, find_observations

_MOST_NAMED = 3
"""A label names every key that differs, or if these are more, as many as distinguish the settings."""


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
        return {name: (values[section][key], source) for name, ((section, key), source) in named.items()}

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
        """Return an array of every seed, at an epoch unless it has no epochs, shape (n_seeds, ...).

        Raises
        ------
        NotObservedError
            If a run lacks it.
        """
        found = [run.array(name) if epoch is None else run.at(name, epoch) for run in self.runs]
        return np.array(found, dtype=np.float64)

    def cosines(self, tokens: Sequence[int], epoch: int) -> FloatArray:
        """Return every seed's cosine matrix of some anchors, shape (n_seeds, n, n)."""
        return np.array([run.cosines(tokens, epoch) for run in self.runs])

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        title = f"{self.label}: {self.kind}, seeds {', '.join(map(str, self.seeds))}"
        return (
            title,
            ["run", "seed", "epochs", "accuracy"],
            [
                [run.source, str(run.config.seed), f"{run.metrics[-1]['epoch']:g}", _reached(run)]
                for run in self.runs
            ],
        )


def _reached(run: Observations) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in run.metrics[-1]["accuracy"].items())


def as_settings(sources: Source | Iterable[Setting | Source]) -> list[Setting]:
    """Return settings as they are, and group anything else; parameters as in ``compare_runs``."""
    if isinstance(sources, Iterable) and not isinstance(sources, str):
        listed: list[Any] = list(sources)
        if listed and all(isinstance(each, Setting) for each in listed):
            return listed
        return group_runs(listed)
    return group_runs(sources)


@checked
def group_runs(runs: Source | Iterable[Source]) -> list[Setting]:
    """Group runs by all but the seed, small γ first.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these
        A path is a run folder, a kept file, or a folder of either.

    Raises
    ------
    InputError
        If there is no run, or one configuration and seed comes twice.
    """
    found = find_observations(runs)
    if not found:
        raise InputError("run", [], "no run given", "name at least one run folder")
    grouped: dict[str, list[Observations]] = defaultdict(list)
    for run in found:
        key = json.dumps(run.config.model_dump(mode="json", exclude={"seed"}), sort_keys=True)
        if any(other.config.seed == run.config.seed for other in grouped[key]):
            raise InputError("run", run.source, "the same configuration and seed twice", "name it once")
        grouped[key].append(run)
    differing = _differing([_flat(json.loads(key)) for key in grouped])
    settings = [
        Setting(_label(_flat(json.loads(key)), differing), tuple(sorted(own, key=lambda r: r.config.seed)))
        for key, own in grouped.items()
    ]
    return sorted(settings, key=lambda setting: (setting.init_rate, setting.label))


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
    """Return a few keys that still distinguish all settings: the kind of model first, then short ones."""
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
