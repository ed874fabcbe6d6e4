"""Results in a notebook and printed: a line each, a table of the same numbers, names that are text."""

import dataclasses
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theory
from sim import Corpus, build_corpus
from tests.validate.conftest import Page, lines_of
from theory import EmbMLPParameters, Task
from theory.edge.display import Shown
from validate import Claim, CorpusPrediction, Endpoint, Prediction, above, load_study
from validate.judge.condition import Measured, conditions_of
from validate.judge.verdict import finding_of
from validate.prediction import TOKEN_HEADER

RISKY = "<b>bold & bolder"
SMALL = Task(keys=[2, 3], reasoning_anchors=[1], memory_anchors=[0], n_anchors=1, length=2, vocab_size=6)
COUNTS = theory.count_population(SMALL)
C = COUNTS.token_label_matrix()
START = EmbMLPParameters.draw(6, d_m=4, d_f=5, init_rate=0.8, rng=np.random.default_rng(0))


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", text))


def check(value):
    """Return the text of a result in a notebook, which has every number of its line and of its print.

    Its tags close, and none comes from a name.
    """
    assert isinstance(value, Shown)
    assert "\n" not in repr(value)
    assert len(repr(value)) < 400
    page = value._repr_html_()
    assert Page(page).open == []
    assert set(re.findall(r"<(\w+)", page)) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    text = html.unescape(re.sub(r"<[^>]*>", " ", page))
    assert numbers(repr(value)) <= numbers(text)
    assert numbers(str(value)) == numbers(text)
    return text


def trajectory(name):
    flow = theory.frozen_flow(C, START, np.linspace(0.0, 1.0, 30))
    return dataclasses.replace(flow, losses={name: np.linspace(2.0, 1.0, 30)}, blow_up=1.5)


def curves(name):
    known, loss = np.array([[0.0, 1.0], [0.0, 0.5]]), np.array([[2.0, 0.125], [2.0, 0.375]])
    return theory.LearningCurves(np.array([0, 8]), {name: known}, {name: loss}, 4)


def words(name):
    corpus = build_corpus(["a b c a", "b a c"] * 30)
    renamed = Corpus(corpus.tokens, corpus.ends, tuple(name if w == "a" else w for w in corpus.words))
    return CorpusPrediction.of(renamed, words=[name, "b"], top=2)


def draw(draw):
    return (0.45, 0.5, 0.55)[draw]


def claim(name):
    asked = Endpoint(f"share of {name}", draw, holds=above(0.25))
    return Claim(7, name, f"{name} is large.", [asked], [dataclasses.replace(asked, holds=None)])


def finding(name):
    own = claim(name)
    first, second = conditions_of(own)
    measured = Measured(first, (0.45, 0.5, 0.55), ((0.45, 0.5, 0.55),))
    return finding_of(own, [measured, Measured(second, missing="no runs")])


NAMED: dict[str, Callable[[str], Any]] = {
    "Trajectory": trajectory,
    "LearningCurves": curves,
    "CountPopulation": lambda name: dataclasses.replace(COUNTS, data_sets={name: COUNTS.weights}),
    "CorpusPrediction": words,
    "Endpoint": lambda name: claim(name).endpoints[0],
    "Claim": claim,
    "Outcome": lambda name: finding(name).primary,
    "Finding": finding,
    "Study": lambda name: dataclasses.replace(load_study("emb-mlp"), purpose=name),
}
UNNAMED: dict[str, Callable[[], Any]] = {
    "Population": lambda: theory.enumerate_population(SMALL),
    "EmbMLPParameters": lambda: START,
    "CorpusGeometry": lambda: words("a").geometry,
    "Prediction": lambda: Prediction.of(Task.paper(length=3)),
}


@pytest.mark.parametrize("kind", [*NAMED, *UNNAMED])
def test_a_result_is_a_line_and_a_table_in_which_a_name_is_text(kind):
    value = NAMED[kind](RISKY) if kind in NAMED else UNNAMED[kind]()
    text = check(value)
    assert repr(value).startswith(f"{kind}(")
    if kind in NAMED:
        assert RISKY in text
        assert "&lt;b&gt;" in value._repr_html_()


ASKED = {"measure": "share of x", "threshold": "> 0.25"}
JUDGED = {"state": "holds", "role": "endpoint", "setting": ""} | ASKED
PAIRS: dict[str, dict[str, str]] = {
    "Trajectory": {"time": "0", "‖W_emb‖": f"{np.linalg.norm(START.W_emb):.4g}", "loss x": "2"},
    "LearningCurves": {"data set": "x", "half learned after steps": "6"}
    | {"accuracy at the end": "0.750", "loss": "0.250"},
    "CountPopulation": {"data set": "x", "counts that occur": "4"},
    "Endpoint": ASKED | {"reason": ""},
    "Claim": {"role": "endpoint"} | ASKED | {"reason": ""},
    "Outcome": JUDGED | {"mean [95 %]": "0.500 [0.376, 0.624]", "n": "3"},
    "Finding": JUDGED | {"mean [95 %]": "0.500 [0.376, 0.624]", "n": "3"},
    "Study": {"variant": "–", "model": "emb-mlp", "γ": "0.3, 0.5, 0.8", "seeds": "0, 1, 2", "epochs": "1000"},
    "Population": {"mapping": "0", "sequences": "2", "held out": "0"},
    "EmbMLPParameters": {"matrix": "W_emb", "shape": "6 x 4", "std": f"{START.W_emb.std():.4g}"},
}
"""The first line of each table, by the names of its columns."""


@pytest.mark.parametrize("kind", PAIRS)
def test_every_column_of_a_printed_table_is_beside_its_name(kind):
    made = NAMED[kind]("x") if kind in NAMED else UNNAMED[kind]()
    assert lines_of(made)[0] == PAIRS[kind]


def test_words_are_printed_beside_their_names():
    geometry = (found := words("x")).geometry
    at = {str(token): i for i, token in enumerate(geometry.tokens)}
    for line in lines_of(geometry):
        i = at[line["token"]]
        wanted = {"growth": f"{geometry.growth.value[i]:.3g}", "departs": f"{geometry.departs[i]:.3g}"}
        assert line == {"token": line["token"]} | wanted
    assert [(line["word"], line["most like"]) for line in lines_of(found)] == [("x", "b"), ("b", "x")]
    for line, departs, distinct in zip(
        lines_of(found), geometry.departs, geometry.distinct_from_all, strict=True
    ):
        assert (line["departs"], line["distinct"]) == (f"{departs:.2f}", f"{distinct:.2f}")
        assert (line["share"], line["cosine"]) == ("0.4", "-0.500 ± ?")  # All texts are alike.
    known = dataclasses.replace(geometry.cosine, standard_error=np.full((2, 2), 0.03))
    other = dataclasses.replace(found, geometry=dataclasses.replace(geometry, cosine=known))
    assert {line["cosine"] for line in lines_of(other)} == {"-0.500 ± 0.03"}
    *_, spectrum = found.tables()
    for k, row in enumerate(spectrum.rows):
        value, first, most = found.singular_values[k], found.singular_values[0], " ".join(found.leading[k])
        cells = {"": str(k + 1), "value": f"{value:.3g}", "over first": f"{value / first:.3f}"}
        assert dict(zip(spectrum.header, row, strict=True)) == cells | {"words most along it": most}


def test_label_distributions_are_printed_beside_their_names():
    task = Task.paper(length=3)
    prediction = Prediction.of(task)
    for found, row in zip(prediction.statistics.tokens, prediction.token_rows(), strict=True):
        p = theory.label_distribution(task, found.token, held_out=True)
        labels = np.arange(len(p))
        mean, mapping = p @ labels, task.mapping_of(found.token)
        assert dict(zip(TOKEN_HEADER, row, strict=True)) == {
            "token": str(found.token),
            "kind": "key" if mapping is None else f"{mapping.name} anchor",
            "r_s": f"{theory.token_ratio(task, found.token, held_out=True):.4g}",
            "mean label": f"{mean:.2f}",
            "std of the label": f"{np.sqrt(p @ (labels - mean) ** 2):.2f}",
            "|P^s - u|^2": f"{((p - 1 / len(p)) ** 2).sum():.3g}",
        }
    memory, sums = theory.label_entropies(task)
    of_table, of_sums = prediction.entropy_lines()
    spread = f"means over drawn tables, with standard deviations up to {memory.spread:.1g}."
    assert of_table.endswith(f"{memory.anchors:.3f} given the anchors; {spread}")
    assert of_sums.endswith(f"{sums.key:.3f} given the key, {sums.anchors:.3f} given the anchors.")
    assert prediction.to_json()["entropies"] == [dataclasses.asdict(each) for each in (memory, sums)]


def test_predicted_cosines_are_printed_beside_their_names():
    task = Task.paper(length=3)
    P = theory.label_distribution(task, task.reasoning_anchors, held_out=True) - 1 / task.vocab_size
    cosines = theory.cosine_matrix(P)
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    apart = " ".join(f"{np.diagonal(cosines, k).mean():z.3f}" for k in range(1, len(cosines)))
    line = {"anchors": "reasoning", "predictor": "P^s - u", "mean of pairs 1, 2, ... apart": apart}
    mean, smallest, largest = (f"{value:z.3f}" for value in (pairs.mean(), pairs.min(), pairs.max()))
    line |= {"mean": mean, "smallest": smallest, "largest": largest}
    assert line in lines_of(Prediction.of(task))


def test_runs_and_settings_show_what_was_reached(runs, settings):
    setting = settings[0]
    last = runs[0].metrics[-1]
    check(setting)
    names = runs[0].task.data_sets
    reached = ", ".join(f"{names[part]} {value:.3f}" for part, value in last["accuracy"].items())
    line = {"run": str(runs[0].path), "seed": "0", "epochs": "6", "accuracy": reached}
    assert lines_of(setting)[0] == line
    assert repr(setting) == "Setting(γ = 0.3: emb-mlp, seeds 0, 1)"
    assert "<b>" not in dataclasses.replace(setting, label="<b>")._repr_html_()
    check(setting.runs[0])
    accuracy, loss = (f"{last[name]['mem']:.3f}" for name in ("accuracy", "loss"))
    assert {"data set": "memory", "accuracy": accuracy, "loss (nats)": loss} in lines_of(setting.runs[0])
    assert lines_of(runs[0]) == lines_of(setting.runs[0])
    assert "emb-mlp, γ = 0.3, seed 0, epoch 6; " in repr(setting.runs[0])
    diverging = dataclasses.replace(setting.runs[0], metrics=[last | {"loss": {}}], path=Path("<b>"))
    assert "–" in check(diverging)
