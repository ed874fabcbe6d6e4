"""What a figure says of its runs: model, γ, seeds, epochs, and what these stand for in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from sim.config.presets import load_preset
from sim.config.run import make_run_config
from validate.figures.selection import KINDS
from validate.judge.groups import Setting
from validate.judge.times import common_early, learned_part

PAPER_LATE = 900
"""The late epoch of 1000 that the paper shows, where it names one."""
NORMS = {
    "pre": "pre-norm",
    "pre-queries": "norm on queries",
    "post": "post-norm",
    "none": "without layer norm",
}


def model_name(setting: Setting) -> str:
    """Return what model a setting's runs trained: "Transformer (pre-norm)"."""
    norm = NORMS.get(getattr(setting.config.model, "norm", ""), "")
    return KINDS[setting.kind] + (f" ({norm})" if norm else "")


def paper_epochs(kind: str = "transformer") -> int:
    """Return for how many epochs the paper trains a kind of model."""
    return _paper(kind).epochs


def shown_epochs(setting: Setting) -> tuple[int, ...]:
    """Return the epochs at which figures show a model: early (``judge.times``) and late.

    Late is the snapshot nearest to the paper's late epoch by its share of the run. A run that is early until
    then has one epoch to show.
    """
    early = common_early(setting.runs)
    after = [e for e in setting.epochs() if e > early]
    wished = PAPER_LATE / paper_epochs() * setting.epochs()[-1]
    return (early, min(after, key=lambda e: abs(e - wished))) if after else (early,)


def early_and_late(setting: Setting) -> str:
    """Return in words when the shown epochs are."""
    if len(shown_epochs(setting)) == 1:
        return "at the last snapshot"
    part = "reasoning training" if learned_part(setting.runs[0]) == "rsn_train" else "training"
    return f"early, once half of the {part} set is solved, and late"


def epoch_text(epochs: Iterable[int]) -> str:
    """Return the epochs of some settings, each at its own: "epoch 9", "epoch 9 or 20"."""
    return f"epoch {' or '.join(map(str, sorted(set(epochs))))}"


def about(
    settings: Sequence[Setting], epochs: str = "", of: Setting | None = None, paper: Sequence[int] = ()
) -> str:
    """Return which runs a figure shows: for each model γ, seeds and epochs.

    ``epochs`` says which of their epochs are shown, where not all are: "both", "early" or "late", for every
    setting its own or all those ``of`` one setting. ``paper`` are the epochs at which the paper's figure
    shows its runs, where it states them.
    """
    by_model: dict[str, list[Setting]] = {}
    for setting in settings:
        by_model.setdefault(model_name(setting), []).append(setting)
    return "; ".join(
        f"{name}, γ = {_seeds(own)}; {_length(own, epochs, of, paper)}{_size(own)}"
        for name, own in by_model.items()
    )


def missing_rates(settings: Sequence[Setting], wanted: Sequence[float] = ()) -> str:
    """Return a sentence that names the paper's γ that these runs lack, or nothing.

    ``wanted`` are those that the paper's figure shows, where it does not show all.
    """
    have = {s.init_rate for s in settings}
    paper = wanted or (_paper(settings[0].kind).init_rates if settings else ())
    lacking = [f"{rate:g}" for rate in paper if rate not in have]
    return f"The paper's γ = {', '.join(lacking)} is not among these runs." if lacking else ""


def _seeds(settings: Sequence[Setting]) -> str:
    """Return γ and seeds: "0.3, 0.8, 2 seeds each" or, where they differ, "0.3 (4 seeds), 0.8 (1 seed)"."""
    of_rate: dict[float, list[Setting]] = {}
    for setting in settings:
        of_rate.setdefault(setting.init_rate, []).append(setting)
    told = {rate: seed_count(own) for rate, own in of_rate.items()}
    if len(set(told.values())) > 1:
        return ", ".join(f"{rate:g} ({number})" for rate, number in told.items())
    each = " each" if len(settings) > 1 else ""
    return f"{', '.join(f'{rate:g}' for rate in told)}, {next(iter(told.values()))}{each}"


def seed_count(settings: Sequence[Setting]) -> str:
    """Return how many seeds each of some settings has: "3 seeds", "1 to 3 seeds"."""
    counts = sorted({len(s.runs) for s in settings})
    number = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    return f"{number} seed{'s' * (counts[-1] > 1)}"


def _length(settings: Sequence[Setting], epochs: str, of: Setting | None, stated: Sequence[int]) -> str:
    lengths = sorted({run.epochs[-1] for s in settings for run in s.runs})
    length = " to ".join(str(n) for n in dict.fromkeys((lengths[0], lengths[-1])))
    paper = paper_epochs(settings[0].kind)
    as_long = lengths == [paper]
    if not epochs:
        return f"{length} epochs" + (", as in the paper" if as_long else f" for {paper} in the paper")
    ours, theirs = _shown([of] if of else settings, epochs), " and ".join(map(str, stated))
    text = f"epoch{'s' * (' ' in ours)} {ours} of {length}"
    if not stated:
        return text if as_long else f"{text}; the paper trains for {paper}"
    same = as_long and ours == theirs
    return f"{text}, as in the paper" if same else f"{text}; the paper shows {theirs} of {paper}"


def _size(settings: Sequence[Setting]) -> str:
    """Return the width and the number of drawn sequences, where they are not the paper's."""
    paper = _paper(settings[0].kind)
    drawn = {s.config.data.n_sequences for s in settings if s.config.data.source == "draw"}
    told = [
        _unlike("d_m = {}", {getattr(s.config.model, "d_m", paper.d_m) for s in settings}, paper.d_m),
        _unlike("{} sequences", drawn, paper.n_sequences),
    ]
    return "".join(told)


def _unlike(text: str, own: set[int], paper: int) -> str:
    if own <= {paper}:
        return ""
    numbers = " or ".join(_thousands(number) for number in sorted(own))
    return f"; {text.format(numbers)} (paper: {_thousands(paper)})"


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else str(number)


def _shown(settings: Sequence[Setting], epochs: str) -> str:
    """Return the shown epochs of each setting that are "both", "early" or "late": "2 and 9 or 2 and 10"."""
    parts: dict[str, slice] = {"both": slice(None), "early": slice(1), "late": slice(-1, None)}
    each = (" and ".join(map(str, shown_epochs(s)[parts[epochs]])) for s in settings)
    return " or ".join(dict.fromkeys(each))


@dataclass(frozen=True)
class _Paper:
    """What the paper's runs of a kind of model are."""

    epochs: int
    init_rates: tuple[float, ...]
    d_m: int
    n_sequences: int


@cache
def _paper(kind: str) -> _Paper:
    config = make_run_config(load_preset("paper-gpt2" if kind == "gpt2" else "paper"))
    width = config.model.width(config.build_task().vocab_size)
    return _Paper(config.training.epochs, config.init_rates, width, config.data.n_sequences)
