"""One small valid call of every public callable of ``theory``: the walk makes bad ones of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import theory
from theory import EmbMLPParameters, Lookup, Mapping, OneLayerParameters, Solver, Sum, Task

Call = tuple[Callable[..., Any], dict[str, Any]]

TASK = Task(
    keys=range(20, 26),
    n_anchors=2,
    length=3,
    vocab_size=60,
    mappings=[
        Mapping([4, 5, 6, 7], Sum(), "sum", held_out=[(4, 6)]),
        Mapping([1, 2, 3], Lookup(), "table"),
    ],
)
SIX = Task(keys=[2, 3], reasoning_anchors=[1], memory_anchors=[0], n_anchors=1, length=2, vocab_size=6)
"""A task of six tokens, for what works on matrices."""
D = SIX.vocab_size


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


POPULATION = theory.enumerate_population(TASK)
TABLES = theory.draw_tables(TASK, rng())
LABELS = theory.labels_of(TASK, POPULATION, TABLES)
COUNTS = theory.count_population(SIX)
C, S = COUNTS.token_label_matrix(), COUNTS.cooccurrence()
INITIAL = EmbMLPParameters.draw(D, d_m=4, d_f=5, init_rate=0.8, rng=rng())
TIMES = np.array([0.0, 0.5, 1.0])
FROZEN = theory.frozen_flow(C, INITIAL, TIMES)
SEQUENCES, SMALL_LABELS = np.array([[2, 1], [3, 0], [2, 0]]), np.array([3, 4, 2])
SQUARE = np.random.default_rng(1).standard_normal((D, D)) / 4
ONE_LAYER = OneLayerParameters(  # type: ignore[call-arg]
    SQUARE, *(SQUARE[:, :3] for _ in range(3)), SQUARE[:3], SQUARE[:, :4], SQUARE[:4]
)
NORMED: dict[str, Any] = {"sequences": SEQUENCES, "labels": SMALL_LABELS, "epsilon": 0.1}
ROWS = np.random.default_rng(2).standard_normal((5, 4))
CORPUS = [[0, 1, 2, 3], [1, 0, 3]] * 20
BIGRAMS = theory.bigram_operator(theory.corpus_counts(CORPUS, 4))
QUICK = Solver(rtol=1e-3, atol=1e-3, method="RK45", max_steps=500)

RESULTS = frozenset(
    [
        *("Associations", "Construction", "CorpusCounts", "CorpusGeometry"),
        *("CountPopulation", "Derivation", "Exponent", "FiniteSample", "GaussianShape"),
        *("InnerProductBound", "InputError", "IntegrationError"),
        *("LabelMoments", "LearningCurves", "NormalDistance", "OneModeAnswers", "OutsideValidityWarning"),
        *("Population", "PredictedEmbedding", "PrincipalComponents", "PrintedConditions"),
        *("SampledDistribution", "SampledLabels", "SampledValue", "SolverStatistics", "Staircase", "Sum"),
        *("TheoremTwo", "TooManyEntriesError", "Trajectory", "ValueGrowth", "Window", "derivations_page"),
    ]
)
"""What functions return, and rules without parameters: nobody gives them anything that could be refused."""


def calls() -> dict[str, Call]:
    """Return the callables of ``theory``, each with the arguments of a valid call."""
    return {name: (_find(name), arguments) for name, arguments in _arguments().items()}


def _find(name: str) -> Callable[..., Any]:
    found: Any = theory
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _arguments() -> dict[str, dict[str, Any]]:
    return (
        _tasks()
        | _label_distributions()
        | _samples()
        | _flows()
        | _geometry()
        | _corpus()
        | _language()
        | _attention()
        | _transformer()
    )


def _tasks() -> dict[str, dict[str, Any]]:
    task: dict[str, Any] = {"keys": [20, 21, 22], "n_anchors": 2, "length": 4, "vocab_size": 60}
    return {
        "Task": task | {"reasoning_anchors": [4, 5], "memory_anchors": [1, 2], "held_out": [(4, 5)]},
        "Task.paper": {"length": 9},
        "Task.from_toml": {"source": TASK.to_toml()},
        "Mapping": {"anchors": [4, 5, 6], "rule": Sum(), "name": "sum", "held_out": [(4, 5)]},
        "Lookup": {"low": 20, "high": 30},
        "Shift": {"table": {4: 1, 5: 2}},
        "Expression": {"text": "key + g(a1)", "table": {4: 1, 5: 2}},
        "Function": {"function": _add},
        "Tabulated": {"labels": [[20, 21], [22, 23]]},
    }


def _add(key: int, first: int) -> int:
    return key + first


def _label_distributions() -> dict[str, dict[str, Any]]:
    one: dict[str, Any] = {"task": TASK, "token": 4, "held_out": False}
    table: dict[str, Any] = {"task": TASK, "held_out": True}
    shape: dict[str, Any] = {"task": _wide(), "learning_rate": 1.0, "max_lost_mass": 0.01}
    return {
        "label_distribution": one | {"role": "any", "exact": False},
        "token_ratio": one | {"role": "any", "exact": False},
        "last_position_distribution": one,
        "last_position_ratio": one,
        "last_position_share": one,
        "label_table": table,
        "token_ratios": table,
        "marginal_distribution": table,
        "expected_token_label_matrix": table,
        "expected_cooccurrence": table,
        "last_position_matrix": table,
        "finite_sample_cosine": {"task": _wide(), "anchor": 4, "other": 5, "n_sequences": 2000},
        "sample_label_distribution": one | {"rng": rng(), "n_samples": 50, "role": "any"},
        "sample_labels": {
            "task": TASK,
            "tokens": [4, 5],
            "rng": rng(),
            "n_samples": 200,
            "held_out": False,
        },
        "inner_product_bound": shape | {"anchors": [4, 5], "init_rate": 0.8, "confidence": 0.99},
        "gaussian_shape": shape | {"anchor": 4},
        "normal_distance": {"task": _wide(), "anchor": 4, "max_lost_mass": 0.01},
        "gaussian_embedding": shape | {"anchors": [4, 5], "init_rate": 0.8, "rng": rng()},
        "label_distribution_embedding": {
            "task": SIX,
            "anchors": [0, 1],
            "learning_rate": 1.0,
            "W": SQUARE,
        },
        "inner_product_difference": {"approximate": ROWS, "exact": ROWS},
        "eq14_embedding": {"task": TASK, "tokens": [4, 5, 6], "width": 12.0, "d_m": 200},
        "fit_width": {
            "task": TASK,
            "tokens": [4, 5, 6],
            "observed": theory.cosine_matrix(ROWS[:3]),
            "bounds": (0.1, 1e5),
        },
        "predict_value_growth": {
            "task": TASK,
            "form": "paper",
            "reference": "uniform",
            "held_out": False,
        },
    }


def _wide() -> Task:
    return Task(
        keys=range(20, 30),
        reasoning_anchors=[4, 5, 6],
        memory_anchors=[1, 2, 3],
        n_anchors=2,
        length=4,
        vocab_size=70,
    )


def _samples() -> dict[str, dict[str, Any]]:
    sample: dict[str, Any] = {"sequences": SEQUENCES, "labels": SMALL_LABELS, "vocab_size": D}
    return {
        "token_label_counts": sample,
        "token_label_matrix": sample,
        "count_sample": sample,
        "cooccurrence_matrix": {"sequences": SEQUENCES, "vocab_size": D},
        "count_population": {"task": TASK, "tables": TABLES},
        "enumerate_population": {"task": TASK},
        "draw_tables": {"task": TASK, "rng": rng()},
        "labels_of": {"task": TASK, "population": POPULATION, "tables": TABLES},
    }


def _flows() -> dict[str, dict[str, Any]]:
    flow: dict[str, Any] = {"initial": INITIAL, "times": TIMES, "keep": ("W_emb", "B")}
    flow |= {"weight_decay": 0.1}
    losses: dict[str, Any] = {"population": COUNTS, "activation": theory.TANH}
    modes: dict[str, Any] = {"C": C, "initial": INITIAL, "n_modes": 2, "threshold": 2.0}
    return {
        "Activation": {
            "name": "identity",
            "value": lambda h: h,
            "derivative": np.ones_like,
        },
        "Solver": {"rtol": 1e-4, "atol": 1e-5, "method": "RKC", "max_steps": 100},
        "EmbMLPParameters": {"W_emb": INITIAL.W_emb, "W1": INITIAL.W1, "W2": INITIAL.W2},
        "EmbMLPParameters.draw": {"vocab_size": 6, "d_m": 4, "d_f": 5, "init_rate": 0.8, "rng": rng()},
        "frozen_direction": {"C": C, "initial": INITIAL},
        "frozen_flow": {"C": C} | flow | losses,
        "coupled_flow": {"C": C} | flow | losses | {"solver": QUICK},
        "linearised_flow": {"C": C, "S": S} | flow | losses | {"solver": QUICK},
        "population_flow": flow | losses | {"solver": QUICK},
        "adam_steps": {
            "population": COUNTS,
            "initial": INITIAL,
            "steps": [0, 2],
            "settings": theory.AdamSettings(0.1),
            "batch_size": 2,
            "n_sequences": 4,
            "activation": theory.TANH,
            "softmax": "live",
            "moving": ("W_emb", "W1"),
            "noise_every": 2,
            "keep": ("W_emb", "B"),
        },
        "adaptive_flow": {
            "population": COUNTS,
            "initial": INITIAL,
            "times": TIMES,
            "settings": theory.AdamSettings(0.1),
            "batch_size": 2,
            "n_sequences": 4,
            "activation": theory.TANH,
            "softmax": "live",
            "moving": ("W_emb", "W1"),
            "rtol": 0.01,
            "noise_every": 2,
            "keep": ("W_emb", "B"),
        },
        "SGDSettings": {"rate": 0.1, "weight_decay": 0.1},
        "predict_learning": {
            "task": SIX,
            "settings": theory.AdamSettings(0.1),
            "init_rate": 0.5,
            "n_epochs": 1,
            "d_m": 4,
            "d_f": 5,
            "batch_size": 2,
            "clip_norm": 1.0,
            "activation": theory.TANH,
            "seeds": (0,),
            "growth": 1.5,
            "tolerance": 1e-2,
            "scatter": True,
            "max_gradients": 2000,
        },
        "predicted_embedding": {
            "task": SIX,
            "settings": theory.SGDSettings(0.1),
            "init_rate": 0.5,
            "steps": [2],
            "max_epochs": 1,
            "d_m": 4,
            "d_f": 5,
            "batch_size": 2,
            "seed": 0,
        },
        "blow_up_bound": {"C": C, "initial": INITIAL, "weight_decay": 0.1},
        "escape_threshold": {"initial": INITIAL},
        "escape_dose": {"initial": INITIAL, "u": SQUARE[0], "w": SQUARE[1], "threshold": 0.5},
        "measured_rank_steps": {"trajectory": FROZEN, "threshold": 0.5, "n_modes": 2},
        "saddle_staircase": modes | {"S": S},
        "answer_accuracy": {"population": COUNTS, "B": SQUARE},
        "extended_logits": {"counts": ROWS, "logits": ROWS, "others": ROWS},
        "one_mode_answers": {"population": COUNTS},
    }


def _geometry() -> dict[str, dict[str, Any]]:
    return {
        "cosine_matrix": {"rows": ROWS, "other": ROWS[:2]},
        "off_diagonal": {"matrix": theory.cosine_matrix(ROWS)},
        "principal_components": {"rows": ROWS, "n_components": 2},
        "fit_exponent": {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 6.0, 8.2], "level": 0.99},
        "derivations": {},
        "find_derivation": {"name": "prop 1"},
    }


def _corpus() -> dict[str, dict[str, Any]]:
    corpus: dict[str, Any] = {"sequences": CORPUS, "vocab_size": 4}
    counts = {"counts": theory.corpus_counts(CORPUS, 4)}
    return {
        "corpus_counts": corpus,
        "corpus_geometry": corpus | {"tokens": [0, 1, 2], "predictor": "tied"},
        "corpus_associations": corpus,
        "pair_counts": {"tokens": [[0, 1], [2, 3]], "labels": [1, 2], "vocab_size": 4},
        "corpus_gram": counts | {"tokens": [0, 1, 2], "predictor": "readout"},
        "corpus_mean_cosine": counts | {"tokens": [0, 1, 2], "predictor": "tied"},
        "nearest_tokens": corpus | {"token": 1, "candidates": [0, 2], "n": 2, "predictor": "marginal"},
        "shuffled_tokens": corpus | {"rng": rng()},
        "bigram_operator": counts,
        "context_operator": corpus,
        "as_matrix": {"operator": BIGRAMS},
        "top_singular": {"operator": BIGRAMS, "n": 2},
    }


def _language() -> dict[str, dict[str, Any]]:
    return {
        "AdamSettings": {"rate": 0.1, "betas": (0.9, 0.99), "epsilon": 1e-8, "weight_decay": 0.1},
    }


def _attention() -> dict[str, dict[str, Any]]:
    width: dict[str, Any] = {"d_m": 8, "source": "embedding"}
    return {
        "attention_logit_std": width | {"init_rate": 0.8},
        "average_attention_probability": width | {"tolerance": 0.01, "init_rate": 0.8, "row": 2},
        "average_attention_bound": width | {"tolerance": 0.01, "init_rate": 0.8, "length": 5},
        "smallest_init_rate": width | {"tolerance": 0.01, "length": 5, "proven": True},
        "cliff_sequence": {"mass": 0.01, "length": 6, "p": 2, "q": 2},
        "cliff_step": {"mass": 0.01, "length": 6, "q": 2},
        "is_cliff": {
            "sequence": theory.cliff_sequence(0.01, 6, 2, 2),
            "p": 2,
            "q": 2,
            "step": 1.0,
            "plateau_tolerance": 1e-9,
        },
        "mass_outside": {"logits": ROWS, "p": [1, 1, 2, 1, 2], "q": 2},
        "build_construction": {"task": TASK, "mass": 0.001, "tag_strength": 1.0},
        "linear_plateau": {"length": 5, "q": 2},
        "theorem_2_terms": {
            "table": np.full((4, 3), 1 / 3),
            "shares": np.full(4, 0.25),
            "reasoning": [0],
            "memory": [1, 2],
            "embedding": np.eye(4, 3),
        },
        "printed_conditions": {"length": 5, "q": 2},
        "printed_logits": {"length": 5, "p": 1, "q": 2, "strength": 1.0, "alignment": 0.1},
        "printed_violation": {"length": 5, "q": 2},
    }


def _transformer() -> dict[str, dict[str, Any]]:
    model: dict[str, Any] = {"parameters": ONE_LAYER, "sequences": SEQUENCES, "activation": "tanh"}
    matrices: dict[str, Any] = {"C": C, "length": 2, "W_f": SQUARE}
    return {
        "OneLayerParameters": {
            name: getattr(ONE_LAYER, name) for name in ("W_emb", "W_Q", "W_K", "W_V", "W_O", "W_f1", "W_f2")
        },
        "one_layer_logits": model,
        "lemma3_flow": model | {"targets": np.eye(D)[SMALL_LABELS]},
        "lemma4_flow": model | {"targets": np.eye(D)[SMALL_LABELS]},
        "transformer_drive": matrices | {"C_last": C, "W_VO": SQUARE},
        "paper_transformer_drive": matrices | {"W_VO": SQUARE},
        "value_drive": matrices | {"W_emb": SQUARE, "W_O": SQUARE[:3]},
    }
