"""Next-token loss of GPT-2 on two corpora, trained together.

The answers of PrOntoQA follow from rules, TinyStories is told. The paper's claim: with small initial weights
the loss on PrOntoQA falls faster. The dotted and dashed lines are computed from the text: the entropy of a
token, and of a token whose predecessor is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.context import about, missing_rates
from validate.figures.learning import accuracy_curves
from validate.figures.panels.curves import Curves
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import of_kind, required
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE, Look
from validate.judge.groups import Setting
from validate.judge.measures.language import entropy, two_corpora
from validate.observe import Observations

_LEVELS = {"frequencies": ("entropy of a token", ":"), "pairs": ("given the one before", "--")}


@paper_figure(1, "Loss on two corpora", "language")
def two_losses(observations: Sequence[Observations]) -> Sheet:
    """Draw the two corpora's losses over epochs, one column per γ."""
    settings = language_settings(observations, "Fig. 1")
    first, second = two_corpora(settings[0].runs[0])
    caption = (
        f"Next-token loss of GPT-2, trained on {first} and {second} together, as many sequences of each. "
        "Dotted and dashed: the losses of the best model that knows how often each token occurs, and of the "
        f"best that knows the token before, on the first seed's sequences. {missing_rates(settings)}"
    )
    rows = [PanelRow("Loss on each corpus", [_curves(s) for s in settings], share_y="loss")]
    return Sheet("fig01_language", caption.strip(), about(settings), rows)


def language_settings(observations: Sequence[Observations], figure: str) -> list[Setting]:
    """Return the settings of language models; refuse runs that hold none."""
    return required(of_kind(observations, "gpt2"), observations, figure, "GPT-2")


def _curves(setting: Setting) -> Curves:
    names = two_corpora(setting.runs[0])
    colours = dict(zip(names, PALETTE, strict=False))
    levels = {
        f"{'_' * (name != names[0])}{what}{' ' * (name != names[0])}": (
            entropy(setting.runs[0], name, known),
            Look(colour, line=line, width=1),
        )
        for name, colour in colours.items()
        for known, (what, line) in _LEVELS.items()
    }
    parts = {name: (name, Look(colour)) for name, colour in colours.items()}
    return accuracy_curves(setting, "loss", parts=parts, levels=levels)
