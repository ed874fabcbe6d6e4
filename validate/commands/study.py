"""anchorflow study: show, train and keep the runs behind claims and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import validate
from validate.commands.options import EngineOptions, Positional
from validate.terminal.output import print_json, print_table, print_text


class Options(EngineOptions):
    """Show the progress of studies, the named sets of runs that claims and figures need.

    --run trains the missing runs of all named studies together and continues interrupted ones; --keep writes
    the observations of complete runs to the folder that claims and figures read. Without either, nothing is
    changed.

    example: anchorflow study transformer --run --keep
    """

    names: Annotated[tuple[str, ...], Positional("NAME")] = ()
    """Studies, or TOML files of your own; all studies if none is named."""
    keep: bool = False
    """Observe complete runs and keep the observations."""
    drop: bool = False
    """With --keep: delete kept observations of runs that are not (or no longer) part of the study."""
    unfinished: bool = False
    """With --keep: also keep the observations of unfinished runs so far."""
    list: bool = False
    """List every run, not only their number."""
    run: bool = False
    """Train the missing runs, after saying how long that will take."""
    root: Path = Path("runs/studies")
    """The folder that holds the run folders."""
    kept: Path | None = None
    """The folder of kept observations; by default the package's own."""


def run(options: Options) -> int:
    """Train and keep as asked, then show the progress of the studies."""
    from sim.runs.outputs import OutputFolder
    from sim.training.execution import process_count
    from validate.observe import KEPT
    from validate.studies import keeping
    from validate.terminal.progress import duration

    options.refuse_without("keep", "drop", "unfinished")
    options.refuse_without("run", "engine", "scheduler", "slurm")
    folder = options.kept or KEPT
    if options.keep:
        OutputFolder(folder).check()
    count = process_count(options.workers)
    studies = [validate.load_study(name) for name in options.names or validate.study_names()]
    for study in studies if options.keep else []:
        keeping.check_kept(study, folder, drop=options.drop)
    if options.run:
        validate.run_study(studies, options.root, **vars(options.execution(resume=True)))
    for study in studies if options.keep else []:
        keeping.keep(study, options.root, folder, drop=options.drop, unfinished=options.unfinished)
    summaries = [_summary(study, options.root, folder, count) for study in studies]
    if options.as_json:
        print_json(summaries)
        return 0
    rows = []
    for s in summaries:
        left = s["seconds_left"]
        time = "–" if left is None else duration(left) if left else ""
        states = ", ".join(f"{s[state]} {state}" for state in _STATES if s[state])
        rows.append([s["name"], s["purpose"], f"{s['kept']}/{s['total']}", states, time])
    notes = (
        "kept: runs with kept observations, which claims and figures read.",
        f"run folders: under {options.root}; kept studies no longer need them.",
        f"time left: for training the incomplete runs, with {count} process{'es' * (count > 1)}.",
    )
    if len(summaries) > 1:
        print_text([_sentence(summaries)])
    print_table("studies", ["study", "purpose", "kept", "run folders", "time left"], rows, notes=notes)
    for s in summaries if options.list else []:
        lines = [[r["path"], r["state"], "yes" if r["kept"] else "no", r["made_by"]] for r in s["runs"]]
        print_table(s["name"], ["run", "state", "kept", "made by"], lines)
    return 0


def _sentence(summaries: Sequence[dict[str, Any]]) -> str:
    """Return how many studies are kept whole, and which are not."""
    whole = sum(s["kept"] == s["total"] for s in summaries)
    parts = [f"{s['name']} {s['kept']}/{s['total']}" for s in summaries if 0 < s["kept"] < s["total"]]
    none = [s["name"] for s in summaries if not s["kept"]]
    return (
        f"{whole} of {len(summaries)} studies are kept whole: their claims and figures need no training."
        + f" Kept in part: {', '.join(parts)}." * bool(parts)
        + f" Not kept: {', '.join(none)}." * bool(none)
    )


_STATES = ("complete", "unfinished", "diverged", "missing")


def _summary(study: validate.Study, root: Path, folder: Path, count: int) -> dict[str, Any]:
    """Return a study's runs, its counts, and the time for its missing runs at the others' mean."""
    from validate.studies.keeping import states_of

    states = states_of(study, root, folder)
    left = sum(s.state in ("missing", "unfinished") for s in states)
    known = [s.wall_seconds for s in states if s.wall_seconds is not None]
    mean = sum(known) / len(known) if known else None
    seconds = 0.0 if not left else None if mean is None else -(-left // count) * mean
    return {
        "name": study.name,
        "purpose": study.purpose,
        "kept": sum(s.kept for s in states),
        **{state: sum(s.state == state for s in states) for state in _STATES},
        "total": len(states),
        "seconds_left": seconds,
        "runs": [s._asdict() for s in states],
    }
