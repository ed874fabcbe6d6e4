"""The settings at which claims are judged, the likeliest one of the paper first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from validate.claims.statements import Condition

Template = Callable[[str], Iterable[Condition]]
"""From a study's name to what a claim asks of it."""


@dataclass(frozen=True)
class Setup:
    """A setting: a network and how it is trained.

    Attributes
    ----------
    label : str
        A column of the table of claims.
    study : str
        Whose runs stand for it.
    meaning : str
    """

    label: str
    study: str
    meaning: str


GROUP = Setup(
    "group", "group-2024", "norm after the sums and schedule as in the group's public code, 200 epochs"
)
QUARTER = Setup(
    "quarter",
    "group-small",
    "group with widths and keys divided by four, data and steps by ten, 200 epochs: a check of robustness",
)
GELU = Setup("GELU", "post-norm-gelu", "norm after the sums, GELU, 1e-4, 40 epochs")
POST = Setup("post", "post-norm", "norm after the sums, ReLU, 3e-4, 5 epochs")
NONE = Setup(
    "none",
    "no-norm-all",
    "no layer norm, which Props. 1-3 speak of, 1e-3, 6 epochs, fresh seeds",
)
PRE = Setup("pre", "transformer", "norm in front, 1e-4, 12 epochs: a check of robustness")
EMB_MLP = Setup("MLP", "emb-mlp", "the Emb-MLP of Definition 1, no noise in a sequence")
LANGUAGE = Setup(
    "GPT-2", "language", "GPT-2 with two layers and d_m 128, two corpora of 500 sequences each, 24 epochs"
)
THEORY = Setup("theory", "", "computed without the runs of a study")
SETTINGS = (GROUP, QUARTER, GELU, POST, NONE, PRE, EMB_MLP, LANGUAGE, THEORY)
"""All of them: the first is the primary one, fixed by where it comes from and not by what it shows."""
TRANSFORMERS = (GROUP, QUARTER, GELU, POST, NONE, PRE)
FULL_SIZE = (GROUP, GELU, POST, NONE, PRE)
"""Those on the paper's task. A quarter of it has three places for keys, and eq. 14 prints no width for it."""
NORMED = (GROUP, QUARTER, GELU, POST, PRE)
"""Those with layer norm, as the paper's Transformer has it."""


def at(setups: Iterable[Setup], template: Template) -> tuple[Condition, ...]:
    """Return a claim's conditions at each of some settings, the likeliest one first."""
    ordered = sorted(setups, key=SETTINGS.index)
    return tuple(c for setup in ordered for c in of(setup, template(setup.study)))


def of(setup: Setup, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return conditions about one setting."""
    return tuple(replace(c, setting=setup.label) for c in conditions)
