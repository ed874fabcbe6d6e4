"""Measures against second computations, on a run in which every number is another one.

Each array, loss and accuracy of the run is drawn by itself, so that a measure which takes another part,
epoch, side or column than its name says gives another number.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr

from tests.validate.judge.synthetic import EPOCHS, RANGES, TASK, run
from theory import cosine_matrix, eq14_embedding, label_distribution, off_diagonal, principal_components
from validate.judge.claim import kind_of
from validate.judge.measures import attention, geometry, learning, prediction
from validate.judge.measures.geometry import MATRICES
from validate.judge.settings import RISE
from validate.observe.bounds import ends
from validate.observe.observables import FARTHEST, LEMMA1_EPSILONS
from validate.observe.observations import tokens_of
from validate.observe.times import first_epoch, last_epoch
from validate.predict.predictors import from_eq14, from_uniform

MODULES = (attention, geometry, learning, prediction)
TOKENS = list(tokens_of(TASK))
EARLY, MEMORY, SUMS, KEYS = 1, TASK.memory_anchors, TASK.reasoning_anchors, TASK.keys
RISING: dict[str, Any] = {
    "mem": np.linspace(0.1, 0.72, 11) ** 1.5,
    "rsn_train": [0.01, 0.2, 0.35, 0.55, 0.62, 0.7, 0.8, 0.91, 0.95, 0.97, 0.99],
    "rsn_test": np.linspace(0.03, 0.83, 11),
}
LOSSES: dict[str, Any] = {
    "mem": np.linspace(4.1, 1.7, 11),
    "rsn_train": [4.3, 3.4, 2.8, 2.1, 1.7, 1.9, 1.2, 0.8, 0.5, 0.3, 0.2],
    "rsn_test": np.linspace(4.4, 2.2, 11),
}


def measure(name):
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def random_run(rate=0.8, seed=0):
    """Return a run whose arrays are random, each epoch's its own."""
    rng = np.random.default_rng([seed, round(10 * rate)])
    n, L, d = len(TOKENS), TASK.length, 9
    points = rng.standard_normal((len(EPOCHS), n, d))
    positions = L - TASK.n_anchors
    arrays = {
        "gram": np.einsum("eid,ejd->eij", points[:, : len(TASK.anchors)], points),
        "norms": np.linalg.norm(points, axis=2),
        "pca": rng.standard_normal((len(EPOCHS), n, 3)),
        "pca_anchors": rng.standard_normal((len(EPOCHS), len(SUMS), 3)),
        "lemma1_share": rng.random((len(EPOCHS), len(LEMMA1_EPSILONS))),
        "first_attention": rng.random((len(EPOCHS), L, L)),
        "last_logits": rng.standard_normal((len(EPOCHS), positions, L)),
        "key_attention": rng.random((len(EPOCHS), positions)),
        "last_logits_positions": rng.standard_normal((len(EPOCHS), L)),
        "wv_direction": rng.standard_normal((len(EPOCHS), n)),
        "singular/0.W_V": rng.random((len(EPOCHS), 3)) + 1,
        "held_out_deviations": rng.random((len(EPOCHS), 2 * FARTHEST + 1)),
    }
    arrays |= {f"effective_rank/{name}": 1 + rng.random(len(EPOCHS)) for name in (*MATRICES, "W_emb")}
    shift = 0.01 * seed + 0.1 * (rate < 0.5)
    accuracy = {k: np.clip(np.array(v) + shift, 0, 1).tolist() for k, v in RISING.items()}
    losses = {part: (np.array(values) + shift).tolist() for part, values in LOSSES.items()}
    return run(rate, seed, accuracy, arrays=arrays, loss=losses)


RUN = random_run()
SEED = {("", 0.3): random_run(0.3), ("", 0.8): RUN}


def cosines(tokens, epoch=EARLY, r=RUN):
    """Return the pairs' cosines from the Gram matrix and the norms."""
    rows = [TASK.anchors.index(t) for t in tokens]
    columns = [TOKENS.index(t) for t in tokens]
    norms = r.arrays["norms"][epoch, columns]
    return off_diagonal(r.arrays["gram"][epoch][np.ix_(rows, columns)] / np.outer(norms, norms))


def at(name, epoch=EARLY):
    return RUN.arrays[name][epoch]


def apart(tokens):
    return np.array([abs(a - b) for i, a in enumerate(tokens) for b in tokens[i + 1 :]], float)


def predicted(tokens):
    rows = [label_distribution(TASK, s, held_out=True) - 1 / TASK.vocab_size for s in tokens]
    return off_diagonal(cosine_matrix(rows))


def of_eq14(tokens):
    return off_diagonal(cosine_matrix(eq14_embedding(TASK, tokens)))


def unexplained(guess, observed):
    """Return 1 − r² of the best line, 1 for a guess that falls where the observation rises."""
    r = pearsonr(guess, observed).statistic
    return 1 - max(r, 0.0) ** 2


WV = {kind: np.mean([abs(at("wv_direction")[TOKENS.index(t)]) for t in group])
      for kind, group in (("reasoning", SUMS), ("memory", MEMORY))}  # fmt: skip
ALL = TASK.anchors
LN_Z = math.log(len(KEYS))
EXPECTED: dict[str, tuple[dict[str, Any], Callable[[], Any]]] = {
    "lemma1_share": ({"epsilon": LEMMA1_EPSILONS[1]}, lambda: at("lemma1_share")[1]),
    "lemma1_share, first": (
        {"epsilon": LEMMA1_EPSILONS[0], "when": first_epoch},
        lambda: at("lemma1_share", 0)[0],
    ),
    "value_gap": ({"when": last_epoch}, lambda: at("singular/0.W_V", 2)[0] / at("singular/0.W_V", 2)[1]),
    "alignment": ({"kind": "memory"}, lambda: WV["memory"]),
    "alignment, sums": ({"kind": "reasoning"}, lambda: WV["reasoning"]),
    "preference": ({}, lambda: abs(WV["reasoning"] - WV["memory"])),
    "key_mass": ({}, lambda: at("key_attention").mean()),
    "cliff_share": (
        {},
        lambda: np.mean([np.argmin(np.diff(at("last_logits")[p])) == p + 2 for p in range(6)]),
    ),
    "rise": (
        {},
        lambda: np.mean(
            [
                spearmanr(range(p + 1), at("last_logits")[p, : p + 1]).statistic
                for p in range(2, len(at("last_logits")))
            ]
        ),
    ),
    "positions_rise": ({}, lambda: spearmanr(range(8), at("last_logits_positions")[:-1]).statistic),
    "ordering": ({"when": last_epoch}, lambda: spearmanr(apart(SUMS), cosines(SUMS, 2)).statistic),
    "mean_cosine": ({"tokens": "memory anchors"}, lambda: cosines(MEMORY).mean()),
    "mean_cosine, size": ({"size": True, "tokens": "reasoning anchors"}, lambda: abs(cosines(SUMS)).mean()),
    "memory_excess": ({}, lambda: cosines(MEMORY).mean() - cosines(SUMS).mean()),
    "moved": ({}, lambda: math.sqrt(((cosines(ALL) - cosines(ALL, 0)) ** 2).mean())),
    "correlation": ({}, lambda: pearsonr(predicted(ALL), cosines(ALL)).statistic),
    "skill": ({}, lambda: 1 - ((predicted(ALL) - cosines(ALL)) ** 2).sum() / (cosines(ALL) ** 2).sum()),
    "skill, mean": (
        {"tokens": "reasoning anchors", "over": "mean"},
        lambda: 1 - ((predicted(SUMS) - cosines(SUMS)) ** 2).mean() / cosines(SUMS).var(),
    ),
    "skill, rival": (
        {"over": "−|i − j|"},
        lambda: 1 - unexplained(predicted(ALL), cosines(ALL)) / unexplained(-apart(ALL), cosines(ALL)),
    ),
    "skill, prediction": (
        {"predict": from_eq14, "over": from_uniform, "tokens": SUMS},
        lambda: (
            1
            - unexplained(of_eq14(SUMS), cosines(SUMS))
            / unexplained(predicted(SUMS), cosines(SUMS))
        ),
    ),
    "near_error": (
        {},
        lambda: math.sqrt(np.mean((of_eq14(SUMS) - cosines(SUMS))[2 * apart(SUMS) <= 9] ** 2)),
    ),
    "plane_order": (
        {"group": "keys", "when": last_epoch},
        lambda: spearmanr(apart(list(KEYS)), pdist(at("pca", 2)[-len(KEYS) :, :2])).statistic,
    ),
    "plane_correlation": (
        {"group": "reasoning anchors"},
        lambda: pearsonr(
            pdist(principal_components(eq14_embedding(TASK, SUMS), 2).coordinates),
            pdist(at("pca_anchors")[:, :2]),
        ).statistic,
    ),
    "rank_left": ({}, lambda: at("effective_rank/W_emb") / at("effective_rank/W_emb", 0)),
    "held_out_share": (
        {"deviations": [-3, 4]},
        lambda: at("held_out_deviations", 2)[[FARTHEST - 3, FARTHEST + 4]].sum(),
    ),
    "last_accuracy": ({"part": "mem"}, lambda: RISING["mem"][-1]),
    "highest_accuracy": ({"part": "rsn_train"}, lambda: 0.99),
    "matched_test_accuracy": ({}, lambda: np.interp(2.75, range(11), RISING["rsn_test"])),
    "learned_bias": ({}, lambda: np.trapezoid(RISING["rsn_test"] - RISING["mem"]) / 10),
    "held_out_loss_change": (
        {},
        lambda: (np.interp(6 + 10 / 11, range(11), LOSSES["rsn_test"]) - 4.4) / LN_Z,
    ),
    "loss_gap_aligned": (
        {},
        lambda: np.mean([np.interp(t, range(11), np.subtract(LOSSES["mem"], LOSSES["rsn_train"]))
                         for t in (9 / 19, 1 + 2 / 3, 2.75, 6 + 10 / 11)]) / LN_Z,
    ),
    "loss_lead": (
        {"slow": "mem", "fast": "rsn_train"},
        lambda: np.trapezoid(np.subtract(LOSSES["mem"], LOSSES["rsn_train"])) / 10 / LN_Z,
    ),
    "loss_lead, first": ({"slow": "mem", "fast": "rsn_train", "first": True}, lambda: -0.2 / LN_Z),
    "spike": ({}, lambda: 0.2 / LN_Z),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_a_measure_of_a_run_is_what_its_name_says(name):
    arguments, expected = EXPECTED[name]
    function = measure(name.split(",")[0])
    assert kind_of(function) == "run"
    assert ends(function(RUN, **arguments)) == pytest.approx((expected(),) * 2, rel=1e-9, abs=1e-12)


def test_a_prediction_is_compared_with_the_labels_of_other_anchors():
    """The same 200 permutations, each predicted anew from the exchanged distributions."""
    rng, n, both = np.random.default_rng(0), len(SUMS), [*SUMS, *MEMORY]
    rows = np.array([label_distribution(TASK, s, held_out=True) - 1 / TASK.vocab_size for s in both])
    seen = RUN.cosines(both, EPOCHS[EARLY])
    pairs = {
        prediction.PAIRS[1]: [(i, j) for i in range(n) for j in range(i)],
        prediction.PAIRS[2]: [(i, j) for i in range(n) for j in range(n, len(both))],
    }
    exchanges = [rng.permutation(n) for _ in range(200)]
    for name, chosen in pairs.items():
        observed, found = [seen[i, j] for i, j in chosen], []
        for order in [np.arange(n), *exchanges]:
            guess = cosine_matrix(np.vstack([rows[:n][order], rows[n:]]))
            found.append(pearsonr([guess[i, j] for i, j in chosen], observed).statistic)
        excess = measure("exchanged_excess")(RUN, pairs=name)
        assert excess == pytest.approx(found[0] - np.mean(found[1:]), abs=1e-9)


def test_a_trend_that_falls_anywhere_has_a_negative_least_rise():
    seed = {("", rate): random_run(rate) for rate in (0.8, 0.3, 0.5)}
    values = {0.3: 1.0, 0.5: 3.0, 0.8: 2.5}
    assert learning.least_rise(seed, of=lambda run: values[run.config.init_rate]) == -0.5


def test_neighbouring_values_of_a_rise_are_a_step_apart():
    rows = np.tile(np.arange(9.0), (len(EPOCHS), 7, 1))
    rows[EARLY, -1, :2] = 1.0, 0.0
    rise = measure("rise")(replace(RUN, arrays={"last_logits": rows}))
    assert rise == pytest.approx(1 - 1 / RISE.most)


@pytest.mark.parametrize(
    ("slow", "fast"), [("mem", "rsn_train"), ("rsn_test", "rsn_train"), ("mem", "rsn_test")]
)
def test_a_lead_is_between_the_evaluations_on_both_sides(slow, fast):
    brackets = {"mem": (800, 900), "rsn_train": (200, 300), "rsn_test": (500, 600)}
    (low, high), (early, late) = brackets[slow], brackets[fast]
    found = ends(measure("lead")(RUN, slow=slow, fast=fast))
    assert found == pytest.approx((math.log2(low / late), math.log2(high / early)))


def test_contrasts_of_a_seed_are_small_weights_less_large_ones():
    small, large = SEED["", 0.8], SEED["", 0.3]
    gain = learning.least_gain
    bias = measure("learned_bias")
    assert gain(SEED) == pytest.approx(bias(small) - bias(large))
    alike = gain(SEED, partial(geometry.mean_cosine, tokens="memory anchors", when=last_epoch), absolute=True)
    assert alike == pytest.approx(abs(cosines(MEMORY, 2).mean() - cosines(MEMORY, 2, large).mean()))
    ratios = [measure("rank_ratio")(SEED, name) for name in MATRICES]
    ranks = [[r.arrays[f"effective_rank/{name}"][1] for name in MATRICES] for r in (small, large)]
    assert ratios == pytest.approx(np.divide(*ranks))
    assert measure("greatest_rank_ratio")(SEED) == max(ratios)
    assert measure("mean_log_rank_ratio")(SEED) == pytest.approx(np.log2(ratios).mean())


def test_interventions_are_taken_at_the_plain_runs_time():
    plain, changed = random_run(), random_run(seed=5)
    seed = {("plain", 0.8): plain, ("changed", 0.8): changed}
    own, before = cosines(SUMS, EARLY, changed), cosines(SUMS, EARLY, plain)
    correlation = measure("intervened_correlation")
    assert correlation(seed, "changed") == pytest.approx(pearsonr(own, before).statistic)
    with_labels = correlation(seed, "changed", labels="changed")
    assert with_labels == pytest.approx(pearsonr(own, predicted(SUMS)).statistic)
    change = measure("geometry_change")(seed, "changed")
    assert change == pytest.approx(math.sqrt(((own - before) ** 2).mean()))


def test_outputs_of_a_mapping_are_weighed_on_the_labels_of_another():
    rng = np.random.default_rng(1)
    masses = {m.name: rng.random(len(EPOCHS)) for m in RANGES.mappings}
    outputs = {m.name: rng.random((len(EPOCHS), RANGES.vocab_size)) for m in RANGES.mappings}
    arrays = {f"label_mass/{name}": mass for name, mass in masses.items()}
    arrays |= {f"outputs/{name}": mean for name, mean in outputs.items()}
    found = run(0.8, 0, {m.name: RISING["rsn_train"] for m in RANGES.mappings}, task=RANGES, arrays=arrays)
    own = measure("least_own_mass")(found)
    assert own == pytest.approx(min(mass[EARLY] for mass in masses.values()))
    foreign = [outputs[f"range{i + 1}"][EARLY, 30 : 30 + 20 * i].sum() for i in (1, 2, 3)]
    assert measure("greatest_foreign_mass")(found) == pytest.approx(max(foreign))


def test_the_skill_over_orthogonal_anchors_is_undefined_where_all_are_orthogonal():
    found = random_run()
    gram = np.broadcast_to(np.eye(len(TASK.anchors), len(TOKENS)), found.arrays["gram"].shape)
    assert math.isnan(prediction.skill(replace(found, arrays={**found.arrays, "gram": gram})))
