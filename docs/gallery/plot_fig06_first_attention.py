r"""
Figure 6: the first attention and W_V
=====================================

Lemma 1 says that with small initial weights the first attention is nearly the average over all positions so
far, 1/i in row i, before any training. A shows it from the start on, B its rows at the last epoch of A.
Theorem 2 says that W_V then grows along one direction (C).
The paper finds the reasoning anchors aligned with it, and the memory anchors nearly orthogonal to it (D).

D holds Theorem 2's prediction twice: with u as what the model puts out while W_V grows, as in the paper,
and with the marginal label distribution P̄, which is what a model fits first. Whether these runs agree is
said above A and C, computed from them. Seeds that learn the sums in one of two ways are drawn apart.

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 6

``anchorflow figures 6`` draws it from the likeliest setting of the paper (:doc:`/claims` has their order) of
which runs at γ = 0.8 are kept. Which study that is, and the command that trains the runs again, stands below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(6)
