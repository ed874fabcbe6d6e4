r"""
Figure 12: the first attention at large weights
===============================================

The first attention at large initial weights, for which Lemma 1 promises little, and its distance from the
average over γ. The dotted crosses are Lemma 1's own number for the share of entries within 0.1 of 1/i at
initialisation; it says nothing of later epochs.

.. claims-of-figure:: 12 10

``anchorflow figures 12`` draws it from the setting likeliest to be the paper's (:doc:`/claims` has the order)
for which runs at γ = 0.3 and 0.8 are kept. Its study, and the command that trains the runs again, are named
below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(12)
