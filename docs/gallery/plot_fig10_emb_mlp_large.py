r"""
Figure 10: the Emb-MLP's embedding at large weights
===================================================

Cosine matrices at large initial weights. The paper finds embeddings nearly orthogonal at γ = 0.3, so that
the label distributions leave little trace. At γ = 0.5 (B) they may leave more. For these weights the leading
order of the theory says nothing: the initial embedding is not small against what it learns.

.. claims-of-figure:: 10
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(10)
