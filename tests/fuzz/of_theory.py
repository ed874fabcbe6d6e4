"""The arguments of ``theory``'s public callables, by name."""

from typing import Any

import numpy as np

import theory
from theory import EmbMLPParameters, Lookup, Mapping, OneLayerParameters, Solver, Sum, Task

TASK = Task(
    keys=range(20, 26),
    n_anchors=2,
    length=3,
    vocab_size=60,
    mappings=[Mapping([4, 5, 6, 7], Sum(), "sum", held_out=[(4, 6)]), Mapping([1, 2, 3], Lookup(), "table")],
)
SIX = Task(keys=[2, 3], reasoning_anchors=[1], memory_anchors=[0], n_anchors=1, length=2, vocab_size=6)
"""A task of six tokens, for what works on matrices."""
ANCHORS: dict[str, Any] = {"reasoning_anchors": [4, 5, 6], "memory_anchors": [1, 2, 3]}
WIDE = Task(keys=range(20, 30), n_anchors=2, length=4, vocab_size=70, **ANCHORS)
D, RNG = SIX.vocab_size, np.random.default_rng(0)
TABLES, COUNTS = theory.draw_tables(TASK, RNG), theory.count_population(SIX)
C, S = COUNTS.token_label_matrix(), COUNTS.cooccurrence()
INITIAL = EmbMLPParameters.draw(D, d_m=4, d_f=5, init_rate=0.8, rng=RNG)
TIMES = np.array([0.0, 0.5, 1.0])
SEQUENCES, LABELS = np.array([[2, 1], [3, 0], [2, 0]]), np.array([3, 4, 2])
SQUARE, ROWS = RNG.standard_normal((D, D)) / 4, RNG.standard_normal((5, 4))
ONE_LAYER = dict.fromkeys(("W_emb", "W_Q", "W_K", "W_V", "W_O", "W_f1", "W_f2"), SQUARE)
CORPUS = [[0, 1, 2, 3], [1, 0, 3]] * 20
PAIRS = theory.corpus_counts(CORPUS, 4)

RESULTS = frozenset(
    [
        *("Associations", "Construction", "CorpusCounts", "CorpusGeometry", "CountPopulation", "Derivation"),
        *(
            "Exponent",
            "FiniteSample",
            "GaussianShape",
            "InnerProductBound",
            "InputError",
            "IntegrationError",
            "LabelEntropies",
        ),
        *("LabelMoments", "LearningCurves", "NormalDistance", "OneModeAnswers", "OutsideValidityWarning"),
        *("Population", "PredictedEmbedding", "PrincipalComponents", "PrintedConditions"),
        *("SampledLabels", "SampledValue", "SolverStatistics", "Staircase", "Sum"),
        *("TheoremTwo", "TooManyEntriesError", "Trajectory", "ValueGrowth", "Window", "derivations_page"),
    ]
)
"""What functions return, and rules without parameters: nobody gives them anything that could be refused."""

VALUES: dict[str, Any] = {
    # Tasks and labels.
    **{"task": TASK, "token": 4, "tokens": [4, 5, 6], "held_out": False, "role": "any"},
    **{"anchor": 4, "other": 5, "anchors": [4, 5], "learning_rate": 1.0, "max_lost_mass": 0.01, "rng": RNG},
    **{
        "n_sequences": 2000,
        "n_samples": 50,
        "n_tables": 3,
        "init_rate": 0.8,
        "confidence": 0.99,
        "low": 20,
        "high": 30,
    },
    **{"sequences": SEQUENCES, "labels": LABELS, "vocab_size": D, "tables": TABLES, "rule": Sum()},
    **{"name": "sum", "text": "key + g(a1)", "table": {4: 1, 5: 2}, "width": 12.0, "bounds": (0.1, 1e5)},
    **{"function": lambda key, anchors: key + anchors[0], "keys": [20, 21, 22], "n_anchors": 2, "length": 5},
    "observed": theory.cosine_matrix(ROWS[:3]),
    # Flows and optimisers.
    **{"population": COUNTS, "initial": INITIAL, "times": TIMES, "steps": [0, 2], "C": C, "S": S},
    **{"keep": ("W_emb", "B"), "weight_decay": 0.1, "activation": theory.TANH, "softmax": "live"},
    **{"settings": theory.AdamSettings(0.1), "batch_size": 2, "moving": ("W_emb", "W1"), "noise_every": 2},
    **{"rate": 0.1, "betas": (0.9, 0.99), "epsilon": 1e-8, "rtol": 0.01, "atol": 1e-3, "max_steps": 100},
    **{"method": "RK45", "solver": Solver(rtol=1e-3, atol=1e-3, method="RK45", max_steps=500)},
    **{"n_epochs": 1, "max_epochs": 1, "seeds": (0,), "seed": 0, "growth": 1.5},
    **{"clip_norm": 1.0, "tolerance": 0.01, "max_gradients": 2000, "d_m": 8, "d_f": 5},
    **{"trajectory": theory.frozen_flow(C, INITIAL, TIMES), "threshold": 0.5, "n_modes": 2},
    **{"value": lambda h: h, "derivative": np.ones_like, "u": SQUARE[0], "w": SQUARE[1], "B": SQUARE},
    # Shapes and the Transformer.
    **{"rows": ROWS, "matrix": theory.cosine_matrix(ROWS), "n_components": 2},
    **{"approximate": ROWS, "x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 6.0, 8.2], "level": 0.99},
    **{"source": "embedding", "row": 2, "proven": True, "mass": 0.01, "p": 2, "q": 2, "step": 1.0},
    **{"sequence": theory.cliff_sequence(0.01, 6, 2, 2), "plateau_tolerance": 1e-9, "tag_strength": 1.0},
    **{"strength": 1.0, "alignment": 0.1, "form": "paper", "reference": "uniform", "fan_in": 8},
    **{"C_last": C, "W_f": SQUARE, "W_VO": SQUARE, "parameters": OneLayerParameters(**ONE_LAYER)},
    **{"targets": np.eye(D)[LABELS], **ONE_LAYER, "shares": np.full(4, 0.25), "embedding": np.eye(4, 3)},
    **{"reasoning": [0], "memory": [1, 2], "data_set": None, "accuracies": (0.1,)},
    "report": lambda step: None,
    # A corpus.
    **{"counts": PAIRS, "predictor": "tied", "candidates": [0, 2], "n": 2},
    "operator": theory.bigram_operator(PAIRS),
}
CORPORA: dict[str, Any] = {"sequences": CORPUS, "vocab_size": 4, "tokens": [0, 1, 2]}
OTHERWISE: dict[str, dict[str, Any]] = {
    "Task": ANCHORS | {"length": 4, "vocab_size": 60, "mappings": (), "held_out": [(4, 5)]},
    "Task.paper": {"length": 9},
    "Task.from_toml": {"source": TASK.to_toml()},
    "Mapping": {"held_out": [(4, 5)]},
    "Tabulated": {"labels": [[20, 21], [22, 23]]},
    "EmbMLPParameters": {"W_emb": INITIAL.W_emb, "W1": INITIAL.W1, "W2": INITIAL.W2},
    "sample_labels": {"n_samples": 200, "tokens": [4, 5]},
    "label_distribution_embedding": {"task": SIX, "anchors": [0, 1], "W": SQUARE},
    "inner_product_difference": {"exact": ROWS},
    "fit_width": {"tokens": [4, 5, 6]},
    "labels_of": {"population": theory.enumerate_population(TASK)},
    "predict_learning": {"task": SIX},
    "predicted_embedding": {"task": SIX, "settings": theory.SGDSettings(0.1), "steps": [2]},
    "cosine_matrix": {"other": ROWS[:2]},
    "find_derivation": {"name": "prop 1"},
    "mass_outside": {"logits": ROWS, "p": [1, 1, 2, 1, 2]},
    "theorem_2_terms": {"table": np.full((4, 3), 1 / 3)},
    "one_layer_logits": {"activation": "tanh"},
    "pair_counts": {"tokens": [[0, 1], [2, 3]], "labels": [1, 2], "vocab_size": 4},
    "corpus_gram": {"tokens": [0, 1, 2]},
    "corpus_mean_cosine": {"tokens": [0, 1, 2]},
    "nearest_tokens": CORPORA | {"token": 1},
    **dict.fromkeys(("corpus_counts", "corpus_associations", "corpus_geometry"), CORPORA),
    **dict.fromkeys(("shuffled_tokens", "context_operator"), CORPORA),
    **{name: {"length": 2} for name in ("transformer_drive", "paper_transformer_drive", "value_drive")},
    **{name: {"task": WIDE} for name in ("inner_product_bound", "gaussian_shape", "normal_distance")},
    **{name: {"task": WIDE} for name in ("gaussian_embedding", "finite_sample_cosines")},
    "EmbMLPParameters.draw": {},
}


def arguments() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    return VALUES, OTHERWISE
