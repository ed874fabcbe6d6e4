"""The moments that a figure shows of a setting: early and late, each way to learn, and seeds that go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from theory.edge.arrays import FloatArray
from validate.figures.footnote import PAPER_EPOCHS, is_printed
from validate.figures.runs import shown_epochs
from validate.figures.style import GOING_ON, OBSERVED, OTHERS, Look
from validate.observe import Observations
from validate.observe.groups import Setting

KEY_EPOCH, ON_KEY = 10, 0.3
TO_KEY, TO_ANCHORS = "on the key", "on the anchors"
"""What the second attention of each kind of seed is on."""


@dataclass(frozen=True)
class Moment:
    """Seeds of a setting at an epoch: all of them, those that learn in one way, or those that go on.

    ``of`` are the words that tell them from the others, ``look`` is that of their lines.
    """

    setting: Setting
    epoch: int
    of: str = ""
    look: Look = OBSERVED

    @property
    def when(self) -> str:
        """The epoch, and which seeds: "epoch 200, on the key (3 seeds)"."""
        return f"epoch {self.epoch}" + f", {self.of}" * bool(self.of)

    @property
    def which(self) -> str:
        """Which seeds among those of one epoch; seeds that go on have their own epoch."""
        return self.when if self.look is GOING_ON else self.of

    def array(self, name: str) -> FloatArray:
        """Return an array of these seeds, shape (n_seeds, ...)."""
        return self.setting.array(name, self.epoch)


def moments(observations: Sequence[Observations], setting: Setting) -> list[Moment]:
    """Return what figures show of a setting: both epochs, each way to learn, and last the seeds that go on.

    Those are the seeds that go on after the setting's end to the paper's late epoch.
    """
    looks = (OBSERVED, OTHERS)
    shown = [
        Moment(part, epoch, of, look)
        for epoch in shown_epochs(setting)
        for (of, part), look in zip(by_mechanism(setting).items(), looks, strict=False)
    ]
    sources, epoch = {run.source for run in setting.runs}, PAPER_EPOCHS.get(setting.kind, (0,))[-1]
    runs = [o for o in observations if o.source in sources and epoch in o.epochs]
    if runs := [o for o in runs if o.epochs[-1] > setting.epochs()[-1]]:
        late = replace(setting, runs=tuple(runs))
        shown.append(Moment(late, epoch, late.seeds_text, GOING_ON))
    return shown


def at_each_epoch(shown: Sequence[Moment]) -> list[list[Moment]]:
    """Return the moments of each epoch, each with the seeds that go on beside them."""
    late = [m for m in shown if m.look is GOING_ON]
    epochs = dict.fromkeys(m.epoch for m in shown if m not in late)
    return [[*(m for m in shown if m.epoch == epoch and m not in late), *late] for epoch in epochs]


def moments_text(shown: Sequence[Moment]) -> str:
    """Return sentences on seeds that are drawn apart and on those that go on, or nothing."""
    text = ""
    if names := list(dict.fromkeys(m.of for m in shown if m.of and m.look is not GOING_ON)):
        rule = f"{ON_KEY:g} of the last position's attention on the key at epoch {KEY_EPOCH}"
        text += f" Seeds that learn in two ways are drawn apart: attention in layer 2 {' or '.join(names)} "
        text += f"(more, or less, than {rule})."
    for late in (m for m in shown if m.look is GOING_ON):
        text += f" {late.of} goes on to epoch {late.epoch}."
    return text


def on_key(run: Observations, epoch: int) -> float:
    """Return the last position's attention on the key in the second layer, a mean over sums and places."""
    return float(run.at("key_attention", epoch).mean())


def by_mechanism(setting: Setting) -> dict[str, Setting]:
    """Return the seeds that attend to the key early, and those that do not, where a setting has both.

    As printed and at γ = 0.8 seeds learn the sums in one of two ways (docs/results/two_ways.md), whose mean
    no seed follows. Those with more than ``ON_KEY`` of the last position's attention on the key at epoch
    ``KEY_EPOCH`` are of the first kind. Any other setting is returned whole, under an empty name.
    """
    if not (is_printed(setting) and setting.has("key_attention") and KEY_EPOCH in setting.epochs()):
        return {"": setting}
    runs_of: dict[str, list[Observations]] = {TO_KEY: [], TO_ANCHORS: []}
    for run in setting.runs:
        runs_of[TO_KEY if on_key(run, KEY_EPOCH) > ON_KEY else TO_ANCHORS].append(run)
    if not all(runs_of.values()):
        return {"": setting}
    parts = {name: replace(setting, runs=tuple(runs)) for name, runs in runs_of.items()}
    return {f"{name} ({part.seeds_text})": part for name, part in parts.items()}
