"""What docs/results/settings_map.md says of the searches for Fig. 3A, at full size and at a quarter of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from marked import are, counted, have, markdown_table

from validate.claims.statements import LARGE
from validate.judge.times import is_fitted
from validate.observe import KEPT
from validate.search import WANTED, Finding, checks, findings, ruled_out
from validate.studies import load_study

SEARCH, SMALL_SEARCH = "search", "search-small"
SMALL_SEARCHES = (
    SMALL_SEARCH,
    "search-small-whole",
    "search-small-long",
    "search-small-long-whole",
    "search-small-high",
)


def search_text(name: str = SEARCH, folder: Path = KEPT) -> str:
    """Return what a search shows: how often the picture was found, and which settings have a run."""
    study = load_study(name)
    found = findings(study, None, folder)
    n_ruled_out = len(ruled_out(study, found))
    shown = [finding for finding in found if finding.runs]
    told = f"{len(shown)} of {counted(len(found), 'setting')} {have(len(shown))} a run."
    if n_ruled_out:
        told += f" {n_ruled_out} more {are(n_ruled_out)} left out: a weaker weight decay fails there,"
        told += " and we assume that a stronger one does too."
    if not shown:
        return told
    counts = Counter(finding.verdict for finding in shown)
    there, absent, undecided = (counts[verdict] for verdict in ("found", "no", "open"))
    told += f"\nThe picture was found at {there}, is not there at {absent}, and is open at {undecided}."
    alone = sum(finding.fails_by_alignment_alone for finding in shown)
    if alone:
        told += f" At {alone} of those where it is not there, memory alignment at γ = 0.8 is all that fails."
    checked = checks(study, found)
    told += _checks_text(checked, shown)
    return f"{told}\n\n{_norms_text(shown)}\n\n{_settings_text(shown)}"


def _settings_text(shown: Sequence[Finding]) -> str:
    names = [f"{w.name} ({'≤' if w.below else '≥'} {w.threshold:g}, γ = {w.init_rate:g})" for w in WANTED]
    rows = [[f"`{f.setting}`", *f.texts, f.verdict] for f in shown]
    return markdown_table(["setting", *names, "picture"], rows)


def _norms_text(shown: Sequence[Finding]) -> str:
    """Return how the settings that have a run went, for each placement of the norm, as a table."""
    counted_as = ["found", "not there", "open", "open since the training sums are not fitted"]
    rows = []
    norms = {f.setting: getattr(f.runs[LARGE].config.model, "norm", "") for f in shown}
    for norm in dict.fromkeys(norms.values()):
        those = [f for f in shown if norms[f.setting] == norm]
        counts = Counter(f.verdict for f in those)
        unfitted = sum(f.verdict == "open" and not is_fitted(f.runs[LARGE], "rsn_train") for f in those)
        numbers = (len(those), *(counts[verdict] for verdict in ("found", "no", "open")), unfitted)
        rows.append([norm, *map(str, numbers)])
    return markdown_table(["norm", "settings with a run", *counted_as], rows)


def _checks_text(checked: Sequence[str], shown: Sequence[Finding]) -> str:
    """Return what became of the settings that are trained although a weaker weight decay fails."""
    if not checked:
        return ""
    done = {f.setting: f.verdict for f in shown if f.setting in checked}
    verdicts = ", ".join(f"`{setting}`: {verdict}" for setting, verdict in done.items())
    told = f"\nOf {counted(len(checked), 'check')} of this assumption {len(done)} {have(len(done))} a run"
    return f"{told}{': ' * bool(done)}{verdicts}."


def sizes_text(folder: Path = KEPT) -> str:
    """Return whether the two searches agree, condition by condition, where both decide one."""
    pairs = list(zip(*(findings(load_study(n), None, folder) for n in (SEARCH, SMALL_SEARCH)), strict=True))
    rows = [_sizes_row("training sums fitted", [(f.setting, _fitted(f), _fitted(s)) for f, s in pairs])]
    for i, wanted in enumerate(WANTED):
        rows.append(_sizes_row(wanted.name, [(f.setting, f.states[i], s.states[i]) for f, s in pairs]))
    header = ["", "decided at both sizes", "met at both", "not met at both"]
    return markdown_table([*header, "met at full size alone", "met at a quarter alone"], rows)


def _fitted(finding: Finding) -> str:
    run = finding.runs.get(LARGE)
    return "open" if run is None else "met" if is_fitted(run, "rsn_train") else "not met"


def _sizes_row(name: str, states: Sequence[tuple[str, str, str]]) -> list[str]:
    both = Counter((full, small) for _, full, small in states if "open" not in (full, small))
    kinds = [("met", "met"), ("not met", "not met"), ("met", "not met"), ("not met", "met")]
    return [name, str(both.total()), *(str(both[kind]) for kind in kinds)]
