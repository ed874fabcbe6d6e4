r"""
Figure 4: the Emb-MLP's embedding and its label laws
====================================================

To leading order an embedding grows along P^s − u, the label law of its token against the uniform one (eq.
5, 7, 8). Memory anchors share one law: cosines near 1. Reasoning anchors have laws that are shifted copies:
cosines that fall with distance.

A shows what training did, B the laws, C the cosines that follow from P^s − u, from P^s − P̄ (the drive once
the marginal law P̄ is fitted), from the run's own label counts, and from the late direction of the frozen
flow with the run's own initial weights. Neither laws nor counts know anything of training.

``anchorflow figures 4`` draws it; ``anchorflow study emb-mlp --run --keep`` trains its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(4)

# %%
# What we saw, computed from the runs:

print(runs_behind(4), *sheet.summary(), sep="\n")
