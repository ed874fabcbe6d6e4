r"""
Figure 15: the second attention
===============================

The last row of the last layer's attention, by place p of the key. Appendix D, E: the logits should rise up
to the key, stay over the anchors and fall sharply after them, a cliff; the attention then lies on key and
anchors (inside the frames; Def. 3, Lemma 5). With all token embeddings set to zero, positions alone should
give a rising line.

Each seed is drawn thin: a mean of logits hides that seeds may find different ways.

``anchorflow figures 15`` draws it; ``anchorflow study transformer --run --keep`` trains its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(15)

# %%
# What we saw, computed from the runs:

print(runs_behind(15), *sheet.summary(), sep="\n")
