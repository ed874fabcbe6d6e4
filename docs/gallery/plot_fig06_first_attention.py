r"""
Figure 6: the first attention and W_V
=====================================

Lemma 1 says that with small initial weights the first attention is nearly the average over all positions so
far, 1/i in row i, before any training. A shows it from the start, B its rows at the last of A's epochs.
Theorem 2 says that W_V then grows along one direction (C). The paper finds the reasoning anchors aligned
with it, and the memory anchors nearly orthogonal to it (D).

D shows Theorem 2's prediction twice: with the uniform distribution u as the model's output while W_V grows,
as in the paper, and with the marginal label distribution P̄, which a model fits first. The lines above A and
C say whether these runs agree. Seeds that learn the sums in two different ways are drawn apart.

.. claims-of-figure:: 6
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(6)
