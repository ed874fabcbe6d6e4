"""Where a report's numbers come from: the runs' settings with their sources, and their provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from sim.config import sources
from validate.html_parts import details, heading, note, text_table
from validate.settings import Setting

if TYPE_CHECKING:
    from sim.run import Run
    from validate.report import Report


def settings_section(report: Report) -> str:
    """Return every setting with its value and source; where runs differ, each value."""
    tables = {s.label: _values(s) for s in report.settings}
    names = dict.fromkeys(name for values in tables.values() for name in values)
    rows = [[name, *_merged({label: v.get(name) for label, v in tables.items()})] for name in names]
    small = (
        "γ and seed stand with the runs below. Source: stated in the paper, taken from a sibling paper of "
        "the group, chosen by us, or set by the user."
    )
    listed = text_table(["setting", "value", "source"], rows)
    return heading("settings", "Settings") + note(small) + listed + _tasks(report.settings)


def _values(setting: Setting) -> dict[str, tuple[str, str]]:
    config = setting.runs[0].config
    values = config.model_dump(mode="json")
    found = {}
    for name, source in sources(config).items():
        section, key = name.split(".")
        found[name] = json.dumps(values[section][key]), source
    return found


def _merged(values: dict[str, tuple[str, str] | None]) -> tuple[str, str]:
    """Return a setting's value and source, or each with the runs that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for label, value in values.items():
        found.setdefault(value or ("–", "–"), []).append(label)
    if len(found) == 1:
        return next(iter(found))
    each = [(f"{value} ({'; '.join(labels)})", source) for (value, source), labels in found.items()]
    return "; ".join(v for v, _ in each), ", ".join(dict.fromkeys(s for _, s in each))


def _tasks(settings: Sequence[Setting]) -> str:
    tasks: dict[str, list[str]] = {}
    for setting in settings:
        tasks.setdefault(setting.task.to_toml(), []).append(setting.label)
    return "".join(
        details(
            "the task" if len(tasks) == 1 else f"the task of {'; '.join(labels)}", f"<pre>{escape(t)}</pre>"
        )
        for t, labels in tasks.items()
    )


def provenance_section(report: Report) -> str:
    """Return one line a run, the versions, and each run's whole record."""
    runs = [(setting, run) for setting in report.settings for run in setting.runs]
    header = [
        *("run", "seed", "commit", "device", "processor", "matrix product", "kernels"),
        *("wall time", "peak memory"),
    ]
    rows = [[s.label, str(run.config.seed), *_record(run)] for s, run in runs]
    made = report.made
    lines = [
        _versions(f"{len(runs)} runs", [run.provenance for _, run in runs]),
        _versions("this report", [made]),
    ]
    small = f"This report was made {made['written']} with commit {_commit(made)}."
    whole = "".join(details(run.path.name, f"<pre>{escape(_record_json(run))}</pre>") for _, run in runs)
    listed = text_table(header, rows, numbers=2, cards=True)
    parts = [heading("provenance", "Provenance"), listed, note(small), *map(note, lines)]
    return "".join(parts) + details("everything that was recorded of each run", whole)


def _record(run: Run) -> list[str]:
    p = run.provenance
    return [
        _commit(p),
        str(p.get("device", "–")),
        str(p.get("processor", "–")),
        str(p.get("matmul", {}).get("route", "–")),
        str(p.get("kernels", {}).get("used", "–")),
        f"{p['wall_seconds']:.0f} s",
        f"{p['peak_memory_mib']:.0f} MiB",
    ]


def _commit(provenance: dict[str, Any]) -> str:
    commit = provenance.get("commit")
    if commit is None:
        return "unknown"
    return f"{commit[:10]}{' with changes' if provenance.get('dirty') else ''}"


def _versions(of_what: str, records: Sequence[dict[str, Any]]) -> str:
    texts = dict.fromkeys(
        ", ".join(f"{k} {v}" for k, v in {"python": r.get("python", "–"), **r.get("versions", {})}.items())
        for r in records
    )
    return f"Versions, {of_what}: {' | '.join(texts)}."


def _record_json(run: Run) -> str:
    return json.dumps({k: v for k, v in run.provenance.items() if k != "sources"}, indent=2)
