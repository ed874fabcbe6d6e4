r"""
Figure 16: learning without layer norm
======================================

Fig. 3A for a Transformer without layer norm (Appendix F). The theory has none. The paper finds
the same bias: small weights favour reasoning, and large ones do not.

What the ledger says of it, over all settings and not of these runs alone:

.. claims-of-figure:: 16

``anchorflow figures 16`` draws it; ``anchorflow study no-norm no-norm-all --run --keep`` trains
its runs anew.
"""

from validate.figures.paper import draw_figure, runs_behind

sheet = draw_figure(16)

# %%
# What these runs show, computed when this page is built:

print(sheet.caption, runs_behind(16), *sheet.summary(), sep="\n")
