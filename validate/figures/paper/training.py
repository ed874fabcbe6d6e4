"""Fig. 3, 16, 17: what is learned when."""

from __future__ import annotations

from collections.abc import Sequence

from theory import InputError
from validate.claims.statements import LARGE, SMALL
from validate.figures.context import about, missing_rates, model_name
from validate.figures.panels.accuracy import AccuracyCurves, unlearned_levels
from validate.figures.panels.spikes import LossSpikes, learning_rate
from validate.figures.paper.registry import paper_figure
from validate.figures.paper.sources import Source, likeliest
from validate.figures.selection import of_kind, required
from validate.figures.sheet import NoRuns, Panel, PanelRow, Sheet
from validate.judge.ceiling import order_blind_ceiling
from validate.judge.groups import Setting
from validate.observe import Observations

ATTENTION = ("transformer", "one-layer")
WITHOUT_NORM = Source(("group-no-norm", "group-no-norm-small", "no-norm-all"), (LARGE, SMALL))
OVER_RATES = Source(("group-rates", "learning-rates"), (LARGE, SMALL))
"""The primary setting first, at full size before a quarter of it; then what was trained for some epochs."""


@paper_figure(3, "Loss and accuracy over epochs", likeliest(LARGE, SMALL), "emb-mlp")
def learning(observations: Sequence[Observations]) -> Sheet:
    """Fig. 3: loss and accuracy over epochs, the Transformer above the Emb-MLP."""
    transformer, emb_mlp = of_kind(observations, *ATTENTION), of_kind(observations, "emb-mlp")
    required([*transformer, *emb_mlp], observations, "Fig. 3", "the Transformer and the Emb-MLP")
    rows, parts = [], []
    if transformer:
        name = model_name(transformer[0])
        rows += [_curves(f"A  {name}: loss", transformer, "loss")]
        rows += [_curves(f"A  {name}: accuracy", transformer, "accuracy")]
        parts += ["A: loss and accuracy of the Transformer over epochs.", _level_text(transformer)]
        parts += [missing_rates(transformer)]
    if emb_mlp:
        rows += [_curves("B  Emb-MLP: accuracy", emb_mlp, "accuracy")]
        parts += ["B: accuracy of the Emb-MLP over epochs.", _ceiling_text(emb_mlp)]
    return Sheet("fig03_learning", " ".join(filter(None, parts)), about([*transformer, *emb_mlp]), rows)


@paper_figure(16, "Loss and accuracy without layer norm", WITHOUT_NORM)
def without_norm(observations: Sequence[Observations]) -> Sheet:
    """Fig. 16: loss and accuracy of the Transformer without layer norm."""
    plain = [o for o in observations if getattr(o.config.model, "norm", "") == "none"]
    about_what = "Transformers without norm (--model.norm none)"
    settings = required(of_kind(plain, *ATTENTION), observations, "Fig. 16", about_what)
    rows = [
        _curves("A  Transformer without layer norm: loss", settings, "loss", log=True, each_seed=True),
        _curves("B  The same: accuracy", settings, "accuracy", each_seed=True),
    ]
    parts = [
        "Loss and accuracy over epochs without layer norm.",
        _level_text(settings),
        missing_rates(settings),
    ]
    return Sheet("fig16_no_norm", " ".join(filter(None, parts)), about(settings), rows)


@paper_figure(17, "Loss over learning rates", OVER_RATES, compares="learning rate")
def over_learning_rates(observations: Sequence[Observations]) -> Sheet:
    """Fig. 17: loss over epochs, one column per learning rate, and the largest rises of the losses."""
    settings = attention_settings(observations, "Fig. 17")
    rates = sorted({learning_rate(s) for s in settings})
    by_rate = {(s.init_rate, learning_rate(s)): s for s in settings}
    if len(by_rate) < len(settings):
        labels = [s.label for s in settings]
        raise InputError("runs", labels, "differ in more than γ and learning rate", "give fewer runs")
    rows = []
    gammas = sorted({s.init_rate for s in settings})
    for letter, gamma in zip("ABCDEFGH", gammas, strict=False):
        panels = [_at_rate(by_rate.get((gamma, rate)), rate) for rate in rates]
        title = f"{letter}  γ = {gamma:g}: loss"
        last = gamma == gammas[-1]
        rows.append(PanelRow(title, panels, height=2.1 if last else 1.8, legend=last, share_y="loss"))
    names = {"mem": "memory", "rsn_train": "reasoning, train", "rsn_test": "reasoning, test"}
    spikes = [
        LossSpikes.from_runs(settings, part, name)
        for part, name in names.items()
        if part in settings[0].runs[0].metrics[0]["loss"]
    ]
    rows.append(
        PanelRow(
            f"{'ABCDEFGHI'[len(gammas)]}  Largest rise of the loss above its lowest value before",
            spikes,
            share_y="rise",
        )
    )
    caption = (
        "Loss over epochs at several initialisation rates and learning rates, each the highest of its "
        "schedule, and how far the loss jumps back up on the way. "
        f"{_level_text(settings)} {missing_rates(settings)}"
    )
    return Sheet("fig17_learning_rates", caption.strip(), about(settings), rows, width=1.5)


def attention_settings(observations: Sequence[Observations], figure: str) -> list[Setting]:
    """Return the settings of Transformers; refuse runs that hold none."""
    return required(of_kind(observations, *ATTENTION), observations, figure, "Transformers")


def _curves(
    title: str, settings: Sequence[Setting], measure: str, *, log: bool = False, each_seed: bool = False
) -> PanelRow:
    one_each = len({s.init_rate for s in settings}) == len(settings)
    panels = [
        AccuracyCurves.from_runs(
            s,
            measure,
            levels=unlearned_levels(s.task) if measure == "loss" else _ceilings(s),
            title=f"γ = {s.init_rate:g}" if one_each else s.label,
            log=log,
            each_seed=each_seed,
        )
        for s in settings
    ]
    return PanelRow(title, panels, share_y=title)


def _ceilings(setting: Setting) -> dict[str, float]:
    """Return the accuracy that no sum of embeddings passes, for the model that sums them."""
    ceiling = order_blind_ceiling(setting.task) if setting.kind == "emb-mlp" else None
    return {} if ceiling is None else {f"memory: ceiling of a sum of embeddings, {ceiling:.4f}": ceiling}


def _ceiling_text(settings: Sequence[Setting]) -> str:
    found = {level for setting in settings for level in _ceilings(setting).values()}
    if not found:
        return ""
    levels = " or ".join(f"{level:.4f}" for level in sorted(found))
    return (
        f"Dotted, {levels}: the expected ceiling of its accuracy on memory data, since it sees a sum of "
        "embeddings, which is the same for (z, a, b) and (z, b, a), whose labels are drawn independently."
    )


def _level_text(settings: Sequence[Setting]) -> str:
    if not any(unlearned_levels(s.task) for s in settings):
        return ""
    return (
        "Dotted: the memory loss of a model that knows the label distribution of memory anchors and "
        "nothing of keys."
    )


def _at_rate(setting: Setting | None, rate: float) -> Panel:
    title = f"rate {rate:g}"
    if setting is None:
        return NoRuns(title)
    levels = unlearned_levels(setting.task)
    return AccuracyCurves.from_runs(setting, "loss", levels=levels, title=title, log=True, each_seed=True)
