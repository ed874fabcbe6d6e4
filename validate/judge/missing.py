"""The command that gets what a verdict lacks: the other side, longer runs or more seeds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sim.config.run import MemberConfig
from sim.runs.folder import read_config
from sim.runs.run import is_complete
from theory import InputError
from validate.judge.groups import Setting

Progress = Literal["none", "some", "all", "other"]
COMPARE = "anchorflow compare "


@dataclass(frozen=True)
class Missing:
    """Runs that may decide a verdict.

    Attributes
    ----------
    like : Setting
        The runs whose configuration they take, but for what follows; the first has a run folder.
    rates, seeds : sequence
        γ and seeds.
    longer : int
        How many times as long they train.
    """

    like: Setting
    rates: Sequence[float]
    seeds: Sequence[int]
    longer: int = 1

    def command(self) -> str:
        """Return the command that trains them, or the one that compares them where they are all there."""
        out, done = self._place()
        if done == "all":
            return COMPARE + shlex.quote(str(out))
        return shlex.join(["anchorflow", "train", *self._options(out), *["--resume"] * (done == "some")])

    def _place(self) -> tuple[Path, Progress]:
        """Return the folder for them in which nothing else is in the way, and how many of them it has."""
        out = self._source().parent
        out = out if self.longer == 1 else out.with_name(f"{out.name}-longer")
        while (done := self._progress(out)) == "other":
            out = out.with_name(f"{out.name}-more")
        return out, done

    def _source(self) -> Path:
        found = self.like.runs[0].run_folder
        assert found is not None
        return found

    def _progress(self, out: Path) -> Progress:
        """Return how many of them are in a folder; "other" if something else of their names is in the way."""
        members = {out / member.name: member for member in self._members()}
        there = [path for path in members if path.exists()]
        if any(_config(path) != members[path] for path in there):
            return "other"
        if len(there) == len(members) and all(map(is_complete, there)):
            return "all"
        return "some" if there else "none"

    def _members(self) -> list[MemberConfig]:
        first = self.like.config
        changes = {"epochs": self._epochs(), "snapshot_epochs": tuple(self._shots())}
        training = first.training.model_copy(update=changes)
        return [
            first.model_copy(update={"init_rate": rate, "seed": seed, "training": training})
            for rate in self.rates
            for seed in self.seeds
        ]

    def _epochs(self) -> int:
        return self.longer * self.like.config.training.epochs

    def _shots(self) -> list[int]:
        return [self.longer * epoch for epoch in self.like.config.training.snapshot_epochs]

    def _options(self, out: Path) -> list[str]:
        rates, seeds = [str(rate) for rate in self.rates], [str(seed) for seed in self.seeds]
        config = str(self._source() / "config.json")
        options = [config, "--init-rates", *rates, "--seeds", *seeds, "--out", str(out)]
        if self.longer == 1:
            return options
        shots = ["--training.snapshot-epochs", *map(str, self._shots())] if self._shots() else []
        return [*options, "--training.epochs", str(self._epochs()), *shots]


def label(command: str) -> str:
    """Return what stands before a command."""
    there = " is there already; include it" if command.startswith(COMPARE) else ""
    return f"what is missing{there}"


def _config(path: Path) -> MemberConfig | None:
    try:
        return read_config(path)
    except InputError:
        return None
