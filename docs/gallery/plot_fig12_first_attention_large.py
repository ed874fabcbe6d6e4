r"""
Figure 12: the first attention at large weights
===============================================

The first attention at large initial weights, for which Lemma 1 promises little, and its distance from the
average over γ. The dotted crosses are Lemma 1's own number for the share of entries within 0.1 of 1/i at
initialisation; it says nothing of later epochs.

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 12 10

``anchorflow figures 12`` draws it from the likeliest setting of the paper (:doc:`/claims` has their
order) of which runs at γ = 0.3 and 0.8 are kept. Which study that is, and the command that trains the
runs again, stands below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(12)
