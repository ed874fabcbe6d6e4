"""anchorflow claims: judge the paper's claims, from the kept runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

import validate
from theory import InputError
from validate.commands.options import EngineOptions, Positional
from validate.terminal.output import print_json, print_table, print_text, say, tell


class Options(EngineOptions):
    """Judge the paper's claims against fixed thresholds, by the kept runs.

    Prints the answer on one page: twelve statements of the paper, each with a number and a verdict. With
    --all, or if claims are named, it prints each claim at every setting that was trained; docs/claims.md says
    how a verdict is formed. The exit code is 1 if a claim of the paper fails, or an opposing one holds, at
    the likeliest setting that was tested; 0 otherwise.

    example: anchorflow claims 1 2 --verbose
    """

    numbers: Annotated[tuple[int, ...], Positional("N")] = ()
    """The claims to judge; without any, those that the twelve statements need."""
    show_all: bool = Field(default=False, alias="all")
    """Judge and show every claim at every setting."""
    run: bool = False
    """Train the missing runs, after saying how long that will take."""
    runs: tuple[Path, ...] = ()
    """Folders with studies' run folders, STUDY/[VARIANT/]gammaG_seedS, to use instead of kept runs, or
    together with those that --kept names."""
    verbose: bool = False
    """Show every endpoint and every further measurement."""
    kept: Path | None = None
    """The folder of kept observations; without it and --runs, the package's own."""
    root: Path = Path("runs/studies")
    """The folder that --run trains into."""


def run(options: Options) -> int:
    """Judge, after training what is missing if asked to."""
    from validate.judge.claims.rows import rows_claims
    from validate.judge.condition import conditions_of
    from validate.judge.evidence import Evidence, studies_in
    from validate.observe import KEPT

    options.refuse_without("run", "engine", "scheduler", "slurm", "workers", "root")
    every = options.show_all or options.verbose
    claims = validate.ledger(options.numbers or (() if every else rows_claims()))
    if not (options.numbers or every):  # The rows have no use for what is shown beside the endpoints.
        claims = tuple(replace(claim, shown=()) for claim in claims)
    places = studies_in(options.runs)
    known = validate.study_names()
    if options.runs and not set(places) & set(known):
        folder, problem = str(options.runs[0]), f"holds no study's folder, such as {known[0]}"
        remedy = f"to judge other runs: anchorflow compare {shlex.quote(folder)}"
        raise InputError("runs", folder, problem, remedy)
    evidence = Evidence(places, options.kept or (None if options.runs else KEPT), validate.load_study)

    def makeable(claim: validate.Claim) -> list[str]:
        """Return the studies that would have more runs for a claim if all that they define were trained."""
        return [name for c in conditions_of(claim) for needs in c.needs for name in evidence.makeable(needs)]

    if options.run:
        lacking = dict.fromkeys(study for claim in claims for study in makeable(claim))
        if lacking:
            studies = [validate.load_study(name) for name in lacking]
            validate.run_study(studies, options.root, **vars(options.execution(resume=True)))
        evidence = replace(evidence, places={**places, **dict.fromkeys(lacking, options.root)})
    told = options.as_json or options.numbers or every  # The twelve rows do not say what is missing.
    findings = validate.judge_claims(claims, evidence.find, *[evidence.absent] * bool(told))
    if options.as_json:
        print_json(validate.Findings(claims=tuple(findings)).to_json())
    elif options.numbers or every:
        _print_all(findings, options.verbose)
        if numbers := [str(claim.number) for claim in claims if makeable(claim)]:
            command = f"anchorflow claims {' '.join(numbers)} --run{_places(options)}"
            say(f"runs are missing; to train them: {command}")
    else:
        _print_answer(findings)
        say(f"all claims: anchorflow claims --all{_places(options)}")
    return int(any(finding.against_the_paper for finding in findings))


def _places(options: Options) -> str:
    """Return the options that say where runs are, as they were given."""
    given = {"runs": options.runs, "kept": (options.kept,), "root": (options.root,)}
    told = options.model_fields_set & given.keys()
    return "".join(f" --{name} {shlex.join(map(str, given[name]))}" for name in given if name in told)


def _print_answer(claims: Sequence[validate.Finding]) -> None:
    from validate.judge import presentation

    for line in presentation.answer_lines(claims):
        tell(line, indent="     ")
    print()
    tell(presentation.paragraph(claims))
    tell(
        '✓ holds, ~ partly (after "but": what is not shown), ✗ fails, ? undecided. At the end: at how many '
        "of the tested main settings it holds, and after ~ partly. Intervals: 95 % if not said otherwise."
    )


def _print_all(claims: Sequence[validate.Finding], verbose: bool) -> None:
    from validate.judge import presentation

    for title, robustness in (("the paper's claims, by setting", False), ("checks of robustness", True)):
        header, rows = presentation.setting_table(claims, robustness)
        if rows:
            print_table(title, header, rows, notes=presentation.explanations(header, rows))
    columns = ["state", "role", "measure", "threshold", "mean [95 %]", "n", "runs", "why"]
    for claim in claims if verbose else []:
        title = f"{claim.number}. {claim.statement} ({claim.section}): {presentation.summary(claim)}"
        rows = claim.rows(columns)
        print_table(title, columns, rows, notes=presentation.explanations(columns, rows))
    print_text(presentation.closing_lines(claims))
