"""Which predictions of the embedding's geometry and of the times of learning come true."""

from __future__ import annotations

from functools import partial

from validate.judge.claim import ALL_VARIANTS, Claim, Endpoint, Other, Runs, above, at_least, at_most, within
from validate.judge.measures.learning_times import matched_off, times_by_other_seed, times_score
from validate.judge.measures.prediction import (
    correlation,
    exchanged_excess,
    fitted_width,
    lowest_row_correlation,
    near_error,
    skill,
)
from validate.judge.settings import ACCURACY, DATA_SETS, EVERYWHERE, FULL_SIZE, LARGE, MLP, SMALL
from validate.judge.stats import COSINE, SHARE, SIZE, SKILL
from validate.observe.times import early_epoch, last_epoch
from validate.predict.predictors import (
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)

# fmt: off
CLAIMS = (
    Claim(
        6, "label distributions predict the embedding",
        paper="the labels' distributions “play a critical role in establishing the embedding structure” "
              "early in training",
        statement="Early in training the anchors' cosines have the structure of those of their label "
                  "distributions, P^s − u, and not of the same distributions exchanged among the "
                  "reasoning anchors.",
        section="3.2, Prop. 1-3, Fig. 4B-C", settings=EVERYWHERE, learned=True,
        endpoints=[
            *(Endpoint(f"Pearson of predicted (P^s − u) and observed cosine, {name}, minus that with P^s "
                       "exchanged among the reasoning anchors, early", partial(exchanged_excess, pairs=pairs),
                       at=SMALL, holds=above(0, margin=0.1), unit=unit,
                       reason="better than with the wrong anchors' labels; a tenth is not relevant")
              for name, pairs, unit in (
                  ("within the reasoning anchors", "within reasoning", "Δr {} within"),
                  ("reasoning with memory anchors", "across", "{} across"))),
            Endpoint("Pearson of predicted (P^s − u) and observed cosine, reasoning anchors, early",
                     partial(correlation, tokens="reasoning anchors"), at=SMALL,
                     holds=at_least(0.7, margin=0.05), reason="order: r² of one half, half of the variance",
                     scale=COSINE, unit="r {}"),
        ],
        shown=[
            Endpoint("skill of P^s − u over −|i − j| and same mapping, all anchors, early",
                     partial(skill, over="best"), at=SMALL, scale=SKILL),
            Endpoint("Pearson of predicted (P^s − u) and observed cosine, all anchors, early", correlation,
                     at=SMALL, scale=COSINE),
            Endpoint("skill of P^s − u over one mean cosine, reasoning anchors, early",
                     partial(skill, tokens="reasoning anchors", over="mean"), at=SMALL, scale=SKILL),
            *(Endpoint(f"Pearson of predicted (P^s − u) and observed cosine, {name}, early",
                       partial(correlation, tokens=name), at=SMALL, minus=LARGE, scale=COSINE)
              for name in ('all anchors', 'reasoning anchors')),
            Endpoint("skill of P^s − u over −|i − j| and same mapping, reasoning anchors, early",
                     partial(skill, tokens="reasoning anchors", over="best"), at=SMALL, scale=SKILL),
            Endpoint("skill of P^s − u over one mean cosine, all anchors, early",
                     partial(skill, over="mean"), at=SMALL, scale=SKILL),
            Endpoint("skill of P^s − u over orthogonal anchors, all anchors, early", skill, at=SMALL,
                     minus=LARGE),
            Endpoint("skill of P^s − P̄ over orthogonal anchors, all anchors, early",
                     partial(skill, predict=from_marginal), at=SMALL),
            Endpoint("skill of P̂^s − u of the run's data over orthogonal anchors, all anchors, early",
                     partial(skill, predict=from_counts), at=SMALL),
            Endpoint("skill of the frozen flow, late, over orthogonal anchors, all anchors, early",
                     partial(skill, predict=from_frozen_direction), at=SMALL, settings=(MLP,)),
        ],
    ),
    Claim(
        9, "a normal shape predicts each anchor's row",
        paper="the cosines of eq. 14 and of the embedding “exhibit a strong alignment”",
        statement="Eq. 14 gives the cosines of every reasoning anchor with the others, except for those "
                  "far apart.",
        section="3.3, Thm. 1, Fig. 5C, 9", settings=FULL_SIZE, learned=True,
        endpoints=[
            *(Endpoint(f"RMS error over the nearer half of distances, eq. 14 as printed, {name}",
                       partial(near_error, when=when), at=SMALL, holds=at_most(0.1, margin=0.02),
                       reason="size: the paper notes differences at great distances only; a tenth of the "
                              "range from 0 to 1", scale=SIZE, unit="RMS {}")
              for name, when in (("at the end", last_epoch), ("early", early_epoch))),
            *(Endpoint(f"lowest over anchors of Pearson of a row, eq. 14 as printed, {name}",
                       partial(lowest_row_correlation, when=when), at=SMALL, holds=at_least(0.7, margin=0.05),
                       reason="shape: r² of one half, half of the variance", scale=COSINE, unit="lowest r {}")
              for name, when in (("at the end", last_epoch), ("early", early_epoch))),
        ],
        shown=[
            Endpoint("skill of eq. 14 as printed over −|i − j|, reasoning anchors, early",
                     partial(skill, predict=from_eq14, tokens="reasoning anchors", over="best"), at=SMALL,
                     scale=SKILL),
            Endpoint("lowest over anchors of Pearson of a row, eq. 14 as printed, early",
                     lowest_row_correlation, at=SMALL, minus=LARGE, scale=COSINE),
            Endpoint("RMS error over the nearer half of distances, eq. 14 as printed, early", near_error,
                     at=SMALL, minus=LARGE, scale=SIZE),
            Endpoint("skill of eq. 14 as printed over P^s − u, which it approximates, reasoning "
                     "anchors, early",
                     partial(skill, predict=from_eq14, over=from_uniform, tokens="reasoning anchors"),
                     at=SMALL, scale=SKILL),
            *(Endpoint(f"width of eq. 14 fitted to the run itself (12 printed), {name}",
                       partial(fitted_width, when=when), at=SMALL, scale=SIZE)
              for name, when in (("early", early_epoch), ("end", last_epoch))),
        ],
    ),
    Claim(
        39, "when each thing is learned",
        statement="The steps after which memory and reasoning are half learned follow from task, γ, "
                  "widths, optimiser and rate, without training.",
        section="Fig. 3B", settings=(MLP,),
        endpoints=[
            *(Endpoint(f"R² of the predicted log2 steps to half accuracy minus another seed's R², {name}",
                       partial(times_score, score="explained"),
                       minus=Other("R² of another seed's run, mean over pairs (jackknife)",
                                   measure=times_by_other_seed), holds=within(0.1),
                       reason="as good as another run, within a tenth of the variance between settings; "
                              "nothing is fitted", runs=Runs(name, ALL_VARIANTS))
              for name in ('optimisers', 'learning-times')),
        ],
        shown=[
            *(Endpoint(f"R² of the best of three guesses fitted on the other settings, {name}",
                       partial(times_score, score="best guess"), runs=Runs(name, ALL_VARIANTS))
              for name in ('optimisers', 'learning-times')),
            *(Endpoint(f"share of data sets that only one of run and prediction fits by the end, {name}",
                       partial(times_score, score="one-sided"), scale=SHARE, step=DATA_SETS,
                       runs=Runs(name, ALL_VARIANTS))
              for name in ('optimisers', 'learning-times')),
            *(Endpoint("|predicted − observed| test accuracy when reasoning train passes 0.5, AdamW "
                       f"1e-4, γ = {rate:g}", matched_off, at=rate, scale=SHARE, step=ACCURACY,
                       runs=Runs("optimisers", "adamw"))
              for rate in (LARGE, 0.5, SMALL)),
            Endpoint("|predicted − observed| test accuracy when reasoning train passes 0.5, AdamW 1e-4, "
                     "γ = 0.6", matched_off, at=0.6, scale=SHARE, step=ACCURACY,
                     runs=Runs("learning-times", "adamw-slow")),
        ],
    ),
)
