"""Observed runs: the only place where run folders and kept files are read, without torch."""

from validate.observe.find import RUNS as RUNS
from validate.observe.find import Source as Source
from validate.observe.find import find_observations as find_observations
from validate.observe.find import kept as kept
from validate.observe.find import observe as observe
from validate.observe.find import observe_path as observe_path
from validate.observe.observations import NoRunsError as NoRunsError
from validate.observe.observations import NotObservedError as NotObservedError
from validate.observe.observations import Observations as Observations
from validate.observe.store import KEPT as KEPT
from validate.observe.store import write_kept as write_kept
