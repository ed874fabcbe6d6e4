"""Write docs/results/settings_map.md from the kept runs: python docs/update_settings_map.py [KEPT].

The map over norm placement, learning rate and γ, where Fig. 3A's picture at γ = 0.3 was looked for, and what
the searches for it show.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from marked import counted, folder_of, markdown_table, replaced
from search_text import SEARCH, SMALL_SEARCHES, search_text, sizes_text
from search_together import together_text

from sim.config.model import TransformerConfig
from theory import InputError
from validate import over_seeds, study_names
from validate.claims.measures.learning import best_test_accuracy, unlike_range
from validate.claims.statements import LARGE
from validate.judge.bounds import Value, between, ends
from validate.judge.stats import SHARE
from validate.judge.times import DATA_SETS, is_fitted
from validate.observe import KEPT, Observations, kept
from validate.observe.store import kept_files, read_header, read_kept
from validate.search import State, Wanted, value_text

PAGE = Path(__file__).resolve().parent / "results" / "settings_map.md"
MAP, PICTURE, SIZES, TOGETHER = "map", "fig 3a", "sizes", "together"
STUDIES = ("learning-rates", "norms", "no-norm", "no-norm-all", "transformer", "long")
LEARNED, UNLEARNED = 0.5, 0.1
"""An accuracy that counts as learned, and one that counts as not: half of all, and a tenth."""


def picture(accuracy: dict[str, float]) -> str:
    """Say in words which data sets are learned, by the two levels."""
    memory, train, test = (accuracy[part] for part in DATA_SETS)
    if train < LEARNED and memory < LEARNED:
        return "nothing fitted yet"
    if train >= LEARNED and memory < UNLEARNED:
        return "reasoning first" if test >= LEARNED else "training sums first, held-out ones not"
    if test < UNLEARNED:
        return "memorised"
    return "both"


def transformer_of(run: Observations) -> TransformerConfig:
    """Return the settings of a Transformer."""
    model = run.config.model
    assert isinstance(model, TransformerConfig)
    return model


def rows(runs: Iterable[Observations]) -> list[str]:
    """Return a line for every setting: where it is after its last step, means over seeds."""
    settings: dict[tuple[str, float, float, int], list[Observations]] = {}
    for run in runs:
        training = run.config.training
        key = (
            transformer_of(run).norm,
            training.learning_rate,
            run.config.init_rate,
            run.metrics[-1]["step"],
        )
        settings.setdefault(key, []).append(run)
    return [_row(key, own) for key, own in sorted(settings.items())]


def _row(key: tuple[str, float, float, int], runs: list[Observations]) -> str:
    norm, rate, gamma, steps = key
    estimates = {p: over_seeds([r.metrics[-1]["accuracy"][p] for r in runs], SHARE) for p in DATA_SETS}
    losses = [max(line["loss"]["mem"] or 0.0 for line in r.metrics[1:]) for r in runs]
    cells = [
        norm,
        f"{rate:g}",
        f"{gamma:g}",
        f"{steps}",
        f"{len(runs)}",
        *(str(e) for e in estimates.values()),
    ]
    means = {part: estimate.mean for part, estimate in estimates.items()}
    return "| " + " | ".join([*cells, f"{max(losses):.2f}", picture(means)]) + " |"


def table(folder: Path = KEPT) -> str:
    """Return the map as a Markdown table."""
    runs: list[Observations] = []
    for study in STUDIES:
        try:
            runs += kept(study, folder=folder)
        except InputError as error:
            print(error, file=sys.stderr)
    header = (
        "| norm | learning rate | γ | steps | seeds | memory | reasoning, train | reasoning, test "
        "| highest memory loss | picture |"
    )
    return "\n".join([header, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", *rows(runs)])


FAR = 200
"""A run is long if it has as many epochs: the first that the paper shows of its own."""
ASKED = (
    Wanted(
        "doublings of time between fitting memory and training sums", LARGE, unlike_range, 1.0, below=True
    ),
    Wanted("highest test accuracy", LARGE, best_test_accuracy, 0.1, below=True),
)
"""The picture at γ = 0.3, by the conditions of claim 1. What is not met stays so in a longer run."""


def epochs_of(run: Observations) -> int:
    """Return for how many epochs a run was trained: with patience it may have ended early."""
    training = run.config.training
    return int(run.metrics[-1]["epoch"]) if training.patience else training.epochs


@dataclass(frozen=True)
class Looked:
    """What the runs of one setting at γ = 0.3 show of the picture.

    Attributes
    ----------
    name : str
        The study, and its variant if it has any.
    runs : tuple of Observations
    """

    name: str
    runs: tuple[Observations, ...]

    @property
    def epochs(self) -> int:
        """For how many epochs the shortest of them was trained."""
        return min(map(epochs_of, self.runs))

    @property
    def epochs_text(self) -> str:
        """For how many epochs they were trained, from the shortest to the longest where they differ."""
        longest = max(map(epochs_of, self.runs))
        return f"{self.epochs}" if longest == self.epochs else f"{self.epochs} to {longest}"

    @property
    def is_fitted(self) -> bool:
        """Whether any of them fitted its training sums."""
        return any(is_fitted(run, "rsn_train") for run in self.runs)

    def values(self, asked: Wanted) -> list[Value]:
        """Return each seed's value of a condition."""
        return [asked.measure(run) for run in self.runs]

    def state(self, asked: Wanted) -> State:
        """Return the state of a condition; open where the seeds disagree."""
        states = {asked.state(value) for value in self.values(asked)}
        return states.pop() if len(states) == 1 else "open"

    @property
    def verdict(self) -> str:
        """Whether the picture is there."""
        states = {self.state(asked) for asked in ASKED}
        return "no" if "not met" in states else "yes" if states == {"met"} else "open"


def looked(folder: Path = KEPT) -> list[Looked]:
    """Return every setting of a Transformer that is kept at γ = 0.3, the longest runs first.

    Those of the searches have tables of their own.
    """
    found: dict[str, list[Observations]] = defaultdict(list)
    for file in (
        file
        for study in study_names()
        if study not in (SEARCH, *SMALL_SEARCHES)
        for file in kept_files(study, folder)
    ):
        config = read_header(file).config
        if config["model"]["kind"] == "transformer" and config["init_rate"] == LARGE:
            variant = file.stem.rpartition("__")[0]
            found["/".join(filter(None, (file.parent.name, variant)))].append(read_kept(file))
    settings = [Looked(name, tuple(runs)) for name, runs in found.items()]
    return sorted(settings, key=lambda each: (-each.epochs, each.name))


def picture_text(settings: Sequence[Looked]) -> str:
    """Return where the picture was looked for, in sentences and as a table of the settings that decide."""
    told = [each for each in settings if each.verdict != "open" or each.is_fitted]
    names = [f"{w.name} (≤ {w.threshold:g})" for w in ASKED]
    header = ["study", "norm, activation", "d_m", "learning rate", "epochs", "seeds", *names, "picture"]
    return "\n".join([*_summary(settings), "", markdown_table(header, map(_looked_row, told))])


def _summary(settings: Sequence[Looked]) -> list[str]:
    counts = Counter(each.verdict for each in settings)
    far = [each for each in settings if each.epochs >= FAR]
    there, absent, undecided = (counts[verdict] for verdict in ("yes", "no", "open"))
    return [
        f"Of {counted(len(settings), 'setting')} of the Transformer that are kept at γ = {LARGE:g},",
        f"the picture is there at {there}, not there at {absent}, and open at {undecided}.",
        f"Of all of them {len(far) or 'none'} had {FAR} epochs or more{':' if far else '.'}",
        "",
        *(f"- {_finding_text(each)}" for each in far),
    ]


def _finding_text(setting: Looked) -> str:
    words = {"yes": "is there", "no": "is not there", "open": "is neither shown nor excluded"}
    but = {asked: setting.state(asked) for asked in ASKED if setting.state(asked) != "met"}
    told = [f"{a.name} {_values_text(setting.values(a))}, {state}" for a, state in but.items()]
    why = f": {'; '.join(told)}" if told else ""
    d_m, seeds = transformer_of(setting.runs[0]).d_m, counted(len(setting.runs), "seed")
    trained = f"`{setting.name}`, d_m = {d_m}, {setting.epochs_text} epochs, {seeds}"
    return f"{trained}: the picture {words[setting.verdict]}{why}."


def _looked_row(setting: Looked) -> list[str]:
    model, training = transformer_of(setting.runs[0]), setting.runs[0].config.training
    rate = f"{training.learning_rate:g}"
    if training.schedule != "constant":
        rate += f" × {training.warmup_factor:g}, {training.schedule}"
    kind = [f"{model.norm}, {model.activation}", f"{model.d_m}"]
    cells = [f"`{setting.name}`", *kind, rate, setting.epochs_text]
    values = [f"{_values_text(setting.values(asked))}, {setting.state(asked)}" for asked in ASKED]
    return [*cells, f"{len(setting.runs)}", *values, setting.verdict]


def _values_text(values: Sequence[Value]) -> str:
    """Return one value, or between which ends several lie; undefined ones are left out."""
    lows, highs = zip(*map(ends, values), strict=True)
    return value_text(between(float(np.fmin.reduce(lows)), float(np.fmax.reduce(highs))))


def main() -> None:
    """Renew the page between its markers."""
    folder = folder_of(__doc__, KEPT)
    texts = {
        MAP: table(folder),
        PICTURE: picture_text(looked(folder)),
        SEARCH: search_text(SEARCH, folder),
        **{name: search_text(name, folder) for name in SMALL_SEARCHES},
        TOGETHER: together_text(folder),
        SIZES: sizes_text(folder),
    }
    page = PAGE.read_text()
    for name, text in texts.items():
        page = replaced(page, name, text)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
