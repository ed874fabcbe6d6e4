"""Fig. 3, 8, 16, 17: what is learned when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theory import InputError
from validate.figures.accuracy import AccuracyCurves, Look, unlearned_levels
from validate.figures.members import KINDS, Members, of_kind, seeds_note
from validate.figures.outputs import OutputDistribution
from validate.figures.sheet import NoRuns, Panel, PanelRow, Sheet
from validate.figures.spikes import LossSpikes, learning_rate
from validate.figures.style import PALETTE
from validate.observe import Observations

ATTENTION = ("transformer", "one-layer")
EARLY_ACCURACY = 0.3
"""Fig. 8 right is early: the last snapshot before the accuracy of any memory mapping passes this."""


def learning(observations: Sequence[Observations]) -> Sheet:
    """Fig. 3: loss and accuracy over epochs, the Transformer above the Emb-MLP."""
    rows = []
    transformer, emb_mlp = of_kind(observations, *ATTENTION), of_kind(observations, "emb-mlp")
    if transformer:
        name = KINDS[transformer[0].kind]
        rows += [_curves(f"A  {name}: loss", transformer, "loss")]
        rows += [_curves(f"A  {name}: accuracy", transformer, "accuracy")]
    if emb_mlp:
        rows += [_curves("B  Emb-MLP: accuracy", emb_mlp, "accuracy")]
    caption = (
        "Loss and accuracy on memory, reasoning training and reasoning test data over epochs, for several "
        "initialisation rates. The dotted line is where a model stands that knows the label law of memory "
        "anchors and nothing of keys."
    )
    return Sheet("fig03_learning", caption, seeds_note([*transformer, *emb_mlp]), rows)


def without_norm(observations: Sequence[Observations]) -> Sheet:
    """Fig. 16: loss and accuracy of the Transformer without layer norm."""
    settings = attention_settings(
        [o for o in observations if getattr(o.config.model, "norm", "") == "none"], "Fig. 16", " without norm"
    )
    rows = [
        _curves("A  Transformer without layer norm: loss", settings, "loss"),
        _curves("B  The same: accuracy", settings, "accuracy"),
    ]
    caption = "Loss and accuracy over epochs without layer norm."
    return Sheet("fig16_no_norm", caption, seeds_note(settings), rows)


def over_learning_rates(observations: Sequence[Observations]) -> Sheet:
    """Fig. 17: loss over epochs, a column a learning rate, and the largest rise of each data set's loss."""
    settings = attention_settings(observations, "Fig. 17")
    gammas = sorted({s.init_rate for s in settings})
    rates = sorted({learning_rate(s) for s in settings})
    by_place = {(s.init_rate, learning_rate(s)): s for s in settings}
    if len(by_place) < len(settings):
        labels = [s.label for s in settings]
        raise InputError("runs", labels, "differ in more than γ and learning rate", "give fewer runs")
    rows = []
    for letter, gamma in zip("ABCDEFGH", gammas, strict=False):
        panels = [_at_rate(by_place.get((gamma, rate)), rate) for rate in rates]
        rows.append(
            PanelRow(f"{letter}  γ = {gamma:g}: loss", panels, height=2.4, legend=gamma == gammas[-1])
        )
    names = {"mem": "memory", "rsn_train": "reasoning, train", "rsn_test": "reasoning, test"}
    spikes = [
        LossSpikes.from_runs(settings, part, name)
        for part, name in names.items()
        if part in settings[0].runs[0].metrics[0]["loss"]
    ]
    rows.append(PanelRow("Largest rise of the loss above its lowest value before", spikes))
    caption = (
        "Loss over epochs at several learning rates and initialisation rates, and how far it jumps back "
        "up on the way."
    )
    return Sheet("fig17_learning_rates", caption, seeds_note(settings), rows, width=2.4)


def label_laws(observations: Sequence[Observations]) -> Sheet:
    """Fig. 8: two memory mappings whose label laws differ, and outputs inside four label ranges."""
    tables = [o for o in observations if sum(m.is_table for m in o.task.mappings) > 1]
    compared = [o for o in tables if any(m.rule.kind == "window" for m in o.task.mappings)]
    ranges = [o for o in tables if all(m.rule.kind == "lookup" for m in o.task.mappings)]
    rows = []
    for setting in of_kind(compared, *KINDS):
        rows.append(_mapping_curves(f"Left  {_name(setting)}: two memory mappings", setting))
    for setting in of_kind(ranges, *KINDS):
        epoch = early_epoch(setting)
        reached = f"memory accuracy up to {_accuracy(setting, epoch):.3f}"
        title = f"Right  {_name(setting)}: outputs at epoch {epoch}, {reached}"
        rows.append(PanelRow(title, OutputDistribution.from_runs(setting, epoch)))
    if not rows:
        raise InputError(
            "runs", len(observations), "none has several memory mappings", "give runs of Fig. 8's tasks"
        )
    caption = (
        "Left: loss and accuracy of memory mappings that differ in their label laws. Right: early on, "
        "the mean output for each memory mapping beside its label law."
    )
    note = seeds_note([*of_kind(compared, *KINDS), *of_kind(ranges, *KINDS)])
    return Sheet("fig08_label_laws", caption, note, rows, width=2.8)


def early_epoch(setting: Members) -> int:
    """Return the last snapshot before any seed's memory accuracy passes 0.3, but after the start."""
    after = [e for e in setting.epochs() if e > 0]
    early = [e for e in after if _accuracy(setting, e) < EARLY_ACCURACY]
    return early[-1] if early else after[0]


def _accuracy(setting: Members, epoch: int) -> float:
    """Return the largest memory accuracy of any seed at the evaluation next to an epoch."""
    nearest = [min(run.metrics, key=lambda line: abs(line["epoch"] - epoch)) for run in setting.runs]
    return max(float(line["accuracy"]["mem"]) for line in nearest)


def attention_settings(observations: Sequence[Observations], figure: str, which: str = "") -> list[Members]:
    """Return the settings of Transformers; refuse runs that hold none."""
    settings = of_kind(observations, *ATTENTION)
    if not settings:
        raise InputError(
            "runs", len(observations), f"{figure} is about Transformers{which}", "give such runs"
        )
    return settings


def _name(setting: Members) -> str:
    return f"{KINDS[setting.kind]}, γ = {setting.init_rate:g}"


def _curves(title: str, settings: Sequence[Members], measure: str) -> PanelRow:
    panels = [
        AccuracyCurves.from_runs(s, measure, levels=unlearned_levels(s.task) if measure == "loss" else {})
        for s in settings
    ]
    return PanelRow(title, panels, height=2.6, share_y=True)


def _at_rate(setting: Members | None, rate: float) -> Panel:
    title = f"learning rate {rate:g}"
    if setting is None:
        return NoRuns(title)
    return AccuracyCurves.from_runs(setting, "loss", levels=unlearned_levels(setting.task), title=title)


def _mapping_curves(title: str, setting: Members) -> PanelRow:
    looks: Mapping[str, Look] = {
        m.name: (f"{m.name} ({m.rule.kind})", colour, line)
        for m, colour, line in zip(setting.task.mappings, PALETTE, ("-", "--", "-.", ":"), strict=False)
        if m.is_table
    }
    measures = ("loss", "accuracy")
    return PanelRow(title, [AccuracyCurves.from_runs(setting, m, parts=looks) for m in measures])
