"""A language model on two corpora: Figs. 1, 7 and 14 on PrOntoQA and TinyStories, or any two."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from validate.judge.claim import Claim, Endpoint, above, at_least
from validate.judge.measures.language import (
    correlation_gain,
    cosine_contrast,
    cosine_correlation,
    loss_gap,
    relative_gap,
)
from validate.judge.measures.learning import least_rise, trend
from validate.judge.settings import LANGUAGE, LARGE, RATES, SMALL
from validate.judge.stats import COSINE


# fmt: off
def corpora(first: str, second: str, small: float, large: float) -> tuple[Claim, ...]:
    """Return the claims about two corpora, of which the first is expected to be learned first.

    On the losses at a small γ, on how losses and cosines differ between values of γ, on the cosines of each
    corpus's words at a small γ, and the theory's own, on cosines predicted from counts.
    """
    return (
        Claim(
            32, f"{first} is learned first",
            paper="the loss on PrOntoQA “decreases significantly faster” than on TinyStories",
            statement=f"With small initial weights the loss on {first} is lower than on {second}, by more "
                      "than their entropies differ.",
            section="1, 3.4, Fig. 1",
            endpoints=[Endpoint(name, partial(loss_gap, known=known), at=small, holds=above(0),
                                reason="no gap")
                       for name, known in (("gap of losses (nats)", "nothing"),
                                           ("gap above tokens' entropy", "frequencies"),
                                           ("gap above pairs' entropy", "pairs"))],
            shown=[Endpoint(f"gap before training, above the entropy of {name}",
                            partial(loss_gap, known=name, line=0), at=small)
                   for name in ("frequencies", "pairs")],
        ),
        Claim(
            33, "the gap and the contrast grow with γ",
            paper="as γ increases, ΔL “exhibits an upward trend”",
            statement="The smaller the initial weights, the further the two losses, and the cosines of the "
                      "corpora's words, lie apart.",
            section="3.4, Figs. 7A and 14",
            endpoints=[
                Endpoint(f"ΔL at γ = {small:g} minus ΔL at γ = {large:g}", relative_gap, at=small,
                         minus=large, holds=above(0, margin=0.05), unit="ΔL {}",
                         reason="no change; a twentieth of the first loss is not relevant"),
                Endpoint("least rise of ΔL from one γ to the next", partial(least_rise, of=relative_gap),
                         holds=above(0, margin=0.05), reason="an upward trend falls nowhere", unit="rise {}"),
                Endpoint(f"difference of mean cosines, γ = {small:g} minus γ = {large:g}", cosine_contrast,
                         at=small, minus=large, holds=above(0, margin=0.05), scale=(-2.0, 2.0),
                         reason="no change; a cosine of a twentieth is not relevant"),
            ],
            shown=[
                *(Endpoint(f"gap at γ = {small:g} less that at {large:g} (nats), {name} known",
                           partial(loss_gap, known=name), at=small, minus=large)
                  for name in ("nothing", "pairs")),
                *(Endpoint(f"rank correlation of γ and {name}", partial(trend, of=of), scale=COSINE,
                           step=RATES)
                  for name, of in (("ΔL", relative_gap), ("contrast of cosines", cosine_contrast))),
            ],
        ),
        Claim(
            34, f"words of {second} align more",
            paper="words of PrOntoQA are “significantly more distinguishable” than those of TinyStories",
            statement=f"Early, with small initial weights, words of {second} are more alike than words of "
                      f"{first}.",
            section="3.4, Figs. 7B, 14",
            endpoints=[Endpoint("difference of mean cosines", cosine_contrast, at=small,
                                holds=above(0, margin=0.05), reason="no difference", scale=(-2.0, 2.0))],
            shown=[Endpoint(f"difference of mean cosines{name}", partial(cosine_contrast, matched=matched),
                            at=rate, scale=(-2.0, 2.0))
                   for name, matched, rate in (
                       (", tokens of equal frequency", True, small), (f", γ = {large:g}", False, large),
                       (f", tokens of equal frequency, γ = {large:g}", True, large))],
        ),
        Claim(
            35, "counts predict the cosines of words",
            statement="Rows of C + C^T, known before training, predict the early cosines of both corpora's "
                      "words.",
            section="3.4, Fig. 7B, and the theory of a corpus",
            endpoints=[
                *(Endpoint(f"{name}: above shuffled text's", partial(correlation_gain, corpus=i), at=small,
                           holds=above(0, margin=0.05), scale=(-2.0, 2.0),
                           reason="better than shuffled text, the best rival, which keeps only frequencies")
                  for i, name in enumerate((first, second))),
                *(Endpoint(f"{name}: correlation", partial(cosine_correlation, corpus=i), at=small,
                           holds=at_least(0.5, margin=0.05), reason="a quarter of the variance", scale=COSINE)
                  for i, name in enumerate((first, second))),
            ],
            shown=[Endpoint(f"{name}: above shuffled text's, mean removed",
                            partial(correlation_gain, corpus=i, centred=True), at=small)
                   for i, name in enumerate((first, second))],
        ),
    )
# fmt: on


CLAIMS = tuple(replace(c, settings=LANGUAGE) for c in corpora("PrOntoQA", "TinyStories", SMALL, LARGE))
