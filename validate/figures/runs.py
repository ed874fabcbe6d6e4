"""The choice of the runs that a figure shows, and its footnote about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest

import numpy as np

from sim.config.presets import load_preset
from sim.config.run import RunConfig, make_run_config
from sim.runs.table import shown_name
from theory import InputError, Task
from theory.edge.arrays import FloatArray
from validate.figures.style import GOING_ON, OBSERVED, OTHERS, Look
from validate.judge.settings import SMALL
from validate.observe import Observations
from validate.observe.groups import Setting, group_runs
from validate.observe.times import early_epoch, learned_part

KINDS = {
    "emb-mlp": "Emb-MLP",
    "one-layer": "one-layer Transformer",
    "transformer": "Transformer",
    "gpt2": "GPT-2",
}
NORMS = {
    "pre": "pre-norm",
    "pre-queries": "norm on queries",
    "post": "post-norm",
    "none": "without layer norm",
}
EMB_MLP, ATTENTION, LANGUAGE = ("emb-mlp",), ("transformer", "one-layer"), ("gpt2",)
LARGEST = 0.5
"""The largest γ of large initial weights: the paper calls γ > 1/2 small."""
PAPER_EPOCHS = {"transformer": (200, 900), "emb-mlp": (50, 900)}
"""The epochs that the paper's figures show, of 1000 (Figs. 4A, 5A and 6)."""
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


KEY_EPOCH, ON_KEY = 10, 0.3
TO_KEY, TO_ANCHORS = "on the key", "on the anchors"
"""What the second attention of each kind of seed is on."""


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


@cache
def paper_config(kind: str) -> RunConfig:
    """Return the printed configuration of a kind of model."""
    presets = {"gpt2": "paper-gpt2", "emb-mlp": "paper-emb-mlp"}
    return make_run_config(load_preset(presets.get(kind, "paper")))


def model_name(setting: Setting, *, rate: bool = False) -> str:
    """Return the name of a setting's model: "Transformer (pre-norm)", and "..., γ = 0.8" with the rate."""
    name, norm = KINDS.get(setting.kind, setting.kind), getattr(setting.config.model, "norm", "")
    return name + f" ({NORMS.get(norm)})" * (norm in NORMS) + f", γ = {setting.init_rate:g}" * rate


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


def about(settings: Sequence[Setting]) -> str:
    """Describe the runs that a figure shows: for each model γ, seeds, epochs, and settings not as printed."""
    by_model: dict[str, list[Setting]] = {}
    for setting in settings:
        by_model.setdefault(model_name(setting), []).append(setting)
    return "; ".join(f"{name}, {_of_one_model(own)}" for name, own in by_model.items())


def missing_rates(settings: Sequence[Setting], wanted: Sequence[float] = ()) -> str:
    """Return a sentence that names the paper's γ that these runs lack, or nothing.

    ``wanted`` has those that the paper's figure shows, if it does not show all.
    """
    have = {s.init_rate for s in settings}
    paper = wanted or paper_config(settings[0].kind).init_rates
    lacking = [f"{rate:g}" for rate in paper if rate not in have]
    return f"These runs lack the paper's γ = {', '.join(lacking)}." if lacking else ""


def _of_one_model(settings: Sequence[Setting]) -> str:
    """Return γ and seeds, the length of the runs, and the settings that differ from the printed ones."""
    rates = ", ".join(dict.fromkeys(f"{s.init_rate:g}" for s in settings))
    rates += f", {settings[0].seeds_text}" + " each" * (len(settings) > 1)
    if len({len(s.runs) for s in settings}) > 1:
        rates = ", ".join(f"{s.init_rate:g} ({s.seeds_text})" for s in settings)
    paper, runs = paper_config(settings[0].kind), [run for s in settings for run in s.runs]
    curves = span([run.metrics[-1]["epoch"] for run in runs])
    snapshots = span([run.epochs[-1] for run in runs])
    length = f"{curves} epoch{'s' * (curves != '1')}"
    if curves != snapshots:
        length = f"curves end at epoch {curves}, the last snapshot is at epoch {snapshots}"
    length += f" (printed: {paper.training.epochs})" * (curves != str(paper.training.epochs))
    compared = _compared(settings)
    deviations = [
        f"{name} {' or '.join(map(_thousands, sorted(values)))} (printed: {_thousands(printed)})"
        for name, (values, printed) in compared.items()
        if not values <= {printed}
    ]
    alike = ", ".join(name for name, (values, _) in compared.items() if values)
    return f"γ = {rates}; {length}; {'; '.join(deviations) or f'{alike} as printed'}"


def _compared(settings: Sequence[Setting]) -> dict[str, tuple[set[float], float]]:
    """Return the values of some settings that the paper prints, each beside the printed one."""
    paper, configs = paper_config(settings[0].kind), [s.config for s in settings]
    wide = [c for c in configs if c.model.kind in KINDS or hasattr(c.model, "d_m")]  # One's own may lack it.
    printed = paper.model.width(paper.build_task().vocab_size), paper.training.peak_learning_rate
    return {
        "d_m": ({c.model.width(c.task.vocab_size) for c in wide}, printed[0]),
        "keys": ({len(c.task.keys) for c in configs if isinstance(c.task, Task)}, len(Task.paper().keys)),
        "learning rate": ({c.training.peak_learning_rate for c in configs}, printed[1]),
        "sequences": (
            {c.data.n_sequences for c in configs if c.data.source == "draw"},
            paper.data.n_sequences,
        ),
    }


def width_ratio(setting: Setting) -> float:
    """Return d_m over the printed one, 1 where it cannot be compared."""
    own, printed = _compared([setting])["d_m"]
    return own.pop() / printed if own else 1.0


def is_printed(setting: Setting) -> bool:
    """Return whether width, keys, learning rate and the number of drawn sequences are the printed ones."""
    return setting.kind in PAPER_EPOCHS and all(own == {p} for own, p in _compared([setting]).values())


def span(numbers: Collection[float]) -> str:
    """Return the least and the greatest of some numbers: "50", "40 to 50"."""
    return " to ".join(f"{n:g}" for n in dict.fromkeys((min(numbers), max(numbers))))


def _thousands(number: float) -> str:
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else f"{number:g}"
