"""Figs. 6, 12 and 15: the first attention against the average 1/i, W_V, and the last attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import predict_value_growth
from theory.edge.arrays import FloatArray
from theory.edge.display import spread
from validate.figures import Curve, Curves, HeatMap, Look, PanelRow, Sheet, runs
from validate.figures.panels.curves import numbers_at
from validate.figures.panels.panel import FEW, BasePanel, seeds_text
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.paper.spectra import singular_values
from validate.figures.sheet import letter
from validate.figures.style import OBSERVED, PALETTE, ZERO, sequential
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import COSINE, SHARE, number
from validate.observe import Observations
from validate.observe.groups import Setting
from validate.observe.observables import LEMMA1_EPSILONS
from validate.predict.predictors import predicted_average_share

STANDS_OUT = 0.5
"""The first singular value stands out if the second is at most this much of it."""


@paper_figure(6, "The first attention and W_V", likeliest(SMALL))
def first_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention beside the average 1/i (Lemma 1), and W_V's one direction (Theorem 2)."""
    every = runs.of_kind(observations, runs.ATTENTION, "Fig. 6 is about Transformers")
    setting = runs.small_scale(every)
    settings, epochs = runs.over_gamma(every, setting), runs.shown_epochs(setting)
    late, apart = runs.later(observations, setting), runs.by_mechanism(setting)
    shown = [(part, epoch, of) for epoch in epochs for of, part in apart.items()]
    maps = [(setting, 0, ""), *shown]
    errors = {f"epoch {e}" + f" {of}" * bool(of): s.array("first_attention_error", e) for s, e, of in maps}
    near = [where for where, largest in errors.items() if largest.mean() <= max(LEMMA1_EPSILONS)]
    at = "every epoch shown" if len(near) == len(errors) else f"{' and '.join(near)} only"
    average = f"The first attention is close to the average at {at if near else 'no epoch shown'}"
    told = ", ".join(f"{seeds_text(values, SHARE)} at {where}" for where, values in errors.items())
    stands = [_stands_out(part, epochs[0], of) for of, part in apart.items()]
    first = f"At epoch {epochs[0]} the first singular value of W_V {'; '.join(stands)}."
    lines = {f"γ = {s.init_rate:g}": (s, s.nearest(epochs[0]), "-") for s in settings if s is not setting}
    for (of, part), line in zip(apart.items(), ("-", "--"), strict=False):
        lines[f"γ = {setting.init_rate:g}" + f", {of}" * bool(of)] = part, epochs[0], line
    if late is not None:
        lines[f"γ = {setting.init_rate:g}, epoch {runs.late_epoch(late)} ({late.seeds_text})"] = (
            late,
            runs.late_epoch(late),
            ":",
        )
        maps.append((late, runs.late_epoch(late), f"({late.seeds_text})"))
    when = " or ".join(map(str, sorted({epoch for _, epoch, line in lines.values() if line != ":"})))
    directions = {
        of: late.array("wv_direction", runs.late_epoch(late))
        for of, part in apart.items()
        if late is not None and {*late.seeds} <= {*part.seeds}
    }
    rows = [
        PanelRow(
            f"A  First attention, {runs.model_name(setting, rate=True)}",
            [attention_map(s, epoch, of) for s, epoch, of in maps],
            "attention",
            says=f"{average}.",
        ),
        PanelRow("B  Its rows", [attention_lines(s, epoch, of) for s, epoch, of in shown], share_y="rows"),
        PanelRow(
            "C  Singular values of $W_V$",
            [singular_values(lines, "0.W_V", f"epoch {when}")],
            height=2.4,
            says=first.replace("W_V", "$W_V$") if len(stands) == 1 else "",
        ),
        PanelRow(
            "D  The first one's direction",
            [
                _value_alignment(s, epoch, f"epoch {epoch}" + f", {of}" * bool(of), directions.get(of))
                for s, epoch, of in shown
            ],
            height=2.4,
            share_y="direction",
        ),
    ]
    caption = (
        "A: the first attention. B: its rows beside 1/i (dotted). C: the singular values of W_V. D: the "
        "cosine of every anchor's embedding with the top left singular vector of W_V"
        f"{'; crosses: one seed later' * (late is not None)}. "
        f"{average} (largest |A_ij − 1/i|: {told}). {first}{runs.mechanism_words(setting)}"
    )
    return Sheet("fig06_first_attention", caption, runs.about(settings), rows)


def _stands_out(setting: Setting, epoch: int, of: str) -> str:
    """Return in words whether the first singular value of W_V stands out."""
    values = setting.array("singular/0.W_V", epoch)
    ratios = values[:, 1:2].sum(axis=1) / values[:, 0]  # 0 where there is a single one, as with d_k = 1.
    stands = "stands out" if ratios.mean() <= STANDS_OUT else "does not stand out"
    return f"{stands}{f' with attention {of}' * bool(of)} (σ2/σ1 = {seeds_text(ratios, SHARE)})"


@paper_figure(12, "The first attention at large weights", likeliest(LARGE, SMALL), compares="γ")
def first_attention_large(observations: Sequence[Observations]) -> Sheet:
    """Draw the first attention at large initial weights, and its distance from the average over γ.

    The crosses on a dotted line are Lemma 1's share of entries within 0.1 of 1/i at initialisation.
    """
    every = runs.of_kind(observations, runs.ATTENTION, "Fig. 12 is about Transformers")
    small = runs.small_scale(every)
    shown, own = runs.shown_epochs(small), runs.over_gamma(every, small)
    rows = []
    for i, setting in enumerate(runs.large_scales(every)):
        maps, late = (
            [(setting, e, "") for e in (0, setting.nearest(shown[0]))],
            runs.later(observations, setting),
        )
        maps += [(late, runs.late_epoch(late), f"({late.seeds_text})")] if late else []
        panels: list[BasePanel] = [attention_map(*each) for each in maps]
        title = f"{letter(i)}  First attention, {runs.model_name(setting)}, {setting.label}"
        rows.append(PanelRow(title, [*panels, attention_lines(*maps[1])], "attention"))
    of = "" if len(own) == len(every) else f", {runs.model_name(small)}"
    title = f"{letter(len(rows))}  Distance from the average over γ{of}"
    going_on = [late for s in own if (late := runs.later(observations, s))]
    rows.append(PanelRow(title, _average_over_gamma(own, [0, *shown], going_on)))
    caption = (
        "The first attention at large initial weights, its rows beside 1/i (dotted); over γ, its largest "
        "distance from 1/i over sequences and positions, and the share of entries near 1/i."
        f"{runs.mechanism_words(small)} {runs.missing_rates(every)}"
    )
    return Sheet("fig12_first_attention_large", caption, runs.about(every), rows)


@paper_figure(15, "The second attention", likeliest(SMALL))
def second_attention(observations: Sequence[Observations]) -> Sheet:
    """Draw the last row of the last layer's attention, by position p of the key, and with positions alone.

    Each seed is a thin line: a mean of logits hides that seeds may find different solutions.
    """
    setting = runs.small_scale(runs.of_kind(observations, runs.ATTENTION, "Fig. 15 is about Transformers"))
    has_positions = setting.has("last_logits_positions")
    shown, late = (
        [(setting, epoch) for epoch in runs.shown_epochs(setting)],
        runs.later(observations, setting),
    )
    rows = []
    for i, (own, epoch) in enumerate([*shown, (late, runs.late_epoch(late))] if late else shown):
        panels: list[BasePanel] = [_last_logits(own, epoch), _last_attention(own, epoch)]
        if has_positions:
            panels.append(_position_logits(own, epoch))
        of = f" ({own.seeds_text})" * (own is late)
        title = f"{letter(i)}  Last row, {runs.model_name(setting, rate=True)}, epoch {epoch}{of}"
        rows.append(PanelRow(title, panels, "attention", height=2.4))
    alone = ", and before it with all token embeddings set to zero" * has_positions
    caption = (
        "The last row of the last layer's attention, by position p of the key (ring; anchors dots): before "
        f"and after the softmax{alone}."
    )
    return Sheet("fig15_second_attention", caption, runs.about([setting]), rows)


def attention_map(setting: Setting, epoch: int, of: str = "") -> HeatMap:
    r"""Return the first attention, mean over probe sequences and seeds, and its largest \|A_ij − 1/i\|."""
    matrix = setting.array("first_attention", epoch).mean(axis=0)
    error = setting.array("first_attention_error", epoch)
    positions = range(1, len(matrix) + 1)
    return HeatMap(
        f"epoch {epoch}" + f"\n{of}" * bool(of) + f"\nmax |A − 1/i| = {number(float(error.mean()))}",
        ("attended position j", positions),
        ("position i", positions),
        np.where(np.tril(np.ones_like(matrix)) > 0, matrix, np.nan),
        limits=SHARE,
        matrix=True,
        numbers=f"epoch {epoch}" + f" {of}" * bool(of) + f": max |A_ij − 1/i| = {seeds_text(error, SHARE)}",
    )


def attention_lines(setting: Setting, epoch: int, of: str = "") -> Curves:
    """Return some rows i ≥ 2 of the first attention against 1/i, with the spread over sequences."""
    rows = setting.array("first_attention", epoch)
    deviations = setting.array("first_attention_sd", epoch).mean(axis=0)
    shown = [2 + i for i in spread(rows.shape[1] - 1, 3)]
    looks = {i: Look(colour, "o") for i, colour in zip(shown, sequential(len(shown)), strict=True)}
    curves = {
        f"i = {i}": Curve(np.arange(1, i + 1), rows[:, i - 1, :i], look, SHARE, deviations[i - 1, :i])
        for i, look in looks.items()
    }
    levels = {f"_1/{i}": (1 / i, Look(look.colour, line=":")) for i, look in looks.items()}
    levels["1/i (Lemma 1)"] = (float("nan"), Look("0.4", line=":"))
    title, x, y = f"rows, epoch {epoch}" + f", {of}" * bool(of), "attended position j", "attention $A_{ij}$"
    each = len(rows) <= FEW
    return Curves(title, curves, x, y, ylim=(0, 1.03), levels=levels, whole=True, each=each)


def _average_over_gamma(
    settings: Sequence[Setting], epochs: Sequence[int], late: Sequence[Setting]
) -> list[Curves]:
    """Return over γ how far the first attention is from 1/i, and the share of its entries near 1/i.

    Lemma 1 predicts that share at initialisation. Seeds that learn in different ways are points of their own,
    and seeds that go on (``late``) thin lines.
    """
    gammas = np.array([s.init_rate for s in settings])
    errors, shares = dict[str, Curve](), dict[str, Curve]()

    def add(name: str, at: Sequence[tuple[Setting, int]], look: Look, whole: Sequence[bool] = ()) -> None:
        x = gammas if whole else [s.init_rate for s, _ in at]
        error = runs.over_settings([s.array("first_attention_error", e) for s, e in at])
        share = runs.over_settings([s.array("lemma1_share", e)[:, 0] for s, e in at])
        if whole:
            error, share = (np.where(whole, values, np.nan) for values in (error, share))
        errors[name], shares[name] = (Curve(x, values, look, SHARE) for values in (error, share))

    for epoch, colour in zip(epochs, PALETTE, strict=False):
        nearest = [(s, s.nearest(epoch)) for s in settings]  # A run that ended sooner has other epochs.
        ways = [runs.by_mechanism(s) if epoch else {"": s} for s in settings]
        name = f"epoch {' or '.join(map(str, sorted({e for _, e in nearest})))}"
        add(name, nearest, Look(colour, "o"), [len(way) == 1 for way in ways])
        for (s, e), way in zip(nearest, ways, strict=True):
            for (of, part), marker in zip(way.items(), "^v" * (len(way) > 1), strict=False):
                add(f"epoch {e}, γ = {s.init_rate:g}, {of}", [(part, e)], Look(colour, marker, ""))
    if late:
        at = [(s, runs.late_epoch(s)) for s in late]
        add(f"epoch {at[0][1]} ({late[0].seeds_text} each)", at, Look("0.4", ".", ":", 0.8))
    lemma = np.array([[predicted_average_share(s.config, LEMMA1_EPSILONS[0]) for s in settings]])
    beside = {"Lemma 1, epoch 0": Curve(gammas, lemma, Look("black", "x", ":"))}
    x, error_name = "initialisation rate γ", "max |$A_{ij}$ − 1/i|"
    share_name = f"share of |$A_{{ij}}$ − 1/i| ≤ {LEMMA1_EPSILONS[0]:g}"
    told = f"{error_name}: {numbers_at(errors, 'γ =')}", f"{share_name}: {numbers_at(shares, 'γ =')}"
    return [
        Curves("", errors, x, error_name, yscale="log", bars=True, each=True, numbers=told[0]),
        Curves("", shares | beside, x, share_name, ylim=(-0.03, 1.03), bars=True, each=True, numbers=told[1]),
    ]


def _value_alignment(setting: Setting, epoch: int, title: str, late: FloatArray | None = None) -> Curves:
    """Return the cosine of every anchor with the top left singular vector of W_V, beside Theorem 2's.

    ``late`` are the cosines of seeds that go on, shape (n_seeds, anchors and keys).
    """
    task, n = setting.task, len(setting.task.memory_anchors)
    anchors = [*task.memory_anchors, *task.reasoning_anchors]
    x, both = np.arange(len(anchors)), 0 < n < len(anchors)
    curves = {}
    if both:
        for reference, name, look in (
            ("uniform", "Theorem 2, u", Look(PALETTE[0], "o", "", hollow=True)),
            ("marginal", r"Theorem 2, $\bar P$", Look(PALETTE[1], "s", "", hollow=True)),
        ):
            growth = predict_value_growth(task, reference=reference, held_out=True)  # type: ignore[arg-type]
            curves[name] = Curve(x, growth.alignment[anchors][None], look)
    places = [task.anchors.index(s) for s in anchors]
    seen = setting.array("wv_direction", epoch)[:, places]
    curves["training"] = Curve(x, seen, Look(OBSERVED.colour, "o", ""), COSINE)
    if late is not None:
        curves["training, later"] = Curve(x, late[:, places], Look("0.4", "x", "", 0.8), COSINE)
    kinds = {kind: own for kind, own in (("memory", seen[:, :n]), ("reasoning", seen[:, n:])) if own.size}
    told = [f"{kind} anchors {seeds_text(np.abs(own).mean(axis=1), SHARE)}" for kind, own in kinds.items()]
    step = max(1, len(anchors) // 10)
    return Curves(
        title,
        curves,
        f"{' | '.join(kinds)} anchors",
        "cosine with $v_1(W_V)$",
        ylim=(-1.15, 1.15),
        levels=ZERO,
        xticks=(x[::step].tolist(), [str(s) for s in anchors[::step]]),
        divide=n - 0.5 if both else None,
        bars=True,
        each=len(setting.runs) <= FEW,
        numbers=f"{title}: mean |cosine| with the top direction of W_V, {', '.join(told)}",
    )


def _last_logits(setting: Setting, epoch: int) -> Curves:
    """Return the logits of the last row for some positions of the key, relative to the key's own.

    The softmax depends on differences only.
    """
    logits = setting.array("last_logits", epoch)
    _, n_places, length = logits.shape
    curves = {}
    shown = [1 + i for i in spread(n_places, 4)]
    for p, colour in zip(shown, sequential(len(shown)), strict=True):
        seeds = logits[:, p - 1] - logits[:, p - 1, p - 1][:, None]
        places, mean = np.arange(1, length + 1), seeds.mean(axis=0)[None]
        key, window = slice(p - 1, p), slice(p - 1, p + setting.task.n_anchors)
        curves[f"key at p = {p}"] = Curve(places, seeds, Look(colour))
        curves[f"_anchors of p = {p}"] = Curve(places[window], mean[:, window], Look(colour, "o", ""))
        curves[f"_key of p = {p}"] = Curve(places[key], mean[:, key], Look(colour, "o", "", hollow=True))
    return Curves("logits", curves, "position j", "logit − logit at the key", whole=True, each=True)


def _last_attention(setting: Setting, epoch: int) -> HeatMap:
    """Return the last row after the softmax by position of the key, with a frame round key and anchors.

    The mass outside the frames, averaged over positions, is small at a cliff (Lemma 5).
    """
    attention, q = setting.array("last_attention", epoch), setting.task.n_anchors
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


def _position_logits(setting: Setting, epoch: int) -> Curves:
    """Return the last row of logits with all token embeddings zero, relative to the first position.

    The last position, where no key stands, is left out.
    """
    logits = setting.array("last_logits_positions", epoch)[:, :-1]
    places = np.arange(1, logits.shape[1] + 1)
    curve = Curve(places, logits - logits[:, :1], Look(OBSERVED.colour, "o"))
    ylabel = "logit − logit at 1"
    return Curves("positions alone", {"_mean": curve}, "position j", ylabel, whole=True, each=True)
