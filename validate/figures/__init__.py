"""Figures: objects that hold arrays and draw themselves. They never train.

Importing this package selects no backend and opens no window; figures are drawn on axes made by
``new_axes``.
"""

from validate.figures.panels.accuracy import AccuracyCurves as AccuracyCurves
from validate.figures.panels.attention import AttentionMatrix as AttentionMatrix
from validate.figures.panels.attention import AttentionRows as AttentionRows
from validate.figures.panels.attention import LastAttention as LastAttention
from validate.figures.panels.attention import LastLogits as LastLogits
from validate.figures.panels.attention import PositionLogits as PositionLogits
from validate.figures.panels.average import AverageOverGamma as AverageOverGamma
from validate.figures.panels.budget import ErrorBudget as ErrorBudget
from validate.figures.panels.cosines import CosineMatrices as CosineMatrices
from validate.figures.panels.cosines import CosineMatrix as CosineMatrix
from validate.figures.panels.embedding import CosineRows as CosineRows
from validate.figures.panels.embedding import EmbeddingPCA as EmbeddingPCA
from validate.figures.panels.error import PredictionError as PredictionError
from validate.figures.panels.heat_map import HeatMap as HeatMap
from validate.figures.panels.labels import LabelDistributions as LabelDistributions
from validate.figures.panels.outputs import OutputDistribution as OutputDistribution
from validate.figures.panels.sequences import ExampleSequences as ExampleSequences
from validate.figures.panels.spectra import EffectiveRank as EffectiveRank
from validate.figures.panels.spectra import SingularValues as SingularValues
from validate.figures.panels.spectra import ValueAlignment as ValueAlignment
from validate.figures.panels.spikes import LossSpikes as LossSpikes
from validate.figures.panels.token_map import EmbeddingMap as EmbeddingMap
from validate.figures.sheet import PanelRow as PanelRow
from validate.figures.sheet import Sheet as Sheet
from validate.figures.style import new_axes as new_axes
from validate.figures.style import rendered as rendered
from validate.figures.style import save as save
from validate.judge.groups import group_runs as group_runs
from validate.judge.stats import band as band
