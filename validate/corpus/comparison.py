"""Language models on two corpora beside their texts' predictions: verdicts, tables, figures and a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from theory.edge.reading import PathLike
from validate.figures.paper.registry import FIGURES
from validate.figures.runs import LARGEST
from validate.judge.given import judge_language
from validate.judge.measures.language import (
    compared_epoch,
    cosine_correlation,
    entropy,
    learned_epoch,
    loss_gap,
    two_corpora,
)
from validate.judge.result import Finding
from validate.judge.stats import ANY, COSINE, Estimate, over_seeds
from validate.observe import Observations
from validate.observe.groups import Setting, missing_command
from validate.observe.language import PREDICTORS
from validate.observe.times import curve
from validate.report.page import write_page
from validate.terminal.output import Table

Line = dict[str, Any]
FILES, FOLDERS = ("comparison.json", "comparison.html"), ("figures/comparison",)
"""Files and folders that ``LanguageComparison.write`` writes."""
NOT_LEARNED = "nothing was learned: in no run did both losses fall below their tokens' entropy; train longer"
_LONGER = 4
"""The suggested runs train this many times as long."""


@dataclass(frozen=True)
class LanguageComparison:
    """Runs of a language model on two corpora, in order of γ, and the claims that they test."""

    settings: list[Setting]
    findings: list[Finding]

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> LanguageComparison:
        """Judge some settings; errors are those of ``judge_language``."""
        return cls(list(settings), judge_language(settings))

    @property
    def learned(self) -> bool:
        """Whether both losses fell below their tokens' entropy in some run."""
        return any(learned_epoch(run) is not None for s in self.settings for run in s.runs)

    def missing_command(self) -> str:
        """Return a command that trains longer if nothing was learned; else, or without folders, empty."""
        like = self.settings[0]
        if self.learned or like.runs[0].run_folder is None:
            return ""
        return missing_command(like, [s.init_rate for s in self.settings], like.seeds, _LONGER)

    def headline(self) -> list[str]:
        """Return at each γ which corpus ends with the lower loss, and by how much over the seeds."""
        lines = []
        for s in self.settings:
            gaps = [loss_gap(run) for run in s.runs]
            second = over_seeds(gaps, ANY).mean < 0
            by = over_seeds([-gap if second else gap for gap in gaps], ANY)
            told = f"{two_corpora(s.runs[0])[second]} has the lower loss at the end, by {by.brief} nats"
            told += f" ({by.n} of {s.seeds_text})" * (by.n < len(s.runs))
            if not by.n:
                told = "no seed has both losses at the end, as one overflowed"
            lines.append(f"γ = {s.init_rate:g}: {told}")
        return lines

    def tables(self) -> list[Table]:
        """Return the tables: losses and, if something was learned, the claims' verdicts and cosines."""
        early = ", ".join(f"{_when(s)} at γ = {s.init_rate:g}" for s in self.settings)
        of_losses = (
            "of a token: the loss of the best model that knows how often each token occurs",
            "of pairs: the loss of the best model that knows the token before, too",
        )
        of_cosines = (
            "over pairs of the most frequent words, at the paper's step 5000, or without such a snapshot at "
            f"the first with both losses below their tokens' entropy: {early}",
            "rows: which rows are compared, see docs/corpus.md",
            "shuffled: for the prediction from shuffled text, which keeps frequencies alone",
            "centred: the mean row removed from the predicted and the observed",
        )
        losses = [_cells(line, str) for line in self.losses()]
        of_the_end = Table("losses at the end (nats)", ["γ", "corpus", *_LOSSES], losses, notes=of_losses)
        if not self.learned:
            return [of_the_end]
        header = ["state", "γ", "measure", "mean [95 %]", "threshold", "seeds"]
        claims = []
        for finding in self.findings:
            rows = finding.rows(header, brief=True)
            notes = [_UNDEFINED] * any(row[0] == "undefined" for row in rows)
            claims.append(Table(f"{finding.verdict}: {finding.name}", header, rows, ["seeds"], notes))
        cosines = [_cells(line, lambda estimate: estimate.brief) for line in self.cosines()]
        title, spare = "correlation of predicted and observed cosines", ("its control", "centred")
        of_words = Table(title, ["γ", "words of", "rows", *_COSINES], cosines, spare, of_cosines)
        return [*claims, of_the_end, of_words]

    def losses(self) -> list[Line]:
        """Return a dictionary for each γ and corpus, with loss and entropies over the seeds."""
        return [
            {"init_rate": s.init_rate, "corpus": name}
            | {key: over_seeds([of(run, name) for run in s.runs], ANY) for key, of in _LOSSES.items()}
            for s in self.settings
            for name in two_corpora(s.runs[0])
        ]

    def cosines(self) -> list[Line]:
        """Return a dictionary for each γ, corpus and predictor, with correlations over the seeds."""
        return [
            {"init_rate": s.init_rate, "corpus": name, "predictor": predictor}
            | {
                key: over_seeds([cosine_correlation(run, name, predictor, **which) for run in s.runs], COSINE)
                for key, which in _COSINES.items()
            }
            for s in self.settings
            for name in two_corpora(s.runs[0])
            for predictor in PREDICTORS
        ]

    @property
    def fails(self) -> bool:
        """Whether a claim fails; if nothing was learned, none can."""
        return self.learned and any(f.verdict == "fails" for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; undefined values are null."""
        verdicts = []
        for f, o in ((finding, outcome) for finding in self.findings for outcome in finding.conditions):
            plain = o.to_json()
            about = {"claim": f.name, "statement": f.statement, "verdict": o.corrected}
            shared = ("init_rates", "measure", "relation", "threshold", "estimate")
            verdicts.append(about | {key: plain[key] for key in shared})
        return {
            "schema": "anchorflow/corpus-comparison/1",
            "runs": [run.source for s in self.settings for run in s.runs],
            "claims": {f.name: f.verdict for f in self.findings} if self.learned else {},
            "verdicts": verdicts,
            "losses": [_plain(line) for line in self.losses()],
            "cosines": [_plain(line) for line in self.cosines()],
        }

    def write(self, out: PathLike) -> None:
        """Write comparison.json, the figures (PNG and SVG) and comparison.html into a folder."""
        runs = [run for s in self.settings for run in s.runs]
        # Fig. 14 needs runs with large initial weights.
        numbers = (1, 7, 14) if min(s.init_rate for s in self.settings) <= LARGEST else (1, 7)
        figures = [FIGURES[number].sheet(runs) for number in numbers]
        title = "A language model on two corpora"
        text = ". ".join(self.headline()) + "." if self.learned else NOT_LEARNED
        write_page(out, "comparison", self.to_json(), title, text, self.tables(), figures)


_UNDEFINED = "undefined: a seed has none, as without a snapshot below that entropy or equally frequent words"
_LOSSES: dict[str, Callable[[Observations, str], float]] = {
    "loss": lambda run, name: float(curve(run, "loss", name)[1][-1]),
    "of a token": lambda run, name: entropy(run, name, "frequencies"),
    "of pairs": lambda run, name: entropy(run, name, "pairs"),
}
_COSINES = {
    "predicted": {"control": False, "centred": False},
    "shuffled": {"control": True, "centred": False},
    "centred": {"control": False, "centred": True},
    "its control": {"control": True, "centred": True},
}


def _when(setting: Setting) -> str:
    """Return the epochs of the snapshots that a setting's cosines use, and how many seeds have none."""
    compared = [compared_epoch(run) for run in setting.runs]
    epochs = sorted({epoch for epoch in compared if epoch is not None})
    text = f"epoch {' or '.join(map(str, epochs))}" * bool(epochs)
    never = f"none for {compared.count(None)} of {setting.seeds_text}" * (None in compared)
    return f"{text} ({never})" if epochs and never else text or never


def _cells(line: Line, shown: Callable[[Estimate], str]) -> list[str]:
    gamma, *rest = line.values()
    return [f"{gamma:g}", *(shown(each) if isinstance(each, Estimate) else each for each in rest)]


def _plain(line: Line) -> Line:
    return {key: each.as_dict() if isinstance(each, Estimate) else each for key, each in line.items()}
