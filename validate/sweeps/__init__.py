"""Sweeps: many runs over axes, named by what they are, on any engine, with one table as the result.

Names are loaded at first use: what a sweep consists of can be read without torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import lazy_names

if TYPE_CHECKING:
    from validate.sweeps.plan import Plan as Plan
    from validate.sweeps.plan import plan_of as plan_of
    from validate.sweeps.running import run_sweep as run_sweep
    from validate.sweeps.searching.found import Search as Search
    from validate.sweeps.searching.search import search_sweep as search_sweep
    from validate.sweeps.sweep import Sweep as Sweep
    from validate.sweeps.sweep import load_sweep as load_sweep
    from validate.sweeps.sweep import run_name as run_name
    from validate.sweeps.table import write_table as write_table

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
