"""Claims in pages, as they are judged when the site is built.

The role ``claim`` gives a claim's name and verdicts: ``:claim:`22``` in reStructuredText, ``{claim}`22``` in
Markdown. The directive ``claims-of-figure`` lists those of every claim whose section names a figure of the
paper, and of other claims that are named after it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import claim_pages
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

ORDER = ("holds", "partly", "fails", "undecided", "censored")
"""Settings that are not tested are left out."""


@lru_cache(maxsize=1)
def ledger() -> dict[int, dict[str, Any]]:
    """Return each claim as it was judged, by number."""
    claims = json.loads(claim_pages.JUDGED.read_text(encoding="utf-8"))
    return {claim["number"]: claim for claim in claims}


def verdict_text(claim: dict[str, Any]) -> str:
    """Return a claim's verdict at each setting: "holds (MLP), fails (post, pre)"."""
    found = claim["verdicts"]
    each = {verdict: ", ".join(name for name in found if found[name] == verdict) for verdict in ORDER}
    return ", ".join(f"{verdict} ({at})" for verdict, at in each.items() if at) or "not tested"


_FIGURES = re.compile(r"Figs?\. ((?:\d+[A-D]?(?:-[A-D\d]+)?(?:, (?=\d)| and (?=\d))?)+)")


def figures_of(section: str) -> set[int]:
    """Return the figures that a claim's section names: "Fig. 4A, 5A", "Fig. 10-12" or "Figs. 7 and 14"."""
    found: set[int] = set()
    for listed in _FIGURES.findall(section):
        for part in re.split(r", | and ", listed):
            first, *last = re.findall(r"\d+", part)
            found |= set(range(int(first), int(last[0] if last else first) + 1))
    return found


def sentence(claim: dict[str, Any]) -> list[nodes.Node]:
    """Return a claim's name, with a link to its topic's page, and its verdict."""
    page = f"/claims/{claim_pages.topic_of()[claim['number']]}"
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="doc", reftarget=page, refexplicit=True, refwarn=True
    )
    link += nodes.inline("", f"Claim {claim['number']}, {claim['name']}")
    return [link, nodes.Text(": "), nodes.strong("", verdict_text(claim)), nodes.Text(".")]


class ClaimRole(SphinxRole):
    """A claim as one sentence."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the sentence."""
        try:
            return sentence(ledger()[int(self.text)]), []
        except (KeyError, ValueError):
            message = self.inliner.reporter.error(f"no claim {self.text!r} in the ledger", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]


class ClaimsOfFigure(SphinxDirective):
    """The claims that a figure belongs to, one item each."""

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        figure, *others = map(int, self.arguments)
        items = nodes.bullet_list()
        own = {number for number, claim in ledger().items() if figure in figures_of(claim["section"])}
        for number in sorted(own | {*others}):
            items += nodes.list_item("", nodes.paragraph("", "", *sentence(ledger()[number])))
        words = "Claims about this figure, judged at all settings and not by these runs alone:"
        return [nodes.paragraph("", words), items]
