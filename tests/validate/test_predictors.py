"""One list of predictions: comparisons, claims, figures and predictions from a task share name and number."""

from __future__ import annotations

import numpy as np
import pytest

from sim import Run
from theory import (
    Lookup,
    Mapping,
    Shift,
    Sum,
    Task,
    cosine_matrix,
    frozen_flow,
    label_distribution,
    marginal_distribution,
)
from validate.claims import ledger
from validate.claims.entries.prediction import CLAIMS
from validate.compare import predicted_cosines
from validate.figures.predicted import LOOKS, predictions
from validate.groups import Setting
from validate.predict.prediction import Prediction
from validate.predict.predictors import (
    FITTED_WIDTH,
    PREDICTORS,
    are_summed,
    from_frozen_direction,
    marginal_cosines,
)
from validate.times import time_at

ANCHORS = tuple(range(11, 21))


def test_every_list_takes_its_predictions_from_one(settings: list[Setting]) -> None:
    small = settings[-1]
    compared = predicted_cosines(small.runs, 6, ANCHORS)
    drawn = predictions(small, ANCHORS)
    computed = Prediction.of(small.task).cosines["reasoning"]
    names = {p.name for p in PREDICTORS}
    assert set(compared) == names | {FITTED_WIDTH}
    assert set(LOOKS) == set(drawn) == names - {"frozen flow"}
    assert set(computed) - names == {"expected in one data set"}
    for name, matrices in drawn.items():
        for i, matrix in enumerate(matrices):
            np.testing.assert_array_equal(matrix, compared[name][i])
    for name in computed.keys() & names:
        np.testing.assert_array_equal(computed[name], compared[name][0])


def test_the_two_frozen_flows_have_a_name_each(settings: list[Setting]) -> None:
    """At the matched time it is eq. 5 integrated from the run's own weights; late it forgets them."""
    observed, tokens = settings[-1].runs[0], list(ANCHORS)
    assert observed.path is not None
    run = Run.open(observed.path)
    found = predicted_cosines([observed], 4, ANCHORS)
    flow = frozen_flow(run.token_label_matrix, run.initial(), [time_at(observed, 4)]).W_emb[0]
    np.testing.assert_allclose(found["frozen flow"][0], cosine_matrix(flow[tokens]), atol=1e-9)
    late = cosine_matrix(run.frozen_direction[tokens])
    np.testing.assert_allclose(found["frozen flow, late"][0], late, atol=1e-9)
    assert np.abs(found["frozen flow"][0] - late).max() > 0.05
    labels = [p.label for p in PREDICTORS]
    assert len(set(labels)) == len(labels)
    notes = [c.what for claim in CLAIMS for c in claim.conditions if "frozen flow" in c.what]
    assert notes
    assert all("frozen flow, late" in what for what in notes)
    assert {claim.number for claim in ledger()} >= {claim.number for claim in CLAIMS}
    np.testing.assert_array_equal(from_frozen_direction(observed, ANCHORS), found["frozen flow, late"][0])


@pytest.mark.parametrize(
    ("rule", "summed"), [(Sum(), True), (Shift({1: 5, 2: -2, 3: 0}), False), (Lookup(), False)]
)
def test_eq_14_speaks_of_sums_alone(rule: Sum | Shift | Lookup, summed: bool) -> None:
    task = Task(
        keys=range(30, 60), n_anchors=2, length=3, vocab_size=90, mappings=[Mapping((1, 2, 3), rule, "own")]
    )
    assert are_summed(task, (1, 2, 3)) is summed
    prediction = Prediction.of(task)
    assert ("eq. 14" in prediction.cosines["own"]) is summed
    assert ("fig5cd_geometry_own" in prediction.figures()) is summed


def test_the_marginal_predictor_takes_the_training_sets_label_distribution_off() -> None:
    task = Task.paper(length=3)
    rows = label_distribution(task, [11, 15, 19], held_out=True) - marginal_distribution(task, held_out=True)
    np.testing.assert_allclose(marginal_cosines(task, (11, 15, 19)), cosine_matrix(rows), atol=1e-12)
