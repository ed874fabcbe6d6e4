"""What the theory says about a task, gathered for printing and writing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from sim.runs.manifest import Manifest
from sim.runs.outputs import OutputFolder, file_name
from theory import InputError, Task, TooManyEntriesError
from theory.checked import checked
from theory.display import Shown
from theory.labels.sampled_labels import Draws
from theory.paths import PathLike, as_path
from theory.task.mapping import Mapping
from theory.task.task import task_to_dict
from validate.figures import rendered
from validate.judge.ceiling import rule_ceiling
from validate.predict import figures
from validate.predict.exact import ONE_DATA_SET, Cosines, ExactStatistics, TokenStatistics
from validate.predict.predictors import are_summed
from validate.predict.sampled import SampledStatistics
from validate.progress import track

MOST_ENTRIES = 10_000_000
"""Label probabilities of anchors that a prediction holds, draws and writes as text."""
_BYTES_AN_ENTRY = 100
FILES, FOLDERS = ("prediction.json", "task.toml"), ("figures",)
"""What ``Prediction.write`` writes into a folder."""

TOKEN_HEADER = ("token", "kind", "r_s", "mean label", "std of the label", "|P^s - u|^2")
COSINE_HEADER = ("anchors", "predictor", "mean", "smallest", "largest", "mean of pairs 1, 2, ... apart")


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """Label statistics and predicted cosines of a task.

    Attributes
    ----------
    task : Task
    statistics : ExactStatistics or SampledStatistics
        Counted, or estimated from samples where labels are too many.
    """

    task: Task
    statistics: ExactStatistics | SampledStatistics

    @classmethod
    @checked
    def of(cls, task: Task, *, n_samples: Draws = 100_000, seed: int = 0) -> Prediction:
        """Compute everything from a task: exactly, or from samples where labels are too many to count.

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
            If the label distributions are more than could be shown, or the samples fewer than 40.
        """
        _check_entries(task)
        if seed < 0:
            raise InputError("seed", seed, "negative", "give 0 or more")
        try:
            return cls(task, ExactStatistics.of(task))
        except TooManyEntriesError as reason:
            return cls(task, SampledStatistics.draw(task, n_samples, seed, reason))

    @property
    def tokens(self) -> list[TokenStatistics]:
        """Every anchor, and the first, middle and last key."""
        return self.statistics.tokens

    @property
    def cosines(self) -> Cosines:
        """Group → predictor → matrix of shape (n, n); NaN where samples do not resolve a cosine."""
        return self.statistics.cosines

    def token_rows(self) -> list[list[str]]:
        """Return one line per token: its kind, r_s, and its label distribution in numbers."""
        return self.statistics.token_rows()

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor: mean, extremes, and the mean at each distance."""
        return self.statistics.cosine_rows()

    def notes(self) -> list[str]:
        """Return sentences on how the numbers were found."""
        return [*self.statistics.notes(), *self.order_notes()]

    def order_notes(self) -> list[str]:
        """Return a sentence for each rule that a model which sums what it reads cannot fit."""
        ceilings = {m.name: rule_ceiling(self.task, m) for m in self.task.mappings}
        # A drawn sample with noise can be fitted by heart, however little of the rule an Emb-MLP sees.
        noise = self.task.n_noise > 0
        return [
            f"The labels of {name!r} depend on the order of the anchors, which an Emb-MLP does not read"
            + ("" if noise else f": it gets at most {100 * ceiling:.0f} % of the training data right")
            + ". A Transformer reads it: --model.kind transformer."
            for name, ceiling in ceilings.items()
            if ceiling is not None and ceiling < 1
        ]

    def left_out(self) -> list[str]:
        """Return a sentence for each rule outside eq. 14 and Theorem 1, and for what cannot be counted."""
        sentences = [
            _no_normal_shape(m)
            for m in self.task.mappings
            if not m.is_table and not are_summed(self.task, m.anchors)
        ]
        missing = [group for group, found in self.cosines.items() if ONE_DATA_SET not in found]
        if missing:
            sentences.append(
                f"The cosines {ONE_DATA_SET} are left out for {', '.join(map(repr, missing))}: they need "
                "the label of every key with every combination, and these are too many to count."
            )
        return sentences

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cosine that samples do not resolve is null."""
        return {
            "schema": "anchorflow/prediction/1",
            "task": task_to_dict(self.task),
            "left_out": self.left_out(),
            **self.statistics.to_json(),
        }

    def write(self, out: PathLike) -> None:
        """Write prediction.json, task.toml and the figures: 4B, 4C, and 5C, 5D, 9 where eq. 14 applies.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of such a name which was not written by this.
        """
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        folder.write("prediction.json", json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n")
        folder.write("task.toml", self.task.to_toml())
        drawn = {
            f"figures/{file_name(name)}.{suffix}": (figure, suffix)
            for name, figure in self.figures().items()
            for suffix in ("png", "svg")
        }
        manifest = Manifest(folder.path)
        for earlier in [
            name for name in manifest.listed() if name.startswith("figures/") and name not in drawn
        ]:
            manifest.remove(earlier)  # Of another task.
        for name, (figure, suffix) in track(drawn.items(), "writing figures"):
            folder.write(name, rendered(figure, suffix))

    def figures(self) -> dict[str, Figure]:
        """Draw what the theory alone says."""
        return figures.draw(self.task, self.statistics)

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        how = "counted" if isinstance(self.statistics, ExactStatistics) else "sampled"
        sizes = ", ".join(f"{name} {len(next(iter(own.values())))}" for name, own in self.cosines.items())
        title = (
            f"{len(self.tokens)} tokens' label distributions, {how}; cosines of anchors: {sizes or 'none'}"
        )
        return title, COSINE_HEADER, self.cosine_rows()


def _check_entries(task: Task) -> None:
    entries = len(task.anchors) * task.vocab_size
    if entries > MOST_ENTRIES:
        size = f"{entries:.2g} label probabilities, {entries * _BYTES_AN_ENTRY / 2**30:.3g} GiB as a report"
        remedy = "ask theory.label_distribution for the tokens you need"
        raise InputError("vocab_size", task.vocab_size, f"its anchors have {size}", remedy)


def _no_normal_shape(mapping: Mapping) -> str:
    """Say why a rule has no eq. 14; Theorem 1 is about shifts as well, whose anchors eq. 14 would number."""
    is_shift = mapping.rule.kind == "shift"
    what, they = ("Eq. 14", "it is") if is_shift else ("Eq. 14 and Theorem 1", "they are")
    also = " For Theorem 1 see theory.gaussian_embedding." if is_shift else ""
    return (
        f"{what} {'is' if is_shift else 'are'} left out for {mapping.name!r}: {they} about key + sum of the "
        f"anchors, and its rule is {mapping.rule.description}.{also}"
    )
