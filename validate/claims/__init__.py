"""Each claim of the paper: statement, measure, fixed threshold, negative control, verdict."""

from validate.claims.register import ledger as ledger
from validate.claims.statements import Claim as Claim
from validate.claims.statements import Condition as Condition
from validate.claims.statements import Needs as Needs
from validate.claims.statements import each as each
from validate.claims.statements import each_seed as each_seed
from validate.claims.verdicts import Finding as Finding
from validate.claims.verdicts import MissingRunsError as MissingRunsError
from validate.claims.verdicts import Outcome as Outcome
from validate.claims.verdicts import judge_claims as judge_claims
