"""Fig. 8: what the label distribution alone does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theory import InputError
from validate.figures.context import about, model_name
from validate.figures.panels.accuracy import AccuracyCurves, Look
from validate.figures.panels.outputs import OutputDistribution, label_words
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import KINDS, of_kind
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE
from validate.judge.groups import Setting
from validate.observe import Observations

EARLY_ACCURACY = 0.3
"""Fig. 8 right is early: the last snapshot before any seed's memory accuracy passes this."""


@paper_figure(8, "The effect of the label distribution", "fig8-memory", "fig8-memory-long", "fig8-ranges")
def label_distributions(observations: Sequence[Observations]) -> Sheet:
    """Fig. 8: two memory mappings whose label distributions differ, and outputs inside four label ranges."""
    tables = [o for o in observations if sum(m.is_table for m in o.task.mappings) > 1]
    windows = [o for o in tables if any(m.rule.kind == "window" for m in o.task.mappings)]
    compared = longest(of_kind(windows, *KINDS))
    ranges = of_kind([o for o in tables if all(m.rule.kind == "lookup" for m in o.task.mappings)], *KINDS)
    rows = [_mapping_curves(f"Left  {_name(setting)}: two memory mappings", setting) for setting in compared]
    for setting in ranges:
        epoch = early_epoch(setting)
        reached = f"memory accuracy up to {_accuracy(setting, epoch):.3f}"
        title = f"Right  {_name(setting)}: outputs at epoch {epoch}, {reached}"
        rows.append(PanelRow(title, OutputDistribution.from_runs(setting, epoch), share_y=title))
    if not rows:
        raise InputError(
            "runs", len(observations), "none has several memory mappings", "give runs of Fig. 8's tasks"
        )
    left = "Left: loss and accuracy of memory mappings whose label distributions differ. "
    right = f"Right: the mean output for each memory mapping beside its label distribution, {_when(ranges)}."
    caption = (left if compared else "") + (right if ranges else "")
    return Sheet("fig08_label_distributions", caption.strip(), about([*compared, *ranges]), rows, width=1.7)


def longest(settings: Sequence[Setting]) -> list[Setting]:
    """Return of each network and γ the setting with the longest runs: shorter ones fit less of the tables."""
    by_length = sorted(settings, key=lambda setting: setting.runs[0].config.training.epochs)
    last = {_name(setting): setting for setting in by_length}
    return [setting for setting in settings if setting is last[_name(setting)]]


def early_epoch(setting: Setting) -> int:
    """Return the last snapshot before any seed's memory accuracy passes 0.3, but after the start."""
    return _early(setting)[0]


def _early(setting: Setting) -> tuple[int, str]:
    """Return the early epoch, and in words when it is."""
    after = [e for e in setting.epochs() if e > 0]
    passed = next((i for i, e in enumerate(after) if _accuracy(setting, e) >= EARLY_ACCURACY), None)
    if passed is None:
        return after[-1], f"at the end, as memory accuracy stays below {EARLY_ACCURACY:g}"
    if passed == 0:
        return after[0], f"at the first snapshot, where memory accuracy is already above {EARLY_ACCURACY:g}"
    return after[passed - 1], f"at the last snapshot before memory accuracy passes {EARLY_ACCURACY:g}"


def _when(settings: Sequence[Setting]) -> str:
    """Return when outputs are shown, for each model where that differs."""
    names: dict[str, list[str]] = {}
    for setting in settings:
        names.setdefault(_early(setting)[1], []).append(_name(setting))
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"for {' and '.join(own)} {when}" for when, own in names.items())


def _accuracy(setting: Setting, epoch: int) -> float:
    """Return the largest memory accuracy of any seed at the evaluation next to an epoch."""
    nearest = [min(run.metrics, key=lambda line: abs(line["epoch"] - epoch)) for run in setting.runs]
    return max(float(line["accuracy"]["mem"]) for line in nearest)


def _name(setting: Setting) -> str:
    return f"{model_name(setting)}, γ = {setting.init_rate:g}"


def _mapping_curves(title: str, setting: Setting) -> PanelRow:
    looks: Mapping[str, Look] = {
        m.name: (label_words(setting.task, m), colour, line)
        for m, colour, line in zip(setting.task.mappings, PALETTE, ("-", "--", "-.", ":"), strict=False)
        if m.is_table
    }
    panels = [AccuracyCurves.from_runs(setting, m, parts=looks, title=m) for m in ("loss", "accuracy")]
    return PanelRow(title, panels)
