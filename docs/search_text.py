"""What docs/results/settings_map.md says of the searches for Fig. 3A, at full size and at a quarter of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from marked import counted, table_row

from validate.claims.statements import LARGE
from validate.observe import KEPT
from validate.search import WANTED, Finding, checks, findings, ruled_out, value_text
from validate.studies import load_study
from validate.times import is_fitted

SEARCH, SMALL_SEARCH = "search", "search-small"


def search_text(name: str = SEARCH, folder: Path = KEPT) -> str:
    """Return what a search shows: how often the picture was found, and which settings have a run."""
    study = load_study(name)
    found = findings(study, None, folder)
    n_ruled_out = len(ruled_out(study, found))
    shown = [finding for finding in found if finding.runs]
    told = f"{len(shown)} of {counted(len(found), 'setting')} have a run."
    if n_ruled_out:
        need, them = ("needs", "it") if n_ruled_out == 1 else ("need", "them")
        told += f" {n_ruled_out} more {need} none, since a weaker weight decay rules {them} out."
    if not shown:
        return told
    counts = Counter(finding.verdict for finding in shown)
    there, absent, undecided = (counts[verdict] for verdict in ("found", "no", "open"))
    told += f"\nThe picture was found at {there}, is not there at {absent}, and is open at {undecided}."
    checked = checks(study, found)
    told += _checks_text([finding for finding in shown if finding.setting in checked])
    return f"{told}\n\n{_norms_text(shown)}\n\n{_settings_text(shown)}"


def _settings_text(shown: Sequence[Finding]) -> str:
    names = [f"{w.name} ({'≤' if w.below else '≥'} {w.threshold:g}, γ = {w.init_rate:g})" for w in WANTED]
    rows = [[f"`{f.setting}`", *map(value_text, f.values), f.verdict] for f in shown]
    return _table(["setting", *names, "picture"], rows)


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
    return _table(["norm", "settings with a run", *counted_as], rows)


def _checks_text(checked: Sequence[Finding]) -> str:
    """Return what became of the settings that were trained although a weaker weight decay rules them out."""
    if not checked:
        return ""
    verdicts = ", ".join(f"`{finding.setting}`: {finding.verdict}" for finding in checked)
    return f"\nTrained although a weaker weight decay rules them out, to check that it does: {verdicts}."


def sizes_text(folder: Path = KEPT) -> str:
    """Return whether the two searches agree, condition by condition, where both decide one."""
    pairs = list(zip(*(findings(load_study(n), None, folder) for n in (SEARCH, SMALL_SEARCH)), strict=True))
    rows = []
    for i, wanted in enumerate(WANTED):
        states = [(f.setting, f.states[i], s.states[i]) for f, s in pairs]
        both = [(name, full, small) for name, full, small in states if "open" not in (full, small)]
        unlike = [f"`{name}` ({full}, {small})" for name, full, small in both if full != small]
        met = sum(full == small == "met" for _, full, small in both)
        numbers = (len(both), met, len(both) - met - len(unlike))
        rows.append([wanted.name, *map(str, numbers), ", ".join(unlike) or "none"])
    header = ["condition", "decided at both sizes", "met at both", "not met at both"]
    return _table([*header, "met at one (full size, a quarter)"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(map(table_row, [header, ["---"] * len(header), *rows]))
