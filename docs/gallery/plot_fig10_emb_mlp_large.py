r"""
Figure 10: the Emb-MLP's embedding at large weights
===================================================

Cosine matrices at large initial weights. The paper: embeddings stay nearly orthogonal at γ = 0.3, so that
the label laws leave little trace. For these weights the leading order of the theory says nothing: the
initial embedding is not small against what it learns.

``anchorflow figures 10`` draws it; ``anchorflow study emb-mlp --run --keep`` trains its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(10)

# %%
# What we saw, computed from the runs:

print(runs_behind(10), *sheet.summary(), sep="\n")
