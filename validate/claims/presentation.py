"""Findings as plain data and as table rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sim.files import finite
from validate.claims.statements import Condition
from validate.claims.verdicts import Finding, Outcome

SCHEMA = "anchorflow/claims/1"
HEADER = ("", "claim", "verdict", "first condition", "threshold", "mean [95 %]", "n", "runs", "settings")


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as plain data; ``validate/schemas/claims.schema.json`` describes it."""
    return {"schema": SCHEMA, "claims": [_claim(finding) for finding in findings]}


def _claim(finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    return {
        "number": claim.number,
        "name": claim.name,
        "statement": claim.statement,
        "section": claim.section,
        "opposing": claim.opposing,
        "verdict": finding.verdict,
        "clear": finding.clear,
        "against_the_paper": finding.against_the_paper,
        "conditions": [_condition(finding, outcome) for outcome in finding.outcomes],
    }


def _condition(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    c = outcome.condition
    return {
        "measure": c.what,
        "role": c.role,
        "part": c.part,
        "relation": None if c.role == "note" else c.relation,
        "threshold": finite(c.threshold),
        "reason": c.reason,
        "study": c.needs.study if c.needs else None,
        "runs": _runs(c),
        "state": finding.state(outcome),
        "estimate": outcome.estimate.as_dict(),
        "values": [finite(value) for value in outcome.values],
        "seeds_met": outcome.seeds_met,
        "clear": outcome.clear,
        "missing": outcome.missing or None,
        "sources": dict(outcome.sources),
    }


def row(finding: Finding) -> list[str]:
    """Return a claim's line: number, name, verdict, and the condition that stands for it."""
    outcome = finding.headline
    return [
        str(finding.claim.number),
        finding.claim.name + (" (opposing)" if finding.claim.opposing else ""),
        verdict_text(finding),
        *_measured(outcome),
        _runs(outcome.condition),
        settings(outcome),
    ]


def condition_rows(finding: Finding) -> list[list[str]]:
    """Return a line for every condition of a claim: state, role, measure, threshold, estimate, n, runs."""
    return [
        [
            finding.state(o),
            o.condition.role,
            *_measured(o),
            _runs(o.condition),
            o.missing or o.condition.reason,
        ]
        for o in finding.outcomes
    ]


def verdict_text(finding: Finding) -> str:
    """Return the verdict, and whether an interval leaves it open."""
    text = str(finding.verdict)
    return text if finding.clear or finding.verdict == "not tested" else f"{text}, not clear"


def settings(outcome: Outcome) -> str:
    """Return how many settings come from where: "10 paper, 6 sibling, 12 chosen"."""
    counts = Counter(outcome.sources.values())
    return ", ".join(
        f"{counts[name]} {name}" for name in ("paper", "sibling", "chosen", "user") if counts[name]
    )


def _measured(outcome: Outcome) -> list[str]:
    c = outcome.condition
    threshold = "" if c.role == "note" else f"{c.relation} {c.threshold:g}"
    return [c.what, threshold, "–" if outcome.missing else str(outcome.estimate), str(outcome.estimate.n)]


def _runs(condition: Condition) -> str:
    return str(condition.needs) if condition.needs else "computed"


def markdown(findings: Sequence[dict[str, Any]]) -> str:
    """Return the claims of a JSON document as a Markdown table."""
    lines = [
        "| | claim | verdict | first condition | mean [95 %] | n |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for claim in findings:
        claimed = [c for c in claim["conditions"] if c["role"] == "claim"]
        first = next((c for c in claimed if c["state"] != "not tested"), claimed[0])
        open_ = "" if claim["clear"] or claim["verdict"] == "not tested" else ", not clear"
        bound = f"{first['measure']} {first['relation']} {first['threshold']:g}"
        cells = (
            str(claim["number"]),
            claim["statement"],
            claim["verdict"] + open_,
            bound,
            _interval(first["estimate"]),
            str(first["estimate"]["n"]),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _interval(estimate: dict[str, Any]) -> str:
    if estimate["mean"] is None:
        return "–"
    if estimate["low"] is None:
        return f"{estimate['mean']:.3f}"
    return f"{estimate['mean']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
