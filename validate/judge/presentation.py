"""Findings as plain data, as the twelve rows of the answer, and as table rows.

Everything here reads the JSON document of ``to_json``, so that what is printed and what is written agree.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from validate.judge.settings import BY_LABEL, PRIMARY, SETTINGS
from validate.judge.stats import estimate_text
from validate.judge.verdict import Finding, benjamini_hochberg

SCHEMA = "anchorflow/claims/3"
Claimed = dict[str, Any]
"""A claim or a condition of the JSON document."""
VERDICTS = ("holds", "partly", "fails", "undecided", "censored", "not tested")
MAIN = tuple(setup.label for setup in SETTINGS if not setup.robustness)
ROW_HEADER = ("", "statement of the paper", "number [95 %]", "setting", "verdict", "in")


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as plain data; ``validate/schemas/claims.schema.json`` describes it."""
    shares = benjamini_hochberg(findings)
    return {"schema": SCHEMA, "claims": [_claim(finding, shares) for finding in findings]}


def _claim(finding: Finding, shares: dict[tuple[int, str], float]) -> Claimed:
    claim = finding.claim
    adjusted = {
        id(o): p
        for s in finding.settings
        for o, p in zip(finding.endpoints(s), finding.adjusted(s), strict=True)
    }
    return {
        "number": claim.number,
        "name": claim.name,
        "statement": claim.statement,
        "section": claim.section,
        "opposing": claim.opposing,
        "appendix": claim.appendix,
        "setting": finding.setting,
        "verdict": finding.verdict,
        "verdicts": {setting: finding.verdict_at(setting) for setting in finding.settings},
        "against_the_paper": finding.against_the_paper,
        "q_values": {s: shares[claim.number, s] for s in finding.settings if (claim.number, s) in shares},
        "conditions": [o.as_dict() | {"adjusted_p": adjusted.get(id(o))} for o in finding.outcomes],
    }


# --- the answer on one page --------------------------------------------------------------------------------


@cache
def _rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("rows.toml").read_text("utf-8"))[
        "row"
    ]
    return found


def answer_rows(claims: Sequence[Claimed]) -> list[list[str]]:
    """Return the twelve rows: claims, statement, number, setting, verdict, and in how many main settings."""
    by_number = {claim["number"]: claim for claim in claims}
    rows = []
    for row in _rows():
        own = [by_number[number] for number in row["claims"] if number in by_number]
        if own:
            numbers = ", ".join(str(claim["number"]) for claim in own)
            rows.append(
                [numbers, row["statement"], _number(own), own[0]["setting"], _joint(own), _where(own)]
            )
    return rows


def row_notes() -> dict[str, str]:
    """Return what the number of each row is, by its statement."""
    return {row["statement"]: row["number"] for row in _rows()}


def _number(own: Sequence[Claimed]) -> str:
    """Return a claim's primary endpoint with its interval; of several claims the verdict of each."""
    if len(own) > 1:
        return ", ".join(f"{claim['number']} {claim['verdict']}" for claim in own)
    primary = headline(own[0])
    return measured(primary, brief=True)[2] if primary["missing"] is None else "–"


def _joint(own: Sequence[Claimed]) -> str:
    verdicts = {claim["verdict"] for claim in own}
    if len(verdicts) == 1:
        return str(own[0]["verdict"])
    return "partly" if verdicts & {"holds", "partly"} else "undecided"


def _where(own: Sequence[Claimed]) -> str:
    """Return in how many of the main settings that were tested all of some claims hold: "5/6"."""
    tested = [s for s in MAIN if any(c["verdicts"].get(s, "not tested") != "not tested" for c in own)]
    held = [s for s in tested if all(c["verdicts"].get(s, "holds") == "holds" for c in own)]
    return f"{len(held)}/{len(tested)}"


def paragraph(claims: Sequence[Claimed]) -> str:
    """Return the answer in a few sentences: which of the twelve statements hold, and where judged."""
    rows = answer_rows(claims)
    told = []
    for verdict, words in (
        ("holds", "Of the paper's statements these hold"),
        ("partly", "hold in part"),
        ("fails", "fail"),
        ("undecided", "are open"),
        ("censored", "need longer runs"),
        ("not tested", "are not tested"),
    ):
        names = [row[1] for row in rows if row[4] == verdict]
        if names:
            told.append(f"{words}: {'; '.join(names)}")
    sentences = ". ".join(text[0].upper() + text[1:] for text in told)
    used = Counter(row[3] for row in rows)
    at = ", ".join(f"{label} ({BY_LABEL[label].name})" for label in MAIN if used[label])
    lacking = "" if used[PRIMARY.label] else f" Runs at the {PRIMARY.name} are not kept yet: {PRIMARY.label}."
    return f"{sentences}. Judged at the likeliest setting that has runs: {at}.{lacking}"


# --- everything else ---------------------------------------------------------------------------------------


def tested_settings(claims: Sequence[Claimed], robustness: bool) -> list[str]:
    """Return the settings at which any of some claims is tested: the main ones, or checks of robustness."""
    tested = {s for claim in claims for s, verdict in claim["verdicts"].items() if verdict != "not tested"}
    return [s.label for s in SETTINGS if s.label in tested and s.robustness is robustness]


def setting_table(claims: Sequence[Claimed], robustness: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return a table of verdicts by claim and setting: header and rows; claims without any are left out."""
    settings = tested_settings(claims, robustness)
    rows = [
        [
            str(c["number"]),
            c["name"] + " (opposing)" * c["opposing"],
            *(c["verdicts"].get(s, "") for s in settings),
        ]
        for c in claims
        if not c["appendix"] and any(s in c["verdicts"] for s in settings)
    ]
    return ["", "claim", *settings], rows


def appendix_lines(claims: Sequence[Claimed]) -> list[str]:
    """Return a line for each claim about another paper."""
    return [
        f"appendix: {c['number']}. {c['statement']} ({c['section']}): {c['verdict']}"
        for c in claims
        if c["appendix"]
    ]


def counts(claims: Sequence[Claimed]) -> list[str]:
    """Return how many claims have each verdict, and how many primary endpoints Benjamini–Hochberg keeps."""
    told = {
        label: Counter(c["verdicts"][label] for c in claims if label in c["verdicts"]) for label in BY_LABEL
    }
    lines = [
        f"{BY_LABEL[label].name}: " + ", ".join(f"{found[v]} {v}" for v in VERDICTS if found[v])
        for label, found in told.items()
        if any(v != "not tested" for v in found)
    ]
    q = [value for claim in claims for value in claim["q_values"].values()]
    kept = sum(value < 0.05 for value in q)
    return [
        *lines,
        "primary endpoints decided at 5 %, false discoveries controlled (Benjamini–Hochberg): "
        f"{kept} of {len(q)}",
    ]


def summary(claim: Claimed) -> str:
    """Return a claim's verdicts in one line: "holds (post, MLP), fails (none), not tested (printed)"."""
    told = [(v, [s for s, verdict in claim["verdicts"].items() if verdict == v]) for v in VERDICTS]
    return ", ".join(f"{verdict} ({', '.join(settings)})" for verdict, settings in told if settings)


def condition_rows(claim: Claimed) -> list[list[str]]:
    """Return a line for every condition of a claim: what it is and how it was decided."""
    return [
        [c["state"] + f": {c['reading']}" * bool(c["reading"]), c["role"], *measured(c), c["runs"], _why(c)]
        for c in claim["conditions"]
    ]


def _why(condition: Claimed) -> str:
    """Return why a condition was not measured, or the reason of its threshold and what seeds it lacks."""
    return condition["missing"] or "; ".join(filter(None, (condition["reason"], condition["absent"])))


def headline(claim: Claimed) -> Claimed:
    """Return the primary endpoint at the setting of a claim's verdict."""
    return next(
        c for c in claim["conditions"] if c["setting"] == claim["setting"] and c["role"] == "endpoint"
    )


def states_text(claim: Claimed) -> str:
    """Return how many endpoints of a claim are in each state at the setting of its verdict."""
    own = [c for c in claim["conditions"] if c["role"] == "endpoint" and c["setting"] == claim["setting"]]
    states = Counter(c["state"] for c in own)
    return ", ".join(f"{n} {state}" for state, n in states.items())


def is_measured(claim: Claimed) -> bool:
    """Return whether any condition of a claim was measured."""
    return any(c["missing"] is None for c in claim["conditions"])


def measured(condition: Claimed, brief: bool = False) -> list[str]:
    """Return a condition's measure, threshold, estimate and number of seeds as text."""
    estimate = condition["estimate"]
    relation, threshold, margin = condition["relation"], condition["threshold"], condition["margin"]
    asked = "" if relation is None else f"{relation} {threshold:g}"
    if relation == "within":
        asked = f"within {margin:g} of {threshold:g}"
    numbers = estimate["mean"], estimate["low"], estimate["high"]
    shown = _brief(*numbers) if brief else estimate_text(*numbers)
    side = f"{condition['side']} " * bool(condition["side"] and estimate["mean"] is not None)
    return [condition["measure"], asked, side + shown, str(estimate["n"])]


def _brief(mean: float | None, low: float | None, high: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:z.2f}" if low is None or high is None else f"{mean:z.2f} [{low:z.2f}, {high:z.2f}]"


def explanations(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the meanings of the words that occur in a table of claims or conditions."""
    text = "\n".join(cell for row in rows for cell in row)
    found = [f"{s.label}: {s.name}; {s.meaning}." for s in SETTINGS if s.label in header]
    found += [f"{word}: {meaning}" for word, meaning in _MEANINGS.items() if word in text]
    return [*found, _INTERVAL] if "mean [95 %]" in header else found


_MEANINGS = {
    "partly": "some endpoints are shown to hold, others not.",
    "undecided": "neither shown to hold nor to fail at 5 %.",
    "censored": "longer runs, or evaluations closer together, would decide it.",
    "undefined": "not a number for some seed, as where nothing was learned.",
    "no relevant effect": "the 90 % interval lies within the margin (two one-sided tests).",
    "(opposing)": "a claim against the paper; the paper is right if it fails.",
    "≥ ": "a bound: some run ended before what was timed had happened.",
}
_INTERVAL = (
    "mean [95 %]: over seeds, t with variances pooled over settings (empirical Bayes); shares of seeds: "
    "exact binomial. Seeds that fall into two groups make a t-interval too short: --json has each seed."
)


def markdown_rows(claims: Sequence[Claimed]) -> str:
    """Return the twelve rows as a Markdown table."""
    notes = row_notes()
    lines = [
        "| claim | statement of the paper | number [95 %] | at | verdict | holds in |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for number, statement, value, setting, verdict, where in answer_rows(claims):
        lines.append(
            f"| {number} | {statement} ({notes[statement]}) | {value} | {BY_LABEL[setting].name} "
            f"| {verdict} | {where} |"
        )
    return "\n".join(lines) + "\n"


def markdown(claims: Sequence[Claimed], robustness: bool = False) -> str:
    """Return every claim as a Markdown table, a column for each setting that was tested."""
    header, rows = setting_table(claims, robustness)
    statements = {str(c["number"]): c["statement"].replace("|", "\\|") for c in claims}
    cells = [header, ["---"] * len(header), *([row[0], statements[row[0]], *row[2:]] for row in rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)
