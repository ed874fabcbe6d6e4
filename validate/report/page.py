"""The report as one self-contained HTML page, from the templates beside this module."""

from __future__ import annotations

import base64
import inspect
import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sim.runs.provenance import commit_text
from validate.judge import presentation
from validate.judge.answer import CONDITIONS_HEADER
from validate.judge.flow import ALIGNED_HEADER
from validate.judge.groups import early_text
from validate.judge.ranking import LEFT_OUT, STEPS, WHOLE, ranking
from validate.predict.predictors import EQUATIONS
from validate.report import rows
from validate.report.picture import AGREEMENT, agreements

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
"""Every section in the page's order: its anchor, which is its template's name, and its title."""


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


def page(template: str, **context: object) -> str:
    """Return a page from one template and what it reads."""
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
    # The sources of a run's settings stand in a table of their own.
    environment.filters["recorded"] = lambda made: json.dumps(
        {name: value for name, value in made.items() if name != "sources"}, indent=2
    )
    environment.tests["claim_measured"] = presentation.is_measured
    environment.globals.update(inspect.getmembers(rows, inspect.isfunction))
    environment.globals.update(
        presentation=presentation,
        commit_text=commit_text,
        predictor_equations=EQUATIONS,
        steps=(*STEPS, *WHOLE),
        left_out=LEFT_OUT,
        ranking=ranking,
        early_text=early_text,
        agreements=agreements,
        agreement_header=AGREEMENT,
        aligned_header=ALIGNED_HEADER,
        conditions_header=CONDITIONS_HEADER,
    )
    return environment
