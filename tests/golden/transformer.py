"""The one-layer Transformer: Lemmas 1, 3 and 4, drives, Theorem 2, cliffs and the construction of App. E."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import theory
from tests.golden.task_labels import TASKS
from theory import Task


def entries() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(0)
    for source in ("embedding", "position", "layer_norm"):
        at: dict[str, Any] = {"source": source}
        yield (
            f"Lemma 1: {source}",
            [
                *(theory.attention_logit_std(200, g, **at) for g in (0.3, 0.5, 0.8)),
                *(theory.average_attention_probability(0.1, 200, 0.4, i, **at) for i in (1, 2, 9)),
                theory.average_attention_bound(0.3, 200, 0.8, 9, **at),
                *(theory.smallest_init_rate(0.1, 200, 9, proven=p, **at) for p in (True, False)),
            ],
        )
    model = theory.OneLayerParameters.draw(12, d_k=3, d_f=5, init_rate=0.4, rng=rng)
    sequences, targets = rng.integers(0, 12, (40, 5)), rng.dirichlet(np.ones(12), 40)
    for activation in ("tanh", "identity"):
        for flow in (theory.lemma3_flow, theory.lemma4_flow):
            yield f"{flow.__name__}: {activation}", flow(model, sequences, targets, activation=activation)
        yield f"eq. 9: {activation}", theory.one_layer_logits(model, sequences, activation=activation)
    for (name, task), held_out in product(TASKS.items(), (False, True)):
        d = task.vocab_size
        W_f, W_VO, W_O = rng.normal(size=(d, d)), rng.normal(size=(d, d)), rng.normal(size=(3, d))
        C = theory.expected_token_label_matrix(task, held_out=held_out)
        last = theory.last_position_matrix(task, held_out=held_out)
        yield f"{name}, {held_out}: drive", theory.transformer_drive(C, last, task.length, W_f, W_VO)
        printed = theory.paper_transformer_drive(C, task.length, W_f, W_VO)
        yield f"{name}, {held_out}: printed drive", printed
        yield f"{name}, {held_out}: dW_V", theory.value_drive(W_f, C, task.length, W_VO, W_O)
    for form, reference in product(("paper", "exact"), ("uniform", "marginal")):
        grown = theory.predict_value_growth(Task.paper(), form=form, reference=reference)
        values = [grown.singular_values[:20], grown.alignment[list(range(1, 121))], grown.selectivity]
        yield f"Theorem 2: {form}, {reference}", values
    yield "cliffs", [theory.cliff_sequence(1e-3, 9, p, 2) for p in range(1, 8)]
    yield "cliff steps", [theory.cliff_step(m, n, q) for m in (1e-1, 1e-4) for n, q in ((9, 2), (6, 3))]
    yield "linear plateaus", [theory.linear_plateau(n, q) for n, q in ((6, 1), (9, 2), (9, 3))]
    for q, length in ((1, 4), (2, 9), (3, 8)):
        own: dict[str, Any] = {"reasoning_anchors": [1, 2, 3], "memory_anchors": [4, 5], "vocab_size": 30}
        made = theory.build_construction(
            Task(keys=range(8, 14), n_anchors=q, length=length, **own), mass=1e-2
        )
        starts = length - q + 1
        placed = np.full((2 * starts, length), 8)
        for row, anchor in enumerate((1, 4)):
            for p in range(1, starts):
                placed[row * starts + p, p : p + q] = anchor
        outside = theory.mass_outside(made.last_row(placed[1:starts]), np.arange(1, starts), q)
        attention = [made.last_row(placed), made.tags(placed), made.first_attention(placed)]
        yield f"construction, q = {q}", [outside, *attention]
