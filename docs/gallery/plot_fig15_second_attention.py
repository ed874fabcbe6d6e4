r"""
Figure 15: the second attention
===============================

The last row of the last layer's attention, by position p of the key. The paper (Appendix D, E) has the
logits rise up to the key, stay over the anchors and fall sharply after them, a cliff; the attention then
lies on key and anchors (inside the frames; Def. 3, Lemma 5). With all token embeddings set to zero, it
finds a rising line, from positions alone.

Each seed is drawn thin, and those that learn the sums in one of two ways have rows of their own
(:doc:`/results/two_ways`).

.. claims-of-figure:: 15
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(15)
