r"""
Figure 11: the Transformer's embedding at large weights
=======================================================

The same matrices for the Transformer, with the principal components of its embedding. The rank correlation
above each map says how far a component puts the keys in numerical order; it is the larger of two components'
correlations, and so above zero even by chance. A seed that goes on is shown at the paper's epoch 900 too.

.. claims-of-figure:: 11
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(11)
