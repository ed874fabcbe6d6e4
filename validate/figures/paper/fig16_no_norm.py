"""Learning without layer norm: Fig. 3A for a Transformer without it (Appendix F).

The theory has no layer norm. The paper finds the same bias: small weights favour reasoning, and large ones
do not. The runs are of the likeliest setting without its norm: at full size if there are such runs, and
otherwise at a quarter of the size. Each seed is a thin line.
"""

from __future__ import annotations

from collections.abc import Sequence

from validate.figures.attention import ATTENTION
from validate.figures.context import about, missing_rates
from validate.figures.learning import level_text
from validate.figures.paper.fig03_learning import learning_row
from validate.figures.paper.registry import Source, paper_figure
from validate.figures.selection import of_kind, required
from validate.figures.sheet import Sheet
from validate.judge.condition import LARGE, SMALL
from validate.observe import Observations

WITHOUT_NORM = Source(("group-no-norm", "group-no-norm-small", "no-norm-all"), (LARGE, SMALL))


@paper_figure(16, "Loss and accuracy without layer norm", WITHOUT_NORM)
def without_norm(observations: Sequence[Observations]) -> Sheet:
    """Draw loss and accuracy of the Transformer without layer norm."""
    plain = [o for o in observations if getattr(o.config.model, "norm", "") == "none"]
    about_what = "Transformers without norm (--model.norm none)"
    settings = required(of_kind(plain, *ATTENTION), observations, "Fig. 16", about_what)
    rows = [
        learning_row(
            "A  Transformer without layer norm: loss", settings, "loss", legend=False, log=True, each=True
        ),
        learning_row("B  Transformer without layer norm: accuracy", settings, "accuracy", each=True),
    ]
    parts = [
        "Loss and accuracy over epochs without layer norm.",
        level_text(settings),
        missing_rates(settings),
    ]
    return Sheet("fig16_no_norm", " ".join(filter(None, parts)), about(settings), rows)
