r"""
Figure 7: the corpora apart, over γ
===================================

A: the gap between the two losses over γ, relative as in the paper, and beyond what each corpus's own
entropies explain. B: the cosines of each corpus's most frequent words at the paper's step 5000, beside those
that the counts of the text predict before training, and the same from shuffled text, which keeps
frequencies alone. The paper's claim: words of PrOntoQA stay apart and words of TinyStories align. The claim
is judged on all tokens, whose mean cosines the caption gives; B shows the frequent words, where the two
corpora need not differ.

.. claims-of-figure:: 7
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(7)
