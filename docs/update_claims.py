"""Put the ledger's tables where they are read: python docs/update_claims.py [KEPT].

The verdicts, from the observations that are kept (or from another folder of them), go into README.md and,
as JSON, into docs/results/claims.json; what is kept of the likeliest setting goes into README.md and
docs/limits.md; settings, shared runs and the thresholds with their reasons go into docs/claims.md, and which
kept files come from a tree that nobody recorded into docs/studies.md.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from marked import folder_of, replaced

from sim.config.run import make_member_config
from validate.claims import Claim, Condition, judge_claims, ledger
from validate.claims.evidence import Evidence
from validate.claims.presentation import counts, markdown, measured, to_json
from validate.claims.settings import GROUP, SETTINGS
from validate.judge.stats import SHARE, over_seeds
from validate.judge.times import DATA_SETS
from validate.observe import KEPT, kept
from validate.observe.store import kept_files, read_header
from validate.studies import load_study
from validate.studies.shared import identity, shared_runs

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "claims.json"
PAGE = ROOT / "docs" / "claims.md"
LIMITS = ROOT / "docs" / "limits.md"
STUDIES = ROOT / "docs" / "studies.md"
VERDICTS, MATCHED, THRESHOLDS = "claims table", "matched accuracy", "thresholds"
LIKELIEST, UNRECORDED = "likeliest setting", "unrecorded"


def thresholds(claims: Sequence[Claim]) -> str:
    """Return every condition and control once, with settings, threshold and reason, as a Markdown table."""
    lines = ["| | role | measure | settings | threshold | reason |", "| --- | --- | --- | --- | --- | --- |"]
    for claim in claims:
        lines.append(f"| **{claim.number}** | | **{_cell(claim.statement)}** ({claim.section}) | | | |")
        found: dict[tuple[str, ...], list[str]] = {}
        for c in claim.conditions:
            bound = "" if c.role == "note" else f"{c.relation} {c.threshold:g}"
            found.setdefault((c.role, _cell(_measured(c)), bound, _cell(c.reason)), []).append(c.setting)
        for (role, what, bound, reason), settings in found.items():
            where = ", ".join(dict.fromkeys(settings))
            lines.append(f"| | {' | '.join((role, what, where, bound, reason))} |")
    return "\n".join(lines)


def _measured(condition: Condition) -> str:
    """Return what a condition measures, and at which γ unless its name says it.

    A control may have the name of its condition, and with it another γ than its own.
    """
    if condition.needs is None:
        return condition.what
    rates = condition.needs.init_rates
    told = f"γ = {', '.join(f'{rate:g}' for rate in rates) or 'all'}"
    if condition.what.endswith(told) or (len(rates) > 1 and "γ = " in condition.what):
        return condition.what
    name = re.sub(r", γ = [\d.]+", "", condition.what) if len(rates) == 1 else condition.what
    return f"{name}, {told}"


def settings() -> str:
    """Return the settings at which claims are judged, as a Markdown table."""
    lines = ["| setting | study | what it is |", "| --- | --- | --- |"]
    rows = [(s.label, s.study and f"`{s.study}`", s.meaning) for s in SETTINGS]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def shared(folder: Path = KEPT) -> str:
    """Return which studies share runs, and how many of the kept files are distinct runs."""
    files = sorted(folder.glob("*/*.safetensors"))
    distinct = {identity(make_member_config(read_header(file).config)) for file in files}
    lines = [f"The {len(files)} kept files are {len(distinct)} distinct runs.", ""]
    lines += ["| shared by | runs, kept or planned |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {names} | {n} |" for names, n in _together(shared_runs()).items())])


def _together(shared: Iterable[tuple[tuple[str, ...], int]]) -> Counter[str]:
    """Return who shares how many runs; variants of one name in several studies are counted together."""
    rows: Counter[str] = Counter()
    for names, n in shared:
        studies, _, variants = zip(*(name.partition("/") for name in names), strict=True)
        alike = variants[0] and len(set(variants)) == 1
        rows[", ".join(studies) + " (variants of the same name)" if alike else ", ".join(names)] += n
    return rows


def unrecorded(folder: Path = KEPT) -> str:
    """Return which kept files were trained from changes that nobody recorded, as a Markdown table."""
    files = sorted(folder.glob("*/*.safetensors"))
    studies = Counter(file.parent.name for file in files)
    lost = Counter(file.parent.name for file in files if _is_lost(read_header(file).provenance))
    if not lost:
        return f"Today none of the {len(files)} kept files comes from such a tree."
    lines = [f"Of {len(files)} kept files these {lost.total()} come from such a tree:", ""]
    lines += ["| study | such files | of | claims that take its runs |", "| --- | --- | --- | --- |"]
    for study, number in sorted(lost.items()):
        claims = (str(c.number) for c in ledger() if study in c.studies)
        lines.append(f"| `{study}` | {number} | {studies[study]} | {', '.join(claims)} |")
    return "\n".join(lines)


def _is_lost(provenance: dict[str, Any]) -> bool:
    parts = (provenance, *provenance.get("parts", ()))
    return any(bool(part.get("dirty")) and not part.get("diff") for part in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def judged(folder: Path) -> dict[str, Any]:
    """Return the findings on what a folder keeps, as JSON."""
    evidence = Evidence(folder=folder)
    return to_json(judge_claims(ledger(), evidence.find, evidence.absent))


def likeliest(folder: Path = KEPT) -> str:
    """Return what is kept of the likeliest setting, of how many runs, and what these had learned."""
    (config,) = load_study(GROUP.study).configs.values()
    runs = [make_member_config(read_header(file).config) for file in kept_files(GROUP.study, folder)]
    seeds = Counter(run.init_rate for run in runs)
    each = [f"{n} seed{'s' * (n > 1)} at γ = {rate:g}" for rate, n in sorted(seeds.items())]
    rates = ", ".join(f"{rate:g}" for rate in config.init_rates)
    whole = all(seeds[rate] == len(config.seeds) for rate in config.init_rates)
    told = "all runs are kept" if whole else f"kept so far: {', '.join(each) or 'none'}"
    sentence = (
        f"The likeliest setting of the paper, *{GROUP.label}*, is study `{GROUP.study}`: {GROUP.meaning}. "
        f"It has {len(config.seeds)} seeds at each of γ = {rates}; {told}."
    )
    text = " ".join([sentence, *_learned(folder)])
    return "\n".join(textwrap.wrap(text, 110, break_on_hyphens=False))


def _learned(folder: Path) -> list[str]:
    """Say which share of each data set the kept runs of the likeliest setting get right at their end."""
    ends: dict[float, list[dict[str, float]]] = {}
    for run in kept(GROUP.study, folder=folder) if kept_files(GROUP.study, folder) else ():
        ends.setdefault(run.config.init_rate, []).append(run.metrics[-1]["accuracy"])
    told = []
    for rate, found in sorted(ends.items()):
        each = ", ".join(str(over_seeds([end[part] for end in found], SHARE)) for part in DATA_SETS)
        told.append(f"γ = {rate:g}: {each}")
    what = "Share answered correctly at the end (table, training sums, held-out sums)"
    return [f"{what}: {'; '.join(told)}."] if told else []


def main(folder: Path) -> None:
    """Renew the kept verdicts, the README's table and the page's."""
    readme = ROOT / "README.md"
    found = judged(folder)
    told = [markdown(found["claims"]), *(f"- {line}" for line in counts(found["claims"]))]
    text = replaced(readme.read_text(), VERDICTS, "\n".join(told))
    text = replaced(text, MATCHED, matched_accuracy(found["claims"]))
    text = replaced(text, LIKELIEST, likeliest(folder))
    limits = replaced(LIMITS.read_text(), LIKELIEST, likeliest(folder))
    RESULTS.write_text(as_lines(found))
    readme.write_text(text)
    LIMITS.write_text(limits)
    renew_page()


def matched_accuracy(claims: Sequence[dict[str, Any]]) -> str:
    """Return the test accuracy at a training accuracy of one half, by setting and γ, as a Markdown table."""
    lines = ["| setting | γ = 0.3 | γ = 0.5 | γ = 0.8 |", "| --- | --- | --- | --- |"]
    notes = [
        c for claim in claims for c in claim["conditions"] if c["measure"].startswith("the accuracy itself")
    ]
    for setting in dict.fromkeys(c["setting"] for c in notes if c["missing"] is None):
        cells = [measured(c)[2] if c["missing"] is None else "–" for c in notes if c["setting"] == setting]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_lines(found: dict[str, Any]) -> str:
    """Return findings as JSON, a line for each claim and each condition that was measured."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    claims = []
    for claim in found["claims"]:
        measured = [
            {key: value for key, value in c.items() if key not in ("sources", "reason", "missing", "part")}
            for c in claim["conditions"]
            if c["missing"] is None
        ]
        inner = ",\n".join(map(line, measured))
        head = line({key: value for key, value in claim.items() if key != "conditions"})
        claims.append(f'{head[:-1]}, "conditions": [\n{inner}\n]}}')
    return '{"claims": [\n' + ",\n".join(claims) + "\n]}\n"


def renew_page() -> None:
    """Renew what two pages have from ledger and kept files: settings, runs and thresholds."""
    PAGE.write_text(renewed(PAGE.read_text()))
    STUDIES.write_text(replaced(STUDIES.read_text(), UNRECORDED, unrecorded()))


def renewed(page: str) -> str:
    """Return the page with its three tables as the ledger has them."""
    for name, new in (
        ("settings", settings()),
        ("shared runs", shared()),
        (THRESHOLDS, thresholds(ledger())),
    ):
        page = replaced(page, name, new)
    return page


if __name__ == "__main__":
    if sys.argv[1:] == ["--thresholds"]:
        renew_page()
    else:
        main(folder_of(__doc__, KEPT))
