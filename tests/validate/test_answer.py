"""The answer's verdict follows its conditions: each can turn it, and nothing is decided that cannot be."""

import dataclasses
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.validate.judge.synthetic import TASK, learning, of_embeddings, ramp, run
from theory import Expression, Lookup, Mapping, Task, off_diagonal
from validate.compare.answer import Answer, answers, held_out_sentences
from validate.compare.ranking import Ranked
from validate.figures import Points
from validate.judge.measures.prediction import correlation, pair_kinds, skill, worst_correlation
from validate.judge.stats import Estimate, over_seeds
from validate.observe.groups import Setting, group_runs, missing_command
from validate.predict.predictors import uniform_cosines
from validate.report.figures import picture

FOLLOWS, RANDOM = ["random", "distribution", "distribution"], ["random"] * 3
FLAT = {"mem": [0.05] * 11, "rsn_train": [0.05] * 11, "rsn_test": [0.0] * 11}


def made(rate, kinds, seeds=(0, 1, 2), accuracy=None, out="runs/mine"):
    runs = []
    for seed in seeds:
        arrays = of_embeddings(kinds, seed)
        found = run(rate, seed, accuracy or learning(small=rate > 0.5), arrays=arrays)
        path = Path(out, f"gamma{rate:g}_seed{seed}")
        timed = found.provenance | {"wall_seconds": 1.0}
        runs.append(dataclasses.replace(found, path=path, provenance=timed))
    return Setting(f"γ = {rate:g}", tuple(runs))


@pytest.fixture(scope="module")
def small():
    return made(0.8, FOLLOWS)


@pytest.fixture(scope="module")
def large():
    return made(0.3, RANDOM)


def only(settings):
    (answer,) = answers(settings)
    return answer


def test_every_cell_of_a_condition_is_under_its_name(small, large):
    answer = only([large, small])
    tested = [o for o in answer.conditions if o.role == "endpoint"]
    for o, row in zip(tested, answer.rows(), strict=True):
        assert dict(zip(Answer.HEADER, row, strict=True)) == {
            "state": o.state,
            "measure": o.measure,
            "mean [95 %]": o.estimate.brief,
            "threshold": o.asked,
            "adjusted p": "< 0.001" if o.adjusted_p < 0.001 else f"{o.adjusted_p:.3g}",
            "why": o.reason,
        }


def test_a_prediction_that_comes_true_holds_with_the_numbers_of_the_runs(small, large):
    answer = only([large, small])
    assert answer.verdict == "holds", answer.why
    tokens = TASK.anchors
    predicted = off_diagonal(uniform_cosines(TASK, tokens))
    wanted = [np.corrcoef(off_diagonal(r.cosines(tokens, 3)), predicted)[0, 1] for r in small.runs]
    (pearson,) = (o for o in answer.conditions if o.measure.endswith("cosine, all anchors"))
    np.testing.assert_allclose(pearson.values, wanted)


def test_a_task_without_a_rule_does_not_hold_and_more_seeds_would_not_change_it():
    """Tables that differ in their labels make blocks, which every prediction finds and a rival, too."""
    named = {"a": range(1, 6), "b": range(11, 16), "c": range(16, 21)}
    tables = [
        Mapping(own, Lookup(60 + 15 * i, 70 + 15 * i), name) for i, (name, own) in enumerate(named.items())
    ]
    task = Task(keys=range(40, 60), n_anchors=2, length=3, vocab_size=110, mappings=tables)
    alone, *others = (
        run(rate, seed, {"a": ramp(2)}, task=task, arrays=of_embeddings(FOLLOWS, seed))
        for rate, seed in product((0.8, 0.3), range(3))
    )
    answer = only([alone, *others])
    assert answer.lacks == "what no run can give"
    assert "and more seeds would not decide them" in answer.why
    assert [skill(each, over="same mapping or not") for each in (alone, *others)] == [0] * 6
    assert math.isfinite(correlation(alone))
    assert math.isnan(worst_correlation(alone))
    assert math.isnan(worst_correlation(alone, exchanged=True))


def test_only_the_contrast_holds_where_every_anchor_is_in_anothers_place(large):
    orders = made(0.8, ["random", "eq. 14", "eq. 14"])
    for r in orders.runs:
        gram = r.arrays["gram"]
        swap = np.r_[np.arange(15)[::-1], np.arange(15, gram.shape[2])]
        r.arrays["gram"] = gram[:, swap[:15]][:, :, swap]
        r.arrays["norms"] = r.arrays["norms"][:, swap]
    answer = only([large, orders])
    assert answer.verdict == "partly"
    assert [o.state for o in answer.conditions if o.role == "endpoint"] == [
        *["fails"] * 2, "holds", *["fails"] * 2, "holds",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({"kinds": RANDOM, "accuracy": FLAT}, "censored", "learned too little"),
        ({"kinds": ["distribution", "distribution", "distribution"]}, "censored", "hardly moved"),
        (
            {"accuracy": learning(small=True) | {"rsn_train": [0.5] * 5 + [1.0] * 6}},
            "undecided",
            "0.5 or more before",
        ),
        ({"seeds": (4,)}, "undecided", "are undecided"),
    ],
)
def test_what_is_undecided_says_why(change, verdict, words, large):
    answer = only([large, made(0.8, **({"kinds": FOLLOWS} | change))])
    assert answer.verdict == verdict, answer.why
    assert words in answer.why


@pytest.mark.parametrize(
    ("measure", "value", "told"),
    [("above_guessing", 0.4999, " 0.49 of the way"), ("above_guessing", -1e-4, " 0.00 of the way"),
     ("moved", 0.0999, "by 0.09,")],
)  # fmt: skip
def test_what_is_too_little_is_not_rounded_up_to_what_is_needed(
    measure, value, told, small, large, monkeypatch
):
    monkeypatch.setattr(f"validate.compare.decision.{measure}", lambda *_: value)
    assert told in only([large, small]).why


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ((0.4, 0.5, 0.6), "0.50 [0.25, 0.75] at epoch 3 (3 seeds, 95 %)"),
        ((np.nan, 0.49, 0.51), "0.50 [0.37, 0.63] at epoch 3 (2 of 3 seeds, 95 %)"),
        ((0.5, 0.5, 0.5), "0.50 at epoch 3 (3 seeds)"),
        ((np.nan, 0.5, np.nan), "0.50 at epoch 3 (1 of 3 seeds, so no interval)"),
    ],
)
def test_the_sentence_counts_the_seeds_of_its_mean(known, told, small, large, monkeypatch):
    monkeypatch.setattr("validate.compare.answer.correlation", lambda run: known[run.config.seed])
    assert f" {told}" in only([large, small]).sentence


@pytest.mark.parametrize(
    ("mappings", "part", "words"),
    [
        ([Mapping((1, 2, 3), Lookup(0, 59), "table")], "mem", "every label is as frequent with 1..3"),
        (
            [Mapping((1, 2), Expression("min(key, 20)"), "one"), Mapping((3, 4), Lookup(), "table")],
            "rsn_train",
            "every label to be learned is the same",
        ),
    ],
)
def test_no_run_decides_where_nothing_is_predicted_or_to_be_learned(mappings, part, words):
    task = Task(keys=range(20, 40), n_anchors=2, length=3, vocab_size=60, mappings=mappings)
    answer = only([run(0.8, 0, {part: [1.0] * 11}, task=task)])
    assert answer.verdict == "undecided"
    assert words in answer.why


def test_a_held_out_set_with_a_name_is_not_what_is_learned_first():
    mappings = [Mapping((1, 2, 3), Expression("key"), "own", {"far": [[1, 3]]}), Mapping((4, 5), Lookup())]
    task = Task(keys=range(20, 40), n_anchors=2, length=3, vocab_size=60, mappings=mappings)
    parts = {"mem": ramp(8), "rsn_train": ramp(4), "rsn_test": ramp(2), "far": ramp(2)}
    (first, *_) = only([run(0.8, 0, parts, task=task)]).behaviour
    assert first == "learned first at γ = 0.8: own train (1 of 1 seeds)"
    (first, *_) = only([run(0.8, 0, parts | {"mem": ramp(4)}, task=task)]).behaviour
    assert first == "learned first at γ = 0.8: lookup and own train (1 of 1 seeds)"
    parts = dict.fromkeys(parts, [0.0] * 11) | {"far": ramp(2)}
    (first, *_) = only([run(0.8, 0, parts, task=task)]).behaviour
    assert first == "learned first at γ = 0.8: nothing (1 of 1 seeds)"


def test_the_held_out_accuracy_counts_the_seeds_whose_training_accuracy_comes_so_far(small):
    """Of two settings without a common seed that does there is no difference."""
    early = learning(small=True)
    slow = made(0.8, FOLLOWS, accuracy=early | {"rsn_train": [min(a, 0.6) for a in early["rsn_train"]]})
    one = dataclasses.replace(small, runs=(*small.runs[:2], slow.runs[2]))
    other = dataclasses.replace(small, runs=(*slow.runs[:2], small.runs[2]))
    half, most = held_out_sentences(one, other)
    assert "seeds)" not in half
    assert re.search(r" at γ = 0.8 \(2 of 3 seeds\), \d.\d\d at γ = 0.8 \(1 of 3 seeds\)$", most)


def test_the_command_for_what_is_missing_stands_there(small, large):
    """The other side; seeds that are not there, to be judged alone; runs that are twice as long."""
    flat = made(0.8, RANDOM, accuracy=FLAT)
    training = flat.config.training
    epochs = " ".join(str(2 * epoch) for epoch in training.snapshot_epochs)
    assert epochs
    longer = f"-longer --training.epochs {2 * training.epochs} --training.snapshot-epochs {epochs}"
    for settings, rates, rest in (
        ([small], "0.3", "0 1 2 --out runs/mine"),
        ([large], "0.8", "0 1 2 --out runs/mine"),
        ([made(0.5, FOLLOWS)], "0.3 0.8", "0 1 2 --out runs/mine"),
        ([large, made(0.8, FOLLOWS, (4, 9))], "0.8 0.3", "10 11 --out runs/mine-seeds10-11"),
        ([large, made(0.8, FOLLOWS, (4,))], "0.8 0.3", "5 6 --out runs/mine-seeds5-6"),
        ([large, flat], "0.8 0.3", f"0 1 2 --out runs/mine{longer}"),
    ):
        like = max(settings, key=lambda setting: setting.init_rate).runs[0].path
        command = f"anchorflow train {like}/config.json --init-rates {rates} --seeds {rest}"
        answer = only(settings)
        assert answer.command == command
        # Nothing is ranked without runs from small weights.
        assert ("best predictor" in str(answer)) == (answer.small is not None)


@pytest.mark.parametrize(
    ("best", "own", "told"),
    [
        ({}, 0.87, "best predictor: P^s - u, Pearson 0.87"),
        ({"P^s - mean P": False}, 0.87, "P, Pearson 0.95; the verdict is on P^s - u, Pearson 0.87"),
        ({"−|i − j|": True}, 0.87, "a rival that knows no labels: this speaks against P^s - u, Pearson 0.87"),
        ({"−|i − j|": True}, math.nan, "−|i − j|, Pearson 0.95; the verdict is on P^s - u, Pearson –"),
    ],
)
def test_the_verdict_line_says_what_a_better_predictor_means(best, own, told, small, large, monkeypatch):
    none = over_seeds([])
    ranked = [Ranked(name, rival, Estimate(0.95, None, None, 3), none, none) for name, rival in best.items()]
    ranked.append(Ranked("P^s - u", False, over_seeds([own]), none, none))
    monkeypatch.setattr("validate.compare.answer.ranking", lambda setting: ranked)
    assert only([large, small]).verdict_line().endswith(told)


@pytest.mark.parametrize("inside", [".", "..", "gamma0.3_seed0", "gamma0.3_seed0/.."])
def test_a_remedy_names_the_same_folders_everywhere(inside, runs_folder, monkeypatch):
    """A folder can be named "." or ".." as well."""
    monkeypatch.chdir(runs_folder / "gamma0.8_seed0" if inside == ".." else runs_folder)
    (like, *_) = group_runs(inside)
    options: dict[str, dict[str, Any]] = {"": {}, "-longer": {"longer": 2}, "-seeds4-5": {"apart": True}}
    for into, given in options.items():
        words = missing_command(like, [0.6], [4, 5], **given).split()
        assert Path(words[words.index("train") + 1]).is_file()
        out = Path(words[words.index("--out") + 1])
        assert out.resolve() == runs_folder.resolve().with_name(runs_folder.name + into)
    there = missing_command(like, [0.3, 0.8], [0, 1])
    assert Path(there.removeprefix("anchorflow compare ")).resolve() == runs_folder.resolve()


def test_runs_in_the_root_folder_have_a_remedy():
    command = missing_command(made(0.8, FOLLOWS, out="/"), [0.3], [0], 2)
    assert "/gamma0.8_seed0/config.json" in command
    assert "--out /-longer" in command


def test_longer_runs_have_the_snapshots_that_the_shorter_ones_reached(small):
    epochs = small.config.training.snapshot_epochs
    training = small.config.training.model_copy(update={"epochs": epochs[1]})
    config = small.config.model_copy(update={"training": training})
    runs = tuple(dataclasses.replace(run, config=config) for run in small.runs)
    command = missing_command(dataclasses.replace(small, runs=runs), [0.3], [0], 2)
    assert command.split("--training.snapshot-epochs ")[1].split() == [str(2 * e) for e in epochs[:2]]


def test_longer_runs_that_are_there_are_compared(tmp_path):
    there = tmp_path / "mine-longer/gamma0.3_seed0"
    there.mkdir(parents=True)
    (there / "config.json").touch()
    like = made(0.8, FOLLOWS, out=tmp_path / "mine")
    assert missing_command(like, [0.3], [0], 2) == f"anchorflow compare {tmp_path}/mine-longer"
    assert missing_command(like, [0.3], [0, 1], 2).startswith("anchorflow train")


def test_the_picture_shows_what_the_verdict_is_about(small, large):
    sheet = picture(only([large, small]))
    ((*maps, scatter),) = sheet.plot().axes_
    titles = [ax.get_title().split("\nmean")[0] for ax in maps]
    assert titles[0] == "predicted:\n$P^s - u$ (eq. 5, 8)"
    assert titles[1:] == ["observed, γ = 0.8:\nepoch 3", "observed, γ = 0.3:\nepoch 10"]
    tokens = TASK.anchors
    predicted = uniform_cosines(TASK, tokens)
    np.testing.assert_allclose(maps[0].images[0].get_array(), predicted)
    mean = np.mean([each.cosines(tokens, 3) for each in small.runs], axis=0)
    np.testing.assert_allclose(maps[1].images[0].get_array(), mean)
    pairs = sheet.rows[0].panels[-1]
    assert isinstance(pairs, Points)
    large_mean = np.mean([each.cosines(tokens, 10) for each in large.runs], axis=0)
    np.testing.assert_allclose(pairs.lines_["γ = 0.3"].get_offsets()[:, 1], off_diagonal(large_mean))
    for kind, chosen in pair_kinds(TASK).items():
        points = pairs.lines_[f"γ = 0.8, {kind}"]
        expected = np.column_stack([off_diagonal(predicted), off_diagonal(mean)])[chosen]
        np.testing.assert_allclose(points.get_offsets(), expected)
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in (*maps, scatter))
    assert "Of all pairs at γ = 0.8: " in sheet.caption
    assert " | γ = 0.8; within memory: Pearson" in sheet.summary()[-1]
