"""Prediction against observation: comparisons, verdicts, figures, reports and the command line.

Names are loaded at first use, so that ``anchorflow --help`` starts at once.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from validate.corpus.checkpoint import read_embedding as read_embedding
    from validate.corpus.embedding import EmbeddingComparison as EmbeddingComparison
    from validate.corpus.embedding import compare_embedding as compare_embedding
    from validate.corpus.prediction import CorpusPrediction as CorpusPrediction
    from validate.corpus.record import Recorder as Recorder
    from validate.corpus.series import EmbeddingSeries as EmbeddingSeries
    from validate.corpus.series import compare_series as compare_series
    from validate.figures.paper import FIGURES as FIGURES
    from validate.figures.paper import PaperFigure as PaperFigure
    from validate.figures.paper import draw_figure as draw_figure
    from validate.judge.agreement import measures as measures
    from validate.judge.answer import Answer as Answer
    from validate.judge.answer import answers as answers
    from validate.judge.compare import Row as Row
    from validate.judge.compare import compare_runs as compare_runs
    from validate.judge.compare import fitted_widths as fitted_widths
    from validate.judge.compare import predicted_cosines as predicted_cosines
    from validate.judge.condition import Claim as Claim
    from validate.judge.condition import Condition as Condition
    from validate.judge.given import GivenRuns as GivenRuns
    from validate.judge.given import judge_demo as judge_demo
    from validate.judge.groups import Setting as Setting
    from validate.judge.groups import group_runs as group_runs
    from validate.judge.ledger import ledger as ledger
    from validate.judge.outcome import Outcome as Outcome
    from validate.judge.ranking import RungDistance as RungDistance
    from validate.judge.ranking import rung_distances as rung_distances
    from validate.judge.stats import Estimate as Estimate
    from validate.judge.stats import over_seeds as over_seeds
    from validate.judge.verdict import Finding as Finding
    from validate.judge.verdict import judge_claims as judge_claims
    from validate.observe import Observations as Observations
    from validate.observe import observe_path as observe_path
    from validate.observe import observed_cosines as observed_cosines
    from validate.prediction import Prediction as Prediction
    from validate.report import Report as Report
    from validate.report.page import equations_behind as equations_behind
    from validate.scales.audit import Audit as Audit
    from validate.scales.audit import audit as audit
    from validate.scales.escapes import Escape as Escape
    from validate.studies import Study as Study
    from validate.studies import load_study as load_study
    from validate.studies import study_names as study_names
    from validate.terminal.progress import show_progress as show_progress
    from validate.training import run_study as run_study

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
