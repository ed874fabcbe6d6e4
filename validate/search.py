"""The exploratory search for Fig. 3A: its conditions, their thresholds and the order of its runs.

All of this was committed before any run of the search. Fig. 3A shows, at γ = 0.3, memory and the training
sums fitted together with the held-out sums behind, and at γ = 0.8 reasoning learned first; Fig. 4 shows the
memory anchors' embeddings aligned there. A setting has *the picture* if it meets all four conditions. What a
search finds it has chosen by the outcome: it shows that the picture exists, once fresh seeds confirm it.

Weight decay is taken to slow the memorising of a table and to bring the held-out sums nearer to the training
sums. So where the picture fails because the table is late or the held-out sums are not behind, the same
setting with a stronger decay is not trained; the first such setting of each norm is, to check this.
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
from validate.bounds import Bound, Value, between, ends, magnitude
from validate.claims.measures.geometry import mean_cosine
from validate.claims.statements import LARGE, SMALL
from validate.observe import KEPT, RUNS, Observations, kept
from validate.observe.errors import NoRunsError
from validate.studies import Study
from validate.times import curve, doublings, is_fitted

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


def held_out_lag(run: Observations) -> Value:
    """Return the largest lag of the test behind the training accuracy, or bounds if it may still grow."""
    return _largest_lead(run, ("rsn_train",), "rsn_test")


def memory_delay(run: Observations) -> Value:
    """Return |log2| of the ratio of the times (Σ learning rate) that fit memory and training sums."""
    return magnitude(doublings(run, "mem", "rsn_train"))


def reasoning_lead(run: Observations) -> Value:
    """Return the largest lead of both reasoning accuracies over memory, or bounds if it may still grow."""
    return _largest_lead(run, ("rsn_train", "rsn_test"), "mem")


def _largest_lead(run: Observations, leading: Sequence[str], behind: str) -> Value:
    """Return by how much some accuracies lead another at most.

    After the end of the run the accuracy behind is taken not to fall: what it lacks of 1 bounds the lead.
    """
    first = np.min([curve(run, "accuracy", part)[1] for part in leading], axis=0)
    last = curve(run, "accuracy", behind)[1]
    lead = float((first - last).max())
    return between(lead, max(lead, 1 - float(last[-1])))


def memory_alignment(run: Observations) -> Value:
    """Return the mean cosine over pairs of memory anchors when the training sums are fitted; NaN before."""
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
        """Whether the picture fails here for a reason that a stronger weight decay only strengthens."""
        run = self.runs.get(LARGE)
        if run is None:
            return False
        is_late = ends(doublings(run, "mem", "rsn_train"))[0] > DELAY
        return is_late or self.states[0] == "not met"


def value_text(value: Value | None) -> str:
    """Return a value for a table: a dash without a run, "undefined" where nothing was learned."""
    if value is None:
        return "–"
    return str(value) if isinstance(value, Bound) else "undefined" if math.isnan(value) else f"{value:.2f}"


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
    """Return the settings that have no run and need none: with a weaker weight decay they fail already."""
    settings = {finding.setting: finding for finding in found}
    failing = _fail_with_weaker_decay(study, settings)
    checked = _first_of_each_norm(study, failing)
    return [name for name in failing if LARGE not in settings[name].runs and name not in checked]


def checks(study: Study, found: Iterable[Finding]) -> list[str]:
    """Return the settings that are trained although they fail with a weaker weight decay.

    They are the first of each placement of the norm, and show whether a stronger decay changes nothing there.
    """
    settings = {finding.setting: finding for finding in found}
    return _first_of_each_norm(study, _fail_with_weaker_decay(study, settings))


def _first_of_each_norm(study: Study, settings: Iterable[str]) -> list[str]:
    first: dict[str | None, str] = {}
    for name in settings:
        first.setdefault(getattr(study.configs[name].model, "norm", None), name)
    return list(first.values())


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
    for decay in sorted({_decay(study, name) for name in study.variants}):
        left_out = ruled_out(study, found)
        every = [f.setting for f in found if LARGE not in f.runs and f.setting not in left_out]
        run_study(
            _part(study, [name for name in every if _decay(study, name) == decay], LARGE), root, **options
        )
        found = findings(study, root, folder)
    left = [f.setting for f in found if f.is_promising and SMALL not in f.runs]
    run_study(_part(study, left, SMALL), root, **options)


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
