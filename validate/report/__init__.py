"""One report for some runs: claims, figures, error budget, tables and provenance, as HTML and JSON.

``Report.model_json_schema(mode="serialization")`` describes the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, InstanceOf, PlainSerializer, computed_field

from sim.runs.outputs import OutputFolder
from sim.runs.provenance import now, software
from theory.edge.reading import PathLike, as_path
from validate.compare.answer import Answer, answers
from validate.compare.flow import Aligned, Level, aligned, snapshots_at_levels
from validate.compare.ranking import LEFT_OUT, RungDistance, rung_distances
from validate.compare.rows import Row, compare_runs, early_rows
from validate.figures.learning import accuracy_curves
from validate.figures.runs import shown_epochs
from validate.figures.sheet import Sheet, write_figures
from validate.judge.claims import ledger
from validate.judge.given import GivenRuns, Match
from validate.judge.measures.agreement import MEASURES
from validate.judge.result import Finding
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.observe.observations import Result
from validate.predict.learning import flow_arguments
from validate.predict.predictors import equations
from validate.report.figures import (
    NotDrawn,
    draw_cosines,
    draw_errors,
    draw_flows,
    draw_label_distributions,
    draw_learning,
    draw_rungs,
    paper_figures,
    picture,
)
from validate.report.page import render
from validate.terminal.progress import track

FILES, FOLDERS = ("report.html", "report.json"), ("figures/report",)
"""What ``Report.write`` writes into a folder."""
_EQUATIONS = Path(__file__).with_name("equations.json")
"""Written by docs/make_equations.py from docs/equations.toml and the errors that the tests recorded."""
Line = dict[str, Any]


class ErrorBudget(Result):
    """What each idealisation of the theory costs, and what is left out."""

    distances: tuple[RungDistance, ...] = ()
    left_out: str = LEFT_OUT


def _setting_line(s: Setting) -> Line:
    keys = [
        {"name": key, "value": value, "source": source} for key, (value, source) in s.configured().items()
    ]
    about = {"setting": s.label, "init_rate": s.init_rate, "seeds": s.seeds}
    return about | {"snapshot_epochs": s.epochs(), "configuration": keys}


def _match_line(m: Match) -> Line:
    runs = [{"init_rate": run.config.init_rate, "seed": run.config.seed} for run in m.runs]
    return {"study": m.study, "variant": m.variant or None, "runs": runs, "differences": m.differences}


def _lines(of: Callable[[Any], Line]) -> PlainSerializer:
    return PlainSerializer(lambda found: tuple(map(of, found)), tuple[Line, ...], when_used="json")


class Report(Result):
    """All results of a comparison, with the figures; ``report.json`` and ``compare --json`` hold its JSON.

    Attributes
    ----------
    title : str
    settings : list of Setting
    answers : list of Answer
        Whether the theory predicts the embedding: one for each task and model.
    rows, early : list of Row
        The comparison at every snapshot, and with each run at its early epoch; the first is "comparison".
    pictures : list of Sheet or None
        The picture of each answer that has one.
    verdicts : list of Finding
        Verdicts on the caller's own claims, with thresholds set beforehand; often empty.
    findings : list of Finding
        Every claim of the ledger, judged by these runs or not tested: "claims".
    matches : list of Match
        Which of these runs stand for which of the studies that the claims are about, with their differences
        from those that thresholds were fixed for: "stands_for".
    nearest : Match or None
        The study of the claims that these runs come nearest to.
    error_budget : ErrorBudget
        Of the Emb-MLP's runs.
    levels : dict of str to list of Level
        By setting, the flow beside other predictors at equal training accuracy, where it was asked for.
    figures : list of Sheet
    not_drawn : list of NotDrawn
        The figures of the paper that these runs cannot fill: "figures_not_drawn".
    made : dict
        When and with which versions the report was made.
    """

    model_config = ConfigDict(frozen=False, json_schema_serialization_defaults_required=True)

    format: Literal["anchorflow/report/6"] = Field(
        default="anchorflow/report/6", serialization_alias="schema"
    )
    title: str
    made: Line = Field(default_factory=lambda: {"written": now(), **software()})
    settings: Annotated[list[InstanceOf[Setting]], _lines(_setting_line)]
    answers: list[Answer] = Field(default=[])
    rows: tuple[Row, ...] = Field(default=(), serialization_alias="comparison")
    early: list[Row] = Field(default=[], exclude=True)
    pictures: list[InstanceOf[Sheet] | None] = Field(default=[], exclude=True)
    verdicts: list[Finding] = Field(default=[])
    findings: list[Finding] = Field(default=[], serialization_alias="claims")
    matches: Annotated[list[InstanceOf[Match]], _lines(_match_line)] = Field(
        default=[], serialization_alias="stands_for"
    )
    nearest: InstanceOf[Match] | None = Field(default=None, exclude=True)
    error_budget: ErrorBudget = Field(default=ErrorBudget())
    levels: dict[str, list[InstanceOf[Level]]] = Field(default={}, exclude=True)
    figures: list[InstanceOf[Sheet]] = Field(default=[], exclude=True)
    not_drawn: list[NotDrawn] = Field(default=[], serialization_alias="figures_not_drawn")

    @classmethod
    def build(
        cls,
        title: str,
        settings: list[Setting],
        *,
        epochs: Sequence[int] = (),
        verdicts: Sequence[Finding] = (),
        draw: bool = True,
        flow: bool = False,
        curves: bool = False,
    ) -> Report:
        """Compare the runs, judge the claims they can answer and draw the figures they can fill.

        Parameters
        ----------
        title : str
        settings : list of Setting
        epochs : sequence of int, optional
            Epochs at which to draw the cosines too; the answer's picture shows the early ones.
        verdicts : sequence of Finding, optional
            The caller's own verdicts, shown first.
        draw : bool, optional
            Whether to draw figures, which takes most of the time.
        flow : bool, optional
            Whether to predict the cosines by the flow of the optimiser too: minutes for each setting.
        curves : bool, optional
            Whether to predict the learning curves and draw them over the observed ones: the time of a run.
        """
        for setting in settings if flow else ():  # Runs that it cannot describe are refused before any work.
            snapshots_at_levels(setting)
        for setting in settings if curves else ():
            flow_arguments(setting.config)
            accuracy_curves(setting)
        claims, given = ledger(), GivenRuns(tuple(run for setting in settings for run in setting.runs))
        report = cls(
            title=title,
            settings=settings,
            rows=compare_runs(settings),
            answers=answers(settings),
            early=[row for setting in settings for row in early_rows(setting)],
            verdicts=list(verdicts),
            findings=given.judge(claims),
            matches=given.matches_of(claims),
            nearest=given.nearest_of(claims),
            error_budget=ErrorBudget(distances=tuple(rung_distances(settings))),
            levels={s.label: aligned(s) for s in track(settings, "following the flow")} if flow else {},
        )
        several = len(report.answers) > 1
        named = {"answer" + f"_{i}" * several: answer for i, answer in enumerate(report.answers, 1)}
        report.pictures = [picture(answer, name) if draw else None for name, answer in named.items()]
        if draw:
            report.figures, report.not_drawn = paper_figures(report.runs)
            if not any(f.name.startswith("fig04_") for f in report.figures):
                report.figures.append(draw_label_distributions(settings[-1]))
            report.figures += draw_cosines(settings, epochs) if epochs else []
            report.figures += draw_flows(settings, report.levels)
            report.figures += draw_learning(settings) if curves else []
            report.figures += draw_errors(settings, report.rows)
            report.figures += draw_rungs(settings, report.error_budget.distances)
            for figure in track(report.all_figures(), "drawing figures"):
                figure.plot(footnote=False)
        return report

    @property
    def runs(self) -> list[Observations]:
        """The runs of all settings."""
        return [run for setting in self.settings for run in setting.runs]

    def stand_ins(self) -> list[Match]:
        """Return the studies that runs stand for, and were judged for, without sharing their settings."""
        measured = {
            study for f in self.findings for o in f.conditions if not o.missing for study in o.studies
        }
        return [m for m in self.matches if m.differences and m.study in measured]

    def all_figures(self) -> list[Sheet]:
        """Return the answers' pictures and the figures."""
        return [*(picture for picture in self.pictures if picture is not None), *self.figures]

    @computed_field(alias="figures")  # type: ignore[prop-decorator]
    @property
    def drawn(self) -> tuple[Line, ...]:
        """The texts and numbers of every figure."""
        return tuple(figure.as_dict() for figure in self.all_figures())

    @computed_field(alias="runs")  # type: ignore[prop-decorator]
    @property
    def recorded(self) -> Annotated[tuple[Line, ...], Field(min_length=1)]:
        """Every run with its configuration, provenance and metrics."""
        return tuple(
            {
                "path": run.source,
                "setting": setting.label,
                "config": run.config.model_dump(mode="json"),
                "provenance": run.provenance,
                "metrics": run.metrics,
            }
            for setting in self.settings
            for run in setting.runs
        )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def aligned(self) -> dict[str, list[Aligned]]:
        """By setting, the lines of the comparison at equal training accuracy."""
        return {label: [row for level in own for row in level.rows] for label, own in self.levels.items()}

    def early_epoch(self, setting: str) -> int:
        """Return the early epoch at which a setting's runs are shown, here as in figures."""
        return next(shown_epochs(s)[0] for s in self.settings if s.label == setting)

    def early_table(self, setting: str) -> list[list[str]]:
        """Return a setting's early comparison over all pairs: group, predictor, and one cell per measure."""
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for row in self.early:
            if row.setting == setting and row.anchor is None:
                cells.setdefault((row.group, row.predictor), {})[row.measure] = str(row.estimate)
        return [[group, name, *(found[m] for m in MEASURES)] for (group, name), found in cells.items()]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def equations(self) -> list[Line]:
        """The rows of the table of equations behind the predictors that were compared, as in the paper."""
        known = equations()
        used = {f"theory.{name}" for row in self.rows for name in known[row.predictor][1]}
        rows = json.loads(_EQUATIONS.read_text(encoding="utf-8"))
        return [row for row in rows if used.intersection(row["functions"])]

    def write(self, out: PathLike) -> tuple[Path, Path]:
        """Write report.html, report.json and the figures (PNG and SVG) into a folder."""
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        pictures = write_figures(track(self.all_figures(), "writing figures"), folder, *FOLDERS)
        page = folder.write("report.html", render(report=self, pictures=pictures))
        # Without indents: a report has tens of thousands of numbers, and spaces would be half of it.
        return page, folder.write("report.json", json.dumps(self.to_json(), allow_nan=False) + "\n")
