"""The one-layer Transformer: Lemmas 1, 3 and 4, drives, Theorem 2, cliffs and the construction of App. E."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from tests.golden.labels import tasks
from theory import (
    OneLayerParameters,
    Task,
    attention_logit_std,
    average_attention_bound,
    average_attention_probability,
    build_construction,
    cliff_sequence,
    cliff_step,
    expected_token_label_matrix,
    last_position_distribution,
    last_position_matrix,
    last_position_ratio,
    lemma3_flow,
    lemma4_flow,
    linear_plateau,
    mass_outside,
    one_layer_logits,
    paper_transformer_drive,
    predict_value_growth,
    sample_attention_rows,
    sample_last_position_matrix,
    smallest_init_rate,
    transformer_drive,
    value_drive,
)

SOURCES: tuple[Literal["embedding", "position", "layer_norm"], ...] = ("embedding", "position", "layer_norm")


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    rng = np.random.default_rng(0)
    for source in SOURCES:
        yield (
            f"Lemma 1: {source}",
            [
                *(attention_logit_std(200, g, source=source) for g in (0.3, 0.5, 0.8)),
                *(average_attention_probability(0.1, 200, 0.4, i, source=source) for i in (1, 2, 9)),
                average_attention_bound(0.3, 200, 0.8, 9, source=source),
                *(smallest_init_rate(0.1, 200, 9, source=source, proven=p) for p in (True, False)),
            ],
        )
        rows = sample_attention_rows(20, 5, 0.4, 4, 3, np.random.default_rng(1), source=source)
        yield f"Lemma 1, drawn: {source}", rows
    model = OneLayerParameters.draw(12, d_k=3, d_f=5, init_rate=0.4, rng=rng)
    sequences, targets = rng.integers(0, 12, (40, 5)), rng.dirichlet(np.ones(12), 40)
    for activation in ("tanh", "identity"):
        flows = [f(model, sequences, targets, activation=activation) for f in (lemma3_flow, lemma4_flow)]
        yield f"Lemma 3, 4: {activation}", np.concatenate(flows, axis=1)
        yield f"eq. 9: {activation}", one_layer_logits(model, sequences, activation=activation)
    yield "C_L of a sample", sample_last_position_matrix(sequences, rng.integers(0, 12, 40), 12)
    for name, task in tasks().items():
        d = task.vocab_size
        W_f, W_VO, W_O = rng.normal(size=(d, d)), rng.normal(size=(d, d)), rng.normal(size=(3, d))
        tokens = [*task.anchors, *task.keys]
        for held_out in (False, True):
            C, last = (
                f(task, held_out=held_out) for f in (expected_token_label_matrix, last_position_matrix)
            )
            yield f"{name}, {held_out}: drive", transformer_drive(C, last, task.length, W_f, W_VO)
            yield f"{name}, {held_out}: printed drive", paper_transformer_drive(C, task.length, W_f, W_VO)
            yield (
                f"{name}, {held_out}: last place",
                [last_position_ratio(task, s, held_out=held_out) for s in tokens],
            )
            yield (
                f"{name}, {held_out}: P^sL",
                [last_position_distribution(task, s, held_out=held_out) for s in tokens],
            )
            yield f"{name}, {held_out}: dW_V", value_drive(W_f, C, task.length, W_VO, W_O)
    for form in ("paper", "exact"):
        for reference in ("uniform", "marginal"):
            grown = predict_value_growth(Task.paper(), form=form, reference=reference)
            yield (
                f"Theorem 2: {form}, {reference}",
                [*grown.singular_values[:20], *grown.alignment[list(range(1, 121))], grown.selectivity],
            )
    yield "cliffs", [cliff_sequence(1e-3, 9, p, 2) for p in range(1, 8)]
    yield "cliff steps", [cliff_step(m, n, q) for m in (1e-1, 1e-4) for n, q in ((9, 2), (6, 3))]
    yield "linear plateaus", [linear_plateau(n, q) for n, q in ((6, 1), (9, 2), (9, 3))]
    for q, length in ((1, 4), (2, 9), (3, 8)):
        task = Task(
            keys=range(8, 14),
            reasoning_anchors=[1, 2, 3],
            memory_anchors=[4, 5],
            n_anchors=q,
            length=length,
            vocab_size=30,
        )
        made = build_construction(task, mass=1e-2)
        placed = np.full((2 * (length - q + 1), length), 8)
        for row, anchor in enumerate((1, 4)):
            for p in range(1, length - q + 1):
                placed[row * (length - q + 1) + p, p : p + q] = anchor
        yield f"construction, q = {q}: rows", made.last_row(placed)
        outside = mass_outside(made.last_row(placed[1 : length - q + 1]), np.arange(1, length - q + 1), q)
        yield f"construction, q = {q}: mass outside", outside
        yield f"construction, q = {q}: tags", made.tags(placed)
        yield f"construction, q = {q}: first attention", made.first_attention(placed)
