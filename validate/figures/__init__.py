"""Figures: a panel draws arrays, a sheet holds rows of panels and a caption. Nothing here trains.

Importing this package selects no backend and opens no window; figures are drawn on axes made by
``new_axes``.
"""

from validate.figures.curves import Curve as Curve
from validate.figures.curves import Curves as Curves
from validate.figures.embedding import cosine_rows as cosine_rows
from validate.figures.embedding import label_curves as label_curves
from validate.figures.embedding import token_map as token_map
from validate.figures.footnote import about as about
from validate.figures.heat_map import HeatMap as HeatMap
from validate.figures.heat_map import cosine_map as cosine_map
from validate.figures.learning import accuracy_curves as accuracy_curves
from validate.figures.panel import Points as Points
from validate.figures.sheet import PanelRow as PanelRow
from validate.figures.sheet import Sheet as Sheet
from validate.figures.style import Look as Look
from validate.figures.style import new_axes as new_axes
from validate.observe.groups import group_runs as group_runs
