"""The settings at which claims are judged, as ``settings.toml`` lists them: the likeliest first."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from validate.judge.stats import LEVEL

_DATA = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Setup:
    """A setting: a network and how it is trained.

    ``label`` is its column in the table of claims and ``name`` what people call it; the runs of ``study``
    stand for it, and those of ``more``, a study with further seeds. A check of ``robustness`` stands
    outside the main table. ``looks`` gives the level from each number of seeds on; fewer seeds decide
    nothing.
    """

    label: str
    name: str = ""
    study: str = ""
    more: str = ""
    meaning: str = ""
    robustness: bool = False
    looks: Mapping[str, float] = field(default_factory=lambda: {"2": LEVEL})

    def level(self, n_seeds: int) -> float | None:
        """Return the two-sided level at which that many seeds are judged; None for too few."""
        reached = {int(n): level for n, level in self.looks.items() if int(n) <= n_seeds}
        return reached[max(reached)] if reached else None


SETTINGS = tuple(Setup(**entry) for entry in _DATA["setting"])
BY_LABEL = {setup.label: setup for setup in SETTINGS}
GROUPS: dict[str, list[str]] = _DATA["groups"]
"""The labels of each group of settings that claims name."""
NORMED, FULL_SIZE = (tuple(BY_LABEL[label] for label in GROUPS[name]) for name in ("normed", "full-size"))
"""The Transformers with layer norm, and those on the paper's whole task."""
PRIMARY = SETTINGS[0]
"""Fixed by where it comes from and not by what it shows."""
MORE = {setup.study: setup.more for setup in SETTINGS if setup.more}
"""Studies whose seeds another study continues."""


def setup_of(label: str) -> Setup:
    """Return a setting by its label; one of the user's own is judged from two seeds on."""
    return BY_LABEL.get(label) or Setup(label, label)


def labels_of(names: Sequence[str]) -> list[str]:
    """Return the labels of some settings or groups of settings, the likeliest first."""
    wanted = {label for name in names for label in GROUPS.get(name, (name,))}
    return [setup.label for setup in SETTINGS if setup.label in wanted]


def step_of_measure(name: str, study: str) -> float:
    """Return how far apart neighbouring values of a measure are at a study's size."""
    counts = _DATA["steps"][name]
    kinds = (kind for kind, studies in _DATA["studies"].items() if study in studies and kind in counts)
    return 1 / float(counts[next(kinds, "all")])
