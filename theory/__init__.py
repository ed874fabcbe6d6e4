"""What the mathematics predicts: label distributions, flows and embeddings, without training.

NumPy and SciPy only, and SymPy once a derivation is asked for: this package never imports torch, ``sim``
or ``validate``.
"""

from theory.closed_form import reasoning_anchor_law
from theory.embedding import eq14_embedding, fit_width
from theory.errors import InputError
from theory.flow import EmbMLPParameters, Trajectory, frozen_direction, frozen_flow
from theory.geometry import cosine_matrix, off_diagonal
from theory.labels import (
    expected_token_label_matrix,
    label_distribution,
    label_table,
    marginal_distribution,
    token_ratio,
    token_ratios,
)
from theory.population import Population, draw_tables, enumerate_population, labels_of
from theory.rules import Lookup, Shift, Sum, Window
from theory.sample import token_label_counts, token_label_matrix
from theory.spread import FiniteSample, finite_sample_cosine, finite_sample_spread
from theory.symbolic import Derivation, derivations, derivations_page, find_derivation
from theory.task import Mapping, Task

__all__ = [
    "Derivation",
    "EmbMLPParameters",
    "FiniteSample",
    "InputError",
    "Lookup",
    "Mapping",
    "Population",
    "Shift",
    "Sum",
    "Task",
    "Trajectory",
    "Window",
    "cosine_matrix",
    "derivations",
    "derivations_page",
    "draw_tables",
    "enumerate_population",
    "eq14_embedding",
    "expected_token_label_matrix",
    "find_derivation",
    "finite_sample_cosine",
    "finite_sample_spread",
    "fit_width",
    "frozen_direction",
    "frozen_flow",
    "label_distribution",
    "label_table",
    "labels_of",
    "marginal_distribution",
    "off_diagonal",
    "reasoning_anchor_law",
    "token_label_counts",
    "token_label_matrix",
    "token_ratio",
    "token_ratios",
]
