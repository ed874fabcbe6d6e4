"""anchorflow claims: the paper's claims with verdicts, from the runs that are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from theory import InputError
from validate.commands.engines import EngineOptions
from validate.commands.options import Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.judge.condition import Claim
    from validate.judge.evidence import Evidence


class Options(EngineOptions):
    """Judge the paper's claims by the kept runs, against fixed thresholds.

    Prints the answer on one page: twelve statements of the paper, each with a number and a verdict. With
    --all, or for claims that are named, every claim at each setting that was trained; docs/claims.md says
    how a verdict is formed. The exit code is 1 if a claim of the paper fails, or an opposing one holds, at
    the likeliest setting that was tested; 0 otherwise.
    """

    numbers: Annotated[tuple[int, ...], Positional("N")] = ()
    """The claims to judge; all of them if none is named."""
    show_all: bool = Field(default=False, alias="all")
    """Show every claim at every setting."""
    run: bool = False
    """Train the runs that are missing, after saying how long it will take."""
    runs: tuple[Path, ...] = ()
    """Folders with studies' run folders, STUDY/[VARIANT/]gammaG_seedS, to judge by instead of kept runs, or
    beside those that --kept names."""
    verbose: bool = False
    """Show every endpoint, and what is measured beside it."""
    kept: Path | None = None
    """The folder of the kept observations; without it and --runs, the one in the package."""
    root: Path = Path("runs/studies")
    """The folder that --run trains into."""


COMMAND = Command("claims", Options, "anchorflow claims 1 2 --verbose")


def run(arguments: Sequence[str]) -> int:
    """Judge, after training what is missing if asked to."""
    options = COMMAND.parse(arguments)
    if "runs" in options.model_fields_set and not options.runs:
        raise InputError("runs", [], "no run given", "name folders of studies' runs, or leave --runs out")
    from validate.judge.evidence import Evidence, studies_in
    from validate.judge.ledger import ledger
    from validate.judge.presentation import to_json
    from validate.judge.verdict import judge_claims
    from validate.observe import KEPT
    from validate.studies import load_study
    from validate.terminal.tables import print_json

    claims = ledger(options.numbers)
    evidence = Evidence(
        studies_in(options.runs), options.kept or (None if options.runs else KEPT), load_study
    )
    _check_studies(evidence, options.runs)
    if options.run:
        evidence = _with_missing_runs(claims, evidence, options)
    findings = judge_claims(claims, evidence.find, evidence.absent)
    document = to_json(findings)
    if options.as_json:
        print_json(document)
    elif options.numbers or options.show_all or options.verbose:
        _print_all(document["claims"], options.verbose)
        _hint(claims, evidence)
    else:
        _print_answer(document["claims"])
    return int(any(finding.against_the_paper for finding in findings))


def _check_studies(evidence: Evidence, folders: Sequence[Path]) -> None:
    """Refuse folders in which no study lies, as those of single runs."""
    from validate.studies import study_names

    if folders and not set(evidence.places) & set(study_names()):
        problem = f"holds no study's folder, as {study_names()[0]}"
        remedy = f"judge any runs by what they can answer: anchorflow compare {quote(str(folders[0]))}"
        raise InputError("runs", str(folders[0]), problem, remedy)


def _with_missing_runs(claims: Sequence[Claim], evidence: Evidence, options: Options) -> Evidence:
    """Train every study that some condition lacks runs of, and read those studies from their run folders."""
    from validate.studies import load_study, run_study

    lacking = dict.fromkeys(study for claim in claims for study in _makeable(claim, evidence))
    if lacking:
        run_study([load_study(name) for name in lacking], options.root, **options.execution())
    places = {**evidence.places, **dict.fromkeys(lacking, options.root)}
    return dataclasses.replace(evidence, places=places)


def _makeable(claim: Claim, evidence: Evidence) -> list[str]:
    """Return the studies that would have more runs for a claim if all that they define were trained."""
    return [needs.study for c in claim.conditions for needs in c.needs if evidence.can_make(needs)]


def _hint(claims: Sequence[Claim], evidence: Evidence) -> None:
    """Name the command that trains what some conditions lack."""
    from validate.terminal.tables import say

    numbers = [str(claim.number) for claim in claims if _makeable(claim, evidence)]
    if numbers:
        say(f"runs are missing; make them: anchorflow claims {' '.join(numbers)} --run")


def _print_answer(claims: Sequence[dict[str, Any]]) -> None:
    from validate.judge.presentation import ROW_HEADER, answer_rows, paragraph
    from validate.terminal.tables import print_table, print_text

    print_text([paragraph(claims)])
    notes = ["in: the main settings at which it holds, of those that were tested", "everything else: --all"]
    print_table("twelve statements of the paper", ROW_HEADER, answer_rows(claims), notes=notes)


def _print_all(claims: Sequence[dict[str, Any]], verbose: bool) -> None:
    from validate.judge.presentation import (
        appendix_lines,
        condition_rows,
        counts,
        explanations,
        setting_table,
        summary,
    )
    from validate.terminal.tables import print_table, print_text

    for title, robustness in (("the paper's claims, by setting", False), ("checks of robustness", True)):
        header, rows = setting_table(claims, robustness)
        if rows:
            print_table(title, header, rows, notes=explanations(header, rows))
    columns = ["state", "role", "measure", "threshold", "mean [95 %]", "n", "runs", "why"]
    for claim in claims if verbose else []:
        title = f"{claim['number']}. {claim['statement']} ({claim['section']}): {summary(claim)}"
        conditions = condition_rows(claim)
        print_table(title, columns, conditions, notes=explanations(columns, conditions))
    print_text(appendix_lines(claims))
    print_text(counts(claims))
