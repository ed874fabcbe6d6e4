"""What the theory says about a task, gathered for printing and writing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder, file_name
from theory import (
    InputError,
    Mapping,
    Task,
    TooManyEntriesError,
    cosine_matrix,
    eq14_embedding,
    finite_sample_cosine,
    label_distribution,
    marginal_distribution,
    off_diagonal,
    token_ratio,
)
from theory.checked import Size, checked
from theory.paths import PathLike, as_path
from theory.task.domain import MAX_ENTRIES, magnitude
from theory.task.task import task_to_dict
from validate.compare import groups_of
from validate.figures import (
    CosineMatrices,
    CosineRows,
    EmbeddingPCA,
    LabelDistributions,
    new_axes,
    rendered,
)
from validate.figures.cosines import draw_matrix
from validate.predictors import Tokens, are_summed, task_cosines
from validate.progress import track

MOST_ENTRIES = 10_000_000
"""Label probabilities of anchors that a prediction holds, draws and writes as text."""
_BYTES_AN_ENTRY = 100
FloatArray = npt.NDArray[np.float64]
FILES, FOLDERS = ("prediction.json", "task.toml"), ("figures",)
"""What ``Prediction.write`` writes into a folder."""
ONE_DATA_SET = "expected in one data set"


@dataclass(frozen=True)
class TokenStatistics:
    """One token's label distribution in numbers, of the training data."""

    token: int
    kind: str
    ratio: float
    mean: float
    std: float
    norm2: float


@dataclass(frozen=True)
class Prediction:
    """Label statistics and predicted cosines of a task.

    Attributes
    ----------
    task : Task
    tokens : list of TokenStatistics
        Every anchor, and the first, middle and last key.
    cosines : dict
        group → predictor → matrix of shape (n, n).
    """

    task: Task
    tokens: list[TokenStatistics]
    cosines: dict[str, dict[str, FloatArray]]

    @classmethod
    @checked
    def of(cls, task: Task, *, n_samples: Size = 100_000, seed: int = 0) -> Prediction:
        """Compute everything from a task: exactly, or as a ``SampledPrediction`` where labels are too many.

        Parameters
        ----------
        task : Task
        n_samples : int, optional
            The sequences drawn for each token whose label distribution has to be sampled, at least 40;
            rounded up to a multiple of 20.
        seed : int, optional
            Of the draws, 0 or more.

        Raises
        ------
        InputError
            If the label distributions are more than could be shown.
        """
        _check_entries(task)
        if seed < 0:
            raise InputError("seed", seed, "negative", "give 0 or more")
        # It builds on this module.
        from validate.sampled_prediction import SampledPrediction

        try:
            tokens = [_statistics(task, s) for s in shown_tokens(task)]
        except TooManyEntriesError:
            return SampledPrediction.draw(task, n_samples, seed)
        groups = groups_of(task)
        cosines = {
            name: task_cosines(task, found) | finite_sample(task, found) for name, found in groups.items()
        }
        return cls(task, tokens, cosines)

    def token_rows(self) -> list[list[str]]:
        """Return one line a token: its kind, r_s, and its label distribution in numbers."""
        return [
            [str(t.token), t.kind, f"{t.ratio:.4g}", f"{t.mean:.2f}", f"{t.std:.2f}", f"{t.norm2:.3g}"]
            for t in self.tokens
        ]

    def notes(self) -> list[str]:
        """Return sentences on how the numbers were found."""
        return []

    def cosine_rows(self) -> list[list[str]]:
        """Return one line a group and predictor: mean, extremes, and the mean at each distance."""
        rows = []
        for group, matrices in self.cosines.items():
            for name, matrix in matrices.items():
                pairs = off_diagonal(matrix)
                by_distance = [f"{np.diagonal(matrix, k).mean():.3f}" for k in range(1, min(len(matrix), 10))]
                summary = [f"{pairs.mean():.3f}", f"{pairs.min():.3f}", f"{pairs.max():.3f}"]
                rows.append([group, name, *summary, " ".join(by_distance)])
        return rows

    def left_out(self) -> list[str]:
        """Return a sentence for each rule outside eq. 14 and Theorem 1, and for what cannot be counted."""
        sentences = [
            f"Eq. 14 and Theorem 1 are left out for {m.name!r}: they are about key + sum of the anchors, "
            f"and its rule is {m.rule.description}."
            for m in self.task.mappings
            if not m.is_table and not are_summed(self.task, m.anchors)
        ]
        missing = [group for group, found in self.cosines.items() if ONE_DATA_SET not in found]
        if missing:
            sentences.append(
                f"The cosines {ONE_DATA_SET} are left out for {', '.join(map(repr, missing))}: they need "
                f"every key with every combination, and the limit is {magnitude(MAX_ENTRIES)} of these pairs."
            )
        return sentences

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": "anchorflow/prediction/1",
            "task": task_to_dict(self.task),
            "tokens": [asdict(t) for t in self.tokens],
            "cosines": plain_cosines(self.cosines),
            "label_distributions": self._by_anchor(),
            "left_out": self.left_out(),
            "marginal": self._marginal(),
        }

    def _by_anchor(self) -> dict[str, list[float]]:
        return {str(s): label_distribution(self.task, s, held_out=True).tolist() for s in self.task.anchors}

    def _marginal(self) -> list[float]:
        return list(marginal_distribution(self.task, held_out=True).tolist())

    def write(self, out: PathLike) -> None:
        """Write prediction.json, task.toml and the figures: 4B, 4C, and 5C, 5D, 9 where eq. 14 speaks.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of such a name which was not written by this.
        """
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        folder.write("prediction.json", json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n")
        folder.write("task.toml", self.task.to_toml())
        for name, figure in track(self.figures().items(), "writing figures"):
            for suffix in ("png", "svg"):
                folder.write(f"figures/{file_name(name)}.{suffix}", rendered(figure, suffix))

    def figures(self) -> dict[str, Figure]:
        """Draw what the theory alone says."""
        return self._label_figures() | self._embedding_figures()

    def _label_figures(self) -> dict[str, Figure]:
        found = {}
        figure, axes = new_axes(1, len(self.task.mappings))
        for ax, m in zip(axes, self.task.mappings, strict=True):
            self._label_distributions(m).plot(ax)
        found["fig4b_label_distributions"] = figure
        for group, tokens in groups_of(self.task).items():
            panels = list(self.cosines[group].items())
            figure, axes = new_axes(1, len(panels), size=(2.9, 2.9))
            CosineMatrices(tokens, panels).plot(axes)
            found[f"fig4c_cosines_{group.replace(' ', '_')}"] = figure
        return found

    def _label_distributions(self, mapping: Mapping) -> LabelDistributions:
        return LabelDistributions.from_task(
            self.task, mapping.anchors, f"{mapping.name} anchors", held_out=True
        )

    def _embedding_figures(self) -> dict[str, Figure]:
        """Draw Fig. 5C, 5D and 9 for every mapping that adds, if the vocabulary holds its normal law."""
        found = {}
        for mapping in self.task.mappings:
            tokens = mapping.anchors
            if not are_summed(self.task, tokens) or len(tokens) < 3:
                continue
            try:
                rows = CosineRows.from_task(self.task, tokens)
            except InputError:
                # Theorem 1 refuses a vocabulary that cuts the normal off; the exact laws stand above.
                continue
            columns = min(5, len(rows))
            figure, axes = new_axes(-(-len(rows) // columns), columns, size=(2.6, 2.3))
            for ax, row in zip(axes, rows, strict=False):
                row.plot(ax)
            for ax in axes[len(rows) :]:
                ax.axis("off")
            axes[0].legend(fontsize=5, frameon=False)
            found[f"fig9_rows_{mapping.name}"] = figure
            figure, axes = new_axes(1, 3, size=(3.0, 2.8))
            image = draw_matrix(axes[0], cosine_matrix(eq14_embedding(self.task, tokens)), tokens)
            figure.colorbar(image, ax=axes[0], shrink=0.8)
            axes[0].set_title("cosine of w̃ (eq. 14)")
            EmbeddingPCA.from_task(self.task, tokens, f"w̃, {mapping.name} anchors").plot(axes[1])
            EmbeddingPCA.from_task(self.task, self.task.keys, "w̃, keys").plot(axes[2])
            found[f"fig5cd_geometry_{mapping.name}"] = figure
        return found


def _check_entries(task: Task) -> None:
    entries = len(task.anchors) * task.vocab_size
    if entries > MOST_ENTRIES:
        size = f"{entries:.2g} label probabilities, {entries * _BYTES_AN_ENTRY / 2**30:.3g} GiB as a report"
        remedy = "ask theory.label_distribution for the tokens you need"
        raise InputError("vocab_size", task.vocab_size, f"its anchors have {size}", remedy)


def plain_cosines(cosines: dict[str, dict[str, FloatArray]]) -> dict[str, dict[str, list[list[Any]]]]:
    """Return matrices as lists, NaN as None."""
    return {
        group: {
            name: [[None if np.isnan(x) else x for x in row] for row in matrix.tolist()]
            for name, matrix in matrices.items()
        }
        for group, matrices in cosines.items()
    }


def shown_tokens(task: Task) -> list[int]:
    """Return every anchor, and the first, middle and last key."""
    keys = (task.keys[0], task.keys[len(task.keys) // 2], task.keys[-1])
    return [*task.anchors, *dict.fromkeys(keys)]


def mean_and_std(distribution: FloatArray) -> tuple[float, float]:
    """Return the mean and the standard deviation of a label."""
    labels = np.arange(len(distribution))
    mean = float(distribution @ labels)
    return mean, float(np.sqrt(distribution @ (labels - mean) ** 2))


def kind_of(task: Task, token: int) -> str:
    """Return what tables call a token of this kind."""
    mapping = task.mapping_of(token)
    return "key" if mapping is None else f"{mapping.name} anchor"


def _statistics(task: Task, token: int) -> TokenStatistics:
    distribution = label_distribution(task, token, held_out=True)
    mean, std = mean_and_std(distribution)
    norm2 = float(((distribution - 1 / task.vocab_size) ** 2).sum())
    ratio = token_ratio(task, token, held_out=True)
    return TokenStatistics(token, kind_of(task, token), ratio, mean, std, norm2)


def finite_sample(task: Task, tokens: Tokens) -> dict[str, FloatArray]:
    """Return the cosines expected of P̂ − u when each table entry is drawn once, where they can be counted."""
    try:
        cosines = [[finite_sample_cosine(task, a, b).cosine for b in tokens] for a in tokens]
    except TooManyEntriesError:
        return {}
    return {ONE_DATA_SET: np.array(cosines)}
