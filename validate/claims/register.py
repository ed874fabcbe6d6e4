"""The ledger of the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from theory import InputError
from theory.checked import checked
from validate.claims.entries.causal import CAUSAL
from validate.claims.entries.computed import COMPUTED
from validate.claims.entries.embedding import EMBEDDING
from validate.claims.entries.learning import LEARNING
from validate.claims.entries.mechanism import MECHANISM
from validate.claims.entries.variations import VARIATIONS
from validate.claims.statements import Claim

_ALL = (*LEARNING, *EMBEDDING, *COMPUTED, *MECHANISM, *VARIATIONS, *CAUSAL)


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
        If there is no claim of a number.
    """
    by_number = {claim.number: claim for claim in sorted(_ALL, key=lambda claim: claim.number)}
    for number in numbers:
        if number not in by_number:
            raise InputError("claim", number, "no such claim", f"choose from 1 to {max(by_number)}")
    return tuple(by_number[number] for number in dict.fromkeys(numbers or by_number))
