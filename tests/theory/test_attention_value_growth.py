"""Theorem 2 as printed, what its proof leaves out, and its claim at any N_Z as a number."""

import numpy as np
import pytest

from theory import Task, find_derivation, predict_value_growth, theorem_2_terms


def anchors_over(n_keys):
    """Two kinds of anchors, half of the tokens each, memory uniform on the first of 8 labels; 6 rows."""
    table = np.zeros((6, 8))
    table[:3] = np.random.default_rng(0).dirichlet(np.ones(8), 3)
    table[3:, :n_keys] = 1 / n_keys
    return table, np.full(6, 1 / 6)


def test_theorem_2_as_printed(record_error):
    """N_Z = d_m: memory is not driven, and the printed form is the product of the means."""
    table, shares = anchors_over(8)
    terms = theorem_2_terms(table, shares, [0, 1, 2], [3, 4, 5])
    assert terms.memory_drive < 1e-15
    assert terms.memory_share < 1e-14
    u = 1 / 8
    mean_anchor, labels = (table[:3] - u).mean(axis=0), table.mean(axis=0) - u
    right = np.random.default_rng(1).standard_normal((8, 3))
    derived = find_derivation("theorem 2").function()(mean_anchor[None], labels[None], right)
    record_error("Theorem 2", np.abs(terms.printed @ right - derived).max(), below=1e-14)
    # Growth along it: the memory anchors' embeddings, at their start, have no part in it.
    left, values, _ = np.linalg.svd(terms.printed)
    assert values[1] < 1e-15
    assert abs(left[:, 0] @ mean_anchor) == pytest.approx(np.linalg.norm(mean_anchor))


@pytest.mark.parametrize("n_keys", [2, 5, 8])
def test_what_the_proof_leaves_out(n_keys):
    """Its covariance, token by token; off N_Z = d_m also the drive of memory, √(1/N_Z − 1/d_m) long."""
    table, shares = anchors_over(n_keys)
    shares = np.array([1, 2, 3, 4, 5, 6]) / 21
    terms = theorem_2_terms(table, shares, [0, 1, 2], [3, 4, 5])
    centred = table - shares @ table
    covariance = sum(p * np.outer(row, row) for p, row in zip(shares, centred, strict=True))
    np.testing.assert_allclose(terms.mean_of_products - terms.product_of_means, covariance, atol=1e-15)
    assert terms.left_out == pytest.approx(
        np.linalg.norm(covariance) / np.linalg.norm(covariance + terms.product_of_means)
    )
    assert terms.memory_drive == pytest.approx(np.sqrt(1 / n_keys - 1 / 8), abs=1e-12)
    drive, half = shares @ (table - 1 / 8), (table[:3] - 1 / 8).mean(axis=0) / 2
    assert terms.memory_share == pytest.approx(np.linalg.norm(drive - half) / np.linalg.norm(drive))


def test_an_anchor_that_is_not_driven_hides_no_other():
    """Without the combinations that end in 12 no training sequence does."""
    task = Task(
        keys=range(20, 26), reasoning_anchors=[11, 12], memory_anchors=[1, 2], n_anchors=2, length=4,
        vocab_size=60, held_out=[(11, 12), (12, 12)],
    )  # fmt: skip
    grown = predict_value_growth(task, form="exact", held_out=True)
    assert np.linalg.norm(grown.direction) == pytest.approx(1)
    assert np.isnan(grown.alignment[12])
    assert grown.reasoning == grown.alignment[11] > 0
