"""Findings as plain data and as table rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sim.runs.files import finite
from validate.claims.verdicts import Finding, Outcome

SCHEMA = "anchorflow/claims/1"
SOURCES = ("paper", "sibling", "chosen", "user")
Claimed = dict[str, Any]
"""A claim or a condition of the JSON document."""
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
        "runs": str(c.needs) if c.needs else "computed",
        "state": finding.state(outcome),
        "estimate": outcome.estimate.as_dict(),
        "values": [finite(value) for value in outcome.values],
        "seeds_met": outcome.seeds_met,
        "clear": outcome.clear,
        "missing": outcome.missing or None,
        "sources": dict(outcome.sources),
    }


def row(claim: Claimed) -> list[str]:
    """Return a claim's line: number, name, verdict, and the condition that stands for it."""
    first = headline(claim)
    return [
        str(claim["number"]),
        claim["name"] + (" (opposing)" if claim["opposing"] else ""),
        verdict_text(claim),
        *measured(first),
        first["runs"],
        settings(first),
    ]


def condition_rows(claim: Claimed) -> list[list[str]]:
    """Return a line for every condition of a claim, what it is and what became of it."""
    return [
        [c["state"], c["role"], *measured(c), c["runs"], c["missing"] or c["reason"]]
        for c in claim["conditions"]
    ]


def headline(claim: Claimed) -> Claimed:
    """Return the condition that stands for a claim in a table: the first that was measured."""
    claimed = [c for c in claim["conditions"] if c["role"] == "claim"]
    return next((c for c in claimed if c["missing"] is None), claimed[0])


def verdict_text(claim: Claimed) -> str:
    """Return the verdict, how many conditions are met if not all, and whether an interval leaves it open."""
    states = [c["state"] for c in claim["conditions"] if c["role"] == "claim"]
    text = str(claim["verdict"])
    if text == "not tested":
        return text
    if text == "holds in part":
        text += f", {states.count('met')} of {len(states)}"
    if "void" in states:
        text += f", {states.count('void')} void"
    return text if claim["clear"] else f"{text}, not clear"


def states_text(claim: Claimed) -> str:
    """Return how many conditions of a claim are in each state: "3 met, 1 void, 4 not tested"."""
    states = Counter(c["state"] for c in claim["conditions"] if c["role"] == "claim")
    order = ("met", "not met", "void", "not tested")
    return ", ".join(f"{states[state]} {state}" for state in order if states[state])


def qualification(claim: Claimed) -> str:
    """Return what a verdict leaves open: ", as far as tested, not clear", or nothing."""
    if claim["verdict"] == "not tested":
        return ""
    untested = any(c["state"] == "not tested" for c in claim["conditions"] if c["role"] == "claim")
    return ", as far as tested" * untested + ", not clear" * (not claim["clear"])


def count_text(claims: Sequence[Claimed]) -> str:
    """Return how many claims have each verdict: "8 hold, 12 hold in part, 4 do not hold"."""
    verdicts = Counter(str(claim["verdict"]) for claim in claims)
    forms = {
        "holds": ("holds", "hold"),
        "holds in part": ("holds in part", "hold in part"),
        "does not hold": ("does not hold", "do not hold"),
        "not tested": ("is not tested", "are not tested"),
    }
    return ", ".join(
        f"{verdicts[verdict]} {one if verdicts[verdict] == 1 else many}"
        for verdict, (one, many) in forms.items()
        if verdicts[verdict]
    )


def explanations(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return what the words in a table of claims or conditions mean, for those that occur in it."""
    text = "\n".join(cell for row in rows for cell in row)
    found = [f"{word}: {meaning}" for word, meaning in _MEANINGS.items() if word in text]
    return [*found, _SETTINGS_MEAN] if "settings" in header else found


_MEANINGS = {
    "not clear": "an interval contains its threshold, or one seed gives no interval.",
    "void": "the threshold is met, but so it is by the control, where the effect must be absent.",
    "(opposing)": "a claim against the paper; the paper is right if it does not hold.",
    "not tested": "the runs that it needs are not there.",
}
_SETTINGS_MEAN = (
    "settings: how many are the paper's, from papers of the same group (sibling), chosen by us where the "
    "paper is silent, or changed from these by the study (user)."
)


def is_measured(claim: Claimed) -> bool:
    """Return whether any condition, control or note of a claim was measured."""
    return any(c["missing"] is None for c in claim["conditions"])


def settings(condition: Claimed) -> str:
    """Return how many settings of the runs come from where: "10 paper, 6 sibling, 12 chosen"."""
    counts = Counter(condition["sources"].values())
    return ", ".join(f"{counts[name]} {name}" for name in SOURCES if counts[name])


def markdown(claims: Sequence[Claimed]) -> str:
    """Return claims as a Markdown table."""
    header = ("", "claim", "verdict", "first condition", "mean [95 %]", "n")
    lines = [_line(header), _line(["---"] * len(header))]
    for claim in claims:
        what, threshold, estimate, n = measured(headline(claim))
        cells = (
            str(claim["number"]),
            claim["statement"],
            verdict_text(claim),
            f"{what} {threshold}",
            estimate,
            n,
        )
        lines.append(_line([cell.replace("|", "\\|") for cell in cells]))
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Return a number with three decimals, or with two digits where those would show next to nothing."""
    return f"{value:.3f}" if value == 0 or 0.1 <= abs(value) < 1000 else f"{value:.2g}"


def measured(condition: Claimed) -> list[str]:
    """Return a condition's measure, threshold, estimate and number of seeds as text."""
    threshold = "" if condition["role"] == "note" else f"{condition['relation']} {condition['threshold']:g}"
    estimate = condition["estimate"]
    return [condition["measure"], threshold, _interval(**estimate), str(estimate["n"])]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _interval(mean: float | None, low: float | None, high: float | None, **_: int) -> str:
    if mean is None:
        return "–"
    if low is None or high is None:
        return number(mean)
    return f"{number(mean)} [{number(low)}, {number(high)}]"
