"""Language models on two corpora against what their text predicts: verdicts, tables, figures and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.runs.outputs import OutputFolder
from theory.paths import PathLike, as_path
from validate.claims.language import judge_language
from validate.claims.measures.language import cosine_correlation, entropy, learned_epoch, two_corpora
from validate.claims.verdicts import Outcome
from validate.figures.paper.language import FIGURES_OF_LANGUAGE
from validate.figures.paper.registry import FIGURES
from validate.judge.groups import Setting
from validate.judge.stats import ANY, COSINE, Estimate, over_seeds
from validate.observe import Observations
from validate.observe.language import PREDICTORS
from validate.report.figure import ReportFigure
from validate.report.page import page

FILES, FOLDERS = ("comparison.json", "comparison.html"), ("figures",)
"""What ``LanguageComparison.write`` writes into a folder."""


@dataclass(frozen=True)
class Table:
    """A table for the terminal and the page.

    Attributes
    ----------
    title : str
    header : list of str
    rows : list of list of str
    spare : tuple of str
        Columns that a narrow terminal leaves out.
    notes : tuple of str
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    spare: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class LanguageComparison:
    """Runs of a language model on two corpora, judged.

    Attributes
    ----------
    settings : list of Setting
        Small γ first.
    outcomes : list of Outcome
        One for each condition.
    """

    settings: list[Setting]
    outcomes: list[Outcome]

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> LanguageComparison:
        """Judge some settings; errors are those of ``judge_language``."""
        return cls(list(settings), judge_language(settings))

    def tables(self) -> list[Table]:
        """Return the tables: losses, cosines, verdicts."""
        return [self._losses(), self._cosines(), self._verdicts()]

    def _losses(self) -> Table:
        rows = [
            [f"{s.init_rate:g}", name, *(str(_over(s, measure(name), ANY)) for measure in _LOSSES.values())]
            for s in self.settings
            for name in two_corpora(s.runs[0])
        ]
        notes = (
            "of a token: the loss of the best model that knows how often each token occurs",
            "of pairs: the loss of the best model that knows the token before, too",
        )
        return Table("losses at the end (nats)", ["γ", "corpus", *_LOSSES], rows, notes=notes)

    def _cosines(self) -> Table:
        header = ["γ", "words of", "rows", "predicted", "shuffled", "centred", "its control"]
        rows = [
            [f"{s.init_rate:g}", name, predictor, *_correlations(s, name, predictor)]
            for s in self.settings
            for name in two_corpora(s.runs[0])
            for predictor in PREDICTORS
        ]
        notes = (
            "over pairs of the most frequent words, at the first snapshot with both losses below "
            f"their tokens' entropy: {self._early()}",
            "rows: which rows are compared, see docs/corpus.md",
            "shuffled: the same for the prediction from shuffled text, which keeps frequencies alone",
            "centred: the mean row removed from the predicted and the observed",
        )
        title = "correlation of predicted and observed cosines"
        return Table(title, header, rows, ("its control", "centred"), notes)

    def _early(self) -> str:
        return ", ".join(f"{_when(s)} at γ = {s.init_rate:g}" for s in self.settings)

    def _verdicts(self) -> Table:
        header = ["claim", "γ", "measure", "threshold", "mean [95 %]", "seeds", "verdict"]
        rows = [[*o.cells()[:-1], decision(o)] for o in self.outcomes]
        undefined = any(row[-1] == "undefined" for row in rows)
        return Table("verdicts", header, rows, spare=("seeds",), notes=(_UNDEFINED,) if undefined else ())

    @property
    def fails(self) -> bool:
        """Whether a condition fails."""
        return any(decision(o) == "fails" for o in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; what is undefined is null."""
        return {
            "schema": "anchorflow/corpus-comparison/1",
            "runs": [run.source for s in self.settings for run in s.runs],
            "verdicts": [
                {
                    "claim": o.claim.name,
                    "statement": o.claim.statement,
                    "init_rate": o.condition.init_rate,
                    "measure": o.condition.what,
                    "relation": o.condition.relation,
                    "threshold": o.condition.threshold,
                    "estimate": o.estimate.as_dict(),
                    "verdict": decision(o),
                }
                for o in self.outcomes
            ],
            "losses": [self._loss_data(s, name) for s in self.settings for name in two_corpora(s.runs[0])],
            "cosines": [
                {"init_rate": s.init_rate, "corpus": name, "predictor": predictor}
                | {key: _over(s, of(name, predictor), COSINE).as_dict() for key, of in _COSINES.items()}
                for s in self.settings
                for name in two_corpora(s.runs[0])
                for predictor in PREDICTORS
            ],
        }

    def _loss_data(self, setting: Setting, name: str) -> dict[str, Any]:
        found = {key: _over(setting, measure(name), ANY).as_dict() for key, measure in _LOSSES.items()}
        return {"init_rate": setting.init_rate, "corpus": name} | found

    def figures(self) -> list[ReportFigure]:
        """Draw the paper's figures about language from these runs."""
        runs = [run for s in self.settings for run in s.runs]
        found = [FIGURES[number] for number in FIGURES_OF_LANGUAGE]
        return [ReportFigure.of(f.build(runs), f"Fig. {f.number}: {f.title}") for f in found]

    def write(self, out: PathLike) -> None:
        """Write comparison.json, the figures (PNG and SVG) and comparison.html into a folder.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of such a name which was not written by this.
        """
        folder = OutputFolder(as_path("out", out))
        folder.check(FILES, FOLDERS)
        drawn = self.figures()
        for figure in drawn:
            figure.write(folder)
        folder.write("comparison.json", json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n")
        folder.write("comparison.html", page("language.html.j2", comparison=self, figures=drawn))


def decision(outcome: Outcome) -> str:
    """Return what a condition comes to by itself: undefined where it is for some seed."""
    return "undefined" if outcome.values and not outcome.defined else outcome.decision


Measure = Callable[[Observations], float]
_UNDEFINED = "undefined: not a number for some seed, as where no snapshot has both losses below that entropy"


def _when(setting: Setting) -> str:
    """Return at which snapshots the cosines of a setting are taken, and how many seeds have none."""
    found = [learned_epoch(run) for run in setting.runs]
    epochs = sorted({epoch for epoch in found if epoch is not None})
    never = f"none for {found.count(None)} of {setting.seeds_text}"
    if not epochs:
        return never
    text = f"epoch {' or '.join(map(str, epochs))}"
    return f"{text} ({never})" if None in found else text


def _loss(name: str) -> Measure:
    return lambda run: float(run.metrics[-1]["loss"][name])


def _entropy(known: str) -> Callable[[str], Measure]:
    return lambda name: lambda run: entropy(run, name, known)


def _correlation(control: bool, centred: bool) -> Callable[[str, str], Measure]:
    return lambda name, predictor: (
        lambda run: cosine_correlation(run, name, predictor, control=control, centred=centred)
    )


_LOSSES: dict[str, Callable[[str], Measure]] = {
    "loss": _loss,
    "of a token": _entropy("frequencies"),
    "of pairs": _entropy("pairs"),
}
_COSINES = {
    "predicted": _correlation(False, False),
    "shuffled": _correlation(True, False),
    "centred": _correlation(False, True),
    "its control": _correlation(True, True),
}


def _over(setting: Setting, measure: Measure, within: tuple[float, float]) -> Estimate:
    return over_seeds([measure(run) for run in setting.runs], within)


def _correlations(setting: Setting, name: str, predictor: str) -> list[str]:
    return [_over(setting, of(name, predictor), COSINE).brief for of in _COSINES.values()]
