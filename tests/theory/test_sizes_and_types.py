"""Arrays of any type give what float64 gives; the largest sizes that are taken; drawn weights' scale."""

from dataclasses import fields, is_dataclass
from math import comb

import numpy as np
import pytest

import theory
from tests.fuzz.calls import valid_calls
from tests.golden import numbers
from tests.golden.public import seen
from theory import EmbMLPParameters, Expression, Lookup, Mapping, OneLayerParameters, Sum, Task

CALLS = {
    name: (function, arguments, given)
    for name, (function, arguments) in valid_calls("theory").items()
    if (given := [k for k, v in arguments.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"])
}


@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("name", CALLS)
def test_lists_and_other_types_of_numbers_give_what_float64_gives(name):
    function, arguments, given = CALLS[name]
    # In all types alike; shares are to sum to 1, and times to rise.
    exact = {key: np.round(64 * np.asarray(arguments[key])) / 64 for key in given if key != "table"}
    wanted = function(**arguments | exact)
    for change in (np.ndarray.tolist, lambda array: array.astype(np.float32)):
        found = function(**arguments | {key: change(value) for key, value in exact.items()})
        np.testing.assert_allclose([*numbers(seen(found))], [*numbers(seen(wanted))], rtol=1e-12, atol=1e-13)
        arrays = [getattr(found, f.name) for f in fields(found)] if is_dataclass(found) else [found]
        kinds = {array.dtype for array in arrays if isinstance(array, np.ndarray)}
        assert kinds <= {np.dtype(kind) for kind in (np.float64, np.int64, np.bool_)}


OWN = Expression("(key + a1 * a2) % 31")
TASK = Task(
    keys=range(20, 24),
    n_anchors=2,
    length=4,
    vocab_size=40,
    mappings=[Mapping([1, 2, 3], Sum(), "sum", [(1, 3)]), Mapping([5, 6], Lookup(), "table")],
)
LONG = Task(keys=[5, 6], memory_anchors=[1], n_anchors=1, length=101, vocab_size=10)
ENTRIES = {"n_anchors": 2, "length": 3, "vocab_size": 40, "keys": range(20, 24)}


def distribution(rule):
    return theory.label_distribution(Task(mappings=[Mapping([1, 2, 3], rule)], **ENTRIES), 1)


COUNTS = theory.corpus_counts([[0, 1]], 4)
LIMITS = [
    # Keys, two places for a noise token and the window, and all combinations.
    ("task.population._MAX_SEQUENCES", 4 * 4 * 2 * (9 + 4), lambda: theory.enumerate_population(TASK)),
    # Bags of keys and of anchors, each of the two over the vocabulary.
    (
        "labels.counts._MAX_ENTRIES",
        comb(5, 2) * (comb(4, 2) + comb(3, 2)) * 40,
        lambda: theory.count_population(TASK),
    ),
    # Of 100 key tokens, each bag is written out.
    ("labels.counts._MAX_ENTRIES", 101 * 100, lambda: theory.count_population(LONG)),
    ("task.rules.tables._MAX_TABLE", 4 * 4, lambda: theory.draw_tables(TASK, np.random.default_rng(0))),
    # An expression of its own: the labels of one that was computed before are kept.
    ("task.domain.MAX_ENTRIES", 4 * 9, lambda: distribution(Expression("(key + a1 * a2) % 29"))),
    ("corpus.operators.LARGEST_MATRIX", 4, lambda: theory.as_matrix(theory.bigram_operator(COUNTS))),
    ("task.task.MOST_TOKENS", 3, lambda: distribution(Sum())),
    ("task.task.MOST_ANCHORS", 2, lambda: distribution(Sum())),
    ("task.mapping._MAX_NAME", 9, lambda: Mapping([1], Sum(), "nine sign")),
]


@pytest.mark.parametrize(("constant", "most", "call"), LIMITS)
def test_limits_of_size_are_exact(constant, most, call, monkeypatch):
    monkeypatch.setattr(f"theory.{constant}", most - 1)
    with pytest.raises(theory.InputError):
        call()
    monkeypatch.setattr(f"theory.{constant}", most)
    call()


def test_a_function_is_kept_as_labels_up_to_a_limit(monkeypatch):
    wanted = distribution(OWN)
    for kept, calls in ((36, 36), (35, 36), (35, 35)):
        monkeypatch.setattr("theory.task.rules.function.MAX_KEPT", kept)
        monkeypatch.setattr("theory.task.rules.function.MAX_CALLS", calls)
        rule = Task(mappings=[Mapping([1, 2, 3], lambda k, a: (k + a[0] * a[1]) % 31)], **ENTRIES)
        assert isinstance(rule.mappings[0].rule, theory.Tabulated) == (kept == 36)
        if calls == 36:
            np.testing.assert_allclose(theory.label_distribution(rule, 1), wanted, atol=1e-15)
            continue
        with pytest.raises(theory.TooManyEntriesError):
            theory.label_distribution(rule, 1)


@pytest.mark.parametrize("rule", [Expression("key * key"), lambda key, _: key**2])
def test_labels_beyond_32_bits_are_kept(rule):
    task = Task(keys=[2**17], n_anchors=1, length=2, vocab_size=2**36, mappings=[Mapping([1], rule)])
    assert task.label_range(task.mappings[0]) == range(2**34, 2**34 + 1)


EMB_MLP = EmbMLPParameters.draw(300, d_m=100, d_f=400, init_rate=0.8, rng=np.random.default_rng(0))
ONE_LAYER = OneLayerParameters.draw(200, d_k=40, d_f=90, init_rate=0.8, rng=np.random.default_rng(0))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("drawn", "fan_ins"),
    [
        (EMB_MLP, {"W_emb": 100, "W1": 100, "W2": 400}),
        (ONE_LAYER, dict.fromkeys(("W_emb", "W_Q", "W_K", "W_V", "W_f1"), 200) | {"W_O": 40, "W_f2": 90}),
    ],
)
def test_drawn_parameters_have_the_scale_of_section_2_4(drawn, fan_ins):
    for name, fan_in in fan_ins.items():
        matrix = getattr(drawn, name)
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        # A sample variance over n entries has relative standard error √(2/n); four of them.
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size), name
