"""Studies: the named sets of runs that claims and figures need, and their kept observations.

Names are loaded at first use: a study's runs and its progress can be read without torch.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from validate.studies.keeping import MemberState as MemberState
    from validate.studies.keeping import check_kept as check_kept
    from validate.studies.keeping import keep as keep
    from validate.studies.keeping import run_state as run_state
    from validate.studies.keeping import states_of as states_of
    from validate.studies.study import Study as Study
    from validate.studies.study import StudyMember as StudyMember
    from validate.studies.study import UnknownStudyError as UnknownStudyError
    from validate.studies.study import load_study as load_study
    from validate.studies.study import members_of as members_of
    from validate.studies.study import study_names as study_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
