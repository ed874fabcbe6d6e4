r"""
Figure 4: the Emb-MLP's embedding and its label distributions
=============================================================

The theory: to leading order an embedding grows along P^s − u, the label distribution of its token against the
uniform one (eq. 5, 7, 8). Memory anchors share one distribution, so their cosines are predicted near 1. The
distributions of reasoning anchors are shifted copies, so their cosines are predicted to fall with distance.

A shows what training did, B the distributions, C the cosines that follow from P^s − u, which knows their
order; from a narrow network that was trained beforehand up to the same training accuracy, which knows their
size too (:doc:`/theory/adaptive`); from P^s − P̄ (the drive once the marginal distribution P̄ is fitted); and
from the late direction of the frozen flow with the run's own initial weights.

.. claims-of-figure:: 4
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(4)
