"""The exploratory search for Fig. 3A: its conditions, their thresholds and the order of its runs.

Conditions and thresholds were committed before any run of the search; how bounds are drawn became more
careful after them (docs/studies.md). Fig. 3A shows, at γ = 0.3, memory and the training sums fitted
together with the held-out sums behind, and at γ = 0.8 reasoning learned first; Fig. 5A shows the memory
anchors' embeddings aligned there. A setting has *the picture* if it meets all four conditions. What a
search finds it has chosen by the outcome: it shows that the picture exists, once fresh seeds confirm it.

Weight decay is assumed to slow the memorising of a table. So where the picture fails because the table is
late, the same setting with a stronger decay is not trained. The first such setting of each norm is, to
check this, and all of a norm are where its check does not fail.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from sim.config.run import RunConfig
from sim.training.execution import Options
from theory import InputError
from validate.claims.measures.geometry import mean_cosine
from validate.claims.statements import LARGE, SMALL
from validate.judge.bounds import Bound, Value, between, ends, magnitude
from validate.judge.times import HALF, curve, doublings_range, is_fitted
from validate.observe import KEPT, RUNS, Observations, kept
from validate.observe.errors import NoRunsError
from validate.studies import Study

State = Literal["met", "not met", "open"]


@dataclass(frozen=True)
class Wanted:
    """One condition of the picture.

    Attributes
    ----------
    name : str
        Its column in the table.
    init_rate : float
        γ of the run that is measured.
    measure : callable
        From a run to a number; a bound where the run was too short, NaN where nothing was learned.
    threshold : float
    below : bool
        Whether the measure has to be at most the threshold, instead of at least.
    """

    name: str
    init_rate: float
    measure: Callable[[Observations], Value]
    threshold: float
    below: bool = False

    def state(self, value: Value) -> State:
        """Return whether a value meets the threshold; open if it is undefined or a bound that leaves both."""
        low, high = ends(value)
        if math.isnan(low):
            return "open"
        met = {end <= self.threshold if self.below else end >= self.threshold for end in (low, high)}
        return "open" if len(met) == 2 else "met" if met.pop() else "not met"

    def text(self, value: Value | None) -> str:
        """Return a value for a table, with more digits where fewer would hide which side it is on."""
        if not isinstance(value, Bound):
            return value_text(value)
        hidden = any(e != self.threshold and f"{e:.3g}" == f"{self.threshold:.3g}" for e in ends(value))
        return value.text(6 if hidden else 3)


def held_out_lag(run: Observations) -> Value:
    """Return the largest lag of the test behind the training accuracy; it may still grow."""
    return _largest_lead(run, ("rsn_train",), "rsn_test")


def memory_delay(run: Observations) -> Value:
    """Return |log2| of the ratio of the times that fit memory and training sums.

    A bound that holds what steps and Σ learning rate, both taken as time, say between evaluations. NaN if
    the training sums were fitted once, but are not at the end.
    """
    return magnitude(_delay(run))


def reasoning_lead(run: Observations) -> Value:
    """Return the largest lead of both reasoning accuracies over memory; it may still grow."""
    return _largest_lead(run, ("rsn_train", "rsn_test"), "mem")


def _delay(run: Observations) -> Value:
    """Return by how many doublings memory is later than the training sums, on either clock."""
    if is_fitted(run, "rsn_train") and curve(run, "accuracy", "rsn_train")[1][-1] < HALF:
        return math.nan
    lines = [line | {"sum_learning_rate": float(line["step"])} for line in run.metrics]
    clocks = (run, dataclasses.replace(run, metrics=lines))
    lows, highs = zip(*(ends(doublings_range(clock, "mem", "rsn_train")) for clock in clocks), strict=True)
    return between(min(lows), max(highs))


def _largest_lead(run: Observations, leading: Sequence[str], behind: str) -> Value:
    """Return by how much some accuracies lead another at least: after the end of the run it may be by all."""
    first = np.min([curve(run, "accuracy", part)[1] for part in leading], axis=0)
    last = curve(run, "accuracy", behind)[1]
    return between(float((first - last).max()), 1.0)


def memory_alignment(run: Observations) -> Value:
    """Return the mean cosine of the memory anchors, at the first snapshot with fitted training sums."""
    return mean_cosine(run, run.task.memory_anchors) if is_fitted(run, "rsn_train") else math.nan


DELAY = 1.0
"""The doublings by which memory and training sums may be apart; the patience of the study ``search``."""

WANTED = (
    Wanted("test behind", LARGE, held_out_lag, 0.5),
    Wanted("memory delay", LARGE, memory_delay, DELAY, below=True),
    Wanted("reasoning lead", SMALL, reasoning_lead, 0.5),
    Wanted("memory aligned", SMALL, memory_alignment, 0.8),
)
"""The picture: accuracies half apart, times within a factor of two, and 0.8 of full alignment."""


def value_text(value: Value | None) -> str:
    """Return a value for a table: a dash without a run, "undefined" where nothing was learned."""
    if value is None:
        return "–"
    return str(value) if isinstance(value, Bound) else "undefined" if math.isnan(value) else f"{value:.2f}"


@dataclass(frozen=True)
class Finding:
    """What a setting shows.

    Attributes
    ----------
    setting : str
        The variant of the study.
    runs : mapping of float to Observations
        Its runs by γ.
    """

    setting: str
    runs: Mapping[float, Observations]

    @property
    def values(self) -> tuple[Value | None, ...]:
        """The measure of each condition; None without its run."""
        return tuple(w.measure(self.runs[w.init_rate]) if w.init_rate in self.runs else None for w in WANTED)

    @property
    def states(self) -> tuple[State, ...]:
        """The state of each condition; open without its run."""
        return tuple("open" if v is None else w.state(v) for w, v in zip(WANTED, self.values, strict=True))

    @property
    def texts(self) -> tuple[str, ...]:
        """The measures as a table shows them."""
        return tuple(w.text(value) for w, value in zip(WANTED, self.values, strict=True))

    @property
    def verdict(self) -> str:
        """Whether the setting has the picture."""
        if "not met" in self.states:
            return "no"
        return "found" if set(self.states) == {"met"} else "open"

    @property
    def is_promising(self) -> bool:
        """Whether γ = 0.8 is worth its run: γ = 0.3 fitted its training sums and fails no condition."""
        run = self.runs.get(LARGE)
        return run is not None and is_fitted(run, "rsn_train") and self.verdict != "no"

    @property
    def rules_out_stronger_decay(self) -> bool:
        """Whether the table is late here, which a stronger weight decay is assumed only to strengthen."""
        run = self.runs.get(LARGE)
        return run is not None and ends(_delay(run))[0] > DELAY

    @property
    def fails_by_alignment_alone(self) -> bool:
        """Whether memory alignment is all that is not met."""
        missed = [w.name for w, state in zip(WANTED, self.states, strict=True) if state == "not met"]
        return missed == ["memory aligned"]


def findings(study: Study, root: Path | None = RUNS, folder: Path = KEPT) -> list[Finding]:
    """Return what every setting of a search shows, by its complete run folders, if any, and its kept runs.

    Raises
    ------
    InputError
        If the study has no variants, other γ, or several seeds: the search looks at one run of each γ.
    """
    _check(study)
    return [
        Finding(name, {run.config.init_rate: run for run in _runs(study, name, root, folder)})
        for name in study.variants
    ]


def _check(study: Study) -> None:
    if not study.variants:
        raise InputError("study", study.name, "has no variants to search", "give it [axes.NAME] tables")
    for config in study.configs.values():
        if set(config.init_rates) != {LARGE, SMALL} or len(config.seeds) != 1:
            found = f"γ {list(config.init_rates)}, seeds {list(config.seeds)}"
            raise InputError("study", study.name, f"has {found}", f"give γ {[LARGE, SMALL]} and one seed")


def ruled_out(study: Study, found: Iterable[Finding]) -> list[str]:
    """Return the settings without a run that are assumed to need none: they fail with a weaker decay.

    None of a norm is where the check of this, once it has a run, does not fail.
    """
    settings = {finding.setting: finding for finding in found}
    failing = _fail_with_weaker_decay(study, settings)
    checked = _first_of_each_norm(study, failing)
    refuted = {_norm(study, n) for n in checked if settings[n].runs and settings[n].verdict != "no"}
    left = [name for name in failing if LARGE not in settings[name].runs and name not in checked]
    return [name for name in left if _norm(study, name) not in refuted]


def checks(study: Study, found: Iterable[Finding]) -> list[str]:
    """Return the settings that are trained although they fail with a weaker weight decay.

    They are the first of each placement of the norm, and show whether a stronger decay changes nothing there.
    """
    settings = {finding.setting: finding for finding in found}
    return _first_of_each_norm(study, _fail_with_weaker_decay(study, settings))


def _first_of_each_norm(study: Study, settings: Iterable[str]) -> list[str]:
    first: dict[str | None, str] = {}
    for name in settings:
        first.setdefault(_norm(study, name), name)
    return list(first.values())


def _norm(study: Study, setting: str) -> str | None:
    return getattr(study.configs[setting].model, "norm", None)


def _fail_with_weaker_decay(study: Study, settings: Mapping[str, Finding]) -> list[str]:
    return [
        name
        for name in settings
        if any(settings[weaker].rules_out_stronger_decay for weaker in _weaker(study, name))
    ]


def _weaker(study: Study, setting: str) -> list[str]:
    """Return the settings that differ from one in nothing but a weaker weight decay."""
    return [
        other
        for other in study.variants
        if _decay(study, other) < _decay(study, setting)
        and _without_decay(study, other) == _without_decay(study, setting)
    ]


def _decay(study: Study, setting: str) -> float:
    return study.configs[setting].training.weight_decay


def _without_decay(study: Study, setting: str) -> RunConfig:
    config = study.configs[setting]
    return config.model_copy(update={"training": config.training.model_copy(update={"weight_decay": 0.0})})


def run_search(study: Study, root: Path = RUNS, folder: Path = KEPT, **options: Unpack[Options]) -> None:
    """Train γ = 0.3 from weak to strong weight decay, then γ = 0.8 where that leaves the picture possible.

    Settings that a weaker decay rules out (``ruled_out``) are not trained, but for some (``checks``).
    ``**options`` say how the others are, as for ``run_study``.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, with a checkpoint of every run; call again to continue.
    """
    from validate.studies import run_study  # Which loads torch.

    found = findings(study, root, folder)
    tried: set[str] = set()  # A run that diverges is never found.
    for decay in sorted({_decay(study, name) for name in study.variants}):
        # A check that does not fail makes more settings necessary.
        while names := [n for n in _needed(study, found) if _decay(study, n) == decay and n not in tried]:
            run_study(_part(study, names, LARGE), root, **options)
            tried |= set(names)
            found = findings(study, root, folder)
    left = [f.setting for f in found if f.is_promising and SMALL not in f.runs]
    run_study(_part(study, left, SMALL), root, **options)


def _needed(study: Study, found: Sequence[Finding]) -> list[str]:
    """Return the settings that have no run at γ = 0.3 and need one."""
    left_out = ruled_out(study, found)
    return [f.setting for f in found if LARGE not in f.runs and f.setting not in left_out]


def _part(study: Study, settings: Iterable[str], init_rate: float) -> Study:
    """Return a study with some of its settings and one of its γ, which has the same run folders."""
    configs: dict[str | None, RunConfig] = {
        name: study.configs[name].model_copy(update={"init_rates": (init_rate,)}) for name in settings
    }
    return dataclasses.replace(study, configs=configs)


def _runs(study: Study, variant: str, root: Path | None, folder: Path) -> list[Observations]:
    found: dict[float, Observations] = {}
    for where in ([{"root": root}] if root else []) + [{"folder": folder}]:
        try:
            found |= {run.config.init_rate: run for run in kept(study.name, variant, **where)}
        except NoRunsError:
            continue
    return list(found.values())
