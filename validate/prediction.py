"""What the theory says about a task, as tables, sentences, plain data and a folder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from matplotlib.figure import Figure

from sim.runs.files import finite, json_text
from sim.runs.outputs import OutputFolder
from theory import InputError, LabelEntropies, Task, TooManyEntriesError, label_entropies
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.edge.checks import Between
from theory.edge.display import Shown, ranges
from theory.edge.reading import PathLike, as_path
from theory.labels.sampled import Draws
from theory.task.task import task_to_dict
from validate.figures import prediction as figures
from validate.figures.sheet import write_figures
from validate.observe.observations import UNDEFINED
from validate.predict.ceiling import held_out_in_part, rule_ceiling
from validate.predict.predictors import are_summed, groups_of
from validate.predict.statistics import (
    ONE_DATA_SET,
    Statistics,
    TokenStatistics,
    counted,
    distance_notes,
    sampled,
    summary,
    with_error,
)
from validate.terminal.progress import track

TOKEN_HEADER = ("token", "kind", "r_s", "mean label", "std of the label", "|P^s - u|^2")
COSINE_HEADER = ("anchors", "predictor", "mean", "smallest", "largest", "mean of pairs 1, 2, ... apart")
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
        rows = []
        for t, error in zip(self.statistics.tokens, self.statistics.token_errors, strict=True):
            labels = [with_error(t.mean, error.mean, ".2f"), with_error(t.std, error.std, ".2f")]
            if not t.ratio:  # Its P^s is u by convention.
                labels = [UNDEFINED] * 2
            norm2 = with_error(t.norm2, error.norm2, ".3g")
            rows.append([str(t.token), t.kind, f"{t.ratio:.4g}", *labels, norm2])
        return rows

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor: mean, extremes, and the mean at each distance.

        If samples do not resolve all anchors of a group, its name says how many a line rests on.
        """
        rows = []
        for group, tokens in groups_of(self.task).items():
            for name, cosines in self.statistics.cosines[group].items():
                known, n = int(cosines.resolved.sum()), len(tokens)
                some = f" ({known} of {n} anchors)" if cosines.sampled and known < n else ""
                rows.append([group + some, name, *summary(cosines, tokens)])
        return rows

    def notes(self) -> list[str]:
        """Return sentences on how the numbers are found and shown, and on what cannot be fitted."""
        s, groups, notes = self.statistics, groups_of(self.task), list[str]()
        if s.why:
            but = f" but {', '.join(map(str, s.exact_tokens))}" * bool(s.exact_tokens)
            notes = [
                f"Sampled, since the labels are too many to count: {s.why}.",
                f"{s.n_samples} sequences were drawn for each token{but} (seed {s.seed}).",
                "After ± stands one standard error; numbers without ± are exact, except the means of pairs "
                "1, 2, ... apart, which are rounded to the decimals that their errors allow.",
                "|P^s - u|^2 and the cosines are corrected for the sampling noise, which would bias them. "
                "Among many cosines the smallest and the largest also have the most extreme errors.",
            ]
        few = ", ".join(repr(m.name) for m in self.task.mappings if m.name not in groups)
        too_few = [f"Without rows of their own, as they have fewer than three anchors: {few}."] if few else []
        if never := [t.token for t in s.tokens if not t.ratio]:
            notes.append(f"Only in held-out sequences, never in training: {ranges(never)}.")
        notes += [*distance_notes(groups.values()), *too_few]
        return [*notes, *self._undefined(), *_order_notes(self.task)]

    def left_out(self) -> list[str]:
        """Return a sentence for each rule outside eq. 14 and Theorem 1, and for cosines left out."""
        sentences = [
            f"Eq. 14 and Theorem 1 are left out for {m.name!r}: they are about key + sum of the anchors, and "
            f"its rule is {m.rule.description}."
            + " For Theorem 1 see theory.gaussian_embedding."
            * (m.rule.kind == "shift")
            for m in self.task.mappings
            if not m.is_table and not are_summed(self.task, m.anchors)
        ]
        missing = [group for group, cosines in self.statistics.cosines.items() if ONE_DATA_SET not in cosines]
        if missing:
            sentences.append(
                f"The cosines {ONE_DATA_SET} are left out for {', '.join(map(repr, missing))}: they need "
                "the label of every key with every combination, and these are too many to count, or held out "
                "in part."
            )
        return sentences

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
        undefined = [f"{UNDEFINED} under {n}: {why.format(ranges(sorted(s)))}" for n, s in zero.items() if s]
        return undefined + lost

    @cached_property
    def entropies(self) -> list[LabelEntropies] | str:
        """How uncertain each mapping's label is: given nothing, the key and the anchors; or why unknown."""
        if any(mapping.partial for mapping in self.task.mappings):
            return "unknown where single keys, pairs or positions are held out"
        try:
            return label_entropies(self.task)
        except TooManyEntriesError:
            return "unknown, since its mappings have too many entries to count"

    def entropy_lines(self) -> list[str]:
        """Return the entropies as sentences."""
        if isinstance(self.entropies, str):
            return [f"Entropies of the label: {self.entropies}."]
        return [
            f"Entropy of the label of {e.mapping} in nats: {e.nothing:z.3f} given nothing, {e.key:z.3f} "
            f"given the key, {e.anchors:z.3f} given the anchors"
            + f"; means over drawn tables, with standard deviations up to {e.spread:.1g}" * (e.spread > 0)
            + "."
            for e in self.entropies
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cosine that samples do not resolve is null."""
        s = self.statistics
        plain: dict[str, Any] = {"schema": "anchorflow/prediction/1", "task": task_to_dict(self.task)}
        plain |= {"left_out": self.left_out()} | self._numbers("value")
        plain["entropies"] = None if isinstance(self.entropies, str) else [*map(asdict, self.entropies)]
        if s.why:
            plain |= {"n_samples": s.n_samples, "seed": s.seed, "exact_tokens": list(s.exact_tokens)}
            plain |= {"standard_error": self._numbers("standard_error"), "notes": self.notes()}
        return plain

    def _numbers(self, which: Literal["value", "standard_error"]) -> dict[str, Any]:
        """Return every number as plain data, or its standard error."""
        s = self.statistics
        shares = zip(self.task.anchors, getattr(s.shares, which).tolist(), strict=True)
        return {
            "tokens": [t._asdict() for t in (s.tokens if which == "value" else s.token_errors)],
            "cosines": {
                group: {name: with_nulls(getattr(c.over(lambda m: m), which)) for name, c in cosines.items()}
                for group, cosines in s.cosines.items()
            },
            "label_distributions": {str(token): row for token, row in shares},
            "marginal": getattr(s.marginal, which).tolist(),
        }

    def write(self, out: PathLike) -> None:
        """Write prediction.json, task.toml and the figures: 4B, 4C, and 5C, 5D, 9 where eq. 14 applies.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of such a name that anchorflow did not write.
        """
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        folder.write("prediction.json", json_text(self.to_json()))
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
        return title + (sizes or "none"), COSINE_HEADER, self.cosine_rows()


def with_nulls(matrix: FloatArray) -> list[list[float | None]]:
    """Return a matrix as lists, NaN as None."""
    return [[finite(x) for x in row] for row in matrix.tolist()]


def _order_notes(task: Task) -> list[str]:
    """Return a sentence for each rule that an Emb-MLP cannot fit, or has seen in another order."""
    ceilings = {m.name: rule_ceiling(task, m) for m in task.mappings}
    # A drawn sample with noise can be memorised, however little of the rule an Emb-MLP sees.
    noise = task.n_noise > 0
    seen = {m.name: bags for m in task.mappings if (bags := held_out_in_part(m))}
    return [
        f"{name!r} holds out {bags[0]} in some orders only. An Emb-MLP, which does not read the order, "
        "has seen the same anchors in training: hold out every order."
        for name, bags in seen.items()
    ] + [
        f"The labels of {name!r} depend on the order of the anchors, which an Emb-MLP does not read"
        + ("" if noise else f": it gets at most {100 * ceiling:.3g} % of the training data right")
        + ". A Transformer reads it: --model.kind transformer."
        for name, ceiling in ceilings.items()
        if ceiling is not None and ceiling < 1
    ]
