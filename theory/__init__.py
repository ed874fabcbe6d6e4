"""What the mathematics predicts: label distributions, flows and embeddings, without training.

NumPy and SciPy only, and SymPy once a derivation is asked for: this package never imports torch, ``sim``
or ``validate``.
"""

from theory.activation import IDENTITY, TANH, Activation
from theory.attention import (
    attention_logit_std,
    average_attention_bound,
    average_attention_probability,
    sample_attention_rows,
    smallest_init_rate,
)
from theory.cliff import cliff_sequence, cliff_step, is_cliff, mass_outside
from theory.cliff_conditions import (
    AssumptionErrors,
    assumption_errors,
    plateau_error,
    query_spread,
    smallest_drop,
    smallest_rise,
)
from theory.closed_form import reasoning_anchor_law
from theory.construction import Construction, build_construction, linear_plateau
from theory.cooccurrence import cooccurrence_matrix, expected_cooccurrence
from theory.count_population import CountPopulation, count_population, count_sample
from theory.embedding import eq14_embedding, fit_width
from theory.errors import InputError, IntegrationError
from theory.exponent import Exponent, fit_exponent
from theory.flow import frozen_direction, frozen_flow
from theory.flow_coupled import blow_up_bound, coupled_flow
from theory.flow_linearised import linearised_flow
from theory.flow_population import population_flow
from theory.geometry import PrincipalComponents, cosine_matrix, off_diagonal, principal_components
from theory.gradient_order import GradientExpansion, gradient_orders
from theory.integrate import EXACT, STABILISED, Solver
from theory.labels import (
    expected_token_label_matrix,
    label_distribution,
    label_table,
    marginal_distribution,
    token_ratio,
    token_ratios,
)
from theory.one_layer import OneLayerParameters, lemma3_flow, lemma4_flow, one_layer_logits
from theory.parameters import EmbMLPParameters
from theory.population import Population, draw_tables, enumerate_population, labels_of
from theory.rank_steps import (
    RankSteps,
    escape_dose,
    escape_threshold,
    measured_rank_steps,
    plateau_residual,
    rank_steps_from_labels,
)
from theory.rules import Lookup, Shift, Sum, Window
from theory.sample import token_label_counts, token_label_matrix
from theory.spread import FiniteSample, finite_sample_cosine, finite_sample_spread
from theory.symbolic import Derivation, derivations, derivations_page, find_derivation
from theory.task import Mapping, Task
from theory.theorem1 import (
    GaussianShape,
    NormalDistance,
    gaussian_embedding,
    gaussian_shape,
    inner_product_difference,
    label_law_embedding,
    normal_distance,
)
from theory.trajectory import SolverStatistics, Trajectory
from theory.transformer_flow import (
    last_place_distribution,
    last_place_matrix,
    last_place_ratio,
    last_place_share,
    paper_transformer_drive,
    sample_last_place_matrix,
    transformer_drive,
)
from theory.validity import Horizon, cosine_errors, validity_horizon
from theory.value_growth import ValueGrowth, predict_value_growth, value_drive

__all__ = [
    "EXACT",
    "IDENTITY",
    "STABILISED",
    "TANH",
    "Activation",
    "AssumptionErrors",
    "Construction",
    "CountPopulation",
    "Derivation",
    "EmbMLPParameters",
    "Exponent",
    "FiniteSample",
    "GaussianShape",
    "GradientExpansion",
    "Horizon",
    "InputError",
    "IntegrationError",
    "Lookup",
    "Mapping",
    "NormalDistance",
    "OneLayerParameters",
    "Population",
    "PrincipalComponents",
    "RankSteps",
    "Shift",
    "Solver",
    "SolverStatistics",
    "Sum",
    "Task",
    "Trajectory",
    "ValueGrowth",
    "Window",
    "assumption_errors",
    "attention_logit_std",
    "average_attention_bound",
    "average_attention_probability",
    "blow_up_bound",
    "build_construction",
    "cliff_sequence",
    "cliff_step",
    "cooccurrence_matrix",
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
    "frozen_direction",
    "frozen_flow",
    "gaussian_embedding",
    "gaussian_shape",
    "gradient_orders",
    "inner_product_difference",
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
    "linear_plateau",
    "linearised_flow",
    "marginal_distribution",
    "mass_outside",
    "measured_rank_steps",
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
    "sample_last_place_matrix",
    "smallest_drop",
    "smallest_init_rate",
    "smallest_rise",
    "token_label_counts",
    "token_label_matrix",
    "token_ratio",
    "token_ratios",
    "transformer_drive",
    "validity_horizon",
    "value_drive",
]
