"""The answer's verdict follows its conditions: each can turn it, and nothing is decided that cannot be."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from sim.config.model import KINDS
from sim.config.run import make_member_config
from tests.validate.claims.synthetic import TASK, embedding, learning, of_embeddings, run
from theory import Expression, Lookup, Mapping, Task, off_diagonal
from validate.answer import Answer, answers
from validate.answer import conditions as on
from validate.answer.picture import EveryPair, picture
from validate.answer.ranking import ranking
from validate.answer.verdict import judge, p_value, pick, state
from validate.claims.measures.rivals import NEARNESS, RIVALS, SAME_MAPPING, moved, skill_over, skill_over_mean
from validate.claims.statements import Condition
from validate.claims.verdicts import Outcome
from validate.figures.style import SMALL_TEXT, TEXT, TITLE
from validate.judge.ceiling import training_ceiling
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, over_seeds
from validate.observe import Observations
from validate.observe.embedding import embedding_geometry
from validate.predict.predictors import from_uniform
from validate.report import Report

SEEDS = (0, 1, 2)
FLAT = {"mem": [0.05] * 11, "rsn_train": [0.05] * 11, "rsn_test": [0.0] * 11}


def made(
    rate: float, kinds: list[str], *, seeds: tuple[int, ...] = SEEDS, accuracy: Any = None, mix: float = 0.0
) -> Setting:
    """Return a setting of made-up runs; ``mix`` adds random directions to all embeddings of odd seeds."""
    runs = []
    for seed in seeds:
        arrays = of_embeddings(kinds, seed) if not mix else _mixed(kinds, seed, mix * (seed % 2))
        runs.append(run(rate, seed, accuracy or learning(small=rate > 0.5), arrays=arrays))
    return Setting(f"γ = {rate:g}", tuple(_in_a_folder(r, rate) for r in runs))


def _mixed(kinds: list[str], seed: int, share: float) -> Any:
    found = []
    for i, kind in enumerate(kinds):
        own, noise = embedding(kind, seed + 10 * i), embedding("random", 99 + seed)
        own, noise = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (own, noise))
        found.append(embedding_geometry(own + share * noise, TASK))
    return {name: np.stack([each[name] for each in found]) for name in found[0]}


def _in_a_folder(of: Observations, rate: float) -> Observations:
    path = Path("runs/mine") / f"gamma{rate:g}_seed{of.config.seed}"
    return dataclasses.replace(of, path=path, provenance=of.provenance | {"wall_seconds": 1.0})


@pytest.fixture(scope="module")
def small() -> Setting:
    return made(0.8, ["random", "distribution", "distribution"])


@pytest.fixture(scope="module")
def large() -> Setting:
    return made(0.3, ["random", "random", "random"])


def only(settings: list[Setting]) -> Answer:
    (answer,) = answers(settings)
    return answer


def test_a_prediction_that_comes_true_holds(small: Setting, large: Setting) -> None:
    answer = only([large, small])
    assert answer.verdict == "holds", answer.why
    assert {answer.state(answer.outcome(c)) for c in on.CONDITIONS} == {"met"}
    assert {answer.state(answer.outcome(c)) for c in (on.LEARNED, on.LEARNED_AT_LARGE)} == {"met"}
    assert {answer.state(answer.outcome(c)) for c in (on.SCRAMBLED, on.AT_LARGE)} == {"missed"}
    assert answer.sentence() == (
        "γ 0.8: P^s - u predicts the anchors' cosines with Pearson 1.00 [1.00, 1.00] (3 seeds), "
        f"γ 0.3 with {_mean(large):.2f} [{_low(large):.2f}, {_high(large):.2f}] (control)"
    )
    assert answer.verdict_line().startswith("holds early in training (epoch 3): every condition is met")
    assert answer.missing_command() == ""


def _pearsons(setting: Setting) -> list[float]:
    return [on.pearson(r) for r in setting.runs]


def _mean(setting: Setting) -> float:
    return float(np.mean(_pearsons(setting)))


def _low(setting: Setting) -> float:
    return _end(setting, -1)


def _high(setting: Setting) -> float:
    return _end(setting, 1)


def _end(setting: Setting, sign: int) -> float:
    values = _pearsons(setting)
    return float(np.mean(values) + sign * 4.302652729911275 * np.std(values, ddof=1) / np.sqrt(len(values)))


def test_a_prediction_that_fails_does_not_hold(large: Setting) -> None:
    """Anchors far from orthogonal, but each with another one's direction."""
    orders = made(0.8, ["random", "eq. 14", "eq. 14"])
    for r in orders.runs:
        gram = r.arrays["gram"]
        swap = np.r_[np.arange(15)[::-1], np.arange(15, gram.shape[2])]
        r.arrays["gram"] = gram[:, swap[:15]][:, :, swap]
        r.arrays["norms"] = r.arrays["norms"][:, swap]
    answer = only([large, orders])
    assert answer.verdict == "does not hold"
    assert "Pearson of P^s - u" in answer.why
    assert "where >= 0.7 is needed" in answer.why


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kinds": ["random", "random", "random"], "accuracy": FLAT}, "learned too little"),
        ({"kinds": ["distribution", "distribution", "distribution"]}, "hardly moved"),
        ({"seeds": (4,)}, "one seed has no interval"),
        ({"mix": 1.1}, "crosses its threshold"),
    ],
)
def test_what_cannot_be_decided_is_undecided(change: dict[str, Any], words: str, large: Setting) -> None:
    answer = only([large, made(0.8, **({"kinds": ["random", "distribution", "distribution"]} | change))])
    assert answer.verdict == "undecided", answer.why
    assert words in answer.why


def test_one_run_that_has_learned_too_little_decides_nothing(large: Setting) -> None:
    kinds = ["random", "distribution", "distribution"]
    most, one = made(0.8, kinds, seeds=SEEDS[:2]), made(0.8, kinds, seeds=(7,), accuracy=FLAT)
    answer = only([large, dataclasses.replace(most, runs=(*most.runs, *one.runs))])
    assert answer.verdict == "undecided"
    learned = answer.outcome(on.LEARNED)
    assert f"to all right, is {min(learned.numbers):.2f} in one of them" in answer.why
    assert "learned too little" in answer.why


def outcomes_at(distances: dict[Condition, float]) -> list[Outcome]:
    """Return an outcome for each condition, so many standard errors beyond its threshold."""
    found = []
    for condition in (on.LEARNED, on.MOVED, *on.CONDITIONS):
        beyond = distances.get(condition, 6.96)  # p = 0.02 with three seeds
        values = tuple(condition.threshold + 0.02 * (beyond / 3**0.5 + d) for d in (-1, 0, 1))
        found.append(Outcome(on.CLAIM, condition, over_seeds(values, condition.within), values))
    return found


def test_a_miss_is_one_among_all_conditions(small: Setting) -> None:
    """Its own interval lies beyond the threshold, which happens too often where any of six may do so."""
    (other, missed), sure = on.CONDITIONS[:2], outcomes_at({on.SKILFUL: -30.0})
    near = outcomes_at({on.SKILFUL: -6.96})
    by_condition = {o.condition: o for o in near}
    assert by_condition[missed].decision == "fails"
    assert p_value(by_condition[missed], near) == pytest.approx(6 * 0.02, abs=1e-3)
    assert (state(by_condition[missed], near), state(by_condition[other], near)) == ("open", "met")
    verdict, why = judge(small, None, near)
    assert verdict == "undecided"
    assert "not sure enough for one of 6 conditions (adjusted p = 0.12); train more seeds" in why
    assert judge(small, None, sure) == (
        "does not hold",
        "the pattern is predicted, its size is not: skill of P^s - u against orthogonal anchors is "
        "0.15 [0.10, 0.20] where >= 0.5 is needed (adjusted p = 0.0067)",
    )
    assert p_value(near[0], near) is None


def test_every_line_of_the_conditions_says_what_it_is_about(small: Setting, large: Setting) -> None:
    answer = only([large, small])
    named = [row[1] for row in answer.rows()]
    assert len(set(named)) == len(named) == len(answer.outcomes)
    assert sum("large initial weights" in name for name in named) == 2
    idle = only([large, made(0.8, ["random", "distribution", "distribution"], seeds=(4,))])
    assert {line["p_value"] for line in idle.as_dict()["conditions"]} == {None}
    assert "observed cosine, all anchors, is" in idle.why


def test_equal_seeds_of_unknown_spread_decide_nothing(small: Setting) -> None:
    values = (0.9, 0.9, 0.9)
    same = Outcome(on.CLAIM, on.CORRELATES, over_seeds(values, COSINE), values)
    equal = [same if o.condition is on.CORRELATES else o for o in outcomes_at({})]
    verdict, why = judge(small, None, equal)
    assert (verdict, "all seeds have the same value" in why) == ("undecided", True)


def test_without_a_control_the_command_for_it_stands_there(small: Setting, large: Setting) -> None:
    answer = only([small])
    assert answer.verdict == "undecided"
    assert "control with large initial weights is missing" in answer.why
    assert answer.missing_command() == (
        "anchorflow train runs/mine/gamma0.8_seed0/config.json --init-rates 0.3 --seeds 0 1 2 --out runs/mine"
    )
    other = only([large])
    assert other.verdict == "undecided"
    assert "--init-rates 0.8" in other.missing_command()


def test_the_command_for_longer_runs_or_more_seeds_stands_there(large: Setting) -> None:
    """Longer runs go beside the others, with snapshots as far apart in proportion; seeds are new ones."""
    idle = only([large, made(0.8, ["random"] * 3, accuracy=FLAT)])
    training = idle.settings[0].config.training
    shots = " ".join(str(2 * epoch) for epoch in training.snapshot_epochs)
    assert idle.missing_command() == (
        "anchorflow train runs/mine/gamma0.8_seed0/config.json --init-rates 0.8 0.3 --seeds 0 1 2 "
        f"--out runs/mine-longer --training.epochs {2 * training.epochs} --training.snapshot-epochs {shots}"
    )
    single = only([large, made(0.8, ["random", "distribution", "distribution"], seeds=(4,))])
    assert "--seeds 5 --out runs/mine" in single.missing_command()


@pytest.fixture
def no_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the verdict lack nothing but the control: the tiny runs are too short as well."""
    monkeypatch.setattr("validate.answer.answer.judge", lambda *_: ("undecided", "the control is missing"))


def test_short_runs_without_a_control_are_to_be_longer_and_to_have_one(large: Setting) -> None:
    """The reason is length, so that a control as short as they are would be of no use."""
    idle = made(0.8, ["random"] * 3, accuracy=FLAT)
    alone, both = only([idle]), only([large, idle])
    assert alone.why == both.why
    assert alone.why.endswith("train longer")
    assert "--init-rates 0.8 0.3 --seeds 0 1 2 --out runs/mine-longer" in alone.missing_command()
    assert alone.missing_command() == both.missing_command()


def test_short_runs_are_not_sent_to_others_as_short(runs_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(runs_folder, folder)
    (alone,) = answers(folder / "gamma0.8_seed0")
    assert alone.why.endswith("train longer")
    words = shlex.split(alone.missing_command())
    assert words[:2] == ["anchorflow", "train"]
    assert words[3:8] == ["--init-rates", "0.8", "0.3", "--seeds", "0"]
    assert words[8:12] == ["--out", str(tmp_path / "mine-longer"), "--training.epochs", "12"]


@pytest.mark.usefixtures("no_control")
def test_a_printed_command_can_be_pasted_whatever_the_folders_name(runs_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs ü" / "mine a"
    for name in ("gamma0.8_seed0", "gamma0.8_seed1"):
        shutil.copytree(runs_folder / name, folder / name)
    (answer,) = answers(folder)
    program, command, config, *rest = shlex.split(answer.missing_command())
    assert (program, command) == ("anchorflow", "train")
    assert Path(config).is_file()
    assert rest == ["--init-rates", "0.3", "--seeds", "0", "1", "--out", str(folder)]


@pytest.mark.usefixtures("no_control")
def test_runs_that_are_there_are_not_trained_again(runs_folder: Path, tmp_path: Path) -> None:
    """Complete ones are to be included, the others to be continued; another run in the way is left alone."""
    folder = tmp_path / "mine a"
    for name in ("gamma0.8_seed0", "gamma0.8_seed1", "gamma0.3_seed0"):
        shutil.copytree(runs_folder / name, folder / name)
    small = [folder / "gamma0.8_seed0", folder / "gamma0.8_seed1"]
    (alone,) = answers(small[:1])
    assert shlex.split(alone.missing_command()) == ["anchorflow", "compare", str(folder)]
    assert f"\nwhat is missing is there already; include it: anchorflow compare '{folder}'" in str(alone)
    (both,) = answers(small)
    assert shlex.split(both.missing_command())[-3:] == ["--out", str(folder), "--resume"]
    file = folder / "gamma0.3_seed0" / "config.json"
    file.write_text(file.read_text().replace('"d_m": 24', '"d_m": 25'))
    (other,) = answers(small)
    assert shlex.split(other.missing_command())[-2:] == ["--out", str(tmp_path / "mine a-more")]


def test_a_control_that_passes_or_has_not_learned_decides_nothing(small: Setting) -> None:
    passes = only([made(0.3, ["random", "distribution", "distribution"]), small])
    assert (passes.verdict, "a control passes too" in passes.why) == ("undecided", True)
    idle = only([made(0.3, ["random"] * 3, accuracy=FLAT), small])
    assert (idle.verdict, "the control has learned too little" in idle.why) == ("undecided", True)


def test_the_rate_of_the_verdict_is_not_chosen_by_its_result(small: Setting, large: Setting) -> None:
    more = [made(rate, ["random", "distribution", "distribution"]) for rate in (0.45, 0.5, 0.6, 0.9)]
    answer = only([large, small, *more])
    assert answer.small is not None
    assert answer.control is not None
    assert (answer.small.init_rate, answer.control.init_rate) == (0.8, 0.3)
    without = only(more)
    assert without.small is not None
    assert without.control is not None
    assert (without.small.init_rate, without.control.init_rate) == (0.9, 0.45)


def test_rivals_by_hand(small: Setting) -> None:
    (r, *_), tokens = small.runs, TASK.anchors
    o = off_diagonal(r.cosines(tokens, 3))
    p = off_diagonal(from_uniform(r, tokens))
    left = {}
    for rival in (NEARNESS, SAME_MAPPING):
        design = np.stack([rival.pairs(TASK, tokens), np.ones(len(o))], axis=1)
        left[rival.name] = np.linalg.lstsq(design, o, rcond=None)[1][0]
    own = np.linalg.lstsq(np.stack([p, np.ones(len(p))], axis=1), o, rcond=None)[1][0]
    for rival in (NEARNESS, SAME_MAPPING):
        assert skill_over(r, from_uniform, rival, tokens) == pytest.approx(
            1 - own / left[rival.name], abs=1e-6
        )
    spread = ((o - o.mean()) ** 2).sum()
    assert skill_over_mean(r, from_uniform, tokens) == pytest.approx(1 - ((p - o) ** 2).sum() / spread)
    # The rival against itself is no better, and a mirror image is worth nothing.
    itself = np.zeros((15, 15))
    itself[np.triu_indices(15, 1)] = NEARNESS.pairs(TASK, tokens)
    square = itself + itself.T
    assert skill_over(r, lambda *_: square, NEARNESS, tokens) == pytest.approx(0)
    assert skill_over(r, lambda *_: -square, NEARNESS, tokens) < 0
    start = off_diagonal(r.cosines(tokens, 0))
    assert moved(r, tokens) == pytest.approx(np.sqrt(np.mean((o - start) ** 2)))


def test_a_rival_that_does_as_well_turns_the_verdict(small: Setting, large: Setting) -> None:
    """Anchors that lie as their numbers do, whatever their mapping: −|i − j| predicts them better."""
    angles = {token: 0.09 * token for token in (*TASK.anchors, *TASK.keys)}
    setting = made(0.8, ["random", "distribution", "distribution"])
    for i, r in enumerate(setting.runs):
        rows = np.array([[np.cos(a), np.sin(a)] for a in angles.values()])
        rows += 1e-3 * np.random.default_rng(i).standard_normal(rows.shape)
        gram = rows[:15] @ rows.T
        r.arrays["gram"] = np.stack([r.arrays["gram"][0], gram, gram])
        r.arrays["norms"] = np.stack([r.arrays["norms"][0], *[np.linalg.norm(rows, axis=1)] * 2])
    answer = only([large, setting])
    over = answer.outcome(on.ABOVE_RIVALS[0])
    assert answer.state(over) == "missed"
    assert answer.verdict == "does not hold"
    assert "against −|i − j|" in answer.why


def test_the_ranking_holds_every_predictor_and_rival(small: Setting) -> None:
    ranked = ranking(small)
    assert ranked[0].pearson.mean > 0.99
    means = [r.pearson.mean for r in ranked if np.isfinite(r.pearson.mean)]
    assert means == sorted(means, reverse=True)
    assert {r.name for r in ranked if r.rival} == {rival.name for rival in RIVALS}
    assert {"P^s - u", "P^s - mean P", "finite sample"} <= {r.name for r in ranked if not r.rival}


def test_learning_is_counted_from_guessing() -> None:
    few = run(0.8, 0, {"mem": [0.6] * 11, "rsn_train": [0.6] * 11})
    assert on.learned(few) < 0.6
    assert on.learned(few) == pytest.approx((0.6 - _guess(few)) / (1 - _guess(few)))


def _guess(of: Observations) -> float:
    from theory import marginal_distribution

    return float(marginal_distribution(of.task, held_out=True).max())


def test_the_picture_shows_what_the_verdict_is_about(small: Setting, large: Setting) -> None:
    sheet = picture(only([large, small]))
    assert sheet is not None
    maps, (scatter,) = sheet.plot().axes_
    titles = [ax.get_title().split("\nmean")[0] for ax in maps]
    assert titles[0] == "predicted:\n$P^s - u$ (eq. 5, 8)"
    assert titles[1:] == ["observed, γ = 0.8:\nepoch 3", "observed, γ = 0.3:\nepoch 10"]
    (r, *_), tokens = small.runs, TASK.anchors
    predicted = from_uniform(r, tokens)
    np.testing.assert_allclose(maps[0].images[0].get_array(), predicted)
    mean = np.mean([each.cosines(tokens, 3) for each in small.runs], axis=0)
    np.testing.assert_allclose(maps[1].images[0].get_array(), mean)
    pairs = sheet.rows[1].panels[0]
    assert isinstance(pairs, EveryPair)
    points = pairs.lines_["γ = 0.8"]
    np.testing.assert_allclose(points.get_ydata(), off_diagonal(mean))
    np.testing.assert_allclose(points.get_xdata(), off_diagonal(predicted))
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in (*maps, scatter))


def test_the_pictures_text_has_the_sizes_of_every_other_figure(small: Setting) -> None:
    sheet = picture(only([small]))
    assert sheet is not None
    figure = sheet.plot().figure_
    assert figure is not None
    shown = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text() and t.get_visible()]
    assert {round(t.get_fontsize(), 1) for t in shown} <= {TITLE + 1, TITLE, TEXT, SMALL_TEXT}


def test_one_rule_for_early_in_everything_that_is_shown(report: Report, settings: list[Setting]) -> None:
    """The answer, its table and the tables below it are at one epoch; all others are in the JSON."""
    (answer,) = report.answers
    for setting in settings:
        assert (
            report.early_epoch(setting.label)
            == max(
                side["epochs"]
                for side in (answer.as_dict()["small"], answer.as_dict()["control"])
                if side["setting"] == setting.label
            )[-1]
        )
        shown = {row.epoch for row in report.early if row.setting == setting.label}
        assert shown == {report.early_epoch(setting.label)}
    assert {row.epoch for row in report.rows} == {0, 2, 4, 6}
    assert all(len(row) == 5 for row in answer.rows())
    assert dataclasses.replace(answer, verdict="holds").why == answer.why


def test_the_control_is_the_papers_rate_or_else_the_smallest() -> None:
    rates = [SimpleNamespace(init_rate=rate) for rate in (0.4, 0.1, 0.3)]
    assert pick(rates, 0.3, min).init_rate == 0.3  # type: ignore[union-attr]
    settings = [made(rate, ["random", "random", "random"]) for rate in (0.2, 0.1)]
    (answer,) = answers([*settings, made(0.8, ["random", "distribution", "distribution"])])
    assert answer.control is not None
    assert answer.control.init_rate == 0.1


def flat_task(label: str, table: Lookup) -> Task:
    """Return a task of seven anchors with a rule and a table."""
    mappings = [Mapping(range(1, 5), Expression(label), "rule"), Mapping((10, 11, 12), table, "memory")]
    return Task(keys=range(20, 28), n_anchors=2, length=3, vocab_size=28, mappings=mappings)


PARITY = flat_task("20 + (key - 20 + (4 if a1 % 2 != a2 % 2 else 0)) % 8", Lookup(20, 27))
"""Every anchor has the keys as labels, each as often: all predicted cosines are 1."""
UNIFORM_ROWS = flat_task("(key - 20 + 8 * a1 + a2) % 28", Lookup(0, 27))


def of_task(task: Task, rate: float, accuracy: float) -> Setting:
    parts = {part: [accuracy] * 11 for part in ("mem", "rsn_train")}
    runs = [_in_a_folder(run(rate, seed, parts, task=task), rate) for seed in SEEDS]
    arrays = embedding_geometry(np.random.default_rng(0).standard_normal((task.vocab_size, 8)), task)
    moving = {name: np.stack([array] * 3) for name, array in arrays.items()}
    return Setting(f"γ = {rate:g}", tuple(dataclasses.replace(r, arrays=moving) for r in runs))


@pytest.mark.parametrize("rate", [0.3, 0.8])
@pytest.mark.parametrize(
    ("task", "words"),
    [
        (PARITY, "P^s - u predicts 1.00 for every pair of anchors, and nothing correlates with a constant"),
        (UNIFORM_ROWS, "every label is as frequent with 10..12, so that P^s - u is zero and has no cosine"),
    ],
)
def test_a_prediction_that_no_run_can_test_asks_for_none(task: Task, words: str, rate: float) -> None:
    answer = only([of_task(task, rate, 0.05)])
    assert (answer.verdict, answer.why) == ("undecided", f"no run can decide: {words}")
    assert answer.missing_command() == ""


def test_a_prediction_that_tells_one_pair_from_another_can_be_tested() -> None:
    one = flat_task(
        "key if a1 == 1 else 20 + (key - 20 + (4 if a1 % 2 != a2 % 2 else 0)) % 8", Lookup(20, 26)
    )
    assert on.undecidable(of_task(one, 0.8, 0.05).runs[0]) == ""


ORDERED = flat_task("20 + (key - 20 + a1 + 2 * a2) % 8", Lookup(20, 26))
SUMMED = flat_task("20 + (key - 20 + a1 + a2) % 8", Lookup(20, 26))


def test_a_rule_that_no_sum_can_fit_is_not_a_matter_of_time() -> None:
    """Of two orders of unequal anchors one label is right: 10 of 16 pairs, and less of three anchors."""
    answer = only([of_task(ORDERED, 0.8, 0.05), of_task(ORDERED, 0.3, 0.05)])
    assert answer.verdict == "undecided"
    assert "learned too little" in answer.why
    assert answer.why.endswith("train longer")  # Up to 10 of 16 can be right, more than is asked for.
    few = three_ordered()
    answer = only([of_task(few, 0.8, 0.05), of_task(few, 0.3, 0.05)])
    assert answer.why.startswith("no run can decide: no Emb-MLP can fit the training data")
    best = training_ceiling(answer.settings[0].runs[0].config, "rsn_train")
    assert best is not None
    share = on.above_guessing(answer.settings[0].runs[0], best)
    assert share < 0.5
    assert f"at most {100 * best:.0f} % right, {share:.2f} of the way" in answer.why
    assert "--model.kind transformer" in answer.why
    assert answer.missing_command() == ""


def three_ordered() -> Task:
    mappings = [
        Mapping(range(1, 5), Expression("20 + (key - 20 + a1 + 2 * a2 + 5 * a3) % 8"), "rule"),
        Mapping((10, 11, 12), Lookup(20, 26), "memory"),
    ]
    return Task(keys=range(20, 28), n_anchors=3, length=4, vocab_size=28, mappings=mappings)


@pytest.mark.parametrize(("task", "kind"), [(SUMMED, "emb-mlp"), (three_ordered(), "transformer")])
def test_what_can_be_fitted_asks_for_longer_runs(task: Task, kind: str) -> None:
    """A sum needs no order, and a Transformer reads it."""
    settings = []
    for rate in (0.3, 0.8):
        setting = of_task(task, rate, 0.05)
        config = setting.config.model_dump(mode="json") | {"model": {"kind": kind}}
        runs = [
            dataclasses.replace(r, config=make_member_config(config | {"seed": r.config.seed}))
            for r in setting.runs
        ]
        settings.append(Setting(setting.label, tuple(runs)))
    assert only(settings).why.endswith("train longer")


def test_who_reads_the_order_of_tokens() -> None:
    assert {kind for kind, section in KINDS.items() if not section.reads_order} == {"emb-mlp"}
