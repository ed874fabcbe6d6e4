"""A figure's footnote: which models, seeds and epochs it shows, and where they differ from the paper's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from sim.config.presets import load_preset
from sim.config.run import RunConfig, make_run_config
from theory import Task
from validate.observe.groups import Setting

KINDS = {
    "emb-mlp": "Emb-MLP",
    "one-layer": "one-layer Transformer",
    "transformer": "Transformer",
    "gpt2": "GPT-2",
}
NORMS = {
    "pre": "pre-norm",
    "pre-queries": "norm on queries",
    "post": "post-norm",
    "none": "without layer norm",
}
PAPER_EPOCHS = {"transformer": (200, 900), "emb-mlp": (50, 900)}
"""The epochs that the paper's figures show, of 1000 (Figs. 4A, 5A and 6)."""


@cache
def paper_config(kind: str) -> RunConfig:
    """Return the printed configuration of a kind of model."""
    presets = {"gpt2": "paper-gpt2", "emb-mlp": "paper-emb-mlp"}
    return make_run_config(load_preset(presets.get(kind, "paper")))


def model_name(setting: Setting, *, rate: bool = False) -> str:
    """Return the name of a setting's model: "Transformer (pre-norm)", and "..., γ = 0.8" with the rate."""
    name, norm = KINDS.get(setting.kind, setting.kind), getattr(setting.config.model, "norm", "")
    return name + f" ({NORMS.get(norm)})" * (norm in NORMS) + f", γ = {setting.init_rate:g}" * rate


def about(settings: Sequence[Setting]) -> str:
    """Describe the runs that a figure shows: for each model γ, seeds, epochs, and settings not as printed."""
    by_model: dict[str, list[Setting]] = {}
    for setting in settings:
        by_model.setdefault(model_name(setting), []).append(setting)
    return "; ".join(f"{name}, {_of_one_model(own)}" for name, own in by_model.items())


def missing_rates(settings: Sequence[Setting], wanted: Sequence[float] = ()) -> str:
    """Return a sentence that names the paper's γ that these runs lack, or nothing.

    ``wanted`` has those that the paper's figure shows, if it does not show all.
    """
    have = {s.init_rate for s in settings}
    paper = wanted or paper_config(settings[0].kind).init_rates
    lacking = [f"{rate:g}" for rate in paper if rate not in have]
    return f"These runs lack the paper's γ = {', '.join(lacking)}." if lacking else ""


def _of_one_model(settings: Sequence[Setting]) -> str:
    """Return γ and seeds, the length of the runs, and the settings that differ from the printed ones."""
    rates = ", ".join(dict.fromkeys(f"{s.init_rate:g}" for s in settings))
    rates += f", {settings[0].seeds_text}" + " each" * (len(settings) > 1)
    if len({len(s.runs) for s in settings}) > 1:
        rates = ", ".join(f"{s.init_rate:g} ({s.seeds_text})" for s in settings)
    paper, runs = paper_config(settings[0].kind), [run for s in settings for run in s.runs]
    curves = span([run.metrics[-1]["epoch"] for run in runs])
    snapshots = span([run.epochs[-1] for run in runs])
    length = f"{curves} epoch{'s' * (curves != '1')}"
    if curves != snapshots:
        length = f"curves end at epoch {curves}, the last snapshot is at epoch {snapshots}"
    length += f" (printed: {paper.training.epochs})" * (curves != str(paper.training.epochs))
    compared = _compared(settings)
    deviations = [
        f"{name} {' or '.join(map(_thousands, sorted(values)))} (printed: {_thousands(printed)})"
        for name, (values, printed) in compared.items()
        if not values <= {printed}
    ]
    alike = ", ".join(name for name, (values, _) in compared.items() if values)
    return f"γ = {rates}; {length}; {'; '.join(deviations) or f'{alike} as printed'}"


def _compared(settings: Sequence[Setting]) -> dict[str, tuple[set[float], float]]:
    """Return the values of some settings that the paper prints, each beside the printed one."""
    paper, configs = paper_config(settings[0].kind), [s.config for s in settings]
    wide = [c for c in configs if c.model.kind in KINDS or hasattr(c.model, "d_m")]  # One's own may lack it.
    printed = paper.model.width(paper.build_task().vocab_size), paper.training.peak_learning_rate
    return {
        "d_m": ({c.model.width(c.task.vocab_size) for c in wide}, printed[0]),
        "keys": ({len(c.task.keys) for c in configs if isinstance(c.task, Task)}, len(Task.paper().keys)),
        "learning rate": ({c.training.peak_learning_rate for c in configs}, printed[1]),
        "sequences": (
            {c.data.n_sequences for c in configs if c.data.source == "draw"},
            paper.data.n_sequences,
        ),
    }


def width_ratio(setting: Setting) -> float:
    """Return d_m over the printed one, 1 where it cannot be compared."""
    own, printed = _compared([setting])["d_m"]
    return own.pop() / printed if own else 1.0


def is_printed(setting: Setting) -> bool:
    """Return whether width, keys, learning rate and the number of drawn sequences are the printed ones."""
    return setting.kind in PAPER_EPOCHS and all(own == {p} for own, p in _compared([setting]).values())


def span(numbers: Collection[float]) -> str:
    """Return the least and the greatest of some numbers: "50", "40 to 50"."""
    return " to ".join(f"{n:g}" for n in dict.fromkeys((min(numbers), max(numbers))))


def _thousands(number: float) -> str:
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else f"{number:g}"
