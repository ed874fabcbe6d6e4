"""Every statement of the theory, derived with SymPy, printed, and turned into a function.

SymPy is imported when a derivation is first built, not when this package is.
"""

from theory.symbolic.derivation import Derivation
from theory.symbolic.display import show
from theory.symbolic.page import derivations_page
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.registry import derivations, find_derivation

__all__ = [
    "Argument",
    "Check",
    "Derivation",
    "Step",
    "derivations",
    "derivations_page",
    "find_derivation",
    "show",
]
