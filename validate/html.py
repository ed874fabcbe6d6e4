"""The report as one self-contained HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from validate.html_sections import (
    claims_section,
    comparison_section,
    equations_section,
    error_budget_section,
    figures_section,
    summary,
    verdicts_section,
)
from validate.html_sources import provenance_section, settings_section

if TYPE_CHECKING:
    from validate.report import Report

_STYLE = """
:root { color-scheme: light; font-family: system-ui, sans-serif; line-height: 1.5; color: #1b1f24; }
body { max-width: 64rem; margin: 0 auto; padding: 1rem; background: #fff; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 2.6rem; border-bottom: 1px solid #d0d7de; }
h3 { font-size: 1.02rem; margin: 1.6rem 0 .5rem; }
a { color: #0a54a8; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .95rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; border-bottom: 1px solid #d8dee4; vertical-align: top; }
td.number { text-align: right; }
td.number, td[data-label^="mean"], td[data-label="threshold"] { white-space: nowrap; }
.plain td { overflow-wrap: anywhere; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .note { font-size: .9rem; color: #424a53; }
.yes { color: #11632d; font-weight: 600; } .no { color: #a40e26; font-weight: 600; }
.part { color: #7a4b00; font-weight: 600; }
details { margin: .4rem 0; } details summary { cursor: pointer; padding: .15rem 0; }
pre { font-size: .8rem; overflow-x: auto; background: #f6f8fa; padding: .6rem; }
@media (max-width: 46rem) {
  .cards thead { display: none; }
  .cards, .cards tbody, .cards tr, .cards td { display: block; }
  .cards tr { border: 1px solid #d0d7de; border-radius: .4rem; margin: .6rem 0; padding: .3rem .2rem; }
  .cards td, .cards td.number { border: 0; padding: .15rem .6rem; text-align: left; white-space: normal; }
  .cards td:empty { display: none; }
  .cards td:not([data-label=""])::before { content: attr(data-label) ": "; color: #57606a; }
  .scroll.picture img { max-width: none; }
  .wide { min-width: 40rem; }
}
"""
_CONTENTS = {
    "claims": "Claims",
    "figures": "Figures",
    "budget": "Error budget",
    "comparison": "Comparison",
    "equations": "Equations",
    "settings": "Settings",
    "provenance": "Provenance",
}


def render(report: Report) -> str:
    """Return the page; it opens without a network."""
    links = (f'<a href="#{place}">{title}</a>' for place, title in _CONTENTS.items())
    body = [
        f"<h1>{escape(report.title)}</h1>",
        summary(report),
        f'<nav aria-label="contents">{"".join(links)}</nav>',
        "<main>",
        verdicts_section(report),
        claims_section(report),
        figures_section(report),
        error_budget_section(report),
        comparison_section(report),
        equations_section(report),
        settings_section(report),
        provenance_section(report),
        "</main>",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style>"
        '<link rel="icon" href="data:,">'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )
