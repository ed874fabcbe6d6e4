r"""
Figure 8: the effect of the label distribution
==============================================

Left: two memory mappings that differ in their label distributions alone, the first with labels uniform on all
keys, the second with labels uniform in a window around the key, whose width depends on the anchors. Right:
four memory mappings with nested label ranges. The paper finds that early in training, when accuracy is low,
the outputs stay inside each range: the label distribution of a token is learned before any single label. The
mass inside its range stands above each panel. The left panels show the longest runs of each network.

.. claims-of-figure:: 8
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(8)
