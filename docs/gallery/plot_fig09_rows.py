r"""
Figure 9: every row of cosines
==============================

cos(s, ·) for every reasoning anchor s: what the label distributions predict, what eq. 14 with the paper's
width says, and what training did, with intervals over seeds. The paper plots eq. 14 alone and finds
discrepancies for large s.

.. claims-of-figure:: 9

``anchorflow figures 9`` draws it from the setting likeliest to be the paper's (:doc:`/claims` has the order)
for which runs at γ = 0.8 are kept. Its study, and the command that trains the runs again, are named below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(9)
