"""Training on batches, and narrow networks whose runs are those of wide ones."""

import math
from itertools import islice

import numpy as np
import pytest

import theory
from tests.theory.flow_reference import by_torch, relative
from tests.theory.test_learning_curves import BATCH, CLIP, EXAMPLE, POPULATION, START, TASK
from theory import TANH, AdamSettings, EmbMLPParameters, SGDSettings
from theory.flows.batch_training import BatchTraining
from theory.flows.batches import Batching
from theory.flows.learning_curves import recorded_steps, training_size
from theory.flows.narrow import Narrow

pytestmark = pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
N = training_size(TASK)
OPTIMISERS = {"AdamW": AdamSettings(2e-3, epsilon=1e-3, weight_decay=0.1), "SGD": SGDSettings(0.5, 1e-2)}


def training(settings, activation=TANH, scale=(1.0, 1.0, 1.0), population=POPULATION):
    rng = np.random.default_rng(5)
    return BatchTraining(population, Batching(BATCH, N), activation, settings, CLIP, scale, rng)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_on_batches_is_that_of_torch(name, record_error):
    settings = OPTIMISERS[name]
    drawn = islice(training(settings)._batches(), 30)
    batches = [([np.repeat(np.arange(c.size), c.astype(int)) for c in counts], y) for counts, y in drawn]
    *_, truth = by_torch(START, TANH, [(np.array(x), y) for x, y in batches], settings, CLIP)
    *_, ours = training(settings).follow(START.matrices, [0, 7, 30])
    # Torch divides by the norm plus 1e-6 where it clips.
    record_error("training on batches", relative(ours.mean, truth.packed()), below=1e-6)


def test_an_epoch_has_every_training_sequence_once():
    drawn = list(islice(training(SGDSettings(0.1))._batches(), -(-N // BATCH)))
    seen = sorted(
        (*counts.tolist(), label)
        for rows, labels in drawn
        for counts, label in zip(rows, labels, strict=True)
    )
    sequences, labels = EXAMPLE.training
    counts = np.eye(TASK.vocab_size)[sequences].sum(axis=1)
    assert seen == sorted((*c.tolist(), label) for c, label in zip(counts, labels, strict=True))


def copies(wide, narrow):
    """Return the isometry that copies each of ``narrow`` coordinates to its twins among ``wide``."""
    return np.kron(np.eye(narrow), np.ones((wide // narrow, 1))) / math.sqrt(wide / narrow)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_run_of_the_narrow_network_is_one_of_the_wide_network_with_twins(name, record_error):
    narrow = Narrow(d_m=24, d_f=36, n_m=6, n_f=12)
    start = narrow.draw(TASK.vocab_size, 0.3, np.random.default_rng(1))
    U, V = copies(24, 6), copies(36, 12)

    def lifted(now):
        return EmbMLPParameters(now.W_emb @ U.T, U @ now.W1 @ V.T, V @ now.W2)

    settings = OPTIMISERS[name]
    *_, ours = training(settings, narrow.activation(TANH), narrow.scale).follow(start.matrices, [0, 60])
    *_, truth = training(settings).follow(lifted(start.matrices).matrices, [0, 60])
    assert relative(truth.mean, lifted(start.matrices).matrices.packed()) > 0.1
    error = relative(lifted(start.matrices.unpack(ours.mean)).matrices.packed(), truth.mean)
    record_error("narrow networks", error, below=1e-9)


def test_narrow_starts_keep_mean_inner_products_and_spread_more():
    wide, narrow, rng = Narrow(80, 160, 80, 160), Narrow.of(80, 160, 0.25), np.random.default_rng(0)
    assert (narrow.n_m, narrow.n_f) == (20, 40)
    pair, n = np.eye(6)[:2] + np.eye(6)[3], 1500
    found = {}
    for which in (wide, narrow):
        sigma, rows = which.activation(TANH), []
        for _ in range(n):
            start = which.draw(6, 0.4, rng)
            x = pair @ start.W_emb
            value = sigma.value(x @ start.W1)
            logits = value @ start.W2
            rows.append(
                [x[0] @ x[1], value[0] @ value[1], start.W2[:, 0] @ start.W2[:, 0], *logits[0, :2] ** 2]
            )
        found[which] = np.array(rows)
    for k in range(3):
        a, b = (found[which][:, k] for which in (wide, narrow))
        # A false failure once in ten thousand.
        assert abs(a.mean() - b.mean()) < 4 * math.sqrt((a.var() + b.var()) / n)
        assert b.var() / a.var() == pytest.approx(4, rel=0.35)
    sizes = [float(found[which][:, 3:].mean()) for which in (wide, narrow)]
    assert sizes[1] / sizes[0] == pytest.approx(4, rel=0.35)


def test_the_default_is_a_quarter_but_no_fewer_than_fifty_dimensions():
    assert Narrow.of(200, 512) == Narrow(200, 512, 50, 128)
    assert Narrow.of(100, 256) == Narrow(100, 256, 50, 128)
    assert Narrow.of(12, 24) == Narrow(12, 24, 12, 24)
    assert Narrow.of(12, 24).activation(TANH) is TANH
    same = EmbMLPParameters.draw(9, d_m=12, d_f=24, init_rate=0.7, rng=np.random.default_rng(3))
    ours = Narrow.of(12, 24).draw(9, 0.7, np.random.default_rng(3))
    assert np.array_equal(ours.matrices.packed(), same.matrices.packed())


OPTIONS = {"init_rate": 0.6, "d_m": 200, "d_f": 300, "batch_size": BATCH, "clip_norm": CLIP}


def test_narrow_networks_learn_when_wide_ones_do():
    """Three starts of each; seeds and times that fluctuate by a tenth of a doubling."""
    given = {"settings": AdamSettings(2e-3), "n_epochs": 80, "seeds": (0, 1, 2), **OPTIONS}
    narrow, wide = (
        theory.predict_learning(TASK, width_share=share, check_width=False, **given) for share in (0.25, 1.0)
    )
    for name in ("memory", "reasoning train"):
        times = wide.half_time(name), narrow.half_time(name)
        assert max(times) < math.inf
        assert abs(math.log2(times[1] / times[0])) < 0.35


def test_a_time_that_depends_on_the_width_is_warned_of():
    """SGD close to instability: the narrower the network, the later it learns."""
    with pytest.warns(theory.OutsideValidityWarning, match="memory"):
        theory.predict_learning(
            TASK, AdamSettings(1e-3), n_epochs=40, **OPTIONS | {"init_rate": 0.3, "width_share": 0.04}
        )


def test_a_rate_at_which_the_flow_gives_up_is_followed_on_batches():
    """SGD 2, at which the mean course takes some ten gradients a step."""
    given = {"settings": SGDSettings(2.0), "n_epochs": 40, **OPTIONS, "d_m": 60, "d_f": 90, "init_rate": 0.5}
    with pytest.raises(theory.IntegrationError, match=r"route.*max_gradients"):
        theory.predict_learning(TASK, route="flow", max_gradients=400, **given)
    found = theory.predict_learning(TASK, **given)
    assert math.isfinite(found.half_time("reasoning train"))


def test_steps_are_whole_epochs_after_the_first():
    assert recorded_steps(90, 1.5, 30) == [0, 20, 30, 60, 90]
    assert recorded_steps(90, 1.5) == [0, 20, 30, 45, 68, 90]
