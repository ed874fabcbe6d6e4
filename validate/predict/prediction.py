"""What the theory says about a task, as tables, sentences, plain data and a folder."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sim.runs.manifest import Manifest
from sim.runs.outputs import OutputFolder, file_name
from theory import InputError, Task, TooManyEntriesError
from theory.arrays import FloatArray
from theory.checked import checked
from theory.display import Shown, ranges
from theory.labels.sampled import Draws
from theory.reading import PathLike, as_path
from theory.task.mapping import Mapping
from theory.task.task import task_to_dict
from validate.figures import rendered
from validate.observe.observations import UNDEFINED
from validate.predict import figures
from validate.predict.ceiling import rule_ceiling
from validate.predict.cells import distance_notes, summary, with_error
from validate.predict.predictors import are_summed
from validate.predict.statistics import ONE_DATA_SET, Statistics, TokenStatistics, counted, sampled
from validate.predict.tokens import ALL, groups_of
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
    statistics : Statistics
        Counted, or estimated from samples where labels are too many.
    """

    task: Task
    statistics: Statistics

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
        entries = len(task.anchors) * task.vocab_size
        if entries > MOST_ENTRIES:
            size = f"{entries * _BYTES_AN_ENTRY / 2**30:.3g} GiB as a report"
            problem = f"its anchors have {entries:.2g} label probabilities, {size}"
            remedy = "ask theory.label_distribution for the tokens you need"
            raise InputError("vocab_size", task.vocab_size, problem, remedy)
        if seed < 0:
            raise InputError("seed", seed, "negative", "give 0 or more")
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
        rows = []
        for t, error in zip(self.statistics.tokens, self.statistics.token_errors, strict=True):
            mean, std = with_error(t.mean, error.mean, ".2f"), with_error(t.std, error.std, ".2f")
            rows.append(
                [str(t.token), t.kind, f"{t.ratio:.4g}", mean, std, with_error(t.norm2, error.norm2, ".3g")]
            )
        return rows

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor: mean, extremes, and the mean at each distance.

        Behind the group stands on how many of its anchors a line rests, if samples do not show all of them.
        """
        rows = []
        for group, tokens in groups_of(self.task).items():
            for name, cosines in self.statistics.cosines[group].items():
                known, n = int(cosines.resolved.sum()), len(tokens)
                some = f" ({known} of {n} anchors)" if cosines.sampled and known < n else ""
                rows.append([group + some, name, *summary(cosines, tokens)])
        return rows

    def notes(self) -> list[str]:
        """Return sentences on how the numbers were found and are shown, and on what cannot be fitted."""
        return [
            *self._sampling(),
            *distance_notes(groups_of(self.task).values()),
            *self._groups_without_rows(),
            *self._undefined(),
            *self.order_notes(),
        ]

    def _sampling(self) -> list[str]:
        found = self.statistics
        if not found.why:
            return []
        exact = ", ".join(map(str, found.exact_tokens))
        return [
            f"Sampled, since the labels are too many to count: {found.why}.",
            f"{found.n_samples} sequences were drawn for each token"
            f"{f' but {exact}' if exact else ''} (seed {found.seed}).",
            "After ± stands one standard error; numbers without ± are exact, but the means of pairs 1, 2, "
            "... apart, which are given in the decimals that their errors leave.",
            "|P^s - u|^2 and the cosines are corrected for the sampling noise, which would bias them. Among "
            "many cosines the smallest and the largest are also those with the most extreme errors.",
        ]

    def _groups_without_rows(self) -> list[str]:
        """Return a sentence for each mapping that has too few anchors for a table of its own."""
        groups = groups_of(self.task)
        there = f"; {ALL!r} has them" if ALL in groups else ""
        return [
            f"{m.name!r} has no rows of its own, since it has {len(m.anchors)} anchor"
            f"{'s, one pair' if len(m.anchors) == 2 else ', no pair'}{there}."
            for m in self.task.mappings
            if m.name not in groups
        ]

    def _undefined(self) -> list[str]:
        """Return a sentence for each predictor with anchors whose vectors are zero or lost in the noise."""
        zero, lost = defaultdict[str, set[int]](set), []
        for group, tokens in groups_of(self.task).items():
            for name, cosines in self.statistics.cosines[group].items():
                without = np.array(tokens)[~cosines.resolved]
                if not cosines.sampled:
                    zero[name].update(without.tolist())
                elif without.size:
                    lost.append(
                        f"Cosines of {name} are left out for {without.size} of the {len(tokens)} anchors of "
                        f"{group!r}: {self.statistics.n_samples} sequences do not tell that vector from zero."
                    )
        why = "that vector of {} is zero, and has no direction."
        found = [f"{UNDEFINED} under {n}: {why.format(ranges(sorted(s)))}" for n, s in zero.items() if s]
        return found + lost

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
        missing = [group for group, found in self.statistics.cosines.items() if ONE_DATA_SET not in found]
        if missing:
            sentences.append(
                f"The cosines {ONE_DATA_SET} are left out for {', '.join(map(repr, missing))}: they need "
                "the label of every key with every combination, and these are too many to count."
            )
        return sentences

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cosine that samples do not resolve is null."""
        found = self.statistics
        plain = {
            "schema": "anchorflow/prediction/1",
            "task": task_to_dict(self.task),
            "left_out": self.left_out(),
            **self._numbers("value"),
        }
        if found.why:
            plain |= {
                "n_samples": found.n_samples,
                "seed": found.seed,
                "standard_error": self._numbers("standard_error"),
                "exact_tokens": list(found.exact_tokens),
                "notes": self.notes(),
            }
        return plain

    def _numbers(self, which: str) -> dict[str, Any]:
        """Return every "value", or every "standard_error"."""
        found = self.statistics
        tokens = found.tokens if which == "value" else found.token_errors
        cosines = {
            group: {name: _plain(getattr(each.over(lambda m: m), which)) for name, each in own.items()}
            for group, own in found.cosines.items()
        }
        shares = zip(self.task.anchors, getattr(found.shares, which).tolist(), strict=True)
        return {
            "tokens": [t._asdict() for t in tokens],
            "cosines": cosines,
            "label_distributions": {str(s): row for s, row in shares},
            "marginal": getattr(found.marginal, which).tolist(),
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
        for earlier in [n for n in manifest.listed() if n.startswith("figures/") and n not in drawn]:
            manifest.remove(earlier)  # Of another task.
        for name, (figure, suffix) in track(drawn.items(), "writing figures"):
            folder.write(name, rendered(figure, suffix))

    def figures(self) -> dict[str, Figure]:
        """Draw what the theory alone says."""
        return figures.draw(self.task, self.statistics)

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        how = "sampled" if self.statistics.why else "counted"
        sizes = ", ".join(f"{group} {len(tokens)}" for group, tokens in groups_of(self.task).items())
        title = (
            f"{len(self.tokens)} tokens' label distributions, {how}; cosines of anchors: {sizes or 'none'}"
        )
        return title, COSINE_HEADER, self.cosine_rows()


def _no_normal_shape(mapping: Mapping) -> str:
    """Say why a rule has no eq. 14; Theorem 1 is about shifts as well, whose anchors eq. 14 would number."""
    is_shift = mapping.rule.kind == "shift"
    what, they = ("Eq. 14", "it is") if is_shift else ("Eq. 14 and Theorem 1", "they are")
    also = " For Theorem 1 see theory.gaussian_embedding." if is_shift else ""
    return (
        f"{what} {'is' if is_shift else 'are'} left out for {mapping.name!r}: {they} about key + sum of the "
        f"anchors, and its rule is {mapping.rule.description}.{also}"
    )


def _plain(matrix: FloatArray) -> list[list[float | None]]:
    """Return a matrix as lists, NaN as None."""
    return [[None if np.isnan(x) else x for x in row] for row in matrix.tolist()]
