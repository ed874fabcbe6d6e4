"""What a figure says of its runs: model, γ, seeds, epochs, and what these stand for in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sim.config.presets import load_preset
from validate.figures.members import KINDS, Members

EARLY_SHARE = {"emb-mlp": 0.05}
OTHER_EARLY_SHARE, LATE_SHARE = 0.2, 0.9
"""The paper shows epochs 50 (Emb-MLP), 200 (Transformer) and 900 of 1000."""
NORMS = {
    "pre": "pre-norm",
    "pre-queries": "norm on queries",
    "post": "post-norm",
    "none": "without layer norm",
}


def model_name(setting: Members) -> str:
    """Return what model a setting's runs trained: "Transformer (pre-norm)"."""
    norm = NORMS.get(getattr(setting.runs[0].config.model, "norm", ""), "")
    return KINDS[setting.kind] + (f" ({norm})" if norm else "")


def paper_epochs() -> int:
    """Return for how many epochs the paper trains."""
    return int(_paper()[0])


def shares(setting: Members) -> tuple[float, float]:
    """Return after which shares of a run the paper shows a model: early and late."""
    return EARLY_SHARE.get(setting.kind, OTHER_EARLY_SHARE), LATE_SHARE


def shown_epochs(setting: Members) -> tuple[int, int]:
    """Return the snapshots nearest to the paper's early and late epochs, by their share of the run."""
    after = [e for e in setting.epochs() if e > 0]
    early, late = (share * after[-1] for share in shares(setting))
    return min(after, key=lambda e: abs(e - early)), min(after, key=lambda e: abs(e - late))


def about(settings: Sequence[Members], epochs: str = "") -> str:
    """Return which runs a figure shows: for each model γ, seeds and epochs.

    ``epochs`` says which of their epochs are shown, where not all are: "both", "early" or "late".
    """
    by_model: dict[str, list[Members]] = {}
    for setting in settings:
        by_model.setdefault(model_name(setting), []).append(setting)
    return "; ".join(_about(name, own, epochs) for name, own in by_model.items())


def missing_rates(settings: Sequence[Members]) -> str:
    """Return a sentence that names the paper's γ that these runs lack, or nothing."""
    have = {s.init_rate for s in settings}
    lacking = [f"{rate:g}" for rate in _paper()[1] if rate not in have]
    return f"The paper's γ = {', '.join(lacking)} is not among these runs." if lacking else ""


def _about(name: str, settings: Sequence[Members], epochs: str) -> str:
    rates = ", ".join(f"{rate:g}" for rate in dict.fromkeys(s.init_rate for s in settings))
    return f"{name}, γ = {rates}, {_seeds(settings)}; {_length(settings, epochs)}"


def _seeds(settings: Sequence[Members]) -> str:
    counts = sorted({len(s.runs) for s in settings})
    number = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    each = " each" if len(settings) > 1 else ""
    return f"{number} seed{'s' * (counts[-1] > 1)}{each}"


def _length(settings: Sequence[Members], epochs: str) -> str:
    lengths = sorted({s.runs[0].config.training.epochs for s in settings})
    length = " to ".join(str(n) for n in dict.fromkeys((lengths[0], lengths[-1])))
    paper = paper_epochs()
    if not epochs:
        return f"{length} epochs" + (
            ", as in the paper" if lengths == [paper] else f" for {paper} in the paper"
        )
    chosen = {"both": (0, 1), "early": (0,), "late": (1,)}[epochs]
    shown = [
        " and ".join(str(e) for e in dict.fromkeys(shown_epochs(s)[i] for i in chosen)) for s in settings
    ]
    theirs = " and ".join(f"{shares(settings[0])[i] * paper:g}" for i in chosen)
    ours = " or ".join(dict.fromkeys(shown))
    if lengths == [paper] and ours == theirs:
        return f"epoch{'s' * (len(chosen) > 1)} {ours} of {length}, as in the paper"
    return f"epoch{'s' * (len(chosen) > 1)} {ours} of {length} for {theirs} of {paper} in the paper"


@cache
def _paper() -> tuple[int, tuple[float, ...]]:
    preset = load_preset("paper")
    return preset["training"]["epochs"], tuple(preset["init_rates"])
