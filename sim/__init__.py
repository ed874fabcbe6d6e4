"""What real models do: initialise, train and record them. PyTorch.

Imports ``theory`` for the task only, and never ``validate``. Names are loaded at first use, so that
reading a configuration does not wait for torch.
"""

from typing import TYPE_CHECKING

from theory.edge.lazy import lazy_names

if TYPE_CHECKING:
    from sim.architectures.transformer import forward_cache as forward_cache
    from sim.config.language import CorpusSource as CorpusSource
    from sim.config.language import LanguageTask as LanguageTask
    from sim.config.model import EmbMLPConfig as EmbMLPConfig
    from sim.config.model import GPT2Config as GPT2Config
    from sim.config.model import ModelConfig as ModelConfig
    from sim.config.model import ModelSection as ModelSection
    from sim.config.model import OneLayerConfig as OneLayerConfig
    from sim.config.model import TransformerConfig as TransformerConfig
    from sim.config.presets import load_preset as load_preset
    from sim.config.presets import preset_names as preset_names
    from sim.config.run import DataConfig as DataConfig
    from sim.config.run import MemberConfig as MemberConfig
    from sim.config.run import RunConfig as RunConfig
    from sim.config.run import make_run_config as make_run_config
    from sim.config.training import TrainingConfig as TrainingConfig
    from sim.config.training import register_optimizer as register_optimizer
    from sim.data.base import Dataset as Dataset
    from sim.data.corpus import Corpus as Corpus
    from sim.data.corpus import build_corpus as build_corpus
    from sim.data.dataset import build_dataset as build_dataset
    from sim.data.language import make_language_task as make_language_task
    from sim.data.prontoqa import ProntoQuestion as ProntoQuestion
    from sim.data.prontoqa import prontoqa_questions as prontoqa_questions
    from sim.data.prontoqa import toy_facts as toy_facts
    from sim.data.text import read_documents as read_documents
    from sim.models.associations import AssociationModel as AssociationModel
    from sim.models.associations import train_associations as train_associations
    from sim.models.base import Model as Model
    from sim.models.base import TensorSpec as TensorSpec
    from sim.models.base import model_of as model_of
    from sim.models.base import register_model as register_model
    from sim.models.initial import build as build
    from sim.modules.advise import Advice as Advice
    from sim.modules.advise import advise as advise
    from sim.modules.initialise import InitReport as InitReport
    from sim.modules.initialise import TensorInit as TensorInit
    from sim.modules.initialise import initialise_ as initialise_
    from sim.optimizers.adamw import AdamW as AdamW
    from sim.optimizers.sgd import SGD as SGD
    from sim.runs.folder import RunFolder as RunFolder
    from sim.runs.run import Run as Run
    from sim.runs.run import find_runs as find_runs
    from sim.training.cost import Cost as Cost
    from sim.training.cost import estimate as estimate
    from sim.training.execution import Execution as Execution
    from sim.training.launch import train as train
    from sim.training.launch import train_members as train_members
    from sim.training.session import Progress as Progress
    from sim.training.session import train_together as train_together
    from sim.training.trainer import Trainer as Trainer

__getattr__, __dir__, __all__ = lazy_names(__name__)
