"""Each claim of the paper: statement, measure, threshold fixed beforehand, negative control, verdict."""

from validate.claims.register import ledger
from validate.claims.statements import Claim, Condition, Needs, each, each_seed
from validate.claims.verdicts import Finding, MissingRunsError, Outcome, judge_claims

__all__ = [
    "Claim",
    "Condition",
    "Finding",
    "MissingRunsError",
    "Needs",
    "Outcome",
    "each",
    "each_seed",
    "judge_claims",
    "ledger",
]
