"""Statements of the theory, derived with SymPy, checked, printed, and turned into functions.

A derivation is a function with the decorator ``derived`` in one of this package's modules: SymPy makes each
step from the ones before, the statement is typed as in the paper, and the checks confirm that the two agree.
"""

from theory.derive.catalogue import derivations, derivations_page, find_derivation, titles
from theory.derive.derivation import Derivation

__all__ = ["Derivation", "derivations", "derivations_page", "find_derivation", "titles"]
