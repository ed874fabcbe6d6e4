"""Figs. 6, 12 and 15: the first attention against the average 1/i, W_V, and the last attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import predict_value_growth
from theory.edge.display import spread
from validate.figures import Curve, Curves, HeatMap, Look, PanelRow, Sheet, footnote, runs
from validate.figures.curves import numbers_at
from validate.figures.moments import Moment, by_mechanism, moments, moments_text
from validate.figures.panel import FEW, BasePanel, seeds_text
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.paper.spectra import singular_values
from validate.figures.sheet import letter
from validate.figures.style import GOING_ON, OBSERVED, PALETTE, ZERO, sequential
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import COSINE, SHARE, number
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.observe.observables import LEMMA1_EPSILONS
from validate.predict.predictors import predicted_average_share

CLOSE = max(LEMMA1_EPSILONS)
"""The first attention is close to the average if no entry is further from 1/i than this."""


@paper_figure(6, "The first attention and W_V", likeliest(SMALL))
def first_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention beside the average 1/i (Lemma 1), and W_V's one direction (Theorem 2)."""
    every = runs.of_kind(observations, runs.ATTENTION, "Fig. 6 is about Transformers")
    setting = runs.small_scale(every)
    settings, shown = runs.over_gamma(every, setting), moments(observations, setting)
    maps = [Moment(setting, 0), *shown]
    near = [m.when for m in maps if m.array("first_attention_error").mean() <= CLOSE]
    other = [Moment(s, s.nearest(shown[0].epoch)) for s in settings if s is not setting]
    ratios = []
    for m in shown:
        values = m.array("singular/0.W_V")  # With d_k = 1 there is one alone, and the second is 0.
        ratio = float((values[:, 1:2].sum(axis=1) / values[:, 0]).mean())
        ratios.append(number(ratio) + f" {m.which}" * bool(m.which))
    rows = [
        PanelRow(
            f"A  First attention, {footnote.model_name(setting, rate=True)}",
            [attention_map(m) for m in maps],
            "attention",
            says=f"No entry is further than {CLOSE:g} from 1/i at {'; '.join(near) or 'no epoch shown'}.",
        ),
        PanelRow("B  Its rows", [attention_lines(m) for m in shown], share_y="rows"),
        PanelRow(
            "C  Singular values of $W_V$",
            [singular_values([*other, *shown], "0.W_V", "")],
            height=2.4,
            says=f"$\\sigma_2/\\sigma_1$ at γ = {setting.init_rate:g}: {', '.join(ratios)}.",
        ),
        PanelRow(
            "D  Direction of the largest singular value",
            [_value_alignment(m) for m in shown],
            height=2.4,
            share_y="direction",
        ),
    ]
    caption = (
        "A: the first attention. B: its rows beside 1/i (dotted). C: the singular values of W_V. D: the "
        "cosine of every anchor's embedding with the top left singular vector of W_V, beside Theorem 2's "
        f"direction with u or P̄ taken from P^s.{moments_text(shown)}"
    )
    return Sheet("fig06_first_attention", caption, footnote.about(settings), rows)


@paper_figure(12, "The first attention at large weights", likeliest(LARGE, SMALL), compares="γ")
def first_attention_large(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention at large initial weights, and its distance from the average over γ.

    The crosses on a dotted line are Lemma 1's share of entries within 0.1 of 1/i at initialisation.
    """
    every = runs.of_kind(observations, runs.ATTENTION, "Fig. 12 is about Transformers")
    small = runs.small_scale(every)
    shown = moments(observations, small)
    own = runs.over_gamma(every, small)
    rows = []
    for i, setting in enumerate(runs.large_scales(every)):
        late = [m for m in moments(observations, setting) if m.look is GOING_ON]
        early = Moment(setting, setting.nearest(shown[0].epoch))
        panels: list[BasePanel] = [attention_map(m) for m in (Moment(setting, 0), early, *late)]
        title = f"{letter(i)}  First attention, {footnote.model_name(setting)}, {setting.label}"
        rows.append(PanelRow(title, [*panels, attention_lines(early)], "attention"))
    of = "" if len(own) == len(every) else f", {footnote.model_name(small)}"
    title = f"{letter(len(rows))}  Distance from the average over γ{of}"
    rows.append(PanelRow(title, _average_over_gamma(observations, own, [0, *runs.shown_epochs(small)])))
    caption = (
        "The first attention at large initial weights, its rows beside 1/i (dotted); over γ, its largest "
        "distance from 1/i over sequences and positions, and the share of entries near 1/i."
        f"{moments_text(shown)} {footnote.missing_rates(every)}"
    )
    return Sheet("fig12_first_attention_large", caption, footnote.about(every), rows)


@paper_figure(15, "The second attention", likeliest(SMALL))
def second_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the last row of the last layer's attention, by position p of the key, and with positions alone.

    Each seed is a thin line: a mean of logits hides that seeds may find different solutions.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.ATTENTION, "Fig. 15 is about Transformers"))
    has_positions, shown = setting.has("last_logits_positions"), moments(observations, setting)
    rows = []
    for i, moment in enumerate(shown):
        panels: list[BasePanel] = [_last_logits(moment), _last_attention(moment)]
        panels += [_position_logits(moment)] * has_positions
        title = f"{letter(i)}  Last row, {footnote.model_name(setting, rate=True)}, {moment.when}"
        rows.append(PanelRow(title, panels, "attention", height=2.4))
    alone = ", and before it with all token embeddings set to zero" * has_positions
    caption = (
        "The last row of the last layer's attention, by position p of the key (ring; anchors dots): before "
        f"and after the softmax{alone}.{moments_text(shown)}"
    )
    return Sheet("fig15_second_attention", caption, footnote.about([setting]), rows)


def attention_map(moment: Moment) -> HeatMap:
    r"""Return the first attention, mean over probe sequences and seeds, and its largest \|A_ij − 1/i\|."""
    matrix, error = moment.array("first_attention").mean(axis=0), moment.array("first_attention_error")
    positions = range(1, len(matrix) + 1)
    return HeatMap(
        f"{moment.when.replace(', ', chr(10))}\nmax |A − 1/i| = {number(float(error.mean()))}",
        ("attended position j", positions),
        ("position i", positions),
        np.where(np.tril(np.ones_like(matrix)) > 0, matrix, np.nan),
        limits=SHARE,
        matrix=True,
        numbers=f"{moment.when}: max |A_ij − 1/i| = {seeds_text(error, SHARE)}",
    )


def attention_lines(moment: Moment) -> Curves:
    """Return some rows i ≥ 2 of the first attention against 1/i, with the spread over sequences."""
    rows, deviations = moment.array("first_attention"), moment.array("first_attention_sd").mean(axis=0)
    shown = [2 + i for i in spread(rows.shape[1] - 1, 3)]
    looks = {i: Look(colour, "o") for i, colour in zip(shown, sequential(len(shown)), strict=True)}
    curves = {
        f"i = {i}": Curve(np.arange(1, i + 1), rows[:, i - 1, :i], look, SHARE, deviations[i - 1, :i])
        for i, look in looks.items()
    }
    levels = {f"_1/{i}": (1 / i, Look(look.colour, line=":")) for i, look in looks.items()}
    levels["1/i (Lemma 1)"] = (float("nan"), Look("0.4", line=":"))
    axes, singly = ("attended position j", "attention $A_{ij}$"), len(rows) <= FEW
    return Curves(
        f"rows, {moment.when}", curves, *axes, ylim=(0, 1.03), levels=levels, whole=True, singly=singly
    )


def _average_over_gamma(
    observations: Sequence[Observations], settings: Sequence[Setting], epochs: Sequence[int]
) -> list[Curves]:
    """Return over γ how far the first attention is from 1/i, and the share of its entries near 1/i.

    Lemma 1 predicts that share at initialisation. Seeds that learn in different ways are points of their own,
    and seeds that go on thin lines.
    """
    points: dict[str, tuple[Look, list[Moment]]] = {}
    for epoch, colour in zip(epochs, PALETTE, strict=False):
        nearest = [s.nearest(epoch) for s in settings]  # A run that ended sooner has other epochs.
        name = f"epoch {' or '.join(map(str, sorted({*nearest})))}"
        for s, e in zip(settings, nearest, strict=True):
            ways = by_mechanism(s) if epoch else {"": s}
            for (of, part), marker in zip(ways.items(), "^v", strict=False):
                key = f"epoch {e}, γ = {s.init_rate:g}, {of}" if of else name
                look = Look(colour, marker, "") if of else Look(colour, "o")
                points.setdefault(key, (look, []))[1].append(Moment(part, e))
    for late in (m for s in settings for m in moments(observations, s) if m.look is GOING_ON):
        key = f"epoch {late.epoch} ({late.of} each)"
        points.setdefault(key, (Look("0.4", ".", ":", 0.8), []))[1].append(late)
    gammas = [s.init_rate for s in settings]
    lemma = np.array([[predicted_average_share(s.config, LEMMA1_EPSILONS[0]) for s in settings]])
    beside = {"Lemma 1, epoch 0": Curve(gammas, lemma, Look("black", "x", ":"))}
    panels = []
    for array, what, more in (
        ("first_attention_error", "max |$A_{ij}$ − 1/i|", {}),
        ("lemma1_share", f"share of |$A_{{ij}}$ − 1/i| ≤ {LEMMA1_EPSILONS[0]:g}", beside),
    ):
        curves = {}
        for name, (look, own) in points.items():
            each = [m.array(array) for m in own]
            values = runs.over_settings([v if v.ndim == 1 else v[:, 0] for v in each])
            curves[name] = Curve([m.setting.init_rate for m in own], values, look, SHARE)
        numbers = f"{what}: {numbers_at(curves, 'γ =')}"
        panel = Curves(
            "", curves | more, "initialisation rate γ", what, bars=True, singly=True, numbers=numbers
        )
        panels.append(panel)
    panels[0].yscale, panels[1].ylim = "log", (-0.03, 1.03)
    return panels


def _value_alignment(moment: Moment) -> Curves:
    """Return the cosine of every anchor with the top left singular vector of W_V, beside Theorem 2's."""
    task = moment.setting.task
    n, anchors = len(task.memory_anchors), [*task.memory_anchors, *task.reasoning_anchors]
    x, both = np.arange(len(anchors)), 0 < n < len(anchors)
    curves = {}
    if both:
        for reference, name, look in (
            ("uniform", "Theorem 2, u", Look(PALETTE[0], "o", "", hollow=True)),
            ("marginal", r"Theorem 2, $\bar P$", Look(PALETTE[1], "s", "", hollow=True)),
        ):
            growth = predict_value_growth(task, reference=reference, held_out=True)  # type: ignore[arg-type]
            curves[name] = Curve(x, growth.alignment[anchors][None], look)
    seen = moment.array("wv_direction")[:, [task.anchors.index(s) for s in anchors]]
    curves["training"] = Curve(x, seen, Look(OBSERVED.colour, "o", ""), COSINE)
    kinds = {kind: own for kind, own in (("memory", seen[:, :n]), ("reasoning", seen[:, n:])) if own.size}
    means = [f"{kind} anchors {seeds_text(np.abs(own).mean(axis=1), SHARE)}" for kind, own in kinds.items()]
    step = max(1, len(anchors) // 10)
    return Curves(
        moment.when,
        curves,
        f"{' | '.join(kinds)} anchors",
        "cosine with $v_1(W_V)$",
        ylim=(-1.15, 1.15),
        levels=ZERO,
        xticks=(x[::step].tolist(), [str(s) for s in anchors[::step]]),
        divide=n - 0.5 if both else None,
        bars=True,
        singly=len(seen) <= FEW,
        numbers=f"{moment.when}: mean |cosine| with the top direction of W_V, {', '.join(means)}",
    )


def _last_logits(moment: Moment) -> Curves:
    """Return the logits of the last row for some positions of the key, relative to the key's own.

    The softmax depends on differences only.
    """
    logits = moment.array("last_logits")
    _, n_places, length = logits.shape
    curves, places = {}, np.arange(1, length + 1)
    shown = [1 + i for i in spread(n_places, 4)]
    for p, colour in zip(shown, sequential(len(shown)), strict=True):
        seeds = logits[:, p - 1] - logits[:, p - 1, p - 1][:, None]
        mean, window = seeds.mean(axis=0)[None], slice(p - 1, p + moment.setting.task.n_anchors)
        key = slice(p - 1, p)
        curves[f"key at p = {p}"] = Curve(places, seeds, Look(colour))
        curves[f"_anchors of p = {p}"] = Curve(places[window], mean[:, window], Look(colour, "o", ""))
        curves[f"_key of p = {p}"] = Curve(places[key], mean[:, key], Look(colour, "o", "", hollow=True))
    return Curves("logits", curves, "position j", "logit − logit at the key", whole=True, singly=True)


def _last_attention(moment: Moment) -> HeatMap:
    """Return the last row after the softmax by position of the key, with a frame round key and anchors.

    The mass outside the frames, averaged over positions, is small at a cliff (Lemma 5).
    """
    attention, q = moment.array("last_attention"), moment.setting.task.n_anchors
    n_places, length = attention.shape[1:]
    outside = [np.mean([1 - seed[p, p : p + q + 1].sum() for p in range(n_places)]) for seed in attention]
    return HeatMap(
        f"after the softmax\noutside the frames: {number(float(np.mean(outside)))}",
        ("position j", range(1, length + 1)),
        ("position p of the key", range(1, n_places + 1)),
        attention.mean(axis=0),
        limits=SHARE,
        frames=[(p, p, p + q) for p in range(n_places)],
        matrix=True,
        numbers=f"after the softmax: attention outside key and anchors {seeds_text(outside, SHARE)}",
    )


def _position_logits(moment: Moment) -> Curves:
    """Return the last row of logits with all token embeddings zero, relative to the first position.

    The last position, where no key stands, is left out.
    """
    logits = moment.array("last_logits_positions")[:, :-1]
    places = np.arange(1, logits.shape[1] + 1)
    curve = Curve(places, logits - logits[:, :1], Look(OBSERVED.colour, "o"))
    ylabel = "logit − logit at 1"
    return Curves("positions alone", {"_mean": curve}, "position j", ylabel, whole=True, singly=True)
