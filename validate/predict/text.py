"""What a prediction says in words: rows of tables, and sentences on how its numbers are found."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from theory import Task, TooManyEntriesError, label_entropies
from theory.edge.display import ranges
from validate.observe.observations import UNDEFINED
from validate.predict.ceiling import held_out_in_part, rule_ceiling
from validate.predict.predictors import are_summed, groups_of
from validate.predict.statistics import ONE_DATA_SET, Statistics, distance_notes, summary, with_error

TOKEN_HEADER = ("token", "kind", "r_s", "mean label", "std of the label", "|P^s - u|^2")
COSINE_HEADER = ("anchors", "predictor", "mean", "smallest", "largest", "mean of pairs 1, 2, ... apart")


def token_rows(found: Statistics) -> list[list[str]]:
    """Return one line per token: its kind, r_s, and its label distribution in numbers."""
    rows = []
    for t, error in zip(found.tokens, found.token_errors, strict=True):
        labels = [with_error(t.mean, error.mean, ".2f"), with_error(t.std, error.std, ".2f")]
        if not t.ratio:  # Its P^s is u by convention.
            labels = [UNDEFINED] * 2
        norm2 = with_error(t.norm2, error.norm2, ".3g")
        rows.append([str(t.token), t.kind, f"{t.ratio:.4g}", *labels, norm2])
    return rows


def cosine_rows(task: Task, found: Statistics) -> list[list[str]]:
    """Return one line per group and predictor: mean, extremes, and the mean at each distance.

    If samples do not resolve all anchors of a group, its name says how many a line rests on.
    """
    rows = []
    for group, tokens in groups_of(task).items():
        for name, cosines in found.cosines[group].items():
            known, n = int(cosines.resolved.sum()), len(tokens)
            some = f" ({known} of {n} anchors)" if cosines.sampled and known < n else ""
            rows.append([group + some, name, *summary(cosines, tokens)])
    return rows


def entropy_lines(task: Task) -> list[str]:
    """Return for each mapping how uncertain the label is, given nothing, the key and the anchors alone."""
    try:
        levels = label_entropies(task)
    except TooManyEntriesError:
        return ["Entropies of the label: unknown, since its mappings have too many entries to count."]
    return [
        f"Entropy of the label of {e.mapping} in nats: {e.nothing:z.3f} given nothing, {e.key:z.3f} given "
        f"the key, {e.anchors:z.3f} given the anchors."
        for e in levels
    ]


def notes(task: Task, found: Statistics) -> list[str]:
    """Return sentences on how the numbers are found and shown, and on what cannot be fitted."""
    groups, notes = groups_of(task), list[str]()
    if found.why:
        but = f" but {', '.join(map(str, found.exact_tokens))}" * bool(found.exact_tokens)
        notes = [
            f"Sampled, since the labels are too many to count: {found.why}.",
            f"{found.n_samples} sequences were drawn for each token{but} (seed {found.seed}).",
            "After ± stands one standard error; numbers without ± are exact, except the means of pairs "
            "1, 2, ... apart, which are rounded to the decimals that their errors allow.",
            "|P^s - u|^2 and the cosines are corrected for the sampling noise, which would bias them. "
            "Among many cosines the smallest and the largest also have the most extreme errors.",
        ]
    few = ", ".join(repr(m.name) for m in task.mappings if m.name not in groups)
    too_few = [f"Without rows of their own, as they have fewer than three anchors: {few}."] if few else []
    if never := [t.token for t in found.tokens if not t.ratio]:
        notes.append(f"Only in held-out sequences, never in training: {ranges(never)}.")
    return [*notes, *distance_notes(groups.values()), *too_few, *_undefined(task, found), *order_notes(task)]


def _undefined(task: Task, found: Statistics) -> list[str]:
    """Return a sentence for each predictor with anchors whose vectors are zero or lost in the noise."""
    zero, lost = defaultdict[str, set[int]](set), []
    for group, tokens in groups_of(task).items():
        for name, cosines in found.cosines[group].items():
            without = np.array(tokens)[~cosines.resolved]
            if not cosines.sampled:
                zero[name].update(without.tolist())
            elif without.size:
                lost.append(
                    f"Cosines of {name} are left out for {without.size} of the {len(tokens)} anchors of "
                    f"{group!r}: {found.n_samples} sequences do not tell that vector from zero."
                )
    why = "that vector of {} is zero, and has no direction."
    told = [f"{UNDEFINED} under {n}: {why.format(ranges(sorted(s)))}" for n, s in zero.items() if s]
    return told + lost


def order_notes(task: Task) -> list[str]:
    """Return a sentence for each rule that an Emb-MLP cannot fit, or has seen in another order."""
    ceilings = {m.name: rule_ceiling(task, m) for m in task.mappings}
    # A drawn sample with noise can be memorised, however little of the rule an Emb-MLP sees.
    noise = task.n_noise > 0
    seen = {m.name: bags for m in task.mappings if (bags := held_out_in_part(m))}
    return [
        f"{name!r} holds out {bags[0]} in some orders only. An Emb-MLP, which does not read the order, "
        "has seen the same anchors in training: hold out every order."
        for name, bags in seen.items()
    ] + [
        f"The labels of {name!r} depend on the order of the anchors, which an Emb-MLP does not read"
        + ("" if noise else f": it gets at most {100 * ceiling:.3g} % of the training data right")
        + ". A Transformer reads it: --model.kind transformer."
        for name, ceiling in ceilings.items()
        if ceiling is not None and ceiling < 1
    ]


def left_out(task: Task, found: Statistics) -> list[str]:
    """Return a sentence for each rule outside eq. 14 and Theorem 1, and for cosines left out."""
    sentences = [
        f"Eq. 14 and Theorem 1 are left out for {m.name!r}: they are about key + sum of the anchors, and "
        f"its rule is {m.rule.description}."
        + " For Theorem 1 see theory.gaussian_embedding."
        * (m.rule.kind == "shift")
        for m in task.mappings
        if not m.is_table and not are_summed(task, m.anchors)
    ]
    missing = [group for group, cosines in found.cosines.items() if ONE_DATA_SET not in cosines]
    if missing:
        sentences.append(
            f"The cosines {ONE_DATA_SET} are left out for {', '.join(map(repr, missing))}: they need "
            "the label of every key with every combination, and these are too many to count, or held out "
            "in part."
        )
    return sentences
