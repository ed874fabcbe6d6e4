"""What the mathematics predicts: label distributions, flows and embeddings, without training.

It computes with NumPy and SciPy only, and with SymPy in derivations: it never imports torch, ``sim`` or
``validate``. Names are loaded at first use, so that a command that needs no flow does not wait for SciPy.

Every function raises ``InputError``, before it does anything, for arguments that its parameters do not allow,
such as wrong shapes or foreign tokens; docstrings name the refusals that are not obvious.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from theory.corpus.associations import Associations as Associations
    from theory.corpus.associations import corpus_associations as corpus_associations
    from theory.corpus.counts import CorpusCounts as CorpusCounts
    from theory.corpus.counts import corpus_counts as corpus_counts
    from theory.corpus.counts import corpus_gram as corpus_gram
    from theory.corpus.counts import corpus_mean_cosine as corpus_mean_cosine
    from theory.corpus.counts import pair_counts as pair_counts
    from theory.corpus.geometry import CorpusGeometry as CorpusGeometry
    from theory.corpus.geometry import corpus_geometry as corpus_geometry
    from theory.corpus.geometry import nearest_tokens as nearest_tokens
    from theory.corpus.operators import as_matrix as as_matrix
    from theory.corpus.operators import bigram_operator as bigram_operator
    from theory.corpus.operators import context_operator as context_operator
    from theory.corpus.operators import top_singular as top_singular
    from theory.corpus.sequences import shuffled_tokens as shuffled_tokens
    from theory.derive import Derivation as Derivation
    from theory.derive import derivations as derivations
    from theory.derive import derivations_page as derivations_page
    from theory.derive import find_derivation as find_derivation
    from theory.edge.errors import InputError as InputError
    from theory.edge.errors import IntegrationError as IntegrationError
    from theory.edge.errors import TooManyEntriesError as TooManyEntriesError
    from theory.flows.batches import AdamSettings as AdamSettings
    from theory.flows.batches import OutsideValidityWarning as OutsideValidityWarning
    from theory.flows.batches import SGDSettings as SGDSettings
    from theory.flows.escapes import escape_dose as escape_dose
    from theory.flows.escapes import escape_threshold as escape_threshold
    from theory.flows.escapes import measured_rank_steps as measured_rank_steps
    from theory.flows.held_out import OneModeAnswers as OneModeAnswers
    from theory.flows.held_out import answer_accuracy as answer_accuracy
    from theory.flows.held_out import one_mode_answers as one_mode_answers
    from theory.flows.ladder import blow_up_bound as blow_up_bound
    from theory.flows.ladder import coupled_flow as coupled_flow
    from theory.flows.ladder import frozen_direction as frozen_direction
    from theory.flows.ladder import frozen_flow as frozen_flow
    from theory.flows.ladder import linearised_flow as linearised_flow
    from theory.flows.ladder import population_flow as population_flow
    from theory.flows.learning_curves import LearningCurves as LearningCurves
    from theory.flows.network import IDENTITY as IDENTITY
    from theory.flows.network import TANH as TANH
    from theory.flows.network import Activation as Activation
    from theory.flows.network import EmbMLPParameters as EmbMLPParameters
    from theory.flows.predict_learning import predict_learning as predict_learning
    from theory.flows.predicted_embedding import PredictedEmbedding as PredictedEmbedding
    from theory.flows.predicted_embedding import predicted_embedding as predicted_embedding
    from theory.flows.staircase import Staircase as Staircase
    from theory.flows.staircase import saddle_staircase as saddle_staircase
    from theory.integrate.solve import EXACT as EXACT
    from theory.integrate.solve import STABILISED as STABILISED
    from theory.integrate.solve import Solver as Solver
    from theory.integrate.trajectory import SolverStatistics as SolverStatistics
    from theory.integrate.trajectory import Trajectory as Trajectory
    from theory.labels.counts import CountPopulation as CountPopulation
    from theory.labels.counts import count_population as count_population
    from theory.labels.distribution import label_distribution as label_distribution
    from theory.labels.distribution import marginal_distribution as marginal_distribution
    from theory.labels.distribution import token_ratio as token_ratio
    from theory.labels.entropies import LabelEntropies as LabelEntropies
    from theory.labels.entropies import label_entropies as label_entropies
    from theory.labels.finite_sample import FiniteSample as FiniteSample
    from theory.labels.finite_sample import finite_sample_cosines as finite_sample_cosines
    from theory.labels.matrices import cooccurrence_matrix as cooccurrence_matrix
    from theory.labels.matrices import expected_cooccurrence as expected_cooccurrence
    from theory.labels.matrices import expected_token_label_matrix as expected_token_label_matrix
    from theory.labels.matrices import label_table as label_table
    from theory.labels.matrices import token_label_counts as token_label_counts
    from theory.labels.matrices import token_label_matrix as token_label_matrix
    from theory.labels.matrices import token_ratios as token_ratios
    from theory.labels.sampled import LabelMoments as LabelMoments
    from theory.labels.sampled import SampledLabels as SampledLabels
    from theory.labels.sampled import SampledValue as SampledValue
    from theory.labels.sampled import sample_labels as sample_labels
    from theory.shapes.cosines import PrincipalComponents as PrincipalComponents
    from theory.shapes.cosines import cosine_matrix as cosine_matrix
    from theory.shapes.cosines import off_diagonal as off_diagonal
    from theory.shapes.cosines import principal_components as principal_components
    from theory.shapes.fits import Exponent as Exponent
    from theory.shapes.fits import eq14_embedding as eq14_embedding
    from theory.shapes.fits import fit_exponent as fit_exponent
    from theory.shapes.fits import fit_width as fit_width
    from theory.shapes.gaussian import GaussianShape as GaussianShape
    from theory.shapes.gaussian import gaussian_embedding as gaussian_embedding
    from theory.shapes.gaussian import gaussian_shape as gaussian_shape
    from theory.shapes.gaussian import label_distribution_embedding as label_distribution_embedding
    from theory.shapes.inner_product_bound import InnerProductBound as InnerProductBound
    from theory.shapes.inner_product_bound import NormalDistance as NormalDistance
    from theory.shapes.inner_product_bound import inner_product_bound as inner_product_bound
    from theory.shapes.inner_product_bound import inner_product_difference as inner_product_difference
    from theory.shapes.inner_product_bound import normal_distance as normal_distance
    from theory.task.mapping import Mapping as Mapping
    from theory.task.population import Population as Population
    from theory.task.population import draw_tables as draw_tables
    from theory.task.population import enumerate_population as enumerate_population
    from theory.task.population import labels_of as labels_of
    from theory.task.rules.additive import Shift as Shift
    from theory.task.rules.additive import Sum as Sum
    from theory.task.rules.expression import Expression as Expression
    from theory.task.rules.function import Function as Function
    from theory.task.rules.function import Tabulated as Tabulated
    from theory.task.rules.tables import Lookup as Lookup
    from theory.task.rules.tables import Window as Window
    from theory.task.task import Task as Task
    from theory.transformer.appendix_e import PrintedConditions as PrintedConditions
    from theory.transformer.appendix_e import linear_plateau as linear_plateau
    from theory.transformer.appendix_e import printed_conditions as printed_conditions
    from theory.transformer.appendix_e import printed_violation as printed_violation
    from theory.transformer.attention_init import attention_logit_std as attention_logit_std
    from theory.transformer.attention_init import average_attention_bound as average_attention_bound
    from theory.transformer.attention_init import (
        average_attention_probability as average_attention_probability,
    )
    from theory.transformer.attention_init import smallest_init_rate as smallest_init_rate
    from theory.transformer.cliff import cliff_sequence as cliff_sequence
    from theory.transformer.cliff import cliff_step as cliff_step
    from theory.transformer.cliff import is_cliff as is_cliff
    from theory.transformer.cliff import mass_outside as mass_outside
    from theory.transformer.construction import Construction as Construction
    from theory.transformer.construction import build_construction as build_construction
    from theory.transformer.drives import last_position_distribution as last_position_distribution
    from theory.transformer.drives import last_position_matrix as last_position_matrix
    from theory.transformer.drives import paper_transformer_drive as paper_transformer_drive
    from theory.transformer.drives import transformer_drive as transformer_drive
    from theory.transformer.one_layer import OneLayerParameters as OneLayerParameters
    from theory.transformer.one_layer import lemma3_flow as lemma3_flow
    from theory.transformer.one_layer import lemma4_flow as lemma4_flow
    from theory.transformer.one_layer import one_layer_logits as one_layer_logits
    from theory.transformer.value_growth import TheoremTwo as TheoremTwo
    from theory.transformer.value_growth import ValueGrowth as ValueGrowth
    from theory.transformer.value_growth import predict_value_growth as predict_value_growth
    from theory.transformer.value_growth import theorem_2_terms as theorem_2_terms
    from theory.transformer.value_growth import value_drive as value_drive

__getattr__, __dir__, __all__ = lazy_names(__name__)
