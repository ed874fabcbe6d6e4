"""Engines: what takes the jobs of a sweep to processes that train them.

An engine is a function from jobs to how each ended (``sim.training.engines.registry``). Queueing, retry and
transport are those of the library behind it.
"""

from sim.training.engines.registry import ENGINES as ENGINES
from sim.training.engines.registry import Engine as Engine
from sim.training.engines.registry import engine_of as engine_of
