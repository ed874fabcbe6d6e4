"""Observed runs: the only place where run folders and kept files are read.

Names are loaded at first use: only computations from snapshots need torch.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from validate.observe.find import RUNS as RUNS
    from validate.observe.find import Source as Source
    from validate.observe.find import find_observations as find_observations
    from validate.observe.find import kept as kept
    from validate.observe.find import observe as observe
    from validate.observe.find import observe_path as observe_path
    from validate.observe.find import observed_cosines as observed_cosines
    from validate.observe.observables import effective_rank as effective_rank
    from validate.observe.observations import NoRunsError as NoRunsError
    from validate.observe.observations import NotObservedError as NotObservedError
    from validate.observe.observations import Observations as Observations
    from validate.observe.observations import tokens_of as tokens_of
    from validate.observe.parameters import draw_probe as draw_probe
    from validate.observe.parameters import observe_parameters as observe_parameters
    from validate.observe.store import KEPT as KEPT
    from validate.observe.store import write_kept as write_kept

__getattr__, __dir__, __all__ = lazy_names(__name__)
