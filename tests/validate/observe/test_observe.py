"""Observing whole runs: every array against NumPy loops over the run's own snapshots."""

import math
from typing import Literal

import numpy as np
import pytest
import torch
from scipy.special import softmax

from sim import Model, ModelSection, TensorSpec, build, register_model
from sim.models.layers import causal_mask, look_up_sum
from tests.sim.test_forward import plain_forward
from tests.validate.observe.conftest import TASK, TRANSFORMER
from theory import InputError, cosine_matrix
from validate.observe import kept, observe
from validate.observe.observations import TIMELESS
from validate.observe.parameters import draw_probe, observe_parameters

EMBEDDING = {"gram", "norms", "pca", "pca_variance", "pca_anchors", "pca_anchors_variance"}
DATA = {"token_label_matrix_anchors", "token_ratio"}
ATTENTION = {
    *("first_attention", "first_attention_sd", "first_attention_error", "lemma1_share"),
    *("last_logits", "last_logits_sd", "last_attention", "key_attention", "wv_direction"),
}
HELD_OUT = {"held_out_deviations"}


def _own(observations, *prefixes):
    """Return the names that begin with none of the prefixes."""
    return {name for name in observations.arrays if not name.startswith(prefixes)}


def _forward(run, epoch, probe, bare=False):
    """Run the plain NumPy Transformer on every sequence of the probe."""
    parameters = {name: a.astype(np.float64) for name, a in run.snapshot(epoch).items()}
    if bare:
        parameters["W_E"] = np.zeros_like(parameters["W_E"])
    return [plain_forward(parameters, row.tolist(), run.config.model) for row in probe.sequences]


MODELS = {
    "pre, two heads": TRANSFORMER | {"norm": "pre"},
    "post, biases": TRANSFORMER | {"norm": "post", "biases": True, "n_heads": 1},
    "no norm, no positions": TRANSFORMER
    | {"norm": "none", "positions": "none", "n_layers": 3, "activation": "tanh"},
    "one layer": {"kind": "one-layer", "d_f": 12, "d_k": 3},
}


@pytest.fixture
def small_probe(monkeypatch):
    """Sixty sequences are enough for loops in Python."""
    monkeypatch.setattr("validate.observe.parameters.draw_probe", lambda task: draw_probe(task, 12))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("small_probe")
def test_attention_and_outputs_are_those_of_plain_loops(name, make):
    run = make(MODELS[name])
    found, probe = observe(run).arrays, draw_probe(run.task, 12)
    learned = MODELS[name].get("positions", "learned" if "norm" in MODELS[name] else "none") == "learned"
    expected = ATTENTION | EMBEDDING | DATA | HELD_OUT | ({"last_logits_positions"} if learned else set())
    assert _own(observe(run), "singular/", "effective_rank/", "outputs/", "label_mass/") == expected
    last = f"blocks.{run.config.model.n_layers - 1}.attn"  # type: ignore[attr-defined, union-attr]
    for e, epoch in enumerate(run.snapshot_epochs):
        seen = _forward(run, epoch, probe)
        first = np.array([cache["blocks.0.attn.hook_pattern"][0] for _, cache in seen])
        np.testing.assert_allclose(found["first_attention"][e], first.mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(found["first_attention_sd"][e], first.std(axis=0, ddof=1), atol=1e-10)
        errors = [abs(a[i, j] - 1 / (i + 1)) for a in first for i in range(4) for j in range(i + 1) if i]
        assert found["first_attention_error"][e] == pytest.approx(max(errors), abs=1e-10)
        shares = [sum(x <= epsilon for x in errors) / len(errors) for epsilon in (0.1, 0.03, 0.01)]
        np.testing.assert_allclose(found["lemma1_share"][e], shares, atol=1e-12)
        for p in (0, 1):
            at = [cache for (_, cache), place in zip(seen, probe.position, strict=True) if place == p]
            for kind, own in (("logits", "hook_attn_scores"), ("attention", "hook_pattern")):
                rows = np.mean([cache[f"{last}.{own}"][0, -1] for cache in at], axis=0)
                np.testing.assert_allclose(found[f"last_{kind}"][e, p], rows, atol=1e-10)
            sums = [not run.task.mappings[m].is_table for m in probe.mapping]
            own = [c for (_, c), q, s in zip(seen, probe.position, sums, strict=True) if q == p and s]  # type: ignore[assignment]
            key = np.mean([cache[f"{last}.hook_pattern"][0, -1, p] for cache in own])
            assert found["key_attention"][e, p] == pytest.approx(key, abs=1e-10)
        soft = [[math.exp(x) for x in logits[-1]] for logits, _ in seen]
        soft = [[x / sum(row) for x in row] for row in soft]
        for m, mapping in enumerate(run.task.mappings):
            mean = np.mean([row for row, own in zip(soft, probe.mapping, strict=True) if own == m], axis=0)
            np.testing.assert_allclose(found[f"outputs/{mapping.name}"][e], mean, atol=1e-10)
            mass = sum(mean[i] for i in run.task.label_range(mapping))
            assert found[f"label_mass/{mapping.name}"][e] == pytest.approx(mass, abs=1e-10)
        if learned:
            _, cache = _forward(run, epoch, probe, bare=True)[0]
            alone = cache[f"{last}.hook_attn_scores"][0, -1]
            np.testing.assert_allclose(found["last_logits_positions"][e], alone, atol=1e-10)


@pytest.mark.usefixtures("small_probe")
def test_an_emb_mlp_has_outputs_and_a_frozen_direction(emb_mlp_run):
    run, found = emb_mlp_run, observe(emb_mlp_run)
    probe = draw_probe(run.task, 12)
    expected = EMBEDDING | DATA | HELD_OUT | {"frozen_direction", "frozen_start"}
    assert _own(found, "singular/", "effective_rank/", "outputs/", "label_mass/") == expected
    W_emb, W1, W2 = (run.snapshot(2)[name].astype(np.float64) for name in ("W_emb", "W1", "W2"))
    memory = probe.sequences[probe.mapping == 0]
    logits = [np.tanh(sum(W_emb[t] for t in row) @ W1) @ W2 for row in memory]
    soft = [np.exp(row) / np.exp(row).sum() for row in logits]
    np.testing.assert_allclose(found.at("outputs/memory", 2), np.mean(soft, axis=0), atol=1e-12)
    first = run.initial()
    direction = run.token_label_matrix @ first.W2.T @ first.W1.T
    gram = [[direction[a] @ direction[b] for b in run.task.anchors] for a in run.task.anchors]
    np.testing.assert_allclose(found.arrays["frozen_direction"], gram, rtol=1e-9, atol=1e-18)


def test_counts_of_the_training_data(emb_mlp_run):
    found = observe(emb_mlp_run).arrays
    counts, n = emb_mlp_run.token_label_counts()
    C = found["token_label_matrix_anchors"]
    for i, anchor in enumerate(emb_mlp_run.task.anchors):
        ratio = counts[anchor].sum() / n
        assert found["token_ratio"][i] == pytest.approx(ratio)
        np.testing.assert_allclose(C[i], counts[anchor] / n - ratio / 48, atol=1e-12)


def test_singular_values_of_every_matrix_and_of_no_gain(transformer_run):
    found = observe(transformer_run)
    names = {n.removeprefix("singular/") for n in found.arrays if n.startswith("singular/")}
    layer = {"W_Q", "W_K", "W_V", "W_O", "W_in", "W_out"}
    assert names == {"W_E", "W_pos", "W_U"} | {f"{i}.{name}" for i in (0, 1) for name in layer}
    for name in names:
        matrix = transformer_run.snapshot(1)[name].astype(np.float64)
        assert (found.at(f"singular/{name}", 1) ** 2).sum() == pytest.approx((matrix**2).sum())


def test_snapshots_without_matrices_give_what_the_embedding_allows(make):
    run = make(TRANSFORMER, snapshot_tensors="embedding")
    found = observe(run)
    assert set(found.arrays) == EMBEDDING | DATA | {"singular/W_E", "effective_rank/W_E"}
    with pytest.raises(InputError, match='snapshot_tensors = "all"'):
        found.at("first_attention", 0)


class AveragingSection(ModelSection):
    """A kind of one's own, whose tensors have other names than the Transformer's."""

    embedding = "table"
    kind: Literal["averaging"] = "averaging"
    d_m: int = 8

    def matrix_names(self):
        return ["table"]


class Averaging(Model[AveragingSection]):
    n_layers = 1
    shows = frozenset({"attention", "positions"})

    def specs(self, vocab_size, length):
        return {"table": TensorSpec((vocab_size, 8), 8), "out": TensorSpec((8, vocab_size), 8)}

    def logits(self, parameters, tokens):
        return look_up_sum(parameters["table"], tokens) @ parameters["out"]

    def widths(self, vocab_size):
        return 8, vocab_size

    def intermediates(self, parameters, tokens, names):
        mask = causal_mask(tokens.shape[2], torch.float32, tokens.device)
        logits = mask.expand(*tokens.shape[:2], 1, -1, -1)
        block = "blocks.0.attn"
        own = {f"{block}.hook_pattern": logits.softmax(dim=-1), f"{block}.hook_attn_scores": logits}
        return own | super().intermediates(parameters, tokens, names)


register_model(AveragingSection, Averaging)


def test_the_attention_of_a_model_of_ones_own_needs_no_names_of_the_transformers(transformer_run):
    config = transformer_run.config.model_copy(update={"model": AveragingSection()})
    task = config.build_task()
    probe, drawn = draw_probe(task, 12), build([config])
    found = observe_parameters({name: value[0].numpy() for name, value in drawn.items()}, config, probe)
    assert found["first_attention_error"] == pytest.approx(0, abs=1e-6)
    assert not found["last_logits_positions"].any()
    assert "wv_direction" not in found
    logits = Averaging(AveragingSection()).logits(drawn, torch.from_numpy(probe.sequences)[None])[0].numpy()
    for index, mapping in enumerate(task.mappings):
        expected = softmax(logits[probe.mapping == index], axis=1).mean(axis=0)
        assert found[f"outputs/{mapping.name}"] == pytest.approx(expected)


BARE = {key: TASK[key] for key in ("keys", "n_anchors", "length", "vocab_size")}
SEVERAL = [
    {"name": "first", "anchors": [1], "rule": "lookup", "low": 20, "high": 30},
    {"name": "second", "anchors": [2], "rule": "lookup"},
    {"name": "sum", "anchors": [4], "rule": "sum"},
    {"name": "window", "anchors": [3], "rule": "window"},
]


@pytest.mark.parametrize(
    "own",
    [{"memory_anchors": "1..2"}, {"reasoning_anchors": "4..5"}, {"mappings": SEVERAL}],
    ids=lambda own: next(iter(own)),
)
def test_tasks_that_lack_a_kind_of_anchor_or_have_several_mappings(own, make):
    found = observe(make(TRANSFORMER, task=BARE | own))
    names = {m.name for m in found.task.mappings}
    assert {n.removeprefix("outputs/") for n in found.arrays if n.startswith("outputs/")} == names
    assert ("pca_anchors" in found.arrays) == ("reasoning_anchors" in own)
    direction = found.arrays["wv_direction"]
    index = [found.tokens.index(token) for token in found.task.reasoning_anchors or found.task.anchors]
    assert direction.shape == (3, len(found.task.anchors) + 6)
    assert (direction[:, index].mean(axis=1) >= 0).all()


def test_cosines_are_those_of_the_embedding(transformer_run):
    found = observe(transformer_run)
    embedding, task = transformer_run.embedding(2), found.task
    assert found.epochs == (0, 1, 2)
    rows, columns = list(task.reasoning_anchors), [25, 3, 20]
    square = cosine_matrix(embedding[rows])
    np.testing.assert_allclose(found.cosines(iter(rows), 2), square, atol=1e-12)
    oblong = cosine_matrix(embedding[rows], embedding[columns])
    np.testing.assert_allclose(found.cosines(iter(rows), 2, iter(columns)), oblong, atol=1e-12)
    assert found.label == "γ = 0.5, seed 0"
    assert found.tokens == (1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 24, 25)


def test_unknown_tokens_and_epochs_are_refused(transformer_run):
    found = observe(transformer_run)
    for call, arguments, named in (
        (found.cosines, ([20], 1), "rows"),
        (found.cosines, ([4], 1, [40]), "columns"),
        (found.cosines, ([4], 7, [5]), "epoch"),
        (found.at, ("nothing", 1), "observable"),
    ):
        with pytest.raises(InputError, match=f"^{named} = "):
            call(*arguments)


@pytest.mark.parametrize(("study", "timed"), [("emb-mlp", "gram"), ("language", "cosine/prontoqa")])
def test_a_run_until_an_epoch_is_the_beginning_of_the_run(study, timed):
    """Every array: those with snapshots lose the later ones, and the others nothing."""
    run = kept(study)[-1]
    epoch = run.epochs[-3]
    short = run.until(epoch)
    assert (short.epochs[-1], short.metrics[-1]["epoch"]) == (epoch, epoch)
    np.testing.assert_array_equal(short.at(timed, epoch), run.at(timed, epoch))
    assert set(short.arrays) == set(run.arrays)
    for name, array in run.arrays.items():
        same = array if name.startswith(TIMELESS) else array[:-2]
        np.testing.assert_array_equal(short.arrays[name], same)
        assert name.startswith(TIMELESS) or len(array) == len(run.epochs)
    with pytest.raises(InputError, match="no snapshot"):
        short.at(timed, run.epochs[-1])
