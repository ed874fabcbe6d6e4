r"""
Figure 12: the first attention at large weights
===============================================

The first attention at large initial weights, where Lemma 1 does not hold, and its distance from the average
over γ. The dotted crosses are Lemma 1's own number for the share of entries within 0.1 of 1/i at
initialisation.

``anchorflow figures 12`` draws it; ``anchorflow study transformer --run --keep`` trains its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(12)

# %%
# What we saw, computed from the runs:

print(runs_behind(12), *sheet.summary(), sep="\n")
