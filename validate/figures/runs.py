"""The choice of the runs and epochs that a figure shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

import numpy as np

from sim.runs.table import shown_name
from theory import InputError
from theory.edge.arrays import FloatArray
from validate.figures.footnote import PAPER_EPOCHS, is_printed, paper_config, width_ratio
from validate.judge.settings import SMALL
from validate.observe import Observations
from validate.observe.groups import Setting, group_runs
from validate.observe.times import early_epoch, learned_part

EMB_MLP, ATTENTION, LANGUAGE = ("emb-mlp",), ("transformer", "one-layer"), ("gpt2",)
LARGEST = 0.5
"""The largest γ of large initial weights: the paper calls γ > 1/2 small."""
PAPER_LATE = 0.9
"""The late epoch that the paper shows where it names one, 900 of 1000, as a share of the run."""


def of_kind(
    observations: Sequence[Observations], kinds: Collection[str], needs: str = "", *, norm: str = ""
) -> list[Setting]:
    """Return the settings of some kinds of model; if ``needs`` says why, refuse runs without any."""
    models = [(o, o.config.model) for o in apart(observations)]
    chosen = [o for o, m in models if m.kind in kinds and (not norm or getattr(m, "norm", "") == norm)]
    if needs and not chosen:
        raise InputError("runs", len(observations), needs, "give such runs")
    return group_runs(chosen) if chosen else []


def apart(observations: Sequence[Observations]) -> list[Observations]:
    """Return observations without those that go on where another one of the same run ends."""
    ends: dict[str, int] = {}
    for o in observations:
        ends[o.source] = min(o.epochs[-1], ends.get(o.source, o.epochs[-1]))
    return [o for o in observations if not o.source or o.epochs[-1] == ends[o.source]]


def over_gamma(settings: Sequence[Setting], of: Setting) -> list[Setting]:
    """Return the settings that differ from one only in γ and seed: these make a curve over γ."""
    return [s for s in settings if s.family == of.family]


def small_scale(settings: Sequence[Setting]) -> Setting:
    """Return the setting whose γ is nearest to the paper's small scale, 0.8."""
    return min(settings, key=lambda s: abs(s.init_rate - SMALL))


def large_scales(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of large initial weights; refuse settings without any."""
    large = [s for s in settings if s.init_rate <= LARGEST]
    if not large:
        rates = sorted({s.init_rate for s in settings})
        remedy = f"give runs at γ ≤ {LARGEST:g} too"
        raise InputError("init_rate", rates, "no large initial weights, which this figure shows", remedy)
    return large


def over_settings(each: Sequence[FloatArray]) -> FloatArray:
    """Return each seed's values at several settings, shape (n_seeds, n_settings), NaN for a missing seed."""
    return np.array([*zip_longest(*each, fillvalue=np.nan)], np.float64)


def shown_epochs(setting: Setting) -> tuple[int, ...]:
    """Return the epochs at which figures show a model: early and late.

    With the printed settings these are the paper's, as far as there are snapshots. Elsewhere early is as in
    ``validate.observe.times``, and late the snapshot nearest to the paper's late epoch, taken as a share of
    the run. A run whose early snapshot is its last has one epoch to show.
    """
    paper = tuple(e for e in PAPER_EPOCHS.get(setting.kind, ()) if e in setting.epochs())
    if paper and is_printed(setting):
        return paper
    early = setting.nearest(max(map(early_epoch, setting.runs)))  # A seed that ended sooner may lack it.
    after = [e for e in setting.epochs() if e > early]
    return (early, setting.nearest(max(PAPER_LATE * setting.epochs()[-1], after[0]))) if after else (early,)


def early_and_late(setting: Setting) -> str:
    """Return in words which epochs are shown."""
    epochs = shown_epochs(setting)
    if is_printed(setting) and {*epochs} <= {*PAPER_EPOCHS[setting.kind]}:
        return f"at the paper's epoch{'s' * (len(epochs) > 1)} {' and '.join(map(str, epochs))}"
    if len(epochs) == 1:
        return "at the last snapshot"
    part = shown_name(setting.config, learned_part(setting.runs[0]))
    return f"early, once half of {part} is solved, and late{_times(setting, epochs)}"


def _times(setting: Setting, epochs: Sequence[int]) -> str:
    """Return Σ learning rate at the epochs beside that at the paper's, of models as wide as the paper's."""
    if setting.kind not in PAPER_EPOCHS or width_ratio(setting) != 1:
        return ""
    lines, paper = setting.runs[0].metrics, paper_config(setting.kind)
    own = [next(line["sum_learning_rate"] for line in lines if line["epoch"] >= epoch) for epoch in epochs]
    each = paper.training.peak_learning_rate * paper.data.n_sequences / int(paper.training.batch_size)
    theirs = [each * epoch for epoch in PAPER_EPOCHS[setting.kind]]
    now, printed = (" and ".join(f"{time:.2g}" for time in times) for times in (own, theirs))
    at = " and ".join(map(str, PAPER_EPOCHS[setting.kind]))
    return f" (Σ learning rate {now}; at the paper's epochs {at} it is {printed})"
