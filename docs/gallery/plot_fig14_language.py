r"""
Figure 14: embeddings at larger initial scales
==============================================

The cosines of each corpus's most frequent words at the paper's step 5000, at every initial scale. The paper's
claim: only small initial weights give the embedding a structure.

.. claims-of-figure:: 14
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(14)
