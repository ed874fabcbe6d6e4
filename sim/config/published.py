"""Tasks from other people's papers, by name, as far as key and anchors express them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any


def modular_addition() -> dict[str, Any]:
    """Return (a + b) mod 97, three tenths of the pairs held out.

    Power et al., Grokking: Generalization beyond overfitting on small algorithmic datasets (2022).
    """
    return _task(97, 2, {"label": "(a1 + a2) % 97", "held_out": {"fraction": 0.3, "seed": 0}})


def s5() -> dict[str, Any]:
    """Return the product of two permutations of five things, three tenths of the pairs held out.

    Power et al. (2022). Token i is the i-th permutation in lexicographic order; a1 is applied after a2.
    """
    elements = list(permutations(range(5)))
    number = {element: i for i, element in enumerate(elements)}
    products = [number[tuple(p[i] for i in q)] for p in elements for q in elements]
    held_out = {"fraction": 0.3, "seed": 0}
    return _task(120, 2, {"rule": "tabulated", "labels": [products], "held_out": held_out})


def sparse_parity() -> dict[str, Any]:
    """Return the parity of three of ten bits, a fifth of the inputs held out.

    Barak et al., Hidden progress in deep learning: SGD learns parities near the computational limit (2022).
    """
    held_out = {"fraction": 0.2, "seed": 0}
    return _task(2, 10, {"label": "(a2 + a5 + a9) % 2", "held_out": held_out})


def composition() -> dict[str, Any]:
    """Return two of four functions applied to a key; one pair is an exception, and its mirror is held out.

    Zhang et al., Initialization is critical to whether transformers fit composite functions by reasoning or
    memorizing (2024). The functions add 5, 1, −2 and −8; the pair (3, 4) subtracts 6 in place of 10.
    """
    label = "key - 6 if a1 == 3 and a2 == 4 else key + g(a1) + g(a2)"
    table = {"1": 5, "2": 1, "3": -2, "4": -8}
    rule = {"name": "composition", "anchors": "1..4", "label": label, "table": table, "held_out": [[4, 3]]}
    return {"keys": "20..99", "n_anchors": 2, "length": 9, "vocab_size": 110, "mappings": [rule]}


def digits() -> dict[str, Any]:
    """Return the middle digit of a sum of two numbers of two digits; two held-out sets.

    A digit of the sum at a time, as in studies of addition by Transformers (Lee et al., Teaching arithmetic
    to small transformers, 2023), which also write out the others.
    """
    held_out = {
        "random": {"fraction": 0.1, "seed": 0},
        "carried nines": "a2 + a4 > 9 and (a1 + a3) % 10 == 9",
    }
    return _task(10, 4, {"label": "(10 * a1 + a2 + 10 * a3 + a4) // 10 % 10", "held_out": held_out})


def _task(n: int, q: int, rule: dict[str, Any]) -> dict[str, Any]:
    """Return a task on tokens 0..n−1, after one key that is always the same."""
    mapping = {"name": "rule", "anchors": f"0..{n - 1}"} | rule
    return {"keys": [n], "n_anchors": q, "length": q + 1, "vocab_size": n + 1, "mappings": [mapping]}


PUBLISHED: dict[str, Callable[[], dict[str, Any]]] = {
    "modular-addition": modular_addition,
    "s5": s5,
    "sparse-parity": sparse_parity,
    "composition": composition,
    "digits": digits,
}
