"""anchorflow search: at which settings the picture of Fig. 3A appears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from validate.commands.engines import StudyOptions
from validate.commands.options import Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.search import Finding


class Options(StudyOptions):
    """Show which settings of a search have the picture of Fig. 3A, by conditions fixed before its runs.

    The picture: at γ = 0.3 memory and training sums are fitted together, within a factor of two in time, and
    the held-out sums lag by half; at γ = 0.8 reasoning leads by half and the memory anchors are aligned.
    --run trains γ = 0.3 at every setting, with a strong weight decay only where a weak one does not rule it
    out, then γ = 0.8 where the first run leaves the picture possible.
    """

    study: Annotated[str, Positional("STUDY")] = "search"
    """The study, or a TOML file of your own with the same two γ and one seed."""


COMMAND = Command("search", Options, "anchorflow search --json")


def run(arguments: Sequence[str]) -> int:
    """Train as asked, then show every setting that has a run."""
    options = COMMAND.parse(arguments)
    from validate.observe import KEPT
    from validate.search import findings, ruled_out, run_search
    from validate.studies import load_study
    from validate.terminal.tables import print_json

    study, folder = load_study(options.study), options.kept or KEPT
    if options.run:
        run_search(study, options.root, folder, **options.execution())
    found = findings(study, options.root, folder)
    if options.as_json:
        print_json([_as_dict(finding) for finding in found])
    else:
        _print(found, len(ruled_out(study, found)))
    return 0


def _as_dict(finding: Finding) -> dict[str, Any]:
    from validate.claims.presentation import plain_value
    from validate.search import WANTED

    shown = {
        wanted.name: {"value": None if value is None else plain_value(value), "state": state}
        for wanted, value, state in zip(WANTED, finding.values, finding.states, strict=True)
    }
    return {"setting": finding.setting, "verdict": finding.verdict, "conditions": shown}


def _print(found: Sequence[Finding], n_ruled_out: int) -> None:
    from validate.search import WANTED
    from validate.terminal.tables import print_table

    rows = [[f.setting, *f.texts, f.verdict] for f in found if f.runs]
    missing = sum(not f.runs for f in found)
    notes = [f"{w.name}: at γ = {w.init_rate:g}, {'≤' if w.below else '≥'} {w.threshold:g}" for w in WANTED]
    if missing:
        why = f", {n_ruled_out} of them since a weaker weight decay fails already" if n_ruled_out else ""
        notes.append(f"settings without a run: {missing} of {len(found)}{why}")
    print_table("the search for Fig. 3A", ["setting", *(w.name for w in WANTED), "found"], rows, notes=notes)
