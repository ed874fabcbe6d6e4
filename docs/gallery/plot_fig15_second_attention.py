r"""
Figure 15: the second attention
===============================

The last row of the last layer's attention, by position p of the key. The paper (Appendix D, E) has the
logits rise up to the key, stay over the anchors and fall sharply after them, a cliff; the attention then
lies on key and anchors (inside the frames; Def. 3, Lemma 5). With all token embeddings set to zero, it
finds a rising line, from positions alone.

Each seed is drawn thin, and those that learn the sums in one of two ways have rows of their own
(:doc:`/results/two_ways`).

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 15

``anchorflow figures 15`` draws it from the likeliest setting of the paper (:doc:`/claims` has their order) of
which runs at γ = 0.8 are kept. Which study that is, and the command that trains the runs again, stands below.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(15)
