"""What is observed of a language model's run, kept, measured and drawn."""

import contextlib
import dataclasses
import itertools

import numpy as np
import pytest
from scipy.stats import entropy

from sim import make_run_config, prontoqa_questions, train
from sim.data.corpus import Corpus
from sim.data.language import END
from tests.toy_text import toy_documents
from tests.validate.figures.synthetic import NAMES, WORDS, make_language_observations
from theory import corpus_counts, cosine_matrix, off_diagonal
from validate.figures.heat_map import HeatMap
from validate.figures.panel import seeds_text
from validate.figures.paper import draw_figure
from validate.judge.measures import language
from validate.observe import observe
from validate.observe.language import SHOWN, _mean_cosine, cosines_of_gram, most_frequent
from validate.observe.store import read_kept, shown_words
from validate.studies.keeping import keep
from validate.studies.study import Study


@pytest.fixture(scope="module")
def language_runs(tmp_path_factory):
    """Runs at two γ and two seeds on questions and on the toy text, which take seconds."""
    folder = tmp_path_factory.mktemp("language")
    (folder / "questions.txt").write_text("\n".join(q.text for q in prontoqa_questions(60)))
    (folder / "toy.txt").write_text("\n".join(toy_documents(60)))
    corpora = [
        {"name": name, "files": [str(folder / f"{name}.txt")], "documents": "line"}
        for name in ("questions", "toy")
    ]
    training = {"epochs": 4, "batch_size": 10, "learning_rate": 3e-3, "evaluate_every": 1}
    task = {"corpora": corpora, "n_sequences": 50, "length": 24, "vocab_size": 80}
    model = {"kind": "gpt2", "n_layers": 1, "n_heads": 2, "d_m": 16}
    config = {"task": task, "model": model, "training": training | {"snapshot_epochs": [1, 2]}}
    with contextlib.chdir(folder):
        return train(make_run_config(config | {"init_rates": [0.3, 0.8], "seeds": [0, 1]}), folder / "runs")


@pytest.fixture(scope="module")
def observed(language_runs):
    return [observe(run) for run in language_runs]


def test_entropies_are_those_of_the_best_models_of_the_very_text(language_runs, observed):
    """By the chain rule of entropies; a model that knows pairs cannot be worse than one that knows tokens."""
    for name, corpus in language_runs[0].corpora().items():
        counts = corpus_counts(corpus, corpus.vocab_size)
        pairs = counts.pairs.toarray()
        tokens = entropy(counts.labels)
        bigram = entropy(pairs.ravel()) - entropy(pairs.sum(axis=1))
        found = observed[0].array(f"entropy/{name}")
        assert found == pytest.approx([tokens, bigram], rel=1e-9)
        assert found[1] < found[0]
        assert language.entropy(observed[0], name, "pairs") == found[1]


def test_cosines_are_the_embedding_s(language_runs, observed):
    run, found = language_runs[0], observed[0]
    corpus = run.corpora()["toy"]
    often = [t for t in np.argsort(-corpus.counts, kind="stable") if corpus.counts[t]]
    words = [t for t in often if corpus.words[t] not in (END, "<other>")]
    embedding = run.embedding(2)
    shown = embedding[words[:40]]
    np.testing.assert_allclose(found.at("cosine/toy", 2), cosine_matrix(shown), atol=1e-12)
    centred = cosine_matrix(shown - shown.mean(axis=0))
    np.testing.assert_allclose(found.at("cosine/centred/toy", 2), centred, atol=1e-9)
    mean = off_diagonal(cosine_matrix(embedding[words])).mean()
    assert float(found.at("mean_cosine/toy", 2)) == pytest.approx(mean)
    assert found.at("cosine/questions", 2).shape == (40, 40)


def test_matched_tokens_are_equally_frequent_and_of_one_corpus_alone(language_runs, observed):
    """Each pair within a quarter; the mean cosine is that of these tokens' embeddings."""
    run, found = language_runs[0], observed[0]
    counts = {name: corpus.counts for name, corpus in run.corpora().items()}
    tokens = {name: found.array(f"matched/{name}").astype(int) for name in counts}
    assert len(tokens["toy"]) == len(np.unique(tokens["questions"])) > 1
    assert not counts["questions"][tokens["toy"]].any()
    assert not counts["toy"][tokens["questions"]].any()
    ratios = counts["questions"][tokens["questions"]] / counts["toy"][tokens["toy"]]
    assert (abs(np.log(ratios)) <= np.log(1.25) + 1e-12).all()
    means = {}
    for name, own in tokens.items():
        means[name] = off_diagonal(cosine_matrix(run.embedding(2)[own])).mean()
        assert float(found.at(f"mean_cosine_matched/{name}", 2)) == pytest.approx(means[name])
    contrast = language.cosine_contrast(soon_learned(found), matched=True)
    assert contrast == pytest.approx(means["toy"] - means["questions"])


def with_losses(run, first, second):
    """Return a made-up run with these losses of its two corpora over the epochs."""
    losses = [dict(zip(NAMES, pair, strict=True)) for pair in zip(first, second, strict=True)]
    metrics = [line | {"loss": loss} for line, loss in zip(run.metrics, losses, strict=True)]
    return dataclasses.replace(run, metrics=metrics)


def soon_learned(run):
    """Return a run with losses far below the entropies from epoch 2 on, which so few steps do not reach."""
    metrics = [
        line | {"loss": {name: loss / (1 if line["epoch"] < 2 else 3) for name, loss in line["loss"].items()}}
        for line in run.metrics
    ]
    return dataclasses.replace(run, metrics=metrics)


@pytest.mark.parametrize("matched", [False, True])
def test_cosines_are_undefined_where_a_corpus_is_never_below_its_entropy(matched):
    """The figures show the last snapshot then; a measure of it would be of a model that knows nothing."""
    run = with_losses(make_language_observations(), [4, 1, 1, 1, 1], [4, 4, 4, 4, 4])
    assert language.early_epoch(run) == 4
    assert np.isnan(language.cosine_contrast(run, matched=matched))
    assert np.isnan(language.cosine_correlation(run, NAMES[0]))
    assert np.isnan(language.correlation_gain(run, NAMES[0], centred=matched))
    assert language.cosine_correlation(run, NAMES[0], epoch=4) == pytest.approx(1)
    for step, early in ((5000, 1), (5008, 1), (5100, 4)):
        lines = [line | {"step": step if line["epoch"] == 1 else line["step"]} for line in run.metrics]
        printed = dataclasses.replace(run, metrics=lines)
        assert language.early_epoch(printed) == early, "the paper's step goes before what was learned"
        assert np.isnan(language.cosine_contrast(printed, matched=matched)) == (early == 4)
    overflowed = with_losses(run, [None, 1, 1, 1, 1], [4, 1, 1, 1, None])
    assert language.learned_epoch(overflowed) == 1
    assert np.isnan(language.loss_gap(overflowed))


def test_figs_7_and_14_name_the_means_over_seeds_of_what_each_shows_at_its_own_early_snapshot():
    """Every corpus, seed, measure and snapshot has numbers of its own; the second seed shows a word fewer."""
    rng, measures = np.random.default_rng(0), ("mean_cosine", "mean_cosine_centred", "mean_cosine_matched")
    first, second = (make_language_observations(seed=seed) for seed in (0, 1))
    for run, name in itertools.product((first, second), NAMES):
        for measure in measures:
            run.arrays[f"{measure}/{name}"] = rng.uniform(size=3)
        run.arrays[f"predicted/tied/{name}"], *seen = (
            cosine_matrix(rng.normal(size=(WORDS, 3))) for _ in range(4)
        )
        run.arrays[f"cosine/{name}"] = np.stack(seen)
    soon = with_losses(first, [4, 2, 2, 2, 2], [4, 3, 3, 3, 3])
    late = with_losses(second, [4, 4, 4, 4, 2], [4, 4, 4, 4, 3])
    words = ("cosine/", "predicted/", "control/")
    fewer = {name: own[..., 1:, 1:] if name.startswith(words) else own for name, own in late.arrays.items()}
    runs = [soon, dataclasses.replace(late, arrays=fewer)]
    sheets = {number: draw_figure(number, [*runs, make_language_observations(0.3)]) for number in (7, 14)}

    def early(key):
        return [run.at(key, epoch) for run, epoch in zip(runs, (1, 4), strict=True)]

    def text(values):
        return seeds_text([float(value) for value in values], (-1.0, 1.0))

    def told(name, shown):
        known, centred, matched = (text(early(f"{measure}/{name}")) for measure in measures)
        rest = "over tokens that the other corpus lacks, in pairs of equal frequency"
        return f"{shown} {known}, {centred} with the common mean removed, {matched} {rest}"

    named = "; ".join(map(told, NAMES, ("PrOntoQA", "TinyStories")))
    assert f"at that snapshot: {named}. " in sheets[7].caption
    shown = [(sheets[7].rows[1].panels[-1], early(f"cosine/{NAMES[0]}"))]
    for row, name in zip(sheets[14].rows, NAMES, strict=True):
        predicted, observed = [run.array(f"predicted/tied/{name}") for run in runs], early(f"cosine/{name}")
        pairs = zip(map(off_diagonal, predicted), map(off_diagonal, observed), strict=True)
        assert row.says.endswith(f", {text(np.corrcoef(*pair)[0, 1] for pair in pairs)} at γ = 0.8.")
        assert "step 10\n" in row.panels[-1].title  # That of epoch 1.
        shown += [(row.panels[0], predicted), (row.panels[-1], observed)]
    for panel, matrices in shown:
        assert isinstance(panel, HeatMap)
        np.testing.assert_allclose(panel.values, matrices[0])
        assert panel.numbers.endswith(
            f"mean cosine of pairs {text(off_diagonal(m).mean() for m in matrices)}"
        )


def test_correlations_are_over_pairs_of_words(observed):
    """Nothing is predicted at the start (four standard errors of 780 pairs), and something after training."""
    for run in observed:
        assert abs(language.cosine_correlation(run, "questions", epoch=0)) < 4 / np.sqrt(40 * 39 / 2)
    run = soon_learned(observed[-1])
    early = language.early_epoch(run)
    assert early == 2
    for centred, which in ((False, "toy"), (True, "centred/toy")):
        seen = off_diagonal(run.at(f"cosine/{which}", early))
        own, control = (
            np.corrcoef(off_diagonal(run.array(f"{kind}/marginal/{which}")), seen)[0, 1]
            for kind in ("predicted", "control")
        )
        found = language.cosine_correlation(run, "toy", "marginal", centred=centred)
        assert found == pytest.approx(own)
        gain = language.correlation_gain(run, "toy", "marginal", centred=centred)
        assert gain == pytest.approx(own - control)
    assert language.cosine_correlation(run, "questions", epoch=4) > 0.2


def test_a_zero_row_has_no_part_in_a_mean_cosine_and_no_cosine_from_rounding():
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0], [1.0, 1.0]])
    known = rows[[0, 2, 3]]
    assert float(_mean_cosine(rows)) == pytest.approx(off_diagonal(cosine_matrix(known)).mean())
    rounded = rows @ rows.T
    rounded[1, [0, 2, 3]] = rounded[[0, 2, 3], 1] = 1e-17
    expected = np.nan_to_num(cosine_matrix(rows))
    np.testing.assert_allclose(cosines_of_gram(rounded, mean_removed=False), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0])
def test_rows_less_their_mean_have_cosines_as_far_as_they_differ_by_more_than_rounding(scale):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal(20) + scale * rng.standard_normal((9, 20))
    expected = np.nan_to_num(cosine_matrix(rows - rows[0] - (rows - rows[0]).mean(axis=0)))
    np.testing.assert_allclose(cosines_of_gram(rows @ rows.T, mean_removed=True), expected, atol=0.02)


@pytest.mark.parametrize("n", [SHOWN - 1, SHOWN, SHOWN + 1, SHOWN + 9])
@pytest.mark.parametrize("end", [0, 5, None])
def test_as_many_as_are_shown_by_falling_frequency(n, end):
    tokens = np.repeat(np.arange(n, dtype=np.int32), np.arange(n, 0, -1))
    words = tuple(END if i == end else f"word {i}" for i in range(n))
    found = most_frequent(Corpus(tokens, np.array([len(tokens)]), words))
    assert found.tolist() == [i for i in range(n) if i != end][:SHOWN]


def test_kept_runs_have_the_words_of_their_folders(language_runs, tmp_path):
    plain = language_runs[0].config.model_dump(mode="json", exclude={"seed", "init_rate"})
    config = make_run_config(plain | {"init_rates": [0.3, 0.8], "seeds": [0, 1]})
    study = Study("tiny", "Two corpora.", {None: config})
    (tmp_path / "tiny").symlink_to(language_runs[0].path.parent)
    files = keep(study, tmp_path, tmp_path / "kept")
    assert len(files) == len(language_runs)
    for run, file in zip(language_runs, files, strict=True):
        assert shown_words(read_kept(file)) == shown_words(observe(run)) != {}
