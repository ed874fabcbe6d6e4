"""What the mathematics predicts: label distributions, flows and embeddings, without training.

NumPy and SciPy only, and SymPy once a derivation is asked for: this package never imports torch, ``sim``
or ``validate``.
"""

from theory.corpus.associations import Associations, corpus_associations
from theory.corpus.controls import frequency_matched, limited_corpus, shuffled_tokens
from theory.corpus.counts import CorpusCounts, corpus_counts
from theory.corpus.geometry import CorpusGeometry, corpus_geometry
from theory.corpus.mean_cosine import corpus_mean_cosine
from theory.corpus.neighbours import nearest_tokens
from theory.corpus.operators import (
    as_matrix,
    bigram_operator,
    context_cooccurrence_operator,
    context_operator,
    interchangeability_operator,
    top_eigen,
    top_singular,
)
from theory.emb_mlp.activation import IDENTITY, TANH, Activation
from theory.emb_mlp.coupled import blow_up_bound, coupled_flow
from theory.emb_mlp.expansion import GradientExpansion, gradient_orders
from theory.emb_mlp.frozen import frozen_direction, frozen_flow
from theory.emb_mlp.linearised import linearised_flow
from theory.emb_mlp.parameters import EmbMLPParameters
from theory.emb_mlp.population_flow import population_flow
from theory.emb_mlp.rank_steps import (
    RankSteps,
    escape_dose,
    escape_threshold,
    measured_rank_steps,
    plateau_residual,
    rank_steps_from_labels,
)
from theory.emb_mlp.validity import Horizon, cosine_errors, validity_horizon
from theory.errors import InputError, IntegrationError, TooManyEntriesError
from theory.integrate.solve import EXACT, STABILISED, Solver
from theory.integrate.trajectory import SolverStatistics, Trajectory
from theory.shapes.cosines import PrincipalComponents, cosine_matrix, off_diagonal, principal_components
from theory.shapes.eq14 import eq14_embedding, fit_width
from theory.shapes.gaussian import (
    GaussianShape,
    NormalDistance,
    gaussian_embedding,
    gaussian_shape,
    inner_product_difference,
    label_law_embedding,
    normal_distance,
)
from theory.shapes.inner_product_bound import InnerProductBound, inner_product_bound
from theory.shapes.power_law import Exponent, fit_exponent
from theory.statistics.closed_form import reasoning_anchor_law
from theory.statistics.cooccurrence import cooccurrence_matrix, expected_cooccurrence
from theory.statistics.counts import CountPopulation, count_population, count_sample
from theory.statistics.finite_sample import FiniteSample, finite_sample_cosine, finite_sample_spread
from theory.statistics.labels import (
    expected_token_label_matrix,
    label_distribution,
    label_table,
    marginal_distribution,
    token_ratio,
    token_ratios,
)
from theory.statistics.sample import token_label_counts, token_label_matrix
from theory.statistics.sampled import SampledDistribution, sample_label_distribution
from theory.statistics.sampled_labels import LabelMoments, SampledLabels, SampledValue, sample_labels
from theory.symbolic import Derivation, derivations, derivations_page, find_derivation
from theory.task.additive import Shift, Sum
from theory.task.expression import Expression
from theory.task.function import Function, Tabulated
from theory.task.mapping import Mapping
from theory.task.population import Population, draw_tables, enumerate_population, labels_of
from theory.task.tables import Lookup, Window
from theory.task.task import Task
from theory.transformer.attention_init import (
    attention_logit_std,
    average_attention_bound,
    average_attention_probability,
    sample_attention_rows,
    smallest_init_rate,
)
from theory.transformer.cliff import cliff_sequence, cliff_step, is_cliff, mass_outside
from theory.transformer.cliff_conditions import (
    AssumptionErrors,
    assumption_errors,
    plateau_error,
    query_spread,
    smallest_drop,
    smallest_rise,
)
from theory.transformer.construction import Construction, build_construction, linear_plateau
from theory.transformer.drives import (
    last_place_distribution,
    last_place_matrix,
    last_place_ratio,
    last_place_share,
    paper_transformer_drive,
    sample_last_place_matrix,
    transformer_drive,
)
from theory.transformer.one_layer import OneLayerParameters, lemma3_flow, lemma4_flow, one_layer_logits
from theory.transformer.value_growth import ValueGrowth, predict_value_growth, value_drive

__all__ = [
    "EXACT",
    "IDENTITY",
    "STABILISED",
    "TANH",
    "Activation",
    "Associations",
    "AssumptionErrors",
    "Construction",
    "CorpusCounts",
    "CorpusGeometry",
    "CountPopulation",
    "Derivation",
    "EmbMLPParameters",
    "Exponent",
    "Expression",
    "FiniteSample",
    "Function",
    "GaussianShape",
    "GradientExpansion",
    "Horizon",
    "InnerProductBound",
    "InputError",
    "IntegrationError",
    "LabelMoments",
    "Lookup",
    "Mapping",
    "NormalDistance",
    "OneLayerParameters",
    "Population",
    "PrincipalComponents",
    "RankSteps",
    "SampledDistribution",
    "SampledLabels",
    "SampledValue",
    "Shift",
    "Solver",
    "SolverStatistics",
    "Sum",
    "Tabulated",
    "Task",
    "TooManyEntriesError",
    "Trajectory",
    "ValueGrowth",
    "Window",
    "as_matrix",
    "assumption_errors",
    "attention_logit_std",
    "average_attention_bound",
    "average_attention_probability",
    "bigram_operator",
    "blow_up_bound",
    "build_construction",
    "cliff_sequence",
    "cliff_step",
    "context_cooccurrence_operator",
    "context_operator",
    "cooccurrence_matrix",
    "corpus_associations",
    "corpus_counts",
    "corpus_geometry",
    "corpus_mean_cosine",
    "cosine_errors",
    "cosine_matrix",
    "count_population",
    "count_sample",
    "coupled_flow",
    "derivations",
    "derivations_page",
    "draw_tables",
    "enumerate_population",
    "eq14_embedding",
    "escape_dose",
    "escape_threshold",
    "expected_cooccurrence",
    "expected_token_label_matrix",
    "find_derivation",
    "finite_sample_cosine",
    "finite_sample_spread",
    "fit_exponent",
    "fit_width",
    "frequency_matched",
    "frozen_direction",
    "frozen_flow",
    "gaussian_embedding",
    "gaussian_shape",
    "gradient_orders",
    "inner_product_bound",
    "inner_product_difference",
    "interchangeability_operator",
    "is_cliff",
    "label_distribution",
    "label_law_embedding",
    "label_table",
    "labels_of",
    "last_place_distribution",
    "last_place_matrix",
    "last_place_ratio",
    "last_place_share",
    "lemma3_flow",
    "lemma4_flow",
    "limited_corpus",
    "linear_plateau",
    "linearised_flow",
    "marginal_distribution",
    "mass_outside",
    "measured_rank_steps",
    "nearest_tokens",
    "normal_distance",
    "off_diagonal",
    "one_layer_logits",
    "paper_transformer_drive",
    "plateau_error",
    "plateau_residual",
    "population_flow",
    "predict_value_growth",
    "principal_components",
    "query_spread",
    "rank_steps_from_labels",
    "reasoning_anchor_law",
    "sample_attention_rows",
    "sample_label_distribution",
    "sample_labels",
    "sample_last_place_matrix",
    "shuffled_tokens",
    "smallest_drop",
    "smallest_init_rate",
    "smallest_rise",
    "token_label_counts",
    "token_label_matrix",
    "token_ratio",
    "token_ratios",
    "top_eigen",
    "top_singular",
    "transformer_drive",
    "validity_horizon",
    "value_drive",
]
