r"""
Figure 17: learning over learning rates
=======================================

Fig. 3A over learning rates (Appendix G): a conclusion that holds at one rate only is a conclusion about that
rate. All panels of A and B have the same axes. The last row has the largest rise of each loss above its
lowest value before it; the paper reports severe spikes at its largest rate. The theory is one of gradient
flow and knows no spikes.

.. claims-of-figure:: 17
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(17)
