"""Held out by a fraction, a condition, keys, pairs and positions, against every sequence of a task."""

import itertools
from typing import Any

import numpy as np
import pytest

import theory
from tests.theory.any_rule import Enumerated
from theory import Expression, InputError, Lookup, Mapping, Sum, Task

N_A, KEYS = 4, (20, 21, 23, 24, 26)


def task_with(held_out: Any, length: int = 5, rule: Any = None) -> Task:
    mapping = Mapping(range(1, N_A + 1), rule or Expression("(key * a1 + a2) % 19"), "rule", held_out)
    memory = Mapping([10, 11], Lookup(), "memory")
    return Task(keys=KEYS, n_anchors=2, length=length, vocab_size=40, mappings=[mapping, memory])


def held(task: Task, test: Any) -> None:
    """The marks of all sequences of the rule are those of ``test(key, a1, a2, position)``."""
    population = theory.enumerate_population(task)
    own = population.mapping == 0
    position = np.isin(population.sequences, task.anchors).argmax(axis=1) - 1
    rows = np.arange(len(position))
    key, a1, a2 = (population.sequences[rows, position + i] for i in range(3))
    expected = [bool(test(*row)) for row in zip(key[own], a1[own], a2[own], position[own], strict=True)]
    assert population.held_out[own].tolist() == expected
    assert not population.held_out[~own].any()


CONDITIONS: list[tuple[Any, Any]] = [
    ([(1, 2), (2, 1)], lambda k, a, b, p: (a, b) in {(1, 2), (2, 1)}),
    ([(20, 1, 2), (2, 1)], lambda k, a, b, p: (k, a, b) == (20, 1, 2) or (a, b) == (2, 1)),
    ("a1 < a2 and total > 4", lambda k, a, b, p: a < b and a + b > 4),
    ("key > 23", lambda k, a, b, p: k > 23),
    ("key % 2 == a1 % 2", lambda k, a, b, p: k % 2 == a % 2),
    ("position == 2", lambda k, a, b, p: p == 2),
    ("position == 0 and a1 == a2 or key == 21", lambda k, a, b, p: (p == 0 and a == b) or k == 21),
    ({"far": "a1 - a2 > 1", "key": "key == 20"}, lambda k, a, b, p: a - b > 1 or k == 20),
]


@pytest.mark.parametrize(("held_out", "test"), CONDITIONS)
def test_what_is_held_out_is_what_is_said(held_out: Any, test: Any) -> None:
    task = task_with(held_out)
    held(task, test)
    assert Task.from_toml(task.to_toml()) == task
    assert hash(Task.from_toml(task.to_toml())) == hash(task)


@pytest.mark.parametrize(("held_out", "test"), CONDITIONS)
@pytest.mark.parametrize("rule", [None, Sum(), Expression("(key + 2 * total) % 31")])
def test_distributions_and_ratios_are_those_of_the_sequences_that_are_left(
    held_out: Any, test: Any, rule: Any
) -> None:
    """By enumeration: P^s, r_s and the distribution of all labels, in every role."""
    task = task_with(held_out, rule=rule)
    brute = Enumerated.of(task, False, test)
    tokens = [*task.anchors, *KEYS]
    for role in ("any", "anchor", "key", "noise"):
        found = theory.label_distribution(task, tokens, role=role, held_out=True)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, brute.table(role)[tokens], atol=1e-14)
        ratios = [theory.token_ratio(task, s, role=role, held_out=True) for s in tokens]  # type: ignore[arg-type]
        np.testing.assert_allclose(ratios, brute.ratio(role)[tokens], atol=1e-14)
    np.testing.assert_allclose(theory.marginal_distribution(task, held_out=True), brute.marginal, atol=1e-14)


@pytest.mark.parametrize(("of", "n"), [("combinations", 16), ("keys", 5), ("pairs", 80)])
def test_a_fraction_is_drawn_once_by_its_seed(of: str, n: int) -> None:
    def marks(seed: int) -> np.ndarray:
        task = task_with({"fraction": 0.4, "seed": seed, "of": of}, length=3)
        return theory.enumerate_population(task).held_out[:80].reshape(16, 5)

    first = marks(0)
    assert first.sum() == round(0.4 * n) * 80 // n
    assert (first == marks(0)).all()
    assert (first != marks(1)).any()
    assert of != "combinations" or (first == first[:, :1]).all()
    assert of != "keys" or (first == first[:1]).all()


def test_conditions_on_anchors_alone_are_whole_combinations_for_the_whole_theory() -> None:
    condition, listed = task_with("a1 == a2"), task_with([(a, a) for a in range(1, N_A + 1)])
    assert condition.held_out == listed.held_out
    S = [theory.expected_cooccurrence(task, held_out=True) for task in (condition, listed)]
    np.testing.assert_array_equal(*S)
    partial = task_with("key == 20")
    with pytest.raises(InputError, match="this is known for whole anchor combinations only"):
        theory.expected_cooccurrence(partial, held_out=True)
    assert theory.expected_cooccurrence(partial).sum() == pytest.approx(25)
    assert "some held out in part" in repr(partial)


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        ("a1 <", "^held_out = .*not an expression"),
        ("a1 == 1 else 5 if key", "not an expression"),
        ("a1 + a2", "a number where a condition belongs"),
        ("a3 == 1", "unknown name a3: a sequence has 2 anchors"),
        ("place == 1", "unknown name 'place'"),
        ("key > 99", "holds nothing out"),
        ("key > 0", "every combination of 'rule' is held out"),
        ({"fraction": 1.5}, "^fraction = 1.5: out of range"),
        ({"fraction": 0.5, "of": "anchors"}, "^of = .*choose one of combinations, keys, pairs"),
        ({"fraction": 0.5, "sed": 1}, "did you mean 'seed'"),
        ([(7, 1, 2)], "7 is not a key"),
        ({"memory": "key == 20"}, "have it; name each differently"),
        (3, "no held-out set"),
    ],
)
def test_what_makes_no_sense_is_refused(held_out: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_with(held_out)


def test_of_a_task_too_large_to_count_combinations_are_listed() -> None:
    """To sample labels is no way out: the task itself is refused."""
    with pytest.raises(InputError, match=r"give fewer keys or anchors, or list the combinations to hold"):
        Task(keys=range(50, 90), n_anchors=5, length=6, vocab_size=200, mappings=[_many("key > 60")])
    many = Task(keys=range(50, 90), n_anchors=5, length=6, vocab_size=200, mappings=[_many([(1,) * 5])])
    assert many.held_out == {(1,) * 5}


def _many(held_out: Any) -> Mapping:
    return Mapping(range(1, 14), Sum(), "sums", held_out)


def test_labels_do_not_depend_on_the_position() -> None:
    with pytest.raises(InputError, match="unknown name 'position'; only a condition of held_out"):
        Expression("key + position")


def test_grokkings_split_takes_no_time() -> None:
    """Modular addition with p = 97: 30 % of the sums, at random; each pair counted once."""
    rule = Mapping(range(97), Expression("(a1 + a2) % 97"), "sum", {"fraction": 0.3, "seed": 0})
    task = Task(keys=[97], n_anchors=2, length=3, vocab_size=98, mappings=[rule])
    assert len(task.held_out) == round(0.3 * 97**2)
    sums = [(a + b) % 97 for a, b in itertools.product(range(97), repeat=2) if (a, b) not in task.held_out]
    expected = np.bincount(sums, minlength=98) / len(sums)
    np.testing.assert_allclose(theory.marginal_distribution(task, held_out=True), expected, atol=1e-15)
