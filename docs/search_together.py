"""What the searches at a quarter of the size show together: for settings_map.md and README.md."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from marked import are, counted, markdown_table
from search_text import SMALL_SEARCHES

from validate.claims.statements import LARGE
from validate.observe import KEPT
from validate.search import WANTED, Finding, State, findings
from validate.studies import load_study

LAG, DELAY = 0, 1
"""Places of the two conditions at γ = 0.3."""
assert [WANTED[i].name for i in (LAG, DELAY)] == ["test behind", "memory delay"]
WEAK_DECAY = 0.01
GRID = 4e-3
"""The highest rate of the first grid."""


@dataclass(frozen=True)
class Together:
    """What all runs of one setting at γ = 0.3 show, which differ in length and in when they end.

    Attributes
    ----------
    setting : str
    rate : float
        The peak learning rate.
    short, long : tuple of Finding
        Those with 200 epochs at most, and those with more.
    """

    setting: str
    rate: float
    short: tuple[Finding, ...]
    long: tuple[Finding, ...]

    def has(self, condition: int, state: State) -> bool:
        """Return whether any run has a condition in a state."""
        return any(finding.states[condition] == state for finding in self.short + self.long)

    @property
    def is_late(self) -> bool:
        """Whether memory is fitted more than a factor of two later than the training sums."""
        return any(finding.rules_out_stronger_decay for finding in self.short + self.long)

    @property
    def is_late_in_long_runs_alone(self) -> bool:
        """Whether it takes more than 200 epochs to see that."""
        return self.is_late and not any(finding.rules_out_stronger_decay for finding in self.short)

    @property
    def is_open(self) -> bool:
        """Whether no run decides how far apart the two are."""
        return not self.has(DELAY, "not met") and not self.has(DELAY, "met")


def together(folder: Path = KEPT) -> list[Together]:
    """Return every setting with weak decay that has a run at γ = 0.3 in any of the small searches."""
    found: dict[tuple[float, str], dict[bool, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for name in SMALL_SEARCHES:
        study = load_study(name)
        for finding in findings(study, None, folder):
            training = study.configs[finding.setting].training
            if training.weight_decay == WEAK_DECAY and LARGE in finding.runs:
                found[training.peak_learning_rate, finding.setting][training.epochs > 200].append(finding)
    return [
        Together(setting, rate, tuple(runs[False]), tuple(runs[True]))
        for (rate, setting), runs in sorted(found.items())
    ]


def together_text(folder: Path = KEPT) -> str:
    """Return a line for each rate, and the names of the settings that are open."""
    settings = together(folder)
    rates = sorted({each.rate for each in settings})
    rows = [_row(f"{rate:g}", [each for each in settings if each.rate == rate]) for rate in rates]
    rows.append(_row("all", settings))
    header = ["peak rate", "settings", "memory late", "only after 200 epochs", "memory in time", "open"]
    names = ", ".join(f"`{each.setting}`" for each in settings if each.is_open)
    table = markdown_table([*header, "held-out sums behind"], rows)
    return f"{table}\n\nOpen: {names or 'none'}."


def _row(name: str, settings: list[Together]) -> list[str]:
    numbers = (
        len(settings),
        sum(each.is_late for each in settings),
        sum(each.is_late_in_long_runs_alone for each in settings),
        sum(each.has(DELAY, "met") for each in settings),
        sum(each.is_open for each in settings),
        sum(each.has(LAG, "met") for each in settings),
    )
    return [name, *map(str, numbers)]


def summary(settings: list[Together]) -> str:
    """Return the counts of some settings as a sentence, for the README."""
    late = sum(each.is_late for each in settings)
    undecided = sum(each.is_open for each in settings)
    return (
        f"at {late} of {counted(len(settings), 'setting')} memory is fitted more than twice as late as the "
        f"training sums, and {undecided} {are(undecided)} open"
    )
