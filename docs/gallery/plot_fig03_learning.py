r"""
Figure 3: what is learned when
==============================

Loss and accuracy of the Transformer (A) and accuracy of the Emb-MLP (B) on memory, reasoning training and
reasoning test data. The paper's claim: with large initial weights (γ = 0.3) memory and reasoning are fitted
alike and the test set is not; with small ones (γ = 0.8) reasoning comes first, test set included.

Two dotted lines are computed from the task. In A, the entropy of a memory anchor's label distribution: a
model that knows eq. 7 and nothing else has this memory loss. In B, the memory accuracy that no sum of
embeddings can pass in expectation: the sum is the same for (z, a, b) and (z, b, a), whose labels differ.

.. claims-of-figure:: 3 25
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(3)
