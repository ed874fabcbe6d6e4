"""The report as one self-contained HTML page, from the templates beside this module."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from validate.judge import presentation, ranking
from validate.judge.rungs import LEFT_OUT
from validate.judge.times import early_text
from validate.report import rows as html_rows

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
    """Return the page; it opens without a network.

    Parameters
    ----------
    context
        What the templates read; ``report`` is the report.
    """
    environment = _environment()
    bodies = {name: environment.get_template(f"{name}.html.j2").render(context) for name in SECTIONS}
    # A template that has nothing to say leaves neither heading nor entry in the contents.
    sections = [
        {"place": name, "title": SECTIONS[name], "body": Markup(body)}
        for name, body in bodies.items()
        if body.strip()
    ]
    return environment.get_template("page.html.j2").render(context, sections=sections)


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
    environment.filters["base64"] = _base64
    environment.tests["claim_measured"] = presentation.is_measured
    environment.globals.update(_functions(), left_out=LEFT_OUT)
    return environment


def _functions() -> dict[str, Any]:
    functions = (
        presentation.condition_rows,
        presentation.headline,
        presentation.measured,
        presentation.states_text,
        ranking.ranking,
        early_text,
        *html_rows.FUNCTIONS,
    )
    named = {function.__name__: function for function in functions}
    assert len(named) == len(functions), "two functions of the templates share a name"
    return named


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
