"""When each data set is learned: ``predict_learning``, and where its route is not to be relied on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from theory.edge.checked import Positive, Rate, Size, checked
from theory.edge.checks import Between
from theory.edge.errors import InputError
from theory.flows.batches import (
    TIMES_LIMIT,
    AdamSettings,
    OutsideValidityWarning,
    SGDSettings,
    warn_outside,
)
from theory.flows.learning_curves import EmbMLPTraining, LearningCurves, Route, WidthShare
from theory.flows.mean_training import MOST_GRADIENTS
from theory.flows.network import ActivationLike
from theory.task.task import Task

_DEPENDS, _ENDS_APART = 0.25, 0.05
"""A time is not to be relied on if half the width changes it by this many doublings, or, where neither width
reaches it, changes the accuracy at the end by this much."""
_SHORTEST_LEARNING = 10
"""The flow leaves out the lag of Adam's first moment: fewer such lags than this are too few to learn in."""


@checked
def predict_learning(
    task: Task,
    settings: AdamSettings | SGDSettings,
    *,
    init_rate: Rate,
    n_epochs: Size,
    d_m: Size = 200,
    d_f: Size = 512,
    batch_size: Size = 100,
    clip_norm: Annotated[float, Between(0)] = 1.0,
    activation: ActivationLike = "tanh",
    seeds: Sequence[Annotated[int, Between(0)]] = (0,),
    route: Route = "batches",
    width_share: WidthShare | None = None,
    growth: Annotated[float, Between(1.001, 2)] = 1.15,
    tolerance: Positive = 3e-3,
    check_width: bool = True,
    max_gradients: Size = MOST_GRADIENTS,
    report: Callable[[int], None] = lambda step: None,
) -> LearningCurves:
    """Return the loss and accuracy curves that training an Emb-MLP on a task will have.

    Parameters
    ----------
    task : Task
    settings : AdamSettings or SGDSettings
        The optimiser, with its rate and weight decay.
    init_rate : float
        γ: every matrix starts with standard deviation fan_in^-γ.
    n_epochs : int
        How many passes over the training set to follow.
    d_m, d_f : int, optional
        Widths.
    batch_size : int, optional
        Sequences per step.
    clip_norm : float, optional
        The norm at which gradients are clipped; 0 for none.
    activation : Activation or str, optional
        σ.
    seeds : sequence of int, optional
        One start for each: it draws weights and memory tables.
    route : {"batches", "flow"}, optional
        Whether to train a network on batches or to follow the mean course of training.
    width_share : float, optional
        Both widths of the network that is followed, as a share of ``d_m`` and ``d_f``. None is a quarter, but
        no fewer than 50 dimensions, for batches, and 1 for the flow.
    check_width : bool, optional
        Of batches: whether to train the first start at half the width as well, for some six tenths of a
        start's cost, and to warn of the data sets whose times depend on the width.
    growth : float, optional
        Curves are recorded, and the flow's scatter is redrawn, at steps that grow by this factor; for
        batches at whole epochs from the first one on.
    tolerance : float, optional
        Of the flow: the error of a step of the integrator, and of an interval over which Adam's second moment
        and the divisor of clipping are frozen; relative to the root mean square of each matrix.
    max_gradients : int, optional
        Of the flow: how many gradients of the population each start may take; one takes as long as some
        seventy training steps on batches of 100 at the paper's size.
    report : callable, optional
        Called with each recorded step, for each start, when the curves have reached it.

    Raises
    ------
    InputError
        If the task is too large to enumerate, a batch exceeds the training set, or no seed is given.
    IntegrationError
        If the weights overflow, or the flow would need more than ``max_gradients``.

    Warns
    -----
    OutsideValidityWarning
        For batches: if a time depends on the width of the narrow network. It does for tables that this is too
        small to memorise, in the lazy regime (γ = 0.3) and where SGD is nearly unstable. For the flow: if
        AdamW's batches are too small for its rate, if steps are too long to be taken for a flow, or learning
        is too fast for it.
    """
    if len(seeds) == 0:
        raise InputError("seeds", seeds, "no start", "give at least one")
    followed = route, width_share, tolerance, max_gradients
    training = EmbMLPTraining(
        task, settings, init_rate, (d_m, d_f), batch_size, clip_norm, activation, *followed
    )
    if route == "flow":
        warn_outside(settings, training.batching, TIMES_LIMIT)
    steps = training.recorded_steps(n_epochs * training.steps_per_epoch, growth)
    curves = training.curves(steps, seeds, report)
    if check_width:
        _warn_of_width(training, curves, seeds[0], report)
    _warn_of_lag(training, curves)
    return curves


def _warn_of_width(
    training: EmbMLPTraining, curves: LearningCurves, seed: int, report: Callable[[int], None]
) -> None:
    """Train the first start of narrow networks at half the width, and warn of times that it changes."""
    share = training.narrow.share
    if training.route == "flow" or share == 1:
        return
    narrower = replace(training, width_share=share / 2).curves(curves.steps.tolist(), [seed], report)
    if doubtful := _apart(curves, narrower):
        text = (
            f"At γ = {training.init_rate:g} the times of {', '.join(doubtful)} depend on the width: half of "
            f"{share:.3g} of the widths gives others, and so will the full widths. "
            "Take width_share=1, which costs as much as a run."
        )
        warnings.warn(text, OutsideValidityWarning, stacklevel=4)


def _warn_of_lag(training: EmbMLPTraining, curves: LearningCurves) -> None:
    """Warn if the flow of AdamW learns too fast for the lag of the first moment, which it leaves out."""
    if training.route == "batches" or not isinstance(training.settings, AdamSettings):
        return
    first = min(curves.half_time(name) for name in curves.accuracy)
    lag = training.settings.betas[0] / (1 - training.settings.betas[0])
    if 0 < first < _SHORTEST_LEARNING * lag:
        text = (
            f"The flow learns in {first:.0f} steps, but leaves out that AdamW's first moment lags by "
            f'{lag:.3g}: training will be later. Take route="batches".'
        )
        warnings.warn(text, OutsideValidityWarning, stacklevel=4)


def _apart(curves: LearningCurves, narrower: LearningCurves) -> list[str]:
    """Return the data sets whose times, or accuracies at the end, differ for the first start of both."""
    found, end = [], float(curves.steps[-1])
    for name, rows in curves.accuracy.items():
        times = [of.half_times(name)[0] for of in (curves, narrower)]
        if np.isinf(times).all():
            far = abs(rows[0, -1] - narrower.accuracy[name][0, -1]) > _ENDS_APART
        else:
            a, b = (max(min(time, end), 1.0) for time in times)
            far = abs(math.log2(a / b)) > _DEPENDS
        found += [name] * bool(far)
    return found
