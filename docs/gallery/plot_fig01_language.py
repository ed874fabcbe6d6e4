r"""
Figure 1: loss on two corpora
=============================

Next-token loss of GPT-2 on PrOntoQA, whose answers follow from rules, and on TinyStories, trained together.
The paper's claim: with small initial weights the loss on PrOntoQA falls faster. The dotted lines are
computed from the text: the entropy of a token, and of a token whose predecessor is known.

.. claims-of-figure:: 1
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(1)
