r"""
Figure 8: the effect of the label law
=====================================

Two memory mappings that differ in their label laws alone (left): F_mem,1 with labels uniform on all keys,
F_mem,2 with labels uniform in a window round the key, which depends on key and anchors. And four memory
mappings with nested label ranges (right): early in training, when accuracy is low, the outputs stay inside
each range. The theory has the label law of every token learned before any single label.

``anchorflow figures 8`` draws it; ``anchorflow study fig8-memory fig8-ranges --run --keep`` trains its runs
anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(8)

# %%
# What we saw, computed from the runs:

print(runs_behind(8), *sheet.summary(), sep="\n")
