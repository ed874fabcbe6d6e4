"""What claims and figures need of a run, small enough to keep in the repository."""

from validate.observe.collect import observe, observe_parameters
from validate.observe.observations import Observations, tokens_of
from validate.observe.probe import Probe, draw_probe
from validate.observe.spectra import effective_rank

__all__ = [
    "Observations",
    "Probe",
    "draw_probe",
    "effective_rank",
    "observe",
    "observe_parameters",
    "tokens_of",
]
