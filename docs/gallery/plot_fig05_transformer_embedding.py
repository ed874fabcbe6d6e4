r"""
Figure 5: the Transformer's embedding
=====================================

As Fig. 4, for the Transformer (Prop. 2, 3, Theorem 1): cosine matrices (A), the first two principal
components of anchors and keys (B), one row of cosines against the label distributions and against eq. 14
with the paper's width (C), and the components of eq. 14's w̃ (D), which lie on an arc in numerical order.

The paper finds memory anchors aligned here too; the caption says what these runs show. Eq. 14's width of 12
is the paper's and is not what the variance of the label distribution gives.

.. claims-of-figure:: 5 9 27
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(5)
