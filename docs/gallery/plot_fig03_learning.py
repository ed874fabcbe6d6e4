r"""
Figure 3: what is learned when
==============================

Loss and accuracy of the Transformer (A) and accuracy of the Emb-MLP (B) on memory, reasoning training and
reasoning test data. The paper's claim: with large initial weights (γ = 0.3) memory and reasoning are fitted
alike and the test set is not; with small ones (γ = 0.8) reasoning comes first, test set included.

The dotted line is the theory's: the entropy of a memory anchor's label law (eq. 7), ln N_Z here, is as far
as the loss can fall for a model that knows anchors and no keys. All memory anchors have the same law, so
that the leading order has nothing that would tell them apart.

``anchorflow figures 3`` draws it; ``anchorflow study transformer emb-mlp --run --keep`` trains its runs
anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(3)

# %%
# What we saw, computed from the runs:

print(runs_behind(3), *sheet.summary(), sep="\n")
