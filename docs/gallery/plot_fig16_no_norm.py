r"""
Figure 16: learning without layer norm
======================================

Fig. 3A for a Transformer without layer norm (Appendix F), as in the theory. The paper finds the same bias:
small weights favour reasoning, and large ones do not.

.. claims-of-figure:: 16

``anchorflow figures 16`` draws it from the likeliest setting, taken without its norm, for which runs at γ =
0.3 and 0.8 are kept: at full size if there are such runs, and otherwise at a quarter of the size. Its study,
and the command that trains the runs again, are named below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(16)
