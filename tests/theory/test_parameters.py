"""Drawn parameters, and the one way to name an activation."""

from __future__ import annotations

import numpy as np
import pytest

from theory import EmbMLPParameters, OneLayerParameters

EMB_MLP = EmbMLPParameters.draw(300, d_m=100, d_f=400, init_rate=0.8, rng=np.random.default_rng(0))
ONE_LAYER = OneLayerParameters.draw(200, d_k=40, d_f=90, init_rate=0.8, rng=np.random.default_rng(0))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("drawn", "fan_ins"),
    [
        (EMB_MLP, {"W_emb": 100, "W1": 100, "W2": 400}),
        (ONE_LAYER, dict.fromkeys(("W_emb", "W_Q", "W_K", "W_V", "W_f1"), 200) | {"W_O": 40, "W_f2": 90}),
    ],
)
def test_drawn_parameters_have_the_scale_of_section_2_4(drawn, fan_ins):
    for name, fan_in in fan_ins.items():
        matrix = getattr(drawn, name)
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        # A sample variance over n entries has relative standard error √(2/n); four of them.
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size), name


def test_sizes_of_drawn_and_scaled_parameters():
    assert ONE_LAYER.W_emb.shape == (200, 200)
    assert np.array_equal(EMB_MLP.scaled(0.5).W2, 0.5 * EMB_MLP.W2)
