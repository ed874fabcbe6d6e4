"""Fig. 6C-D, 13: singular values of weight matrices, and what lies along the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theory import predict_value_growth
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import MARKERS, OBSERVED, PALETTE, seed_bars, sequential, shade, whole_ticks
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SHARE, SIZE, Estimate, band, band_text, over_seeds
from validate.predict.predictors import Tokens


@dataclass
class SingularValues(BasePanel):
    """Singular values of one matrix over the largest, one line per setting (Fig. 6C, 13).

    Attributes
    ----------
    title : str
    curves : dict of ndarray
        For each label shape (3, k): σ_i/σ_1, mean, low and high over seeds.
    """

    title: str
    curves: dict[str, FloatArray]

    @classmethod
    def from_runs(
        cls, settings: Sequence[Setting], name: str, epochs: Sequence[int], title: str
    ) -> SingularValues:
        """Take one matrix of every setting, each at its epoch."""
        curves = {}
        for setting, epoch in zip(settings, epochs, strict=True):
            values = setting.array(f"singular/{name}", epoch)
            curves[f"γ = {setting.init_rate:g}"] = band(values / values[:, :1], SHARE)
        return cls(title, curves)

    def draw(self, ax: Axes) -> None:
        """Draw on a logarithmic scale, γ from dark to light."""
        for (name, values), colour in zip(self.curves.items(), sequential(len(self.curves)), strict=True):
            index = np.arange(1, values.shape[1] + 1)
            # A logarithm has no place for an interval that reaches zero.
            shade(ax, index, np.maximum(values, 1e-12), colour)
            (self.lines_[name],) = ax.plot(index, values[0], color=colour, label=name)
        ax.set(title=self.title, xlabel="i", ylabel=r"$\sigma_i / \sigma_1$", yscale="log")
        smallest = min(float(np.min(v[0][v[0] > 0])) for v in self.curves.values())
        ax.set_ylim(max(smallest / 2, 1e-4), 1.3)
        whole_ticks(ax.xaxis, most=5)


@dataclass
class EffectiveRank(BasePanel):
    """The effective rank of matrices over γ, or over epochs (Fig. 13).

    The effective rank is exp(−Σ p_i ln p_i) with p_i = σ_i/Σσ: r for r equal singular values.

    Attributes
    ----------
    title : str
    xlabel : str
    x : ndarray, shape (n,)
    curves : dict of ndarray, each of shape (3, n)
        Mean, low and high over seeds.
    ordered : bool
        Whether the curves' own order means something, so that their colours run from dark to light.
    places : dict of str to int
        Each curve's place among those of the row, whose panels share one legend; its own order by default.
    """

    title: str
    xlabel: str
    x: FloatArray
    curves: dict[str, FloatArray]
    ordered: bool = False
    places: dict[str, int] = field(default_factory=dict)

    @classmethod
    def over_gamma(
        cls,
        settings: Sequence[Setting],
        names: Sequence[str],
        epochs: Sequence[int],
        title: str,
        among: Sequence[str] = (),
    ) -> EffectiveRank:
        """Take some matrices of every setting, each at its epoch; ``among`` are those of the whole row."""
        pairs = list(zip(settings, epochs, strict=True))
        curves = {
            matrix_name(name): np.stack(
                [band(s.array(f"effective_rank/{name}", e), SIZE) for s, e in pairs], axis=1
            )
            for name in names
        }
        rates = np.array([s.init_rate for s in settings])
        places = {name: i for i, name in enumerate(dict.fromkeys(map(matrix_name, among)))}
        return cls(title, "initialisation rate γ", rates, curves, places=places)

    @classmethod
    def over_epochs(cls, settings: Sequence[Setting], name: str, title: str) -> EffectiveRank:
        """Take one matrix of every setting at the epochs that all have."""
        epochs = sorted(set.intersection(*(set(s.epochs()) for s in settings)))
        curves = {
            f"γ = {s.init_rate:g}": np.stack(
                [band(s.array(f"effective_rank/{name}", e), SIZE) for e in epochs], axis=1
            )
            for s in settings
        }
        return cls(title, "epoch", np.array(epochs, dtype=np.float64), curves, ordered=True)

    def summary(self) -> str:
        """Return both ends of every curve."""
        ends = [
            f"{name} from {band_text(values[:, 0])} to {band_text(values[:, -1])}"
            for name, values in self.curves.items()
        ]
        return (
            f"effective rank, {self.title}, {self.xlabel} {self.x[0]:g} to {self.x[-1]:g}: {', '.join(ends)}"
        )

    def draw(self, ax: Axes) -> None:
        """Draw one line per curve."""
        graded = sequential(len(self.curves))
        for i, (name, values) in enumerate(self.curves.items()):
            place = self.places.get(name, i)
            colour: Any = graded[i] if self.ordered else PALETTE[place % len(PALETTE)]
            marker = MARKERS[place % len(MARKERS)]  # With the colour, another look for each of 56 curves.
            (self.lines_[name],) = ax.plot(
                self.x, values[0], marker=marker, markersize=3.5, color=colour, label=name
            )
            shade(ax, self.x, values, colour)
        ax.set(title=self.title, xlabel=self.xlabel, ylabel="effective rank")
        ax.set_ylim(0, 1.05 * max(float(np.nanmax(values)) for values in self.curves.values()))
        if self.ordered:
            whole_ticks(ax.xaxis, most=6)


@dataclass
class ValueAlignment(BasePanel):
    """Cosine of every anchor with the top left singular vector of W_V (Fig. 6D).

    Attributes
    ----------
    title : str
    anchors : tuple of int
    observed : ndarray, shape (3, n)
        Mean, low and high over seeds; the sign makes the reasoning anchors' mean positive.
    predicted : dict of ndarray, each of shape (n,)
        What Theorem 2 says, with u and with P̄ as what the model puts out meanwhile.
    n_memory : int
        How many of the anchors, which are sorted by kind, are memory anchors.
    sizes : dict of Estimate
        For each kind of anchor the mean absolute cosine, over seeds.
    """

    title: str
    anchors: Tokens
    observed: FloatArray
    predicted: dict[str, FloatArray]
    n_memory: int
    sizes: dict[str, Estimate] = field(default_factory=dict)

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> ValueAlignment:
        """Take every anchor's cosine at an epoch, and Theorem 2's for the training distribution."""
        task = setting.task
        anchors = (*task.memory_anchors, *task.reasoning_anchors)
        places = [setting.runs[0].tokens.index(s) for s in anchors]
        cosines = setting.array("wv_direction", epoch)[:, places]
        n_memory = len(task.memory_anchors)
        kinds = {"memory anchors": cosines[:, :n_memory], "reasoning anchors": cosines[:, n_memory:]}
        sizes = {
            kind: over_seeds(np.abs(own).mean(axis=1).tolist(), SHARE)
            for kind, own in kinds.items()
            if own.size
        }
        predicted = {}
        if task.memory_anchors and task.reasoning_anchors:
            for name, reference in (("Theorem 2, u", "uniform"), (r"Theorem 2, $\bar P$", "marginal")):
                growth = predict_value_growth(task, reference=reference, held_out=True)  # type: ignore[arg-type]
                predicted[name] = growth.alignment[list(anchors)]
        return cls(title, anchors, band(cosines, COSINE), predicted, n_memory, sizes)

    def summary(self) -> str:
        """Return the mean absolute cosine by kind of anchor."""
        parts = [f"{kind} {size}" for kind, size in self.sizes.items()]
        return f"{self.title}: mean |cosine| with the top direction of W_V, {', '.join(parts)}"

    def draw(self, ax: Axes) -> None:
        """Draw one point per anchor, memory anchors left of the line."""
        x = np.arange(len(self.anchors))
        for i, (name, values) in enumerate(self.predicted.items()):
            (self.lines_[name],) = ax.plot(
                x, values, MARKERS[i], color=PALETTE[i], markersize=3, fillstyle="none", label=name
            )
        self.lines_["observed"] = seed_bars(
            ax, x, self.observed, fmt="o", color=OBSERVED, markersize=2.5, label="training"
        )
        ax.axvline(self.n_memory - 0.5, color="0.7", linewidth=0.8)
        ax.axhline(0, color="0.7", linewidth=0.8)
        step = max(1, len(self.anchors) // 10)
        ax.set_xticks(x[::step], [str(s) for s in self.anchors[::step]])
        ax.set(title=self.title, xlabel="memory | reasoning anchors", ylabel="cosine with $v_1(W_V)$")
        ax.set_ylim(-1.15, 1.15)


def matrix_name(name: str) -> str:
    """Return how a matrix is written: "0.W_V" is W_V, with V below."""
    head, _, index = name.rpartition(".")[2].partition("_")
    return f"${head}_{{\\mathrm{{{index}}}}}$" if index else f"${head}$"
