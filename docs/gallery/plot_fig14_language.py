r"""
Figure 14: embeddings at larger initial scales
==============================================

The cosines of each corpus's most frequent words at the paper's step 5000, at every initial scale. The paper's
claim: only small initial weights give the embedding a structure.

.. claims-of-figure:: 14

``anchorflow figures 14`` draws it; ``anchorflow study printed-gpt2 --run --keep`` trains its runs, from data
that lie beside the project.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(14)
