"""What claims and figures need of a run, small enough to keep in the repository."""

from validate.observe.collect import observe, observe_parameters
from validate.observe.observations import Observations, tokens_of
from validate.observe.probe import Probe, draw_probe
from validate.observe.spectra import effective_rank
from validate.observe.store import KEPT, RUNS, kept, observe_path, read_kept, write_kept

__all__ = [
    "KEPT",
    "RUNS",
    "Observations",
    "Probe",
    "draw_probe",
    "effective_rank",
    "kept",
    "observe",
    "observe_parameters",
    "observe_path",
    "read_kept",
    "tokens_of",
    "write_kept",
]
