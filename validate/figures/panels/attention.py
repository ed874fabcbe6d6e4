"""Fig. 6A-B, 12, 15: the first attention against the average, the last one against a cliff."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import (
    OBSERVED,
    SEQUENTIAL,
    each_seed,
    sequential,
    shade,
    spread_bars,
    whole_ticks,
)
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, Estimate, band, band_text, over_seeds


@dataclass
class AttentionMatrix(BasePanel):
    r"""The first attention, mean over probe sequences and seeds (Fig. 6A).

    Attributes
    ----------
    title : str
    matrix : ndarray, shape (L, L)
        NaN where no attention is allowed.
    error : ndarray, shape (3,)
        Mean, low and high over seeds of the largest \|A_ij − 1/i\| over all probe sequences (Lemma 1).
    """

    title: str
    matrix: FloatArray
    error: FloatArray

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> AttentionMatrix:
        """Take the mean over seeds at an epoch."""
        matrix = setting.array("first_attention", epoch).mean(axis=0)
        masked = np.where(np.tril(np.ones_like(matrix)) > 0, matrix, np.nan)
        return cls(title, masked, band(setting.array("first_attention_error", epoch), SHARE))

    def summary(self) -> str:
        """Return the distance from the average."""
        return f"{self.title}: max |A_ij − 1/i| = {band_text(self.error)}"

    def draw(self, ax: Axes) -> None:
        """Draw on the colour scale [0, 1]."""
        length = len(self.matrix)
        self.image_ = ax.imshow(
            self.matrix, vmin=0, vmax=1, cmap=SEQUENTIAL, extent=(0.5, length + 0.5, length + 0.5, 0.5)
        )
        ax.set_title(f"{self.title}\nmax |A − 1/i|:\n{band_text(self.error)}")
        ax.set(xlabel="attended position j", ylabel="position i")
        whole_ticks(ax.xaxis, ax.yaxis)


@dataclass
class AttentionRows(BasePanel):
    """Rows of the first attention against 1/i (Fig. 6B).

    Attributes
    ----------
    title : str
    rows : ndarray, shape (3, L, L)
        Mean, low and high over seeds.
    spread : ndarray, shape (L, L)
        Standard deviation over probe sequences, mean over seeds.
    """

    title: str
    rows: FloatArray
    spread: FloatArray

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> AttentionRows:
        """Take every row at an epoch."""
        rows = band(setting.array("first_attention", epoch), SHARE)
        return cls(title, rows, setting.array("first_attention_sd", epoch).mean(axis=0))

    def draw(self, ax: Axes) -> None:
        """Draw rows i ≥ 2, with intervals over seeds and the spread over sequences."""
        length = self.rows.shape[1]
        shown = _spread_out(2, length, 3)
        for i, colour in zip(shown, sequential(len(shown)), strict=True):
            positions = np.arange(1, i + 1)
            ax.axhline(1 / i, color=colour, linestyle=":", linewidth=1)
            values = self.rows[:, i - 1, :i]
            shade(ax, positions, values, colour)
            (self.lines_[i],) = ax.plot(
                positions, values[0], "o-", markersize=3, color=colour, label=f"i = {i}"
            )
            spread_bars(ax, positions, values[0], self.spread[i - 1, :i], colour)
        ax.plot([], [], ":", color="0.4", label="1/i (Lemma 1)")
        ax.set(title=self.title, xlabel="attended position j", ylabel="attention $A_{ij}$", ylim=(0, 1.03))
        whole_ticks(ax.xaxis)


@dataclass
class LastLogits(BasePanel):
    """The last row of the last layer's attention logits, one line for each position of the key (Fig. 15A).

    Attributes
    ----------
    title : str
    n_anchors : int
        q.
    logits : ndarray, shape (n_seeds, P, L)
        Each line relative to its value at the key, since the softmax sees differences only.
    """

    title: str
    n_anchors: int
    logits: FloatArray

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> LastLogits:
        """Take the means over probe sequences, by position of the key, at an epoch."""
        logits = setting.array("last_logits", epoch)
        positions = np.arange(logits.shape[1])
        relative = logits - logits[:, positions, positions][:, :, None]
        return cls(title, setting.task.n_anchors, relative)

    def draw(self, ax: Axes) -> None:
        """Draw means over seeds with the key hollow and the anchors full, each seed thin."""
        _, positions, length = self.logits.shape
        shown = _spread_out(1, positions, 4)
        positions = np.arange(1, length + 1)
        for p, colour in zip(shown, sequential(len(shown)), strict=True):
            seeds = self.logits[:, p - 1]
            mean = seeds.mean(axis=0)
            each_seed(ax, positions, seeds, colour)
            (self.lines_[p],) = ax.plot(positions, mean, color=colour, label=f"key at p = {p}")
            window = slice(p - 1, p + self.n_anchors)
            ax.plot(positions[window], mean[window], "o", markersize=3.5, color=colour)
            ax.plot(p, mean[p - 1], "o", markersize=5.5, markerfacecolor="white", color=colour)
        ax.set(title=self.title, xlabel="position j", ylabel="logit − logit at the key")
        whole_ticks(ax.xaxis)


@dataclass
class LastAttention(BasePanel):
    """The last row of the last attention after the softmax, by position of the key.

    Attributes
    ----------
    title : str
    n_anchors : int
        q.
    attention : ndarray, shape (P, L)
        Mean over seeds.
    outside : Estimate
        Over seeds, the mass outside p..p+q, mean over p: small at a cliff (Lemma 5).
    """

    title: str
    n_anchors: int
    attention: FloatArray
    outside: Estimate

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> LastAttention:
        """Take the mean over seeds at an epoch."""
        attention = setting.array("last_attention", epoch)
        q, positions = setting.task.n_anchors, attention.shape[1]
        outside = [
            np.mean([1 - seed[p, p : p + q + 1].sum() for p in range(positions)]) for seed in attention
        ]
        return cls(title, q, attention.mean(axis=0), over_seeds([float(x) for x in outside], SHARE))

    def summary(self) -> str:
        """Return the mass outside key and anchors."""
        return f"{self.title}: attention outside key and anchors {self.outside}"

    def draw(self, ax: Axes) -> None:
        """Draw on the scale [0, 1] with a frame round key and anchors."""
        positions, length = self.attention.shape
        self.image_ = ax.imshow(
            self.attention,
            vmin=0,
            vmax=1,
            cmap=SEQUENTIAL,
            extent=(0.5, length + 0.5, positions + 0.5, 0.5),
            aspect="auto",
        )
        for p in range(1, positions + 1):
            frame = Rectangle((p - 0.5, p - 0.5), self.n_anchors + 1, 1, fill=False, edgecolor="white")
            ax.add_patch(frame)
        ax.set_title(f"{self.title}\noutside the frames:\n{self.outside}")
        ax.set(xlabel="position j", ylabel="position p of the key")
        whole_ticks(ax.xaxis, ax.yaxis)


@dataclass
class PositionLogits(BasePanel):
    """The last row of attention logits with all token embeddings set to zero (Fig. 15C).

    Attributes
    ----------
    title : str
    logits : ndarray, shape (n_seeds, L − 1)
        Relative to the first position; without the last, where no key stands.
    """

    title: str
    logits: FloatArray
    line_: Any = field(default=None, repr=False)

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> PositionLogits:
        """Take them at an epoch."""
        logits = setting.array("last_logits_positions", epoch)[:, :-1]
        return cls(title, logits - logits[:, :1])

    def draw(self, ax: Axes) -> None:
        """Draw the mean over seeds, and each seed thin."""
        positions = np.arange(1, self.logits.shape[1] + 1)
        each_seed(ax, positions, self.logits, "0.4")
        (self.line_,) = ax.plot(positions, self.logits.mean(axis=0), "o-", color=OBSERVED, markersize=4)
        ax.set(title=self.title, xlabel="position j", ylabel="logit − logit at 1")
        whole_ticks(ax.xaxis)


def _spread_out(first: int, last: int, most: int) -> list[int]:
    """Return at most ``most`` whole numbers from first to last, evenly spread, both ends among them."""
    return sorted({round(x) for x in np.linspace(first, last, min(most, max(last - first + 1, 1)))})
