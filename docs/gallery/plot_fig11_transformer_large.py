r"""
Figure 11: the Transformer's embedding at large weights
=======================================================

The same matrices for the Transformer, with the principal components of its embedding. The rank correlation
above each map says how far a component puts the keys in numerical order; it is the larger of two components'
correlations, and so above zero even by chance. A seed that goes on is shown at the paper's epoch 900 too.

.. claims-of-figure:: 11

``anchorflow figures 11`` draws it from the setting likeliest to be the paper's (:doc:`/claims` has the order)
for which runs at γ = 0.3 are kept. Its study, and the command that trains the runs again, are named below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(11)
