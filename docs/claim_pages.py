"""The claims as the site shows them, judged when it is built: the twelve rows, and a page for each topic."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import validate
from validate import judge_claims, ledger
from validate.judge.claims import topics
from validate.judge.claims.rows import ROWS
from validate.judge.evidence import Evidence
from validate.judge.presentation import (
    answer_rows,
    by_statement,
    closing_lines,
    joint_verdict,
    paragraph,
    setting_table,
    summary,
)
from validate.judge.result import Finding, Outcome
from validate.judge.settings import BY_LABEL, SETTINGS
from validate.observe import KEPT

PAGES = Path(__file__).resolve().parent / "claims"
JUDGED = PAGES / "claims.json"
TOPICS = {
    "learning": "What is learned when",
    "embedding": "The geometry of the embedding",
    "prediction": "What predicts it",
    "mechanism": "Attention, ranks and outputs",
    "theory": "Statements that are computed",
    "interventions": "Interventions and opposing claims",
    "text": "Language models on text",
}


def topic_of() -> dict[int, str]:
    """Return the topic of each claim of the ledger, by number."""
    return {claim.number: topic for topic, claims in topics().items() for claim in claims}


def judge() -> list[Finding]:
    """Judge every claim by the kept runs."""
    evidence = Evidence()
    return judge_claims(ledger(), evidence.find, evidence.absent)


def write() -> None:
    """Judge and write every page, unless nothing has changed since they were written."""
    judged_by = Path(validate.judge.claims.__file__).parents[1]
    sources = [*KEPT.rglob("*"), *judged_by.rglob("*.*"), Path(__file__)]
    if JUDGED.exists() and JUDGED.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    PAGES.mkdir(exist_ok=True)
    claims, topic = judge(), topic_of()
    (PAGES / "answer.md").write_text(answer(claims), encoding="utf-8")
    for name, title in TOPICS.items():
        own = [claim for claim in claims if topic[claim.number] == name]
        page = f"# Claims: {title[0].lower()}{title[1:]}\n\n{LEGEND}" + "\n".join(map(section, own))
        (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
    plain = [claim.to_json() for claim in claims]
    JUDGED.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")


LEGEND = (
    "Each cell has the state of one condition, its mean over seeds with the interval (95 %; at the printed "
    "settings that of the look), and the number n of seeds. Rows without a threshold decide nothing. Words "
    "in “ ” are the paper's. [How a verdict is reached](../claims.md).\n\n"
)


def answer(claims: Sequence[Finding]) -> str:
    """Return the page of the twelve rows, of the settings and of all verdicts."""
    settings = "\n".join(f"- **{s.label}** ({s.name}): {s.meaning}." for s in SETTINGS)
    lines = "\n".join(f"- {line}" for line in closing_lines(claims))
    every, checks = (
        table([head, *rows]) for head, rows in map(partial(setting_table, claims), (False, True))
    )
    head = ["claim", "statement of the paper", "number [interval]", "at", "verdict", "holds in"]
    rows = [
        [", ".join(map(str, row.claims)), f"{statement} ({row.number})", value, BY_LABEL[at].name, *rest]
        for row, (_, statement, value, at, *rest) in zip(ROWS, answer_rows(claims), strict=True)
    ]
    return (
        f"# The answer in twelve rows\n\n{paragraph(claims)}\n\n{table([head, *rows])}\n"
        f"## Why some hold only partly\n\n{table([LACKING_HEADER, *lacking_rows(claims)])}\n"
        f"## Settings, the likeliest one of the paper first\n\n{settings}\n\n"
        f"## Every claim\n\n{every}\nChecks of robustness:\n\n{checks}\n{lines}\n"
    )


LACKING_HEADER = ["claim", "endpoint not shown to hold", "number [interval]", "needs", "state"]


def lacking_rows(claims: Sequence[Finding]) -> list[list[str]]:
    """Return the endpoints that leave a row at "partly": claim, measure, number, threshold, state."""
    found: list[list[str]] = []
    for own in by_statement(claims).values():
        for claim in own if joint_verdict(own) == "partly" else []:
            found += [
                [str(claim.number), o.measure, o.mean_text(brief=True), o.asked, o.corrected]
                for o in claim.endpoints()
                if o.corrected != "holds"
            ]
    return found


def section(claim: Finding) -> str:
    """Return a claim's part of its topic's page."""
    labels = [s.label for s in SETTINGS if claim.verdicts.get(s.label, "not tested") != "not tested"]
    by_name: dict[tuple[str, str], dict[str, Outcome]] = {}
    for outcome in claim.conditions:
        if outcome.setting in labels and not outcome.missing:
            by_name.setdefault((name_of(outcome), outcome.asked), {})[outcome.setting] = outcome
    rows = [
        [name, threshold, *(cell(found.get(label)) for label in labels)]
        for (name, threshold), found in by_name.items()
    ]
    head = ["measure", "holds if", *(BY_LABEL[label].name for label in labels)]
    shown = table([head, *rows]) if labels else "No runs that could decide it are kept.\n"
    name = f"{claim.name[0].upper()}{claim.name[1:]}"
    quoted = ", ".join(re.findall("“.*?”", claim.paper))
    source = f"{claim.section}: {quoted}" if quoted else claim.section
    verdict = f"**Verdict:** {summary(claim)}.\n\n{shown}{reasons(claim)}"
    return f"## {claim.number}. {name}\n\n{claim.statement} ({source})\n\n{verdict}"


def name_of(outcome: Outcome) -> str:
    """Return what an endpoint measures, with its contrast: two γ, or two kinds of run."""
    name, contrast = outcome.measure, outcome.init_rates
    kinds = list(dict.fromkeys(side.measure for side in outcome.sides))
    if len(kinds) > 1 and "−" not in contrast and " minus " not in name:
        return f"{kinds[0]}, minus {kinds[1]}"
    if contrast not in ("", "all") and "γ" not in name:
        name = f"{name}, γ = {contrast}"
    others = [study for study in outcome.studies if study != BY_LABEL[outcome.setting].study]
    return f"{name} ({', '.join(others)})" if others and outcome.role == "shown" else name


def reasons(claim: Finding) -> str:
    """Return why thresholds are where they are, each reason once."""
    told: dict[str, dict[str, None]] = {}
    for endpoint in (o for o in claim.conditions if o.role == "endpoint" and o.reason):
        told.setdefault(endpoint.reason, {})[f"`{endpoint.asked}`"] = None
    items = "".join(f"- {', '.join(asked)}: {reason}.\n" for reason, asked in told.items())
    return f"\n*Why these thresholds:*\n\n{items}" if told else ""


def cell(outcome: Outcome | None) -> str:
    """Return a condition's state and number at one setting."""
    if outcome is None or outcome.missing:
        return "–"
    state = f"**{outcome.corrected}** " * (outcome.role == "endpoint")
    estimate, _, interval = outcome.mean_text(brief=True).partition(" [")
    kept_together = f"{estimate} [{interval}".replace(", ", ",\N{NO-BREAK SPACE}") if interval else estimate
    return f"{state}{kept_together}, n\N{NO-BREAK SPACE}{outcome.estimate.n}"


def table(rows: list[list[str]]) -> str:
    """Return a Markdown table whose first row is the header."""
    head, *others = [[cell.replace("|", "\\|") for cell in row] for row in rows]  # A bar would end a cell.
    lines = [head, ["---"] * len(head), *others]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
