"""Prediction against observation: comparisons, verdicts, figures, reports and the command line.

Names are loaded at first use, so that ``anchorflow --help`` starts at once.
"""

from typing import TYPE_CHECKING

from theory.lazy import lazy_names

if TYPE_CHECKING:
    from validate.answer import Answer, answers
    from validate.claims import Claim, Condition, Finding, Outcome, judge_claims, ledger
    from validate.claims.given import GivenRuns
    from validate.compare import (
        Row,
        compare_runs,
        fitted_widths,
        measures,
        observed_cosines,
        predicted_cosines,
    )
    from validate.corpus.prediction import CorpusPrediction
    from validate.demo_claims import judge
    from validate.equations import equations_behind
    from validate.figures.paper import FIGURES, PaperFigure, draw_figure
    from validate.observe import Observations, observe_path
    from validate.prediction import Prediction
    from validate.report import Report
    from validate.rungs import RungDistance, rung_distances
    from validate.settings import Setting, group_runs
    from validate.stats import Estimate, over_seeds
    from validate.studies import Study, load_study, run_study, study_names

__getattr__ = lazy_names(
    __name__,
    {
        "validate.answer": ("Answer", "answers"),
        "validate.claims": ("Claim", "Condition", "Finding", "Outcome", "judge_claims", "ledger"),
        "validate.claims.given": ("GivenRuns",),
        "validate.compare": (
            "Row",
            "compare_runs",
            "fitted_widths",
            "measures",
            "observed_cosines",
            "predicted_cosines",
        ),
        "validate.corpus.prediction": ("CorpusPrediction",),
        "validate.demo_claims": ("judge",),
        "validate.equations": ("equations_behind",),
        "validate.figures.paper": ("FIGURES", "PaperFigure", "draw_figure"),
        "validate.observe": ("Observations", "observe_path"),
        "validate.prediction": ("Prediction",),
        "validate.report": ("Report",),
        "validate.rungs": ("RungDistance", "rung_distances"),
        "validate.settings": ("Setting", "group_runs"),
        "validate.stats": ("Estimate", "over_seeds"),
        "validate.studies": ("Study", "load_study", "run_study", "study_names"),
    },
)

__all__ = [
    "FIGURES",
    "Answer",
    "Claim",
    "Condition",
    "CorpusPrediction",
    "Estimate",
    "Finding",
    "GivenRuns",
    "Observations",
    "Outcome",
    "PaperFigure",
    "Prediction",
    "Report",
    "Row",
    "RungDistance",
    "Setting",
    "Study",
    "answers",
    "compare_runs",
    "draw_figure",
    "equations_behind",
    "fitted_widths",
    "group_runs",
    "judge",
    "judge_claims",
    "ledger",
    "load_study",
    "measures",
    "observe_path",
    "observed_cosines",
    "over_seeds",
    "predicted_cosines",
    "run_study",
    "rung_distances",
    "study_names",
]
