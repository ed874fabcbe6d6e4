"""Self-contained HTML pages from the templates beside this module, and the sentences that they show."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sim.runs.files import json_text
from sim.runs.outputs import OutputFolder
from sim.runs.provenance import commit_text
from theory.edge.reading import PathLike, as_path
from validate.compare.ranking import STEPS, WHOLE, agreements
from validate.figures.footnote import span
from validate.figures.sheet import Sheet, write_figures
from validate.judge import presentation
from validate.judge.given import Match
from validate.observe.groups import Setting, early_text
from validate.predict.predictors import equations
from validate.terminal.output import Table

SECTIONS = {
    "answer": "The answer",
    "verdicts": "Verdicts",
    "claims": "The paper's claims",
    "figures": "Figures",
    "budget": "Error budget",
    "comparison": "Predicted against observed cosine similarity",
    "equations": "Equations used",
    "settings": "Settings",
    "provenance": "Provenance",
}
"""Every section in the order of the page: its anchor, which names its template, and its title."""
FOLDED = ("claims", "budget", "comparison", "equations", "settings", "provenance")
"""The sections that open at a click."""
_MOST_SHOWN = 3
"""The figures that a report shows; the others open at a click."""
_MOST_NAMED = 5
"""The most settings that one sentence names."""


def render(**context: object) -> str:
    """Return the page, which opens without a network; the templates read ``report`` and ``pictures``."""
    bodies = {name: page(f"{name}.html.j2", **context) for name in SECTIONS}
    # A template that has nothing to say leaves neither heading nor entry in the contents.
    sections = [
        {"place": name, "title": SECTIONS[name], "body": Markup(body)}
        for name, body in bodies.items()
        if body.strip()
    ]
    return page("page.html.j2", **context, sections=sections)


def write_page(
    out: PathLike,
    name: str,
    data: dict[str, Any],
    title: str,
    text: str,
    tables: Sequence[Table],
    figures: Sequence[Sheet],
) -> None:
    """Write NAME.json, the figures (PNG and SVG) and NAME.html, with the tables above the figures."""
    folder, place = OutputFolder(as_path("out", out)), f"figures/{name}"
    folder.check((f"{name}.json", f"{name}.html"), (place,))
    shown = {"tables": tables, "figures": [sheet.plot(footnote=False) for sheet in figures]}
    pictures = write_figures(figures, folder, place)
    folder.write(f"{name}.json", json_text(data))
    html = page("tables.html.j2", title=title, text=text, pictures=pictures, **shown)
    folder.write(f"{name}.html", html)


def page(template: str, **context: object) -> str:
    """Return a page from a template and the values that it reads."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    """Return the environment of all templates: everything is escaped except the templates' own markup."""
    environment = Environment(
        loader=PackageLoader("validate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["base64"] = lambda data: base64.b64encode(data).decode()
    environment.filters["file_name"] = lambda path: Path(path).name
    environment.filters["toml"] = lambda task: task.to_toml()
    environment.filters["versions"] = lambda made: ", ".join(
        f"{name} {v}" for name, v in {"python": made.get("python", "–"), **made.get("versions", {})}.items()
    )
    # The sources of a run's settings stand in a table of their own.
    environment.filters["recorded"] = lambda made: json.dumps(
        {name: value for name, value in made.items() if name != "sources"}, indent=2
    )
    called = [why_none_is_tested, setting_rows, span, study_name, commit_text, early_text, agreements]
    environment.globals.update(
        {function.__name__: function for function in called},
        presentation=presentation,
        folded=FOLDED,
        most_shown=_MOST_SHOWN,
        predictor_equations={name: meaning for name, (meaning, _) in equations().items()},
        steps=(*STEPS, *WHOLE),
    )
    return environment


# --- sentences and rows of the templates, as plain text -------------------------------------------------


def why_none_is_tested(nearest: Match | None) -> str:
    """Say why no claim was tested: how the runs differ from the nearest that a claim is about."""
    if nearest is None or nearest.is_of_another_task_or_model:
        return "The paper's claims are about other tasks or models than these runs: none is tested."
    none = "None of the paper's claims is tested"
    if not nearest.differing:
        return f"{none}: these runs are of the study {study_name(nearest)}, but not all of it."
    differences = [f"{key}: {own} for {its}" for key, (own, its) in nearest.differing.items()]
    more = f"; and {len(differences) - _MOST_NAMED} more settings" * (len(differences) > _MOST_NAMED)
    return (
        f"{none}: they are about other settings than these runs have. "
        f"The nearest, {study_name(nearest)}, differs in {'; '.join(differences[:_MOST_NAMED])}{more}."
    )


def study_name(match: Match) -> str:
    """Return the name of a study, with that of its variant."""
    return match.study + f" ({match.variant})" * bool(match.variant)


def setting_rows(settings: Sequence[Setting]) -> list[list[str]]:
    """Return every setting with its value and source; where runs differ, each value."""
    cells: dict[str, dict[tuple[str, str], list[str]]] = {}
    for setting in settings:
        for name, (value, source) in setting.configured().items():
            # The tag "paper" means that the paper prints the value.
            cell = json.dumps(value), "printed" if source == "paper" else source
            cells.setdefault(name, {}).setdefault(cell, []).append(setting.label)
    rows = []
    for name, values in cells.items():
        here = [label for labels in values.values() for label in labels]
        if absent := [s.label for s in settings if s.label not in here]:
            values["–", "–"] = absent
        one = len(values) == 1
        texts = [value if one else f"{value} ({'; '.join(own)})" for (value, _), own in values.items()]
        rows.append([name, "; ".join(texts), ", ".join(dict.fromkeys(source for _, source in values))])
    return rows
