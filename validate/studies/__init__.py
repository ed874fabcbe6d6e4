"""Studies: the named sets of runs that claims and figures need, and what is kept of them."""

from validate.studies.state import MemberState, cost_of, counts_of, run_state, states_of
from validate.studies.study import Study, StudyMember, load_study, members_of, study_names
from validate.studies.work import check_kept, keep, run_study

__all__ = [
    "MemberState",
    "Study",
    "StudyMember",
    "check_kept",
    "cost_of",
    "counts_of",
    "keep",
    "load_study",
    "members_of",
    "run_state",
    "run_study",
    "states_of",
    "study_names",
]
