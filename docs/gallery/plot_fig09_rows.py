r"""
Figure 9: every row of cosines
==============================

cos(s, ·) for every reasoning anchor s: what the label distributions predict, what eq. 14 with the paper's
width says, and what training did, with intervals over seeds. The paper plots eq. 14 alone and finds
discrepancies for large s.

.. claims-of-figure:: 9
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(9)
