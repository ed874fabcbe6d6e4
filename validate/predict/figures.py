"""What the theory alone says about a task, drawn."""

from __future__ import annotations

from matplotlib.figure import Figure

from theory import InputError, Task, cosine_matrix, eq14_embedding
from validate.figures import CosineMatrices, CosineRows, EmbeddingPCA, new_axes
from validate.figures.panels.cosines import draw_matrix
from validate.judge.compare import groups_of
from validate.predict.exact import ExactStatistics
from validate.predict.predictors import Tokens, are_summed
from validate.predict.sampled import SampledStatistics


def draw(task: Task, statistics: ExactStatistics | SampledStatistics) -> dict[str, Figure]:
    """Draw Fig. 4B and 4C, and Fig. 5C, 5D and 9 for every mapping that adds."""
    figures = {"fig4b_label_distributions": _label_distributions(task, statistics)}
    for group, tokens in groups_of(task).items():
        panels = list(statistics.cosines[group].items())
        figure, axes = new_axes(1, len(panels), size=(2.9, 2.9))
        CosineMatrices(tokens, panels).plot(axes)
        figures[f"fig4c_cosines_{group.replace(' ', '_')}"] = figure
    for mapping in task.mappings:
        tokens = mapping.anchors
        if are_summed(task, tokens) and len(tokens) > 2:
            figures |= _of_a_sum(task, tokens, mapping.name)
    return figures


def _label_distributions(task: Task, statistics: ExactStatistics | SampledStatistics) -> Figure:
    figure, axes = new_axes(1, len(task.mappings))
    for ax, mapping in zip(axes, task.mappings, strict=True):
        statistics.label_distributions(mapping).plot(ax)
    return figure


def _of_a_sum(task: Task, tokens: Tokens, name: str) -> dict[str, Figure]:
    """Draw Fig. 5C, 5D and 9, if the vocabulary holds the normal distribution."""
    try:
        rows = CosineRows.from_task(task, tokens)
    except InputError:
        # Theorem 1 refuses a vocabulary that cuts the normal off; the exact distributions are drawn above.
        return {}
    return {f"fig9_rows_{name}": _rows(rows), f"fig5cd_geometry_{name}": _geometry(task, tokens, name)}


def _rows(rows: list[CosineRows]) -> Figure:
    columns = min(5, len(rows))
    figure, axes = new_axes(-(-len(rows) // columns), columns, size=(2.6, 2.3))
    for ax, row in zip(axes, rows, strict=False):
        row.plot(ax)
    for ax in axes[len(rows) :]:
        ax.axis("off")
    axes[0].legend(fontsize=5, frameon=False)
    return figure


def _geometry(task: Task, tokens: Tokens, name: str) -> Figure:
    figure, axes = new_axes(1, 3, size=(3.0, 2.8))
    image = draw_matrix(axes[0], cosine_matrix(eq14_embedding(task, tokens)), tokens)
    figure.colorbar(image, ax=axes[0], shrink=0.8)
    axes[0].set_title("cosine of w̃ (eq. 14)")
    EmbeddingPCA.from_task(task, tokens, f"w̃, {name} anchors").plot(axes[1])
    EmbeddingPCA.from_task(task, task.keys, "w̃, keys").plot(axes[2])
    return figure
