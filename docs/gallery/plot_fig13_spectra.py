r"""
Figure 13: singular values over γ
=================================

The paper: the smaller the initial weights, the lower the rank of every matrix. A has the singular values
over the largest, a panel for each kind of matrix; B and C have the effective rank exp(−Σ p ln p), p = σ/Σσ
(Roy and Vetterli 2007), which is r for r equal singular values. Whether it falls, and how far, differs
between matrices. The theory's reason for low rank: along C, the token-label matrix, the ranks are learned one
by one.

.. claims-of-figure:: 13

``anchorflow figures 13`` draws it from the likeliest setting of the paper (:doc:`/claims` has their order)
for which runs at γ = 0.3 and 0.8 are kept; D, of other runs, stands beside C where these have more γ. The
studies, and the commands that train the runs again, are named below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(13)
