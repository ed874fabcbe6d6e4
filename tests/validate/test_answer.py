"""The answer's verdict follows its conditions: each can turn it, and nothing is decided that cannot be."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.validate.judge.synthetic import TASK, learning, of_embeddings, run
from theory import off_diagonal
from validate.figures import Points
from validate.judge.answer import Answer, answers, missing_command
from validate.judge.groups import Setting, group_runs
from validate.predict.predictors import uniform_cosines
from validate.report.picture import pair_kinds, picture

SEEDS = (0, 1, 2)
FLAT = {"mem": [0.05] * 11, "rsn_train": [0.05] * 11, "rsn_test": [0.0] * 11}


def made(rate: float, kinds: list[str], *, seeds: tuple[int, ...] = SEEDS, accuracy: Any = None) -> Setting:
    runs = []
    for seed in seeds:
        arrays = of_embeddings(kinds, seed)
        found = run(rate, seed, accuracy or learning(small=rate > 0.5), arrays=arrays)
        path = Path(f"runs/mine/gamma{rate:g}_seed{seed}")
        timed = found.provenance | {"wall_seconds": 1.0}
        runs.append(dataclasses.replace(found, path=path, provenance=timed))
    return Setting(f"γ = {rate:g}", tuple(runs))


@pytest.fixture(scope="module")
def small() -> Setting:
    return made(0.8, ["random", "distribution", "distribution"])


@pytest.fixture(scope="module")
def large() -> Setting:
    return made(0.3, ["random", "random", "random"])


def only(settings: list[Setting]) -> Answer:
    (answer,) = answers(settings)
    return answer


def test_a_prediction_that_comes_true_holds_and_the_numbers_are_those_of_the_runs(
    small: Setting, large: Setting
) -> None:
    answer = only([large, small])
    assert answer.verdict in ("holds", "partly"), answer.why
    by_name = {o.condition.what: o for o in answer.outcomes}
    tokens = TASK.anchors
    predicted = uniform_cosines(TASK, tokens)
    wanted = [
        float(np.corrcoef(off_diagonal(r.cosines(tokens, 3)), off_diagonal(predicted))[0, 1])
        for r in small.runs
    ]
    (name,) = (n for n in by_name if n.startswith("Pearson"))
    np.testing.assert_allclose(by_name[name].values, wanted)
    assert by_name[name].state == "holds"


def test_a_prediction_with_every_anchor_in_anothers_place_fails_or_holds_in_part(large: Setting) -> None:
    orders = made(0.8, ["random", "eq. 14", "eq. 14"])
    for r in orders.runs:
        gram = r.arrays["gram"]
        swap = np.r_[np.arange(15)[::-1], np.arange(15, gram.shape[2])]
        r.arrays["gram"] = gram[:, swap[:15]][:, :, swap]
        r.arrays["norms"] = r.arrays["norms"][:, swap]
    answer = only([large, orders])
    assert answer.verdict in ("partly", "fails")
    (pearson,) = (o for o in answer.outcomes if o.condition.what.startswith("Pearson"))
    assert pearson.state == "fails"


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({"kinds": ["random", "random", "random"], "accuracy": FLAT}, "censored", "learned too little"),
        ({"kinds": ["distribution", "distribution", "distribution"]}, "censored", "hardly moved"),
        ({"seeds": (4,)}, "undecided", "are undecided"),
    ],
)
def test_what_cannot_be_decided_says_why(
    change: dict[str, Any], verdict: str, words: str, large: Setting
) -> None:
    answer = only([large, made(0.8, **({"kinds": ["random", "distribution", "distribution"]} | change))])
    assert answer.verdict == verdict, answer.why
    assert words in answer.why


def test_without_large_initial_weights_the_command_for_them_stands_there(
    small: Setting, large: Setting
) -> None:
    assert only([small]).missing_command() == (
        "anchorflow train runs/mine/gamma0.8_seed0/config.json --init-rates 0.3 --seeds 0 1 2 --out runs/mine"
    )
    assert "--init-rates 0.8 --seeds" in only([large]).missing_command()
    neither = made(0.5, ["random", "distribution", "distribution"])
    assert "--init-rates 0.3 0.8 --seeds" in only([neither]).missing_command()


def test_runs_that_were_too_short_are_trained_twice_as_long(large: Setting) -> None:
    flat = made(0.8, ["random", "random", "random"], accuracy=FLAT)
    training = flat.config.training
    words = only([large, flat]).missing_command().split()
    doubled = [str(2 * epoch) for epoch in training.snapshot_epochs]
    assert words[words.index("--training.epochs") + 1] == str(2 * training.epochs)
    assert words[words.index("--training.snapshot-epochs") + 1 :] == doubled
    assert doubled
    assert words[words.index("--out") + 1] == "runs/mine-longer"


def test_more_seeds_are_seeds_that_are_not_there(large: Setting) -> None:
    few = made(0.8, ["random", "distribution", "distribution"], seeds=(4, 9))
    answer = only([large, few])
    words = answer.missing_command().split()
    assert answer.why.endswith("train more seeds")
    rates, seeds = (words[words.index(f"--{name}") + 1 :] for name in ("init-rates", "seeds"))
    assert rates[:2] == ["0.8", "0.3"]
    first = max(*large.seeds, *few.seeds) + 1
    assert seeds[: seeds.index("--out")] == [str(first + k) for k in range(len(few.seeds))]
    assert seeds[seeds.index("--out") + 1] == f"runs/mine-seeds{first}-{first + 1}"  # to be judged alone
    one = made(0.8, ["random", "distribution", "distribution"], seeds=(4,))
    assert "--seeds 5 6 --out runs/mine-seeds5-6" in only([large, one]).missing_command()


@pytest.mark.parametrize("inside", [".", "..", "gamma0.3_seed0", "gamma0.3_seed0/.."])
def test_a_remedy_names_the_same_folders_wherever_it_is_asked_for(
    inside: str, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_runs_in_the_root_folder_have_a_remedy(small: Setting) -> None:
    runs = tuple(dataclasses.replace(run, path=Path("/gamma0.8_seed0")) for run in small.runs)
    command = missing_command(dataclasses.replace(small, runs=runs), [0.3], [0], 2)
    assert "/gamma0.8_seed0/config.json" in command
    assert "--out /-longer" in command


def test_longer_runs_that_are_there_are_compared(small: Setting, tmp_path: Path) -> None:
    there = tmp_path / "mine-longer/gamma0.3_seed0"
    there.mkdir(parents=True)
    (there / "config.json").touch()
    runs = tuple(dataclasses.replace(run, path=tmp_path / "mine/gamma0.8_seed0") for run in small.runs)
    like = dataclasses.replace(small, runs=runs)
    assert missing_command(like, [0.3], [0], 2) == f"anchorflow compare {tmp_path}/mine-longer"
    assert missing_command(like, [0.3], [0, 1], 2).startswith("anchorflow train")


def test_the_picture_shows_what_the_verdict_is_about(small: Setting, large: Setting) -> None:
    sheet = picture(only([large, small]))
    assert sheet is not None
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
