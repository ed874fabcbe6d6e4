"""The predictions for a corpus before any training, printed and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.data.corpus import Corpus, IntArray
from sim.runs.files import finite
from theory import (
    CorpusCounts,
    CorpusGeometry,
    InputError,
    SampledValue,
    bigram_operator,
    corpus_counts,
    corpus_geometry,
    nearest_tokens,
    off_diagonal,
    top_singular,
)
from theory.corpus.geometry import FEWEST_DOCUMENTS
from theory.corpus.rows import CorpusPredictor
from theory.edge.arrays import FloatArray
from theory.edge.checked import Size, checked
from theory.edge.display import Shown
from theory.edge.reading import PathLike
from theory.edge.settled import ROUNDING, falling
from validate.judge.stats import COSINE
from validate.observe.observations import UNDEFINED
from validate.terminal.output import Table
from validate.terminal.progress import track

FORMULAS = {
    "bigram": "P^s - u",
    "marginal": "P^s - mean P",
    "tied": "rows of C + C^T",
    "readout": "columns of C",
    "context": "rows of E c^T (y - u), c the average of the tokens so far",
}
TOO_RARE = " *"
"""The mark of a neighbour's cosine that is too uncertain to be ranked."""
_NOTES = (
    "departs: time to move by its initial norm; the first one's is 1 (gradient flow, small weights)",
    "distinct: when it differs from all others of the table by what the corpus says, not by the draw;"
    f" {UNDEFINED} where the difference from one of them is within two standard errors of none",
    "most like: the word of the table with the largest predicted cosine, ± its standard error; ± ? where"
    " leaving out a twentieth of the text can leave nothing above the noise",
)
_OF_WORDS = ("cosine", "mean_cosine", "growth", "departs", "distinct")
_MODES, _NEIGHBOURS, _LEADING = 8, 10, 3
_MOST_WORDS = 20
"""The most words that fit below a panel."""
_LONGEST = 20
"""The most letters of a word in a figure; a longer one is cut."""


@dataclass(frozen=True, eq=False, repr=False)
class CorpusPrediction(Shown):
    """The predicted geometry of a corpus's tokens.

    Attributes
    ----------
    corpus : Corpus
    counts : CorpusCounts
    geometry : CorpusGeometry
        The geometry of the chosen tokens.
    neighbours : list of CorpusGeometry
        For each word asked for, the word first and then its neighbours.
    singular_values : ndarray of float64
        The largest singular values of C.
    leading : list of list of str
        For each of these, the words whose rows of C lie most along its vector.
    """

    corpus: Corpus
    counts: CorpusCounts
    geometry: CorpusGeometry
    neighbours: list[CorpusGeometry]
    singular_values: FloatArray
    leading: list[list[str]]

    @classmethod
    @checked
    def of(
        cls,
        corpus: Corpus,
        *,
        words: Sequence[str] = (),
        top: Size = 12,
        predictor: CorpusPredictor = "bigram",
        nearest: Sequence[str] = (),
        candidates: Size = 500,
        words_only: bool = False,
    ) -> CorpusPrediction:
        """Predict the geometry of some words of a corpus.

        Parameters
        ----------
        corpus : Corpus
        words : sequence of str, optional
            The words to compare; by default the ``top`` most frequent ones.
        predictor : {"bigram", "marginal", "tied", "readout", "context"}, optional
            See ``theory.corpus_geometry``.
        nearest : sequence of str, optional
            Words whose neighbours are looked for among the ``candidates`` most frequent words.
        words_only : bool, optional
            Leave punctuation, tokens without a letter or digit, out of all of them.
        """
        if corpus.vocab_size < 2:
            raise InputError(
                "corpus", " ".join(corpus.words), "its only token", "give a text of several words"
            )
        chosen = [*dict.fromkeys(map(corpus.token, words))]
        tokens = chosen or corpus.most_frequent(top, words_only=words_only)
        wanted = {word: corpus.token(word) for word in nearest}
        V, others = corpus.vocab_size, corpus.most_frequent(candidates, words_only=words_only)
        if not others:
            raise InputError("words_only", True, "no token has a letter or a digit", "leave it out")
        if len(corpus) < FEWEST_DOCUMENTS:
            remedy = f"give {FEWEST_DOCUMENTS} or more: lines (--documents line), or pieces (--context)"
            raise InputError("documents", len(corpus), "too few for a standard error", remedy)
        geometry = corpus_geometry(_Tracked(corpus, "predicting from documents"), V, tokens, predictor)
        passes = _Tracked(corpus, "comparing words in documents")
        neighbours = []
        for word, token in wanted.items():
            try:
                neighbours.append(nearest_tokens(passes, V, token, others, _NEIGHBOURS, predictor))
            except InputError as error:
                if error.argument != "token":
                    raise
                raise InputError("nearest", word, error.problem, error.remedy) from None
        counts = corpus_counts(_Tracked(corpus, "counting documents"), V)
        left, values, _ = top_singular(bigram_operator(counts), min(_MODES, V - 1))
        is_mode = values > ROUNDING * counts.ratios.max()  # C may have fewer; the rest is rounding.
        left, values = left[:, is_mode], values[is_mode]
        shown = set(corpus.most_frequent(V, words_only=True) if words_only else range(V))
        leading = [[corpus.words[i] for i in falling(np.abs(u)) if i in shown][:_LEADING] for u in left.T]
        return cls(corpus, counts, geometry, neighbours, values, leading)

    @property
    def words(self) -> list[str]:
        """The words of ``geometry``."""
        return [self.corpus.words[token] for token in self.geometry.tokens]

    def tables(self) -> list[Table]:
        """Return the tables: the words, the neighbours of each that was asked for, and the spectrum of C."""
        return [self._words(), *map(self._nearest, self.neighbours), self._spectrum()]

    def _words(self) -> Table:
        g, rows = self.geometry, []
        others = np.where(np.eye(len(g.tokens), dtype=bool), np.nan, g.cosine.value)
        for i, times in enumerate(zip(g.departs, g.distinct_from_all, strict=True)):
            alike = [UNDEFINED, UNDEFINED]
            if not np.isnan(others[i]).all():
                nearest = int(falling(others[i])[0])
                alike = [self.words[nearest], _cell(g.cosine, i, nearest)]
            share = f"{self.counts.ratios[g.tokens[i]]:.2g}"
            when = [f"{time:.2f}" if np.isfinite(time) else UNDEFINED for time in times]
            rows.append([self.words[i], share, *when, *alike])
        title = f"predicted embedding, {g.predictor}: {FORMULAS[g.predictor]}"
        header = ("word", "share", "departs", "distinct", "most like", "cosine")
        return Table(title, header, rows, ("share",), _NOTES)

    def _nearest(self, near: CorpusGeometry) -> Table:
        cosine, c = near.cosine, self.corpus
        sure = near.is_sure[0]
        rows = [
            [c.words[t], str(c.counts[t]), _cell(cosine, 0, i) + TOO_RARE * bool(not sure[i])]
            for i, t in enumerate(near.tokens)
        ]
        why = "within two standard errors of zero, or without a standard error: too rare to rank"
        notes = [f"*: {why}"] * bool(not sure[1:].all())
        return Table(f"nearest to {rows[0][0]!r}", ("word", "count", "cosine"), rows[1:], (), notes)

    def _spectrum(self) -> Table:
        values = self.singular_values
        modes = [
            [str(k), f"{value:.3g}", f"{value / values[0]:.3f}", " ".join(words)]
            for k, (value, words) in enumerate(zip(values, self.leading, strict=True), start=1)
        ]
        header = ("", "value", "over first", "words most along it")
        return Table("singular values of C, rows r_s (P^s - u)", header, modes)

    def headline(self) -> str:
        """Return sentences with the size of the corpus and the mean cosine of the chosen words."""
        c, g = self.corpus, self.geometry
        n = int(np.isfinite(off_diagonal(g.cosine.value)).sum())  # A rare word has none.
        mean = f" Mean cosine of the {n} pair{'s' * (n > 1)}: {_cell(g.mean_cosine)}." * (n > 0)
        return (
            f"{len(c)} documents, {len(c.tokens)} tokens, {np.count_nonzero(c.counts)} distinct ones "
            f"of a vocabulary of {c.vocab_size}, {self.counts.pairs.nnz} distinct pairs.{mean}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; undefined values are null."""
        g, corpus, neighbours = self.geometry, self.corpus, {}
        for near in self.neighbours:
            word, *others = [corpus.words[t] for t in near.tokens]
            numbers = {"cosine": near.cosine.value, "standard_error": near.cosine.standard_error}
            neighbours[word] = {"words": others} | {k: _plain(v[0, 1:]) for k, v in numbers.items()}
        return {
            "schema": "anchorflow/corpus-prediction/1",
            "predictor": g.predictor,
            "documents": len(corpus),
            "tokens": len(corpus.tokens),
            "vocabulary": corpus.vocab_size,
            "distinct_tokens": int(np.count_nonzero(corpus.counts)),
            "distinct_pairs": int(self.counts.pairs.nnz),
            "words": self.words,
            "counts": [int(corpus.counts[t]) for t in g.tokens],
            **{name: _plain(getattr(g, name)) for name in _OF_WORDS},
            "neighbours": neighbours,
            "singular_values": _plain(self.singular_values),
            "leading_words": self.leading,
        }

    def write(self, out: PathLike) -> None:
        """Write corpus-prediction.json and .html, and a figure of cosines, times and spectrum."""
        # Nothing else here needs matplotlib and the report.
        from validate.figures import Curve, Curves, HeatMap, Look, PanelRow, Sheet
        from validate.figures.embedding import BAR
        from validate.figures.style import PALETTE
        from validate.report.page import write_page

        g, values = self.geometry, self.singular_values
        words = [w if len(w) <= _LONGEST else f"{w[: _LONGEST - 1]}…" for w in self.words]
        places = np.arange(len(words))
        times = {"departs": g.departs} | ({"distinct": g.distinct_from_all} if len(words) > 1 else {})
        curves = {
            name: Curve(places, own[None], Look(colour, marker, ""))
            for (name, own), colour, marker in zip(times.items(), PALETTE, "os", strict=False)
        }
        step = -(-len(words) // _MOST_WORDS)
        xticks = places[::step].tolist(), words[::step]
        spectrum = {"_": Curve(np.arange(1, len(values) + 1), values[None], Look(PALETTE[0], "o"))}
        axis, unit = ("word", words), "time (first departure = 1)"
        panels = [
            HeatMap("predicted cosine", axis, axis, g.cosine.value, limits=COSINE, matrix=True),
            Curves("order in time", curves, "word", unit, yscale="log", xticks=xticks),
            Curves("singular values of C", spectrum, "number", "", yscale="log", whole=True),
        ]
        caption = (
            f"Left: predicted cosines of {len(words)} words ({g.predictor}). Middle: when each embedding "
            "departs from its initial value, and when it is distinct from all others shown. Right: the "
            "largest singular values of C."
        )
        sheet = Sheet("geometry", caption, "", [PanelRow("", panels, BAR, 2.5)])
        title = "The prediction from this corpus"
        write_page(out, "corpus-prediction", self.to_json(), title, self.headline(), self.tables(), [sheet])

    def _shown(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        g, sizes = self.geometry, f"{len(self.words)} words of {self.corpus.vocab_size}"
        title = f"{sizes}, predictor {g.predictor}; mean cosine {_cell(g.mean_cosine)}"
        return title, *self._words()[1:3]


def _plain(values: Any) -> Any:
    """Return numbers, arrays or sampled values as plain data, with null where undefined."""
    if isinstance(values, SampledValue):
        return {name: _plain(getattr(values, name)) for name in ("value", "standard_error")}
    return [_plain(row) for row in values] if np.ndim(values) else finite(float(values))


def _cell(sampled: SampledValue, *place: int) -> str:
    value, error = float(sampled.value[place]), float(sampled.standard_error[place])
    if np.isnan(value):
        return UNDEFINED
    return f"{value:z.3f} ± {'?' if np.isnan(error) else format(error, '.1g')}"


@dataclass(frozen=True)
class _Tracked:
    """A corpus that shows how far each pass through it is."""

    corpus: Corpus
    what: str

    def __iter__(self) -> Iterator[IntArray]:
        return track(self.corpus, self.what)  # type: ignore[arg-type]
