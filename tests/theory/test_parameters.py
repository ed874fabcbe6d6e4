"""Drawn parameters, and the one way to name an activation."""

from __future__ import annotations

import numpy as np
import pytest

from theory import EmbMLPParameters, OneLayerParameters


@pytest.mark.statistical
def test_drawn_one_layer_parameters_have_the_scale_of_section_2_4():
    drawn = OneLayerParameters.draw(200, d_k=40, d_f=90, init_rate=0.8, rng=np.random.default_rng(0))
    assert drawn.W_emb.shape == (200, 200)
    for name, fan_in in (("W_emb", 200), ("W_V", 200), ("W_O", 40), ("W_f1", 200), ("W_f2", 90)):
        matrix = getattr(drawn, name)
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size), name


@pytest.mark.statistical
def test_drawn_parameters_have_the_scale_of_section_2_4():
    drawn = EmbMLPParameters.draw(300, d_m=100, d_f=400, init_rate=0.8, rng=np.random.default_rng(0))
    for matrix, fan_in in ((drawn.W_emb, 100), (drawn.W1, 100), (drawn.W2, 400)):
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        # A sample variance over n entries has relative standard error √(2/n); four of them.
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size)
    assert np.array_equal(drawn.scaled(0.5).W2, 0.5 * drawn.W2)
