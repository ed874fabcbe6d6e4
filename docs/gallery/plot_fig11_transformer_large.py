r"""
Figure 11: the Transformer's embedding at large weights
=======================================================

The same for the Transformer, with the principal components of its embedding. The rank correlation above
each map says how far a component puts the keys in numerical order; it is the larger of two components' and
so above zero by chance as well. A seed that goes on is shown at the paper's epoch 900 too.

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 11

``anchorflow figures 11`` draws it from the likeliest setting of the paper (:doc:`/claims` has their order) of
which runs at γ = 0.3 are kept. Which study that is, and the command that trains the runs again, stands below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(11)
