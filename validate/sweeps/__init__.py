"""Sweeps: many runs over axes, named by their configurations, on any engine, with one table as the result.

Names are loaded at first use: the command's help can be shown without torch.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from validate.sweeps.pivot import MEASURES as MEASURES
    from validate.sweeps.pivot import Measure as Measure
    from validate.sweeps.pivot import pivot_of as pivot_of
    from validate.sweeps.pivot import statistic as statistic
    from validate.sweeps.sweep import load_sweep as load_sweep
    from validate.sweeps.sweep import plan_of as plan_of
    from validate.sweeps.sweep import records_of as records_of
    from validate.sweeps.sweep import run_name as run_name
    from validate.sweeps.sweep import run_sweep as run_sweep
    from validate.sweeps.sweep import write_sweep_tables as write_sweep_tables

__getattr__, __dir__, __all__ = lazy_names(__name__)
