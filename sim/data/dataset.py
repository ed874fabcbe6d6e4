"""The sequences of a run: enumerated or drawn, labelled, and split as the paper splits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.data.base import Arrays, Dataset
from sim.data.language import build_text_dataset
from sim.seeds import numpy_stream
from theory import InputError, Population, Task, draw_tables, enumerate_population, labels_of
from theory.edge.arrays import BoolArray, IntArray
from theory.edge.checked import checked
from theory.labels.matrices import token_label_counts
from theory.task.held_out import HeldOut
from theory.task.mapping import Mapping
from theory.task.population import assemble, check_population


@dataclass(frozen=True)
class TaskDataset(Dataset):
    """The labelled sequences of a task, split as the paper splits them.

    Its parts are those of "mem", "rsn_train" and "rsn_test" that are not empty; where there are several
    mappings of a kind, each mapping is also a part, under its own name; and so is each held-out set that has
    a name.
    """

    population: Population
    """Where each sequence came from."""
    task: Task

    def statistics(self) -> tuple[Arrays, dict[str, str]]:
        """Return how often each token occurs with each label, and the number of sequences."""
        tokens, labels = self.tokens[self.train].numpy(), self.labels[self.train].numpy()
        counts = token_label_counts(tokens, labels, self.task.vocab_size)
        return {"token_label_counts": counts}, {"n_sequences": str(len(labels))}


@checked
def build_dataset(member: MemberConfig) -> Dataset:
    """Return the member's data; equal configurations give equal data."""
    if isinstance(member.task, LanguageTask):
        return build_text_dataset(member.task, member.seed)
    task = member.task
    if member.data.source == "enumerate":
        population = enumerate_population(task)
    else:
        population = draw_population(task, member.data.n_sequences, numpy_stream(member.seed, "data/draw"))
    labels = labels_of(task, population, draw_tables(task, numpy_stream(member.seed, "data/table")))
    if member.data.shuffle_labels:
        labels = shuffled_within_combinations(population, labels, numpy_stream(member.seed, "data/labels"))
    return split(task, population, labels)


def _holds(task: Task, mapping: Mapping, part: HeldOut, population: Population) -> BoolArray:
    """Return whether each sequence is of a mapping, and in one of its held-out sets."""
    mask = population.mapping == task.mappings.index(mapping)
    sequences = population.sequences[mask]
    position = np.isin(sequences, mapping.anchors).argmax(axis=1) - 1
    anchors = np.take_along_axis(sequences, position[:, None] + 1 + np.arange(task.n_anchors), axis=1)
    keys = np.array(task.keys)[population.key[mask]]
    mask[mask] = part.holds(task.domain(mapping), keys, anchors, position)
    return np.asarray(mask)


def check_data(member: MemberConfig) -> None:
    """Refuse data settings that the task does not allow; nothing is built."""
    task = member.task
    if isinstance(task, LanguageTask):
        return
    if member.data.source == "draw":
        check_sample_size(task, member.data.n_sequences)
    else:
        check_population(task)


def shuffled_within_combinations(
    population: Population, labels: IntArray, rng: np.random.Generator
) -> IntArray:
    """Permute the labels among the sequences of each anchor combination: anchors keep their P^s exactly."""
    shuffled = labels.copy()
    number = population.mapping * (population.combination.max() + 1) + population.combination
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        shuffled[rows] = labels[rng.permutation(rows)]
    return shuffled


def check_sample_size(task: Task, n_sequences: int) -> int:
    """Return how many sequences each anchor combination has in a sample, or refuse unequal numbers."""
    combinations = sum(task.n_combinations(m) for m in task.mappings)
    if n_sequences % combinations:
        below = n_sequences // combinations * combinations
        problem = f"not a multiple of the task's {combinations} anchor combinations"
        remedy = f"give {below} or {below + combinations}" if below > 0 else f"give {combinations}"
        raise InputError("n_sequences", n_sequences, problem, remedy)
    return n_sequences // combinations


def draw_population(task: Task, n_sequences: int, rng: np.random.Generator) -> Population:
    """Draw equally many sequences for every anchor combination, with uniform key, position and noise."""
    each, n_keys = check_sample_size(task, n_sequences), len(task.keys)
    mapping = np.repeat(np.arange(len(task.mappings)), [each * task.n_combinations(m) for m in task.mappings])
    combination = np.concatenate([np.repeat(np.arange(task.n_combinations(m)), each) for m in task.mappings])
    key = rng.integers(n_keys, size=n_sequences)
    position = rng.integers(task.length - task.n_anchors, size=n_sequences)
    noise = rng.integers(n_keys, size=(n_sequences, task.n_noise))
    return assemble(task, mapping, combination, key, position, noise)


def split(task: Task, population: Population, labels: IntArray) -> TaskDataset:
    """Split labelled sequences into D_mem, D_rsn,train and D_rsn,test (Section 2.2)."""
    table, held_out = np.array([m.is_table for m in task.mappings])[population.mapping], population.held_out
    masks = {"mem": table, "rsn_train": ~table & ~held_out, "rsn_test": ~table & held_out}
    for kind in (True, False):
        alike = [i for i, m in enumerate(task.mappings) if m.is_table is kind]
        for index in alike if len(alike) > 1 else []:
            masks[task.mappings[index].name] = (population.mapping == index) & ~held_out
    for mapping in task.mappings:
        for part in mapping.sets:
            masks |= {part.name: _holds(task, mapping, part, population)} if part.name else {}
    parts = {name: torch.from_numpy(np.flatnonzero(mask)) for name, mask in masks.items() if mask.any()}
    tokens, train = torch.from_numpy(population.sequences), torch.from_numpy(np.flatnonzero(~held_out))
    return TaskDataset(tokens, torch.from_numpy(labels), train, parts, population, task)
