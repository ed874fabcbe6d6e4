"""What the report's templates list: sentences and table rows, as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.runs.provenance import commit_text
from validate.judge.rungs import STEPS, WHOLE
from validate.predict.predictors import predictor_notes

if TYPE_CHECKING:
    from validate.judge.compare import Row
    from validate.judge.given import Match
    from validate.judge.groups import Setting
    from validate.judge.ranking import Ranked
    from validate.judge.rungs import RungDistance
    from validate.judge.verdict import Finding
    from validate.observe import Observations

Rows = list[list[str]]
_MOST_TOLD = 5
"""Settings that one sentence names."""


def summary(settings: Sequence[Setting]) -> str:
    """Return what the runs are, in a sentence."""
    runs = [run for setting in settings for run in setting.runs]
    labels = ", ".join(f"{s.label} ({s.seeds_text})" for s in settings)
    epochs = sorted({run.epochs[-1] for run in runs})
    length = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    minutes = sum(run.seconds for run in runs) / 60
    return (
        f"{len(runs)} run{'s' * (len(runs) > 1)}: {labels}; {length} epochs; "
        f"{minutes:.1f} minutes of training in all."
    )


def ranked_cells(ranked: Sequence[Ranked]) -> Rows:
    """Return a line for each predictor and rival."""
    return [r.cells() for r in ranked]


def stand_ins(matches: Sequence[Match], findings: Sequence[Finding]) -> list[str]:
    """Return where runs stand for a study whose settings they do not share, and in what they differ."""
    measured = [o for finding in findings for o in finding.outcomes if not o.missing]
    measured_on = {needs.study for o in measured for needs in o.condition.needs}
    return [
        f"{m.study}{f' ({m.variant})' if m.variant else ''}: {'; '.join(m.differences)}"
        for m in matches
        if m.differences and m.study in measured_on
    ]


def why_none_is_tested(nearest: Match | None) -> str:
    """Say why no claim was tested: how the runs differ from those that any claim is about."""
    if nearest is None or nearest.is_of_another_task_or_model:
        return "The paper's claims are about other tasks or models than these runs: none is tested."
    study = f"{nearest.study}{f' ({nearest.variant})' if nearest.variant else ''}"
    if not nearest.differing:
        return (
            f"None of the paper's claims is tested: these runs are of the study {study}, but not all of it."
        )
    told = [f"{key}: {own} for {its}" for key, (own, its) in nearest.differing.items()]
    more = f"; and {len(told) - _MOST_TOLD} more settings" * (len(told) > _MOST_TOLD)
    return (
        "None of the paper's claims is tested: they are about other settings than these runs have. "
        f"The nearest, {study}, differs in {'; '.join(told[:_MOST_TOLD])}{more}."
    )


def budget_steps() -> Rows:
    """Return every step of the ladder of flows and what lies between its ends."""
    return [[f"{lower} → {upper}", cause] for lower, upper, cause in (*STEPS, *WHOLE)]


def budget_rows(distances: Sequence[RungDistance], setting: str, epoch: int) -> Rows:
    """Return a setting's error budget at an epoch."""
    return [
        [d.group, d.step, str(d.rmse), str(d.largest)]
        for d in distances
        if (d.setting, d.epoch) == (setting, epoch)
    ]


def predictors(rows: Sequence[Row]) -> Rows:
    """Return the predictors that were compared and what each is."""
    compared = {row.predictor for row in rows}
    return [[name, where] for name, where in predictor_notes() if name in compared]


def equation_rows(equations: Sequence[dict[str, Any]]) -> Rows:
    """Return a line for each equation."""
    return [
        [
            row["equation"],
            row["says"],
            ", ".join(row["functions"]),
            f'anchorflow derive "{row["derivation"]}"' if row["derivation"] else "–",
            "–" if row["largest_error"] is None else f"{row['largest_error']:.1e}",
            row["standing"],
        ]
        for row in equations
    ]


def setting_rows(settings: Sequence[Setting]) -> Rows:
    """Return every setting with its value and source; where runs differ, each value."""
    tables = {s.label: _values(s) for s in settings}
    names = dict.fromkeys(name for values in tables.values() for name in values)
    return [[name, *_merged({label: v.get(name) for label, v in tables.items()})] for name in names]


def _values(setting: Setting) -> dict[str, tuple[str, str]]:
    shown = {"paper": "printed"}  # The tag says that the paper prints the value.
    found = setting.configured().items()
    return {name: (json.dumps(value), shown.get(source, source)) for name, (value, source) in found}


def _merged(values: dict[str, tuple[str, str] | None]) -> tuple[str, str]:
    """Return a setting's value and source, or each with the runs that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for label, value in values.items():
        found.setdefault(value or ("–", "–"), []).append(label)
    if len(found) == 1:
        return next(iter(found))
    each = [(f"{value} ({'; '.join(labels)})", source) for (value, source), labels in found.items()]
    return "; ".join(v for v, _ in each), ", ".join(dict.fromkeys(s for _, s in each))


def tasks(settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """Return each task as TOML under a title that names its runs."""
    found: dict[str, list[str]] = {}
    for setting in settings:
        found.setdefault(setting.task.to_toml(), []).append(setting.label)
    if len(found) == 1:
        return [("the task", text) for text in found]
    return [(f"the task of {'; '.join(labels)}", text) for text, labels in found.items()]


def run_rows(settings: Sequence[Setting]) -> Rows:
    """Return a line for each run: where and how it was made."""
    return [[s.label, str(run.config.seed), *_record(run.provenance)] for s, run in _runs(settings)]


def _runs(settings: Sequence[Setting]) -> Iterator[tuple[Setting, Observations]]:
    return ((setting, run) for setting in settings for run in setting.runs)


def _record(p: dict[str, Any]) -> list[str]:
    return [
        commit_text(p),
        str(p.get("device", "–")),
        str(p.get("processor", "–")),
        str(p.get("matmul", {}).get("route", "–")),
        str(p.get("kernels", {}).get("used", "–")),
        f"{p['wall_seconds']:.0f} s",
        f"{p['peak_memory_mib']:.0f} MiB",
    ]


def versions(settings: Sequence[Setting], made: dict[str, Any]) -> list[str]:
    """Return the versions behind the runs and behind the report, a sentence each."""
    records = [run.provenance for _, run in _runs(settings)]
    return [_versions(f"{len(records)} runs", records), _versions("this report", [made])]


def _versions(of_what: str, records: Sequence[dict[str, Any]]) -> str:
    texts = dict.fromkeys(
        ", ".join(f"{k} {v}" for k, v in {"python": r.get("python", "–"), **r.get("versions", {})}.items())
        for r in records
    )
    return f"Versions, {of_what}: {' | '.join(texts)}."


def records(settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """Return all that was recorded of each run as JSON, under the name of its folder."""
    return [
        (
            Path(run.source).name,
            json.dumps({k: v for k, v in run.provenance.items() if k != "sources"}, indent=2),
        )
        for _, run in _runs(settings)
    ]


FUNCTIONS = (
    summary,
    ranked_cells,
    stand_ins,
    why_none_is_tested,
    budget_steps,
    budget_rows,
    predictors,
    equation_rows,
    setting_rows,
    tasks,
    run_rows,
    commit_text,
    versions,
    records,
)
