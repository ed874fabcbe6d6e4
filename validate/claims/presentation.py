"""Findings as plain data and as table rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sim.runs.files import finite
from validate.claims.settings import SETTINGS
from validate.claims.verdicts import Finding, Outcome
from validate.judge.bounds import Bound, Value
from validate.judge.stats import estimate_text

SCHEMA = "anchorflow/claims/2"
_ALONE = " (one seed)"
Claimed = dict[str, Any]
"""A claim or a condition of the JSON document."""
SHORT = {
    "holds": "holds",
    "holds in part": "part",
    "fails": "fails",
    "undecided": "open",
    "not tested": "–",
}
"""A verdict as a cell of the table."""


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
        "setting": finding.setting,
        "verdict": finding.verdict,
        "verdicts": {setting: finding.verdict_at(setting) for setting in finding.settings},
        "against_the_paper": finding.against_the_paper,
        "conditions": [_condition(finding, outcome) for outcome in finding.outcomes],
    }


def _condition(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    c = outcome.condition
    return c.as_dict() | {
        "part": c.part,
        "setting": c.setting,
        "study": c.needs.study if c.needs else None,
        "runs": str(c.needs) if c.needs else "computed",
        "state": finding.state(outcome),
        "estimate": outcome.estimate.as_dict(),
        "side": outcome.side,
        "p_value": finding.p_value(outcome),
        "values": [plain_value(value) for value in outcome.values],
        "missing": outcome.missing or None,
        "absent": outcome.absent or None,
        "sources": dict(outcome.sources),
    }


def plain_value(value: Value) -> Any:
    """Return a value as JSON has it: a number, null if undefined, or the two ends of a bound."""
    if isinstance(value, Bound):
        return {"low": finite(value.low), "high": finite(value.high)}
    return finite(value)


def tested_settings(claims: Sequence[Claimed]) -> list[str]:
    """Return the settings at which any of some claims is tested, the likeliest first."""
    tested = {s for claim in claims for s, verdict in claim["verdicts"].items() if verdict != "not tested"}
    return [setup.label for setup in SETTINGS if setup.label in tested]


def header(claims: Sequence[Claimed]) -> list[str]:
    """Return the columns of the table of claims: a number, a name, and the settings that were tested."""
    return ["", "claim", *tested_settings(claims)]


def row(claim: Claimed, settings: Sequence[str]) -> list[str]:
    """Return a claim's line: number, name, and its verdict at each setting."""
    verdicts = [SHORT[claim["verdicts"][s]] if s in claim["verdicts"] else "" for s in settings]
    return [str(claim["number"]), claim["name"] + (" (opposing)" if claim["opposing"] else ""), *verdicts]


def condition_rows(claim: Claimed) -> list[list[str]]:
    """Return a line for every condition of a claim: what it is and how it was decided."""
    return [[_state(c), c["role"], *measured(c), c["runs"], _why(c)] for c in claim["conditions"]]


def _why(condition: Claimed) -> str:
    """Return why a condition was not measured, or the reason of its threshold and what seeds it lacks."""
    return condition["missing"] or "; ".join(filter(None, (condition["reason"], condition["absent"])))


def _state(condition: Claimed) -> str:
    """Return the state of a condition, and the reason where it is a single seed."""
    alone = condition["state"] == "undecided" and condition["estimate"]["n"] == 1
    return f"{condition['state']}{_ALONE * alone}"


def summary(claim: Claimed) -> str:
    """Return a claim's verdicts in one line: "holds (post, MLP), fails (none), not tested (group)"."""
    told = [(v, [s for s, verdict in claim["verdicts"].items() if verdict == v]) for v in SHORT]
    return ", ".join(f"{verdict} ({', '.join(settings)})" for verdict, settings in told if settings)


def parts(claims: Sequence[Claimed]) -> list[str]:
    """Return for each claim that holds in part, and each setting, which conditions hold and which fail."""
    return [
        f"{claim['number']} {setting}: {_which(claim, setting)}"
        for claim in claims
        for setting, verdict in claim["verdicts"].items()
        if verdict == "holds in part"
    ]


def _which(claim: Claimed, setting: str) -> str:
    asked = [c for c in claim["conditions"] if c["role"] == "claim" and c["setting"] == setting]
    told = {word: [c["measure"] for c in asked if c["state"] == word] for word in ("holds", "fails")}
    return "; ".join(f"{word}: {_some(names)}" for word, names in told.items())


def _some(names: Sequence[str]) -> str:
    """Return the first two of some names and how many more there are."""
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(name.removesuffix(", early") for name in names[:2]) + more


def untested(claims: Sequence[Claimed]) -> list[str]:
    """Return the settings at which none of some claims is tested, each with the command for its runs."""
    asked = {setting for claim in claims for setting in claim["verdicts"]} - {*tested_settings(claims)}
    return [
        f"{s.label} ({s.meaning}): not tested; anchorflow study {s.study} --run --keep"
        for s in SETTINGS
        if s.label in asked and s.study
    ]


def headline(claim: Claimed) -> Claimed:
    """Return the condition that stands for a claim in a table: the first that was measured."""
    claimed = [c for c in claim["conditions"] if c["role"] == "claim"]
    return next((c for c in claimed if c["missing"] is None), claimed[0])


def states_text(claim: Claimed) -> str:
    """Return how many conditions of a claim are in each state at the setting of its verdict."""
    states = Counter(
        c["state"] for c in claim["conditions"] if c["role"] == "claim" and c["setting"] == claim["setting"]
    )
    order = ("holds", "fails", "undecided", "censored", "undefined", "void", "not tested")
    return ", ".join(f"{states[state]} {state}" for state in order if states[state])


def counts(claims: Sequence[Claimed]) -> list[str]:
    """Return how many claims have each verdict at each setting: "pre: 3 hold, 2 fail"."""
    forms = {
        "holds": ("holds", "hold"),
        "holds in part": ("holds in part", "hold in part"),
        "fails": ("fails", "fail"),
        "undecided": ("is undecided", "are undecided"),
        "not tested": ("is not tested", "are not tested"),
    }
    lines = []
    for setting in (setup.label for setup in SETTINGS):
        verdicts = Counter(c["verdicts"][setting] for c in claims if setting in c["verdicts"])
        told = [
            f"{verdicts[v]} {one if verdicts[v] == 1 else many}"
            for v, (one, many) in forms.items()
            if verdicts[v]
        ]
        lines += [f"{setting}: {', '.join(told)}{_alone(claims, setting)}"] if told else []
    return lines


def _alone(claims: Sequence[Claimed], setting: str) -> str:
    """Return how many undecided claims have one seed alone at a setting."""
    seeds = [_most_seeds(c, setting) for c in claims if c["verdicts"].get(setting) == "undecided"]
    alone = seeds.count(1)
    if alone in (0, len(seeds)):
        return "; one seed decides nothing" * bool(alone)
    return f"; {alone} of these have one seed, which decides nothing"


def _most_seeds(claim: Claimed, setting: str) -> int:
    """Return the largest number of seeds that a claim is judged on at a setting, 0 without runs."""
    conditions = (c for c in claim["conditions"] if c["setting"] == setting and c["study"])
    return max((c["estimate"]["n"] for c in conditions), default=0)


def explanations(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the meanings of the words that occur in a table of claims or conditions."""
    cells = {cell for row in rows for cell in row}
    text = "\n".join(cells)
    found = [f"{s.label}: {s.meaning}." for s in SETTINGS if s.label in header]
    found += [f"{word}: {meaning}" for word, meaning in _CELLS.items() if word in cells]
    found += [f"{word}: {meaning}" for word, meaning in _INSIDE.items() if word in text]
    return [*found, _INTERVAL] if "mean [95 %]" in header else found


_CELLS = {
    "part": "some conditions hold, others fail.",
    "open": "undecided: not significant at 5 % (Holm, over conditions and controls), too short a run, or a "
    "control that does not fail.",
    "–": "not tested: the runs are missing.",
    "undecided": "not significant at 5 % (Holm), or a control that does not fail.",
    "censored": "of some run only a bound is known, since it ended too early or between evaluations.",
    f"undecided{_ALONE}": "one seed has no interval and decides nothing.",
    "undefined": "the measure is not a number for some seed, as where nothing was learned.",
    "void": "the condition holds, but so does its control, where the effect must be absent.",
    "control": "the same measure where the effect must be absent: it has to fail.",
}
_NO_MEAN = "no mean"
_INSIDE = {
    "(opposing)": "a claim against the paper; the paper is right if it fails.",
    "≥ ": "a bound: some run ended before what was timed had happened.",
    _NO_MEAN: "of some seeds only a lower bound is known, and of others an upper one (--json has them).",
}
_INTERVAL = (
    "mean [95 %]: Student's t over seeds, each interval by itself; the state uses p-values corrected for the "
    "number of conditions and controls at one setting (Holm). Both assume nearly normal values: for skewed "
    "ones, and where seeds fall into two groups, the interval is too short (--json has each seed's value)."
)


def is_measured(claim: Claimed) -> bool:
    """Return whether any condition, control or note of a claim was measured."""
    return any(c["missing"] is None for c in claim["conditions"])


def qualification(claim: Claimed) -> str:
    """Return ", as far as tested" where a claim has conditions that were not, else nothing."""
    untested = "not tested" in states_text(claim) and claim["verdict"] != "not tested"
    return ", as far as tested" * untested


def markdown(claims: Sequence[Claimed]) -> str:
    """Return claims as a Markdown table, a column for each setting that was tested."""
    settings = tested_settings(claims)
    lines = [_line(("", "claim", *settings)), _line(["---"] * (len(settings) + 2))]
    for claim in claims:
        number, _, *verdicts = row(claim, settings)
        lines.append(_line([number, claim["statement"].replace("|", "\\|"), *verdicts]))
    return "\n".join(lines) + "\n"


def measured(condition: Claimed) -> list[str]:
    """Return a condition's measure, threshold, estimate and number of seeds as text."""
    threshold = "" if condition["role"] == "note" else f"{condition['relation']} {condition['threshold']:g}"
    estimate = condition["estimate"]
    shown = f"{condition['side']} " * bool(condition["side"])
    shown += estimate_text(estimate["mean"], estimate["low"], estimate["high"])
    if condition["side"] == "≈" and any(map(_is_open_ended, condition["values"])):
        shown = _NO_MEAN  # Ends of opposite kinds are no bound together.
    return [condition["measure"], threshold, shown, str(estimate["n"])]


def _is_open_ended(value: Any) -> bool:
    """Return whether a seed's value, as JSON has it, is a bound from one side alone."""
    return isinstance(value, Mapping) and (value["low"] is None or value["high"] is None)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
