"""Findings as the twelve rows of the answer, and as rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from validate.judge.claim import LEVEL
from validate.judge.claims.rows import ROWS, SENTENCES
from validate.judge.result import Finding, Outcome, confidence
from validate.judge.settings import BY_LABEL, SETTINGS
from validate.judge.stats import UNDEFINED

VERDICTS = {
    "holds": "hold",
    "partly": "hold partly",
    "fails": "fail",
    "undecided": "are undecided",
    "censored": "need longer runs",
    "not tested": "are not tested",
}
SIGNS = {"holds": "✓", "partly": "~", "fails": "✗", "undecided": "?", "censored": "?", "not tested": "–"}
MAIN = tuple(setup.label for setup in SETTINGS if not setup.robustness)
_MEANINGS = {
    "partly": "some endpoints are shown to hold, others not.",
    "undecided": "neither shown to hold nor to fail at the setting's level (5 %, if no other is named).",
    "censored": "longer runs or more frequent evaluations could decide it.",
    "undefined": "no value for some seed, for instance because nothing was learned.",
    "no relevant effect": "the interval at twice the level lies within the margin (two one-sided tests).",
    "at the threshold": "that interval lies within the margin of it: more seeds would hardly decide.",
    "(opposing)": "a claim against the paper; the paper is right if it fails.",
    **dict.fromkeys(("≥", "≤", "≈"), "a bound: some run was too short, or evaluated too seldom."),
}
_INTERVAL = (
    "mean [95 %]: over seeds, t, below four seeds with variances pooled over settings (empirical Bayes); "
    "shares of seeds: exact binomial. Seeds that fall into two groups make a t-interval too short: --json "
    "has each seed."
)


# --- the answer on one page -----------------------------------------------------------------------------


def answer_rows(claims: Sequence[Finding]) -> list[list[str]]:
    """Return the twelve rows: claim, statement, number, setting, verdict, and in how many main settings.

    The number is that of ``deciding``, with its unit; "+" stands for further claims.
    """
    rows = []
    for statement, findings in by_statement(claims).items():
        first, primary = findings[0], findings[0].primary
        number = UNDEFINED if primary.missing else "; but ".join(o.with_unit for o in deciding(findings))
        told = f"{first.number}{'+' * (len(findings) > 1)}"
        rows.append([told, statement, number, first.setting, joint_verdict(findings), _where(findings)])
    return rows


def answer_lines(claims: Sequence[Finding]) -> list[str]:
    """Return the twelve rows as lines of at most 90 characters: number, sign, statement, number, where."""
    return [
        f"{number:>2} {SIGNS[verdict]} {statement}: {value}  {where}"
        for number, (_, statement, value, _, verdict, where) in enumerate(answer_rows(claims), 1)
    ]


def by_statement(claims: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return the claims that stand for each of the twelve statements; none without any."""
    numbered = {claim.number: claim for claim in claims}
    by_row = {row.statement: [numbered[n] for n in row.claims if n in numbered] for row in ROWS}
    return {statement: findings for statement, findings in by_row.items() if findings}


def deciding(findings: Sequence[Finding]) -> list[Outcome]:
    """Return the endpoint that decides a row: the primary one if it holds, or the first that fails.

    Where it holds partly these are two: the first that holds, and the first that fails or, without any, that
    is not shown to hold.
    """
    outcomes = [o for claim in findings for o in claim.endpoints()]
    lacking = sorted((o for o in outcomes if o.corrected != "holds"), key=lambda o: o.corrected != "fails")
    held = [o for o in outcomes if o.corrected == "holds"]
    if joint_verdict(findings) == "partly":
        return held[:1] + lacking[:1]
    return lacking[:1] or outcomes[:1]


def joint_verdict(findings: Sequence[Finding]) -> str:
    """Return the verdict of several claims together."""
    verdicts: set[str] = {claim.verdict for claim in findings}
    if len(verdicts) == 1:
        return verdicts.pop()
    if verdicts & {"holds", "partly"}:
        return "partly"
    return "fails" if "fails" in verdicts else "undecided"


def _where(findings: Sequence[Finding]) -> str:
    """Return in how many of the main settings with enough seeds for a look some claims hold: "3/6 ~2".

    The number after the tilde counts the further settings where they hold partly.
    """
    tested = [s for s in MAIN if any(s in c.judged for c in findings)]
    verdicts_at = [{c.verdicts.get(s, "holds") for c in findings} for s in tested]
    held = sum(verdicts == {"holds"} for verdicts in verdicts_at)
    partly = sum(bool(verdicts & {"holds", "partly"}) for verdicts in verdicts_at) - held
    return f"{held}/{len(tested)}" + f" ~{partly}" * bool(partly)


def paragraph(claims: Sequence[Finding]) -> str:
    """Return the answer in sentences: how many statements hold, the main ones, and where it was judged."""
    verdicts = {claim.number: claim.verdict for claim in claims}
    joint = Counter(map(joint_verdict, by_statement(claims).values()))
    counts = ", ".join(f"{joint[v]} {words}" for v, words in VERDICTS.items() if joint[v])
    told = [f"Of the paper's statements {counts}."]
    told += [words for words, asked in SENTENCES if asked.items() <= verdicts.items()]
    primaries = [findings[0].primary for findings in by_statement(claims).values()]
    measured_at, places = [o for o in primaries if not o.missing], []
    used = {o.setting for o in measured_at}
    for setup in (BY_LABEL[label] for label in MAIN if label in used):
        outcomes = [o for o in measured_at if o.setting == setup.label and setup.study]
        seeds = dict.fromkeys(f", {n} seed{'s' * (n > 1)}" for n in (len(o.values) for o in outcomes))
        levels = dict.fromkeys(confidence(o.level, ", intervals of {}") for o in outcomes)
        places.append(f"{setup.label} ({setup.name}{''.join([*seeds, *levels])})")
    likeliest = SETTINGS[0]
    if places:
        told.append(f"Judged at: {', '.join(places)}.")
    if likeliest.label not in used:
        told.append(f"The {likeliest.name} are judged from {likeliest.looks[0][0]} seeds on.")
    return " ".join(told)


# --- everything else ------------------------------------------------------------------------------------


def setting_table(claims: Sequence[Finding], robustness: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table of verdicts by claim, at the main settings or at the checks.

    A setting at which no claim was tested, and a claim that is at none of them, are left out.
    """
    tested = {s for claim in claims for s, verdict in claim.verdicts.items() if verdict != "not tested"}
    settings = [s.label for s in SETTINGS if s.label in tested and s.robustness is robustness]
    rows = []
    for c in claims:
        if not c.appendix and any(s in c.verdicts for s in settings):
            name = c.name + " (opposing)" * c.opposing
            rows.append([str(c.number), name, *(c.verdicts.get(s, "") for s in settings)])
    return ["", "claim", *settings], rows


def closing_lines(claims: Sequence[Finding]) -> list[str]:
    """Return claims about another paper, the count of each verdict, and that of decided primary endpoints."""
    apart = (c for c in claims if c.appendix)
    lines = [f"appendix: {c.number}. {c.statement} ({c.section}): {c.verdict}" for c in apart]
    for label, setup in BY_LABEL.items():
        counts = Counter[str](c.verdicts[label] for c in claims if label in c.verdicts)
        if counts.keys() - {"not tested"}:
            lines.append(f"{setup.name}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]))
    q = [value < LEVEL for claim in claims for value in claim.q_values.values()]
    decided = "primary endpoints decided at 5 %, false discoveries controlled (Benjamini–Hochberg)"
    return [*lines, f"{decided}: {sum(q)} of {len(q)}"]


def summary(claim: Finding) -> str:
    """Return a claim's verdicts in one line: "holds (post, MLP), fails (none), not tested (printed)"."""
    told = [(v, [s for s, verdict in claim.verdicts.items() if verdict == v]) for v in VERDICTS]
    return ", ".join(f"{verdict} ({', '.join(settings)})" for verdict, settings in told if settings)


def states_text(claim: Finding) -> str:
    """Return how many endpoints of a claim are in each state at the setting of its verdict."""
    return ", ".join(f"{n} {state}" for state, n in Counter(o.corrected for o in claim.endpoints()).items())


def explanations(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the meanings of the words that occur in a table of claims or conditions."""
    text = "\n".join(cell for row in rows for cell in row)
    lines = [f"{s.label}: {s.name}; {s.meaning}." for s in SETTINGS if s.label in header]
    lines += [f"{word}: {meaning}" for word, meaning in _MEANINGS.items() if word in text]
    return [*lines, _INTERVAL] if "mean [95 %]" in header else lines
