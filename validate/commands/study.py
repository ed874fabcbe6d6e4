"""anchorflow study: the runs behind claims and figures: status, training, keeping."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from validate.commands.engines import StudyOptions
from validate.commands.options import Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.studies import MemberState, Study


class Options(StudyOptions):
    """Show the progress of studies, the named sets of runs that claims and figures need.

    --run trains what is missing, all the studies named at once, and continues what
    was interrupted; --keep writes the observations of complete runs to the folder that claims and figures
    read. Without either, nothing is changed.
    """

    names: Annotated[tuple[str, ...], Positional("NAME")] = ()
    """Studies, or TOML files of your own; all studies if none is named."""
    keep: bool = False
    """Observe complete runs and keep what they show."""
    drop: bool = False
    """With --keep: delete what was kept under the study's name of runs that it does not have."""
    unfinished: bool = False
    """With --keep: keep what unfinished runs have shown so far, too."""
    list: bool = False
    """Show every run, not only how many there are."""


COMMAND = Command("study", Options, "anchorflow study transformer --run --keep")


def run(arguments: Sequence[str]) -> int:
    """Train and keep as asked, then show the progress of the studies."""
    options = COMMAND.parse(arguments)
    from validate.observe import KEPT
    from validate.studies import check_kept, keep, load_study, study_names

    folder = options.kept or KEPT
    studies = [load_study(name) for name in options.names or study_names()]
    for study in studies if options.keep else []:
        check_kept(study, folder, drop=options.drop)
    if options.run:
        _run(studies, options)
    for study in studies if options.keep else []:
        keep(study, options.root, folder, drop=options.drop, unfinished=options.unfinished)
    _show(studies, options, folder)
    return 0


def _run(studies: Sequence[Study], options: Options) -> None:
    from validate.studies import run_study

    run_study(studies, options.root, **options.execution())


def _show(studies: Sequence[Study], options: Options, folder: Path) -> None:
    from validate.cost import process_count
    from validate.studies import members_of, states_of
    from validate.terminal.tables import print_json, print_table

    states = {s.name: states_of(s, members_of(s, options.root), folder) for s in studies}
    count = process_count(options.workers)
    measure = bool(options.names)
    found = [_summary(study, states[study.name], count, measure) for study in studies]
    if options.as_json:
        runs = [[_line(state) for state in states[study.name]] for study in studies]
        print_json([each | {"runs": lines} for each, lines in zip(found, runs, strict=True)])
        return
    rows = [
        [
            each["name"],
            each["purpose"],
            f"{each['kept']}/{each['total']}",
            ", ".join(f"{each[state]} {state}" for state in _STATES if each[state]),
            _time(each["seconds_left"]),
        ]
        for each in found
    ]
    notes = (
        "kept: of how many runs the observations are kept, which claims and figures read.",
        f"run folders: under {options.root}; a study that is kept needs them no longer.",
        f"time left: to train those that are not complete, with {count} process{'es' * (count > 1)}.",
    )
    print_table("studies", ["study", "purpose", "kept", "run folders", "time left"], rows, notes=notes)
    for study in studies if options.list else []:
        lines = [_line(state) for state in states[study.name]]
        table = [
            [line["path"], line["state"], "yes" if line["kept"] else "no", line["made_by"]] for line in lines
        ]
        print_table(study.name, ["run", "state", "kept", "made by"], table)


_STATES = ("complete", "unfinished", "diverged", "missing")


def _summary(study: Study, states: Sequence[MemberState], count: int, measure: bool) -> dict[str, Any]:
    """Return a study's counts and the time that its missing runs will take, as far as it is known."""
    from validate.studies import counts_of

    counts = counts_of(states)
    left = [state.member for state in states if state.state in ("missing", "unfinished")]
    known = [state.seconds for state in states if state.seconds is not None]
    seconds: float | None = None
    if not left:
        seconds = 0.0
    elif known:
        seconds = -(-len(left) // count) * sum(known) / len(known)
    elif measure:
        from validate.studies import cost_of

        seconds = cost_of(left, count).seconds
    numbers = {key: counts[key] for key in ("kept", *_STATES)} | {"total": len(states)}
    return {"name": study.name, "purpose": study.purpose, **numbers, "seconds_left": seconds}


def _line(state: MemberState) -> dict[str, Any]:
    member = state.member
    return {
        "variant": member.variant,
        "init_rate": member.config.init_rate,
        "seed": member.config.seed,
        "path": str(member.path),
        "state": state.state,
        "kept": state.kept,
        "wall_seconds": state.seconds,
        "made_by": state.made_by,
    }


def _time(seconds: float | None) -> str:
    from validate.cost import duration

    return "name the study" if seconds is None else "" if seconds == 0 else duration(seconds)
