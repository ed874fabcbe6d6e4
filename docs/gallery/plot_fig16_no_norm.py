r"""
Figure 16: learning without layer norm
======================================

Fig. 3A for a Transformer without layer norm (Appendix F), as in the theory. The paper finds the same bias:
small weights favour reasoning, and large ones do not.

.. claims-of-figure:: 16
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(16)
