"""Computed without the runs of a study; random draws take the place of seeds."""

from __future__ import annotations

from functools import partial

from theory import Task, linear_plateau, predict_value_growth
from validate.judge.claim import Claim, Endpoint, at_least, at_most, within
from validate.judge.measures.computed import (
    cliff_mass,
    construction_mass,
    difference_power,
    error_order,
    first_error,
    kolmogorov_power,
    largest_ratio,
    ratio_exponent_in_width,
    skewness_share,
)
from validate.judge.measures.propositions import error_power, form_error, smallest_cosine
from validate.judge.settings import COMPUTED, LARGE, SMALL
from validate.judge.stats import COSINE, SIZE

TASK = Task.paper()

# fmt: off
CLAIMS = (
    Claim(
        7, "Proposition 1 is exact for small weights",
        paper="an embedding is “dominated by the distribution” of its labels as γ grows",
        statement="The gradient of an embedding approaches r_s (P^s − u) W2ᵀW1ᵀ as the weights become "
                  "small.",
        section="3.2, Prop. 1, eq. 5", settings=(COMPUTED,),
        endpoints=[
            Endpoint("power of the weights' scale with which the relative error of eq. 5 falls",
                     error_order, holds=within(0.1, of=3), unit="power {}",
                     reason="predicted 3 (tanh); a further power tilts the slope by less than 0.1"),
        ],
        shown=[
            Endpoint("the same, label distributions scrambled", partial(error_order, scramble=True)),
            *(Endpoint(f"relative error of eq. 5 at initialisation, γ = {rate:g}",
                       partial(first_error, gamma=rate), scale=SIZE)
              for rate in (LARGE, 0.5, SMALL)),
        ],
    ),
    Claim(
        19, "the normal shape's inner products",
        statement="Theorem 1's inner products differ from the exact ones by no more than the order of "
                  "bound (13).",
        section="Thm. 1, bound (13)", settings=(COMPUTED,),
        endpoints=[
            *(Endpoint(f"power of d_m in the left side over the bound, γ = {rate:g}",
                       partial(ratio_exponent_in_width, gamma=rate), holds=at_most(0),
                       reason="the bound has to hold for all d_m with one constant", draws=20)
              for rate in (LARGE, 0.5, SMALL)),
            *(Endpoint(f"largest left side over the bound, d_m to 1600 and q to 32, γ = {rate:g}",
                       partial(largest_ratio, gamma=rate), holds=at_most(1),
                       reason="with 1 as the constant that the O leaves open", scale=SIZE, draws=20)
              for rate in (LARGE, 0.5, SMALL)),
            Endpoint("power of q in the distance of the label distribution from the normal, symmetric "
                     "anchors", partial(kolmogorov_power, skewed=False), holds=at_most(-0.9),
                     reason="predicted −1 (Edgeworth: no skewness term); a further power tilts the "
                            "slope by less than 0.1"),
            Endpoint("power of q in the distance of the label distribution from the normal, skewed anchors",
                     partial(kolmogorov_power, skewed=True), holds=within(0.1, of=-0.5),
                     reason="predicted −1/2 (Berry-Esseen, the order in the bound)"),
            Endpoint("that distance over the skewness term |λ|/(6√(2π)), skewed anchors, q = 32",
                     skewness_share, holds=within(0.2, of=1),
                     reason="the leading term; the next one is of relative order q^(−1/2), times a "
                            "number below one", scale=SIZE),
            Endpoint("power of q in the difference of inner products over the largest, no noise, "
                     "symmetric anchors", difference_power, holds=at_most(-0.5),
                     reason="the order in q of bound (13), relative to the fall of the inner products "
                            "themselves"),
        ],
        shown=[
            Endpoint("the same, zero in place of Theorem 1's shape", partial(difference_power, shape=False)),
            Endpoint("power of d_m in the left side over the bound, γ = 1.5",
                     partial(ratio_exponent_in_width, gamma=1.5), draws=20),
            *(Endpoint(f"power of d_m, noise alone in place of Theorem 1, γ = {rate:g}",
                       partial(ratio_exponent_in_width, gamma=rate, shape=False))
              for rate in (LARGE, 0.5, SMALL)),
            *(Endpoint(f"largest left side over the bound, noise alone in place of Theorem 1, γ = {rate:g}",
                       partial(largest_ratio, gamma=rate, shape=False))
              for rate in (LARGE, 0.5, SMALL)),
        ],
    ),
    Claim(
        20, "cliffs and a construction that has them",
        statement="For any ε some cliff sequence leaves less than ε outside key and anchors, and "
                  "matrices exist that produce one.",
        section="App. D-E, Lemma 5", settings=(COMPUTED,),
        endpoints=[
            Endpoint("greatest softmax mass outside the window over ε, q = 1, 2, 3", cliff_mass,
                     holds=at_most(1), reason="Lemma 5: less than ε", scale=SIZE),
            Endpoint("the same for the construction on drawn reasoning sequences, paper's task, ε = 0.001",
                     partial(construction_mass, kind="reasoning"), holds=at_most(1),
                     reason="App. E: a cliff for every p", scale=SIZE),
        ],
        shown=[
            Endpoint("greatest softmax mass outside the window over ε, sequences half as steep",
                     partial(cliff_mass, steepness=0.5)),
            Endpoint("greatest softmax mass outside the window over ε, construction on drawn memory "
                     "sequences", partial(construction_mass, kind="memory")),
            Endpoint("least plateau error, in steps, of a read-out linear in the tag (0 would be a "
                     "plateau)", lambda: linear_plateau(TASK.length, TASK.n_anchors)),
            Endpoint("Theorem 2's own prediction of the alignments, reasoning over memory",
                     lambda: predict_value_growth(TASK).selectivity),
        ],
    ),
    Claim(
        28, "Propositions 2 and 3 as printed",
        paper="the gradient flow of the one-layer Transformer's embedding “under small initialization "
              "scales”",
        statement="The gradient of an embedding in the one-layer Transformer approaches the printed "
                  "form, and a similar result holds for keys.",
        section="3.3, Prop. 2, 3, eq. 10, 11", settings=(COMPUTED,),
        endpoints=[
            *(Endpoint("power of the embedding's scale with which the relative error of the printed "
                       f"form falls, {name}", partial(error_power, form="printed", kind=name),
                       holds=at_least(0.9), unit="power {} as printed",
                       reason="predicted 1 for a leading order; a further power tilts the slope by less "
                              "than 0.1")
              for name in ('memory', 'reasoning', 'keys')),
        ],
        shown=[
            *(Endpoint("power of the embedding's scale with which the relative error of the derived "
                       f"form falls, {name}", partial(error_power, form="derived", kind=name))
              for name in ('memory', 'reasoning', 'keys')),
            *(Endpoint(f"relative error of the {form} form at the smallest scale, {name}",
                       partial(form_error, form=form, kind=name))
              for form in ('printed', 'derived') for name in ('memory', 'reasoning', 'keys')),
        ],
    ),
    Claim(
        38, "leading terms of a corpus",
        statement="Early in training, the matrices of Im et al.'s model are as close to the corpus's "
                  "leading terms as in their Table 1, with 1000 words instead of 3000.",
        section="Im et al., Table 1", appendix=True, settings=(COMPUTED,),
        reason="their Table 1: 3000 words, three layers, rate 0.005, 100 epochs, one seed",
        endpoints=[
            *(Endpoint(f"smallest cosine of {name} and its leading term",
                       partial(smallest_cosine, kind=name), holds=at_least(least), scale=COSINE)
              for name, least in (("attention", 0.9995), ("value", 0.9992), ("output", 0.9985))),
        ],
        shown=[
            *(Endpoint(f"the same for {name}, leading term of the shuffled texts",
                       partial(smallest_cosine, kind=name, terms="shuffled"), scale=COSINE)
              for name in ('attention', 'value', 'output')),
        ],
    ),
)
