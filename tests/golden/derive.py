"""Every derived statement, evaluated as a function at numbers that its symbols' names fix."""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import sympy as sp

from theory import find_derivation

NAMES = [
    *("lemma 1", "lemma 2", "lemma 3", "lemma 4", "theorem 1", "theorem 2 matrix"),
    *("prop 1", "prop 2", "prop 2 exact", "prop 3", "prop 3 exact", "cor 1", "cor 2"),
    *("eq 13", "eq 22", "eq 29", "eq 38", "trapezoid", "key distribution", "mu_s", "sigma_p"),
    *("rho anchor", "rho key", "all small", "gaussian inner product", "cosine"),
    *("conserved 1", "conserved 2", "linearised", "saddle"),
]
INTEGERS = {"d": 12, "d_m": 5, "d_f": 4, "d_k": 3, "N_Z": 4, "N_A": 3, "q": 2, "L": 9, "s": 2, "i": 6}
INTEGERS |= {"r": 3, "zeta_min": 2, "alpha_min": 1, "n": 20, "b": 4, "K": 7, "k": 3}


def value(symbol: sp.Basic) -> Any:
    """Return a number or matrix for a symbol: the same for the same name."""
    name = str(getattr(symbol, "name", symbol))
    if isinstance(symbol, sp.MatrixSymbol):
        shape = tuple(INTEGERS[str(n)] if not n.is_Integer else int(n) for n in symbol.shape)
        return np.random.default_rng(crc32(name.encode())).uniform(0.1, 0.9, shape)
    if name in INTEGERS:
        return INTEGERS[name]
    return float(np.random.default_rng(crc32(name.encode())).uniform(0.2, 0.8))


def entries() -> Iterator[tuple[str, Any]]:
    for name in NAMES:
        made = find_derivation(name)
        yield name, made.function()(*map(value, made.arguments))
