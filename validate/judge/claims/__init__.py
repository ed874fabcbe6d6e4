"""The paper's claims, a file for each topic; a file with ``CLAIMS`` that is put here is found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from theory import InputError
from theory.edge.checked import checked
from validate.judge.claim import Claim

_REGISTERED: list[Claim] = []


def register_claim(claim: Claim) -> Claim:
    """Add a claim of your own to the ledger, from a file that a command imports with ``--import``."""
    _REGISTERED.append(claim)
    return claim


@cache
def topics() -> dict[str, tuple[Claim, ...]]:
    """Return the claims of each file here, by its name."""
    modules = {m.name: import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)}
    return {name: module.CLAIMS for name, module in modules.items() if hasattr(module, "CLAIMS")}


@checked
def ledger(numbers: Sequence[int] = ()) -> tuple[Claim, ...]:
    """Return the paper's claims, and your own that are registered: all, or those with the given numbers.

    Parameters
    ----------
    numbers : sequence of int, optional
        The claims to return; all by default.

    Raises
    ------
    InputError
        If no claim has one of the numbers, or two claims have the same number.
    """
    by_number: dict[int, Claim] = {}
    for claim in (*(claim for claims in topics().values() for claim in claims), *_REGISTERED):
        if claim.number in by_number:
            problem = f"already names {by_number[claim.number].name!r}"
            raise InputError("claim", claim.number, problem, "take another number")
        by_number[claim.number] = claim
    for number in numbers:
        if number not in by_number:
            known = ", ".join(map(str, sorted(by_number)))
            raise InputError("claim", number, "no such claim", f"choose from {known}")
    return tuple(by_number[number] for number in dict.fromkeys(numbers or sorted(by_number)))
