"""What a figure says of its runs: model, setting, γ, seeds, epochs, and what these stand for in the paper."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache

from sim.config.presets import load_preset
from sim.config.run import RunConfig, make_run_config
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
_PRESETS = {"gpt2": "paper-gpt2", "emb-mlp": "paper-emb-mlp"}


@cache
def _paper(kind: str) -> RunConfig:
    """Return the printed configuration of a kind of model."""
    return make_run_config(load_preset(_PRESETS.get(kind, "paper")))


def model_name(setting: Setting) -> str:
    """Return what model a setting's runs trained: "Transformer (pre-norm)"."""
    norm = NORMS.get(getattr(setting.config.model, "norm", ""), "")
    return KINDS[setting.kind] + (f" ({norm})" if norm else "")


def shown_epochs(setting: Setting) -> tuple[int, ...]:
    """Return the epochs at which figures show a model: early, as ``validate.judge.times`` has it, and late.

    Late is the snapshot nearest to the paper's late epoch by its share of the run. A run that is early until
    then has one epoch to show.
    """
    early = common_early(setting.runs)
    after = [e for e in setting.epochs() if e > early]
    wished = PAPER_LATE / _paper("transformer").training.epochs * setting.epochs()[-1]
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
    """Return which runs a figure shows: for each model γ, seeds, epochs, and how the setting is not printed.

    ``epochs`` says which of their epochs are shown, where not all are: "both", "early" or "late", for every
    setting its own or all those ``of`` one setting. ``paper`` are the epochs at which the paper's figure
    shows its runs, where it states them.
    """
    by_model: dict[str, list[Setting]] = {}
    for setting in settings:
        by_model.setdefault(model_name(setting), []).append(setting)
    return "; ".join(
        f"{name}, γ = {_seeds(own)}; {_length(own, epochs, of, paper)}; {_differences(own)}"
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


def seed_count(settings: Sequence[Setting]) -> str:
    """Return how many seeds each of some settings has: "3 seeds", "1 to 3 seeds"."""
    counts = sorted({len(s.runs) for s in settings})
    return f"{_range(counts)} seed{'s' * (counts[-1] > 1)}"


def _range(numbers: Sequence[int]) -> str:
    return " to ".join(str(n) for n in dict.fromkeys((min(numbers), max(numbers))))


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


def _length(settings: Sequence[Setting], epochs: str, of: Setting | None, stated: Sequence[int]) -> str:
    lengths = [run.epochs[-1] for s in settings for run in s.runs]
    length, paper = _range(lengths), _paper(settings[0].kind).training.epochs
    as_long = set(lengths) == {paper}
    if not epochs:
        return f"{length} epochs" + (", as in the paper" if as_long else f" for {paper} in the paper")
    parts = {"both": slice(None), "early": slice(1), "late": slice(-1, None)}
    each = (" and ".join(map(str, shown_epochs(s)[parts[epochs]])) for s in ([of] if of else settings))
    ours, theirs = " or ".join(dict.fromkeys(each)), " and ".join(map(str, stated))
    text = f"epoch{'s' * (' ' in ours)} {ours} of {length}"
    if not stated:
        return text if as_long else f"{text}; the paper trains for {paper}"
    same = as_long and ours == theirs
    return f"{text}, as in the paper" if same else f"{text}; the paper shows {theirs} of {paper}"


def _differences(settings: Sequence[Setting]) -> str:
    """Return what is other than printed of width, rate and drawn sequences, or "printed settings"."""
    paper = _paper(settings[0].kind)
    vocabulary = paper.build_task().vocab_size
    drawn = {s.config.data.n_sequences for s in settings if s.config.data.source == "draw"}
    told = [
        _unlike(
            "d_m", {getattr(s.config.model, "d_m", None) for s in settings}, paper.model.width(vocabulary)
        ),
        _unlike(
            "learning rate",
            {s.config.training.peak_learning_rate for s in settings},
            paper.training.peak_learning_rate,
        ),
        _unlike("sequences", drawn, paper.data.n_sequences),
    ]
    return "; ".join(filter(None, told)) or "printed settings"


def _unlike(name: str, own: Collection[float | None], paper: float) -> str:
    if set(own) - {None} <= {paper}:
        return ""
    numbers = " or ".join(_thousands(n) for n in sorted(n for n in own if n is not None))
    return f"{name} {numbers} (printed: {_thousands(paper)})"


def _thousands(number: float) -> str:
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else f"{number:g}"
