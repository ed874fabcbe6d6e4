r"""
Figure 9: every row of cosines
==============================

cos(s, ·) for every reasoning anchor s: what the label distributions predict, what eq. 14 with the paper's
width says, and what training did, with intervals over seeds. The paper plots eq. 14 alone and finds
discrepancies for large s.

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 9

``anchorflow figures 9`` draws it from the likeliest setting of the paper (:doc:`/claims` has their order) of
which runs at γ = 0.8 are kept. Which study that is, and the command that trains the runs again, stands below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(9)
