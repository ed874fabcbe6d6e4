"""anchorflow sweep --search: what was tried, and what is best."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validate.sweeps import Search

EXPLORATORY = (
    "exploratory: chosen by its outcome among {n}; confirm it with seeds that were not in the search"
)


def report(search: Search, *, as_json: bool) -> None:
    """Print every trial, the best one, and that it has to be confirmed."""
    from validate.terminal.tables import print_json

    if as_json:
        print_json(_as_dict(search))
        return
    _print_trials(search)
    settings = f"{len(search.tried)} of {search.n_settings}"
    print(f"settings tried: {settings}; steps: {search.steps} of {search.budget}")
    if search.best is None:
        print("best: none, the measure has no value in any trial")
        return
    setting = ", ".join(f"{axis} {_short(value)}" for axis, value in search.best.setting.items())
    print(f"best: {setting}: {search.measure} {search.best.value:.4g}")
    print(EXPLORATORY.format(n=len(search.tried)))


def _as_dict(search: Search) -> dict[str, Any]:
    return {
        "measure": search.measure,
        "settings": search.n_settings,
        "budget_steps": search.budget,
        "steps": search.steps,
        "trials": [asdict(trial) for trial in search.tried],
        "best": None if search.best is None else asdict(search.best),
        "note": EXPLORATORY.format(n=len(search.tried)),
    }


def _print_trials(search: Search) -> None:
    from validate.terminal.tables import print_table

    axes = list(search.tried[0].setting) if search.tried else []
    rows = []
    for trial in search.tried:
        result = trial.state if trial.value is None else f"{trial.value:.4g}"
        values = [_short(trial.setting[axis]) for axis in axes]
        rows.append([*values, result, str(trial.steps), " ".join(trial.runs)])
    print_table(f"trials: {search.measure}", [*axes, search.measure, "steps", "runs"], rows)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
