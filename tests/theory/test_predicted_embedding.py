"""The embedding at training accuracies: against torch's own training, and what is never reached."""

from __future__ import annotations

import numpy as np
import pytest

import theory
from tests.theory.flow_reference import relative
from tests.theory.test_learning_curves import BATCH, CLIP, POPULATION, TASK, trained_weights
from theory import TANH, AdamSettings, Lookup, Mapping, SGDSettings, Shift, Task
from theory.flows.gradient import scores
from theory.flows.predicted_embedding import learned_set

pytestmark = pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
SETTINGS, TRAINED = AdamSettings(3e-3), "reasoning train"
OPTIONS = {"init_rate": 0.5, "d_m": 12, "d_f": 24, "batch_size": BATCH, "clip_norm": CLIP}


def test_cosines_at_an_accuracy_are_those_of_training(record_error):
    anchors, wanted = list(TASK.reasoning_anchors), [0.3, 0.5]
    course = trained_weights(SETTINGS, 400, 0)
    # Averaged over two epochs: by its scatter a run reaches an accuracy once before its mean does.
    accuracy = np.convolve([scores(POPULATION, now, TANH)[TRAINED][1] for now in course], np.ones(22) / 22)
    first = [int(np.argmax(accuracy >= value)) - 11 for value in wanted]
    found = theory.predicted_embedding(TASK, SETTINGS, accuracies=wanted, seed=3, **OPTIONS)
    assert found.data_set == TRAINED
    assert found.accuracy == pytest.approx(wanted)
    # One run of 144 sequences in batches of twelve; orders of its batches differ by a fifth.
    assert found.steps == pytest.approx(np.array(first), rel=0.3)
    for W, k in zip(found.W_emb, first, strict=True):
        start = theory.cosine_matrix(course[0].W_emb[anchors])
        observed, ours = theory.cosine_matrix(course[k].W_emb[anchors]), theory.cosine_matrix(W[anchors])
        error, moved = (np.abs(theory.off_diagonal(observed - other)).max() for other in (ours, start))
        record_error("cosines at an accuracy", float(error))
        assert error < 0.1 < moved


def test_an_accuracy_is_where_its_step_is():
    found = theory.predicted_embedding(
        TASK, SGDSettings(0.5), accuracies=[0.2, 0.4], scatter=False, **OPTIONS
    )
    steps = [int(step) for step in found.steps]
    again = theory.predicted_embedding(TASK, SGDSettings(0.5), steps=steps, scatter=False, **OPTIONS)
    assert again.steps.tolist() == steps
    # Linear between points that are 15 % of the steps apart.
    assert again.accuracy == pytest.approx(found.accuracy, abs=0.05)
    assert relative(again.W_emb, found.W_emb) < 0.01


def test_what_is_never_reached_is_nan():
    found = theory.predicted_embedding(
        TASK, AdamSettings(1e-4), accuracies=[0.0, 0.99], max_epochs=1, **OPTIONS
    )
    assert found.steps.tolist() == [0, np.inf]
    assert np.isfinite(found.W_emb[0]).all()
    assert np.isnan(found.W_emb[1]).all()


def test_the_set_that_counts_as_learned():
    assert learned_set(TASK) == TRAINED
    mappings = [Mapping([1, 2], Lookup(), "table"), Mapping([3, 4], Shift({3: 0, 4: 1}), "shifts")]
    task = Task(keys=range(10, 14), mappings=mappings, n_anchors=1, length=2, vocab_size=20)
    assert learned_set(task) == "shifts"
    alone = Task(keys=range(10, 14), mappings=mappings[:1], n_anchors=1, length=2, vocab_size=20)
    assert learned_set(alone) == "table"
