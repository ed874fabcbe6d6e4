"""What the mathematics predicts: label distributions, flows and embeddings, without training.

NumPy and SciPy only: this package never imports torch, ``sim`` or ``validate``.
"""

from theory.activation import IDENTITY, TANH, Activation
from theory.closed_form import reasoning_anchor_law
from theory.cooccurrence import cooccurrence_matrix, expected_cooccurrence
from theory.count_population import CountPopulation, count_population, count_sample
from theory.embedding import eq14_embedding, fit_width
from theory.errors import InputError, IntegrationError
from theory.flow import frozen_direction, frozen_flow
from theory.flow_coupled import blow_up_bound, coupled_flow
from theory.flow_linearised import linearised_flow
from theory.flow_population import population_flow
from theory.geometry import cosine_matrix, off_diagonal
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
from theory.parameters import EmbMLPParameters
from theory.population import Population, draw_tables, enumerate_population, labels_of
from theory.rank_steps import (
    RankSteps,
    escape_dose,
    escape_threshold,
    measured_rank_steps,
    plateau_residual,
    rank_steps_from_labels,
    rank_steps_from_residuals,
)
from theory.rules import Lookup, Shift, Sum, Window
from theory.sample import token_label_counts, token_label_matrix
from theory.spread import FiniteSample, finite_sample_cosine, finite_sample_spread
from theory.task import Mapping, Task
from theory.trajectory import SolverStatistics, Trajectory
from theory.validity import Horizon, cosine_errors, validity_horizon

__all__ = [
    "EXACT",
    "IDENTITY",
    "STABILISED",
    "TANH",
    "Activation",
    "CountPopulation",
    "EmbMLPParameters",
    "FiniteSample",
    "GradientExpansion",
    "Horizon",
    "InputError",
    "IntegrationError",
    "Lookup",
    "Mapping",
    "Population",
    "RankSteps",
    "Shift",
    "Solver",
    "SolverStatistics",
    "Sum",
    "Task",
    "Trajectory",
    "Window",
    "blow_up_bound",
    "cooccurrence_matrix",
    "cosine_errors",
    "cosine_matrix",
    "count_population",
    "count_sample",
    "coupled_flow",
    "draw_tables",
    "enumerate_population",
    "eq14_embedding",
    "escape_dose",
    "escape_threshold",
    "expected_cooccurrence",
    "expected_token_label_matrix",
    "finite_sample_cosine",
    "finite_sample_spread",
    "fit_width",
    "frozen_direction",
    "frozen_flow",
    "gradient_orders",
    "label_distribution",
    "label_table",
    "labels_of",
    "linearised_flow",
    "marginal_distribution",
    "measured_rank_steps",
    "off_diagonal",
    "plateau_residual",
    "population_flow",
    "rank_steps_from_labels",
    "rank_steps_from_residuals",
    "reasoning_anchor_law",
    "token_label_counts",
    "token_label_matrix",
    "token_ratio",
    "token_ratios",
    "validity_horizon",
]
