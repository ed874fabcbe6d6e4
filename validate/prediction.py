"""What the theory says about a task, as tables, sentences, plain data and a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from matplotlib.figure import Figure

from sim.runs.files import json_text
from sim.runs.outputs import OutputFolder
from theory import InputError, Task, TooManyEntriesError
from theory.edge.arrays import FloatArray
from theory.edge.checked import Between, checked
from theory.edge.display import Shown
from theory.edge.reading import PathLike, as_path
from theory.labels.sampled import Draws
from validate.figures import prediction as figures
from validate.figures.sheet import write_figures
from validate.predict import text
from validate.predict.document import PredictionDocument
from validate.predict.predictors import groups_of
from validate.predict.statistics import Statistics, TokenStatistics, counted, sampled
from validate.terminal.progress import track

MOST_ENTRIES = 10_000_000
"""The most label probabilities of anchors that a prediction holds, draws and writes as text."""
_BYTES_AN_ENTRY = 100
FILES, FOLDERS = ("prediction.json", "task.toml"), ("figures/prediction",)
"""What ``Prediction.write`` writes into a folder."""


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """Label statistics and predicted cosines of a task.

    Attributes
    ----------
    task : Task
    statistics : Statistics
        Counted, or estimated from samples if there are too many labels to count.
    """

    task: Task
    statistics: Statistics

    @classmethod
    @checked
    def of(
        cls, task: Task, *, n_samples: Draws = 100_000, seed: Annotated[int, Between(0)] = 0
    ) -> Prediction:
        """Compute everything from a task: exactly, or from samples if there are too many labels to count.

        Parameters
        ----------
        task : Task
        n_samples : int, optional
            The sequences drawn for each token whose label distribution has to be sampled, at least 40;
            rounded up to a multiple of 20.
        seed : int, optional
            Seed of the draws, 0 or more.

        Raises
        ------
        InputError
            If there are more label probabilities than can be shown, or fewer than 40 samples.
        """
        entries = len(task.anchors) * task.vocab_size
        if entries > MOST_ENTRIES:
            size = f"{entries * _BYTES_AN_ENTRY / 2**30:.3g} GiB as a report"
            problem = f"its anchors have {entries:.2g} label probabilities, {size}"
            remedy = "ask theory.label_distribution for the tokens you need"
            raise InputError("vocab_size", task.vocab_size, problem, remedy)
        try:
            return cls(task, counted(task))
        except TooManyEntriesError as reason:
            return cls(task, sampled(task, n_samples, seed, reason))

    @property
    def tokens(self) -> list[TokenStatistics]:
        """Every anchor, and the first, middle and last key."""
        return self.statistics.tokens

    @property
    def cosines(self) -> dict[str, dict[str, FloatArray]]:
        """Group → predictor → matrix of shape (n, n); NaN where samples do not resolve a cosine."""
        return {
            group: {name: cosines.over(lambda m: m).value for name, cosines in own.items()}
            for group, own in self.statistics.cosines.items()
        }

    def token_rows(self) -> list[list[str]]:
        """Return one line per token: its kind, r_s, and its label distribution in numbers."""
        return text.token_rows(self.statistics)

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor: mean, extremes, and the mean at each distance."""
        return text.cosine_rows(self.task, self.statistics)

    def notes(self) -> list[str]:
        """Return sentences on how the numbers are found and shown, and on what cannot be fitted."""
        return text.notes(self.task, self.statistics)

    def left_out(self) -> list[str]:
        """Return a sentence for each rule outside eq. 14 and Theorem 1, and for cosines left out."""
        return text.left_out(self.task, self.statistics)

    def document(self) -> PredictionDocument:
        """Return everything as plain values."""
        return PredictionDocument.of_task(self.task, self.statistics, self.left_out(), self.notes())

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cosine that samples do not resolve is null."""
        return self.document().to_json()

    def write(self, out: PathLike) -> None:
        """Write prediction.json, task.toml and the figures: 4B, 4C, and 5C, 5D, 9 where eq. 14 applies.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of such a name that anchorflow did not write.
        """
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        write_document(self.document(), out)
        folder.write("task.toml", self.task.to_toml())
        write_figures(track(figures.draw(self.task, self.statistics), "writing figures"), folder, *FOLDERS)

    def figures(self) -> dict[str, Figure]:
        """Draw the figures that need the theory alone."""
        drawn = figures.draw(self.task, self.statistics)
        return {sheet.name: sheet.figure_ for sheet in drawn if sheet.figure_ is not None}

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        how = "sampled" if self.statistics.why else "counted"
        sizes = ", ".join(f"{group} {len(tokens)}" for group, tokens in groups_of(self.task).items())
        title = f"{len(self.tokens)} tokens' label distributions, {how}; cosines of anchors: "
        return title + (sizes or "none"), text.COSINE_HEADER, self.cosine_rows()


def write_document(document: PredictionDocument, out: PathLike) -> None:
    """Write prediction.json into a folder of a prediction; errors as for ``Prediction.write``."""
    OutputFolder(as_path("out", out)).write("prediction.json", json_text(document.to_json()))
