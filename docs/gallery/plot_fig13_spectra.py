r"""
Figure 13: singular values over γ
=================================

The paper: the smaller the initial weights, the lower the rank of every matrix. A has the singular values
over the largest, a panel for each kind of matrix; B and C have the effective rank exp(−Σ p ln p), p = σ/Σσ
(Roy and Vetterli 2007), which is r for r equal singular values. Whether it falls, and how far, differs
between matrices. D, of other runs, stands beside C where these have more γ. The theory's reason for low rank:
along C, the token-label matrix, the ranks are learned one by one.

.. claims-of-figure:: 13
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(13)
