"""The ledger of the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from theory import InputError
from theory.checked import checked
from validate.claims import entries
from validate.claims.statements import Claim


@checked
def ledger(numbers: Sequence[int] = ()) -> tuple[Claim, ...]:
    """Return the paper's claims by number, or those that are asked for.

    Parameters
    ----------
    numbers : sequence of int, optional
        The claims to return; all by default.

    Raises
    ------
    InputError
        If there is no claim of a number, or two claims have the same.
    """
    by_number = _by_number()
    for number in numbers:
        if number not in by_number:
            raise InputError("claim", number, "no such claim", f"choose from 1 to {max(by_number)}")
    return tuple(by_number[number] for number in dict.fromkeys(numbers or by_number))


def _by_number() -> dict[int, Claim]:
    found: dict[int, Claim] = {}
    for module in iter_modules(entries.__path__):
        for claim in import_module(f"{entries.__name__}.{module.name}").CLAIMS:
            if claim.number in found:
                other = found[claim.number].name
                raise InputError("claim", claim.number, f"is {other!r} already", "take another number")
            found[claim.number] = claim
    return dict(sorted(found.items()))
