r"""
Figure 6: the first attention and W_V
=====================================

Lemma 1: with small initial weights the first attention is nearly the average over all places so far, 1/i in
row i (A, B). Theorem 2: W_V then grows along one direction (C), with which the reasoning anchors are
aligned and the memory anchors much less (D).

D holds Theorem 2's prediction twice: with u as what the model puts out while W_V grows, as in the paper,
and with the marginal label law P̄, which is what a model fits first. Both stand beside the
cosines of training.

``anchorflow figures 6`` draws it; ``anchorflow study transformer --run --keep`` trains its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(6)

# %%
# What we saw, computed from the runs:

print(runs_behind(6), *sheet.summary(), sep="\n")
