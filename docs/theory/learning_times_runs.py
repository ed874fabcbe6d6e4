"""The runs and the predictions that learning_times.py compares."""

from __future__ import annotations

from validate.judge.groups import Setting, group_runs
from validate.judge.learning_times import Kept, Time, times_of
from validate.observe import NoRunsError, Observations, kept
from validate.predict.learning import optimizer_text

STUDIES = ("optimisers", "learning-times")
MEAN, SCATTERED = "mean course", "with scatter"


def courses(predictions: list[Kept]) -> dict[str, list[Kept]]:
    """Return the predictions of the mean course alone, and those with the scatter of the weights."""
    return {
        name: [p for p in predictions if p.scatter == wanted]
        for name, wanted in ((MEAN, False), (SCATTERED, True))
    }


def settings(study: str) -> list[Setting]:
    """Return the settings of a study's kept runs."""
    try:
        return group_runs(kept(study))
    except NoRunsError:
        return []


def title(setting: Setting) -> str:
    return f"{optimizer_text(setting.config.training)}, γ = {setting.init_rate:g}"


def by_seed(runs: list[Observations]) -> list[list[Observations]]:
    seeds = sorted({run.config.seed for run in runs})
    return [[run for run in runs if run.config.seed == seed] for seed in seeds]


def times_by_seed(study: str, predictions: list[Kept]) -> list[list[Time]]:
    """Return the times of a study's runs, seed by seed."""
    runs = [run for setting in settings(study) for run in setting.runs]
    return [[t for run in own for t in times_of(run, predictions)] for own in by_seed(runs)]
