"""Figures: objects that hold arrays and draw themselves. They never train.

Importing this package selects no backend and opens no window; figures are drawn on axes made by
``new_axes``.
"""

from validate.figures.accuracy import AccuracyCurves
from validate.figures.attention import (
    AttentionMatrix,
    AttentionRows,
    LastAttention,
    LastLogits,
    PositionLogits,
)
from validate.figures.average import AverageOverGamma
from validate.figures.budget import ErrorBudget
from validate.figures.cosines import CosineMatrices, CosineMatrix
from validate.figures.embedding import CosineRows, EmbeddingPCA
from validate.figures.error import PredictionError
from validate.figures.labels import LabelDistributions
from validate.figures.members import Members, band, group_observations
from validate.figures.outputs import OutputDistribution
from validate.figures.sequences import ExampleSequences
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.spectra import EffectiveRank, SingularValues, ValueAlignment
from validate.figures.spikes import LossSpikes
from validate.figures.style import new_axes, rendered, save
from validate.figures.token_map import EmbeddingMap

__all__ = [
    "AccuracyCurves",
    "AttentionMatrix",
    "AttentionRows",
    "AverageOverGamma",
    "CosineMatrices",
    "CosineMatrix",
    "CosineRows",
    "EffectiveRank",
    "EmbeddingMap",
    "EmbeddingPCA",
    "ErrorBudget",
    "ExampleSequences",
    "LabelDistributions",
    "LastAttention",
    "LastLogits",
    "LossSpikes",
    "Members",
    "OutputDistribution",
    "PanelRow",
    "PositionLogits",
    "PredictionError",
    "Sheet",
    "SingularValues",
    "ValueAlignment",
    "band",
    "group_observations",
    "new_axes",
    "rendered",
    "save",
]
