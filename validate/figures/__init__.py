"""Figures: objects that hold arrays and draw themselves. They never train.

Importing this package selects no backend and opens no window; figures are drawn on axes made by
``new_axes``.
"""

from validate.figures.accuracy import AccuracyCurves
from validate.figures.budget import ErrorBudget
from validate.figures.cosines import CosineMatrices
from validate.figures.embedding import CosineRows, EmbeddingPCA
from validate.figures.error import PredictionError
from validate.figures.labels import LabelDistributions
from validate.figures.style import new_axes, save

__all__ = [
    "AccuracyCurves",
    "CosineMatrices",
    "CosineRows",
    "EmbeddingPCA",
    "ErrorBudget",
    "LabelDistributions",
    "PredictionError",
    "new_axes",
    "save",
]
