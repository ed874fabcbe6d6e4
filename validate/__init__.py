"""Prediction against observation: comparisons, verdicts, figures, reports and the command line.

Names are loaded at first use, so that ``anchorflow --help`` starts at once.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from validate.compare.answer import Answer as Answer
    from validate.compare.answer import answers as answers
    from validate.compare.ranking import RungDistance as RungDistance
    from validate.compare.ranking import rung_distances as rung_distances
    from validate.compare.rows import Row as Row
    from validate.compare.rows import compare_runs as compare_runs
    from validate.corpus.checkpoint import read_embedding as read_embedding
    from validate.corpus.embedding import EmbeddingComparison as EmbeddingComparison
    from validate.corpus.embedding import compare_embedding as compare_embedding
    from validate.corpus.prediction import CorpusPrediction as CorpusPrediction
    from validate.corpus.series import EmbeddingSeries as EmbeddingSeries
    from validate.corpus.series import compare_series as compare_series
    from validate.figures.paper import FIGURES as FIGURES
    from validate.figures.paper import PaperFigure as PaperFigure
    from validate.figures.paper import draw_figure as draw_figure
    from validate.judge.claim import Claim as Claim
    from validate.judge.claim import Endpoint as Endpoint
    from validate.judge.claim import Other as Other
    from validate.judge.claim import Runs as Runs
    from validate.judge.claim import above as above
    from validate.judge.claim import at_least as at_least
    from validate.judge.claim import at_most as at_most
    from validate.judge.claim import below as below
    from validate.judge.claim import within as within
    from validate.judge.claims import ledger as ledger
    from validate.judge.claims import register_claim as register_claim
    from validate.judge.evidence import Evidence as Evidence
    from validate.judge.given import GivenRuns as GivenRuns
    from validate.judge.given import judge_demo as judge_demo
    from validate.judge.measures.agreement import measures as measures
    from validate.judge.result import Finding as Finding
    from validate.judge.result import Findings as Findings
    from validate.judge.result import Outcome as Outcome
    from validate.judge.stats import Estimate as Estimate
    from validate.judge.stats import over_seeds as over_seeds
    from validate.judge.verdict import judge_claims as judge_claims
    from validate.observe import Observations as Observations
    from validate.observe import observe_path as observe_path
    from validate.observe.groups import Setting as Setting
    from validate.observe.groups import group_runs as group_runs
    from validate.predict.predictors import Predictor as Predictor
    from validate.predict.predictors import register_predictor as register_predictor
    from validate.prediction import Prediction as Prediction
    from validate.record.recorder import Recorder as Recorder
    from validate.report import Report as Report
    from validate.scales.audit import Audit as Audit
    from validate.scales.audit import audit as audit
    from validate.scales.escapes import Escape as Escape
    from validate.studies.keeping import run_study as run_study
    from validate.studies.study import Study as Study
    from validate.studies.study import load_study as load_study
    from validate.studies.study import study_names as study_names
    from validate.terminal.progress import show_progress as show_progress

__getattr__, __dir__, __all__ = lazy_names(__name__)
