r"""
Figure 12: the first attention at large weights
===============================================

The first attention at large initial weights, for which Lemma 1 promises little, and its distance from the
average over γ. The dotted crosses are Lemma 1's own number for the share of entries within 0.1 of 1/i at
initialisation; it says nothing of later epochs.

.. claims-of-figure:: 12 10
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(12)
