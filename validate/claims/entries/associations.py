"""Claim 38: Table 1 of Im et al. (arXiv 2601.19208), at a size that two cores train."""

from __future__ import annotations

from functools import partial

from validate.claims.measures.associations import DRAWS, Kind, smallest_cosine
from validate.claims.measures.computed import each_draw
from validate.claims.settings import THEORY, of
from validate.claims.statements import Claim, Condition, with_control
from validate.judge.stats import COSINE

TABLE_1: dict[Kind, float] = {"attention": 0.9995, "value": 0.9992, "output": 0.9985}
"""Their smallest cosines over layers: 3000 words, three layers, rate 0.005, 100 epochs, one seed."""


def _as_close(kind: Kind, published: float) -> tuple[Condition, Condition]:
    """Return the condition that a matrix is as close to its leading term as in the table, and its control."""
    condition = Condition(
        f"smallest cosine of {kind} and its leading term",
        each_draw(partial(smallest_cosine, kind=kind), DRAWS),
        ">=",
        published,
        COSINE,
        "their Table 1",
    )
    return with_control(
        condition,
        "shuffled texts keep frequencies alone",
        measure=each_draw(partial(smallest_cosine, kind=kind, terms="shuffled"), DRAWS),
        what=f"the same for {kind}, leading term of the shuffled texts",
    )


CLAIMS = (
    Claim(
        "leading terms of a corpus",
        "Early in training, the matrices of Im et al.'s model are as close to the corpus's leading terms as "
        "in their Table 1, at 1000 words in place of 3000.",
        of(THEORY, (c for kind, published in TABLE_1.items() for c in _as_close(kind, published))),
        38,
        "Im et al., Table 1",
    ),
)
