"""The map of settings says of Fig. 3A's picture what the kept runs show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs_script import load_script
from tests.validate.figures.synthetic import make_observations
from validate.observe import Observations
from validate.observe.store import KEPT, kept_file, write_kept
from validate.studies import load_study

module: Any = load_script("update_settings_map")
search_together: Any = load_script("search_together")
README = Path(__file__).parent.parent / "README.md"
STEPS = list(range(11))


def ramp(epochs: float) -> list[float]:
    """Return an accuracy that passes one half after so many epochs and stays at one."""
    return [min(1.0, 0.5 * step / epochs) for step in STEPS]


NEVER = [0.0] * len(STEPS)


def run(
    memory: list[float], train: list[float], test: list[float], model: str = "transformer", **training: Any
) -> Observations:
    """Return a run at γ = 0.3 with these accuracies."""
    made = make_observations(model, gamma=0.3, **training)
    for line, *values in zip(made.metrics, memory, train, test, strict=True):
        line["accuracy"] |= dict(zip(("mem", "rsn_train", "rsn_test"), values, strict=True))
    return made


TOGETHER = (ramp(6), ramp(5.5), NEVER)
APART = (ramp(8), ramp(2), ramp(2))


def keep(folder: Path, study: str, made: Observations, variant: str | None = None) -> None:
    write_kept(made, kept_file(study, variant, made.config, folder))


def test_a_run_that_patience_ended_counts_for_what_it_was_trained() -> None:
    short, longer = run(*APART, epochs=2000, patience=1.5), run(*APART, epochs=2000, patience=1.5)
    longer.metrics[-1]["epoch"] = 300
    setting = module.Looked("group-small-slow/post-5e-5", (longer, short))
    assert (setting.epochs, setting.epochs_text) == (10, "10 to 300")
    assert module.Looked("", (longer,)).epochs_text == "300"
    assert module.Looked("", (run(*APART, epochs=200),)).epochs_text == "200"


def test_the_picture_is_found_excluded_and_left_open_as_the_runs_say(tmp_path: Path) -> None:
    keep(tmp_path, "group-2024", run(*APART, epochs=200))
    keep(tmp_path, "post-norm", run(*TOGETHER))
    keep(tmp_path, "norms", run(ramp(60), ramp(60), NEVER), variant="post-1e-4")
    keep(tmp_path, "transformer", make_observations(gamma=0.8))
    keep(tmp_path, "emb-mlp", make_observations("emb-mlp", gamma=0.3))
    for search, rate in (("search", "5e-5"), ("search-small", "2e-4"), ("search-small-long", "2e-4")):
        keep(tmp_path, search, run(*APART), variant=f"post-relu-constant-{rate}-wd0.01")
    settings = module.looked(tmp_path)
    assert [(s.name, s.epochs, s.verdict) for s in settings] == [
        ("group-2024", 200, "no"),
        ("norms/post-1e-4", 10, "open"),
        ("post-norm", 10, "yes"),
    ]
    *sentences, table = module.picture_text(settings).split("\n\n")
    told = " ".join(sentences)
    told = " ".join(told.split())
    assert "Of 3 settings" in told
    assert "is there at 1, not there at 1, and open at 1. Of all of them 1 had 200 epochs or more: -" in told
    assert (
        "`group-2024`, d_m = 16, 200 epochs, 1 seed: the picture is not there: doublings of time between "
        "fitting memory and training sums 1.81 to 3, not met; highest test accuracy 1.00, not met." in told
    )
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    assert [(row[0], row[2], row[6:8], row[-1]) for row in rows] == [
        ("| `group-2024`", "16", ["1.81 to 3, not met", "1.00, not met"], "no |"),
        ("| `post-norm`", "16", ["0 to 0.263, met", "0.00, met"], "yes |"),
    ]


def test_seeds_that_disagree_leave_it_open_and_show_their_range(tmp_path: Path) -> None:
    keep(tmp_path, "post-norm", run(*TOGETHER))
    keep(tmp_path, "post-norm", run(*APART, seed=1))
    (setting,) = module.looked(tmp_path)
    assert setting.verdict == "open"
    text = module.picture_text([setting])
    assert "Of all of them none had 200 epochs or more." in text
    assert "| 2 | 0 to 3, open | 0 to 1, open | open |" in text


def test_the_page_is_renewed_between_its_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "settings_map.md"
    names = (module.MAP, module.PICTURE, module.SEARCH, *module.SMALL_SEARCHES, module.TOGETHER, module.SIZES)
    page.write_text("".join(f"a\n<!-- {n}: begin -->\nstale\n<!-- {n}: end -->\nz\n" for n in names))
    keep(tmp_path, "long", run(*APART), variant="pre-1e-4")
    keep(tmp_path, "search", run(*APART), variant="post-relu-group-5e-5-wd0.01")
    keep(tmp_path, "search-small", run(*TOGETHER), variant="post-relu-group-2e-4-wd0.01")
    monkeypatch.setattr(module, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["update_settings_map.py", str(tmp_path)])
    module.main()
    assert "stale" not in page.read_text()
    assert "`long/pre-1e-4`" in page.read_text()
    assert page.read_text().count("a\n<!-- ") == page.read_text().count("end -->\nz\n") == len(names)
    assert page.read_text().count("1 of 96 settings has a run.\nThe picture was") == 2
    assert " found at 0, is not there at 1, and is open at 0" in page.read_text()
    assert "| `post-relu-group-5e-5-wd0.01` | 0 to 1 | 1.81 to 3 | – | – | no |" in page.read_text()


def test_the_search_says_what_became_of_the_settings_trained_as_a_check(tmp_path: Path) -> None:
    names = [
        f"post-{activation}-constant-2e-4-wd{decay}"
        for decay in ("0.01", "1")
        for activation in ("relu", "gelu")
    ]
    for name in names[:2]:
        keep(tmp_path, "search", run(*APART), variant=name)
    told, _, _ = module.search_text(folder=tmp_path).partition("\n\n")
    assert "1 more is left out: a weaker weight decay fails there, and we assume" in told
    assert told.endswith("Of 1 check of this assumption 0 have a run.")
    keep(tmp_path, "search", run(*APART), variant=names[2])
    told, _, _ = module.search_text(folder=tmp_path).partition("\n\n")
    assert told.endswith(f"Of 1 check of this assumption 1 has a run: `{names[2]}`: no.")


def test_the_search_counts_its_settings_by_norm(tmp_path: Path) -> None:
    unfitted = (ramp(60), ramp(60), NEVER)
    keep(tmp_path, "search", run(*APART), variant="post-relu-constant-5e-5-wd0.01")
    for activation, accuracies in (("relu", TOGETHER), ("gelu", unfitted)):
        made = run(*accuracies, model="no-norm")
        keep(tmp_path, "search", made, variant=f"none-{activation}-constant-5e-5-wd0.01")
    rows = [
        line
        for line in module.search_text(folder=tmp_path).splitlines()
        if line.startswith(("| post", "| none"))
    ]
    assert rows == ["| post | 1 | 0 | 1 | 0 | 0 |", "| none | 2 | 0 | 0 | 2 | 1 |"]


def test_the_search_says_that_it_has_not_begun(tmp_path: Path) -> None:
    assert module.search_text(folder=tmp_path) == "0 of 96 settings have a run."


def test_the_page_says_what_the_kept_runs_show() -> None:
    page = module.PAGE.read_text()
    assert module.replaced(page, module.PICTURE, module.picture_text(module.looked())) == page
    assert module.replaced(page, module.SEARCH, module.search_text()) == page
    for name in module.SMALL_SEARCHES:
        assert module.replaced(page, name, module.search_text(name)) == page
    assert module.replaced(page, module.TOGETHER, module.together_text()) == page
    assert module.replaced(page, module.SIZES, module.sizes_text()) == page
    readme, settings = " ".join(README.read_text().split()), search_together.together()
    grid = [each for each in settings if each.rate <= search_together.GRID]
    higher = [each for each in settings if each.rate > search_together.GRID]
    assert f"{search_together.summary(grid)} " in readme
    assert f"{sum(each.is_late for each in higher)} of {len(higher)} settings with rates above" in readme


def test_the_small_search_has_the_settings_of_the_full_one_with_four_times_the_rate() -> None:
    full, small = (load_study(name) for name in (module.SEARCH, module.SMALL_SEARCHES[0]))
    for one, quarter in zip(full.variants, small.variants, strict=True):
        ours, theirs = full.configs[one], small.configs[quarter]
        assert theirs.training.learning_rate == pytest.approx(4 * ours.training.learning_rate)
        kept_alike = ("schedule", "weight_decay", "warmup_factor", "batch_size", "clip_norm", "patience")
        assert all(getattr(ours.training, k) == getattr(theirs.training, k) for k in kept_alike)
        assert ours.model.model_dump(exclude={"d_m", "d_f", "d_k"}) == theirs.model.model_dump(
            exclude={"d_m", "d_f", "d_k"}
        )
        assert theirs.training.epochs == 200


def test_two_sizes_are_compared_where_both_decide(tmp_path: Path) -> None:
    unfitted = (ramp(60), ramp(60), NEVER)
    for activation, full, quarter in (
        ("relu", APART, APART),
        ("gelu", APART, TOGETHER),
    ):
        for study, rate, accuracies in (("search", "5e-5", full), ("search-small", "2e-4", quarter)):
            keep(tmp_path, study, run(*accuracies), variant=f"post-{activation}-constant-{rate}-wd0.01")
    keep(tmp_path, "search", run(*APART), variant="post-relu-constant-2e-4-wd0.01")
    keep(tmp_path, "search-small", run(*unfitted), variant="post-relu-constant-8e-4-wd0.01")
    rows = [line.split(" | ") for line in module.sizes_text(tmp_path).splitlines()[2:]]
    assert rows[:3] == [
        ["| training sums fitted", "3", "2", "0", "1", "0 |"],
        ["| test behind", "0", "0", "0", "0", "0 |"],
        ["| memory delay", "2", "0", "1", "0", "1 |"],
    ]
    assert rows[3][1:] == ["0", "0", "0", "0", "0 |"]


def test_a_folder_without_kept_runs_changes_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked: Any = load_script("marked")
    assert marked.folder_of("", KEPT, []) == KEPT
    for arguments in ([str(tmp_path)], ["--help"], ["--thresh"]):
        with pytest.raises(SystemExit):
            marked.folder_of("", KEPT, arguments)
    assert "holds no kept runs: nothing was written" in capsys.readouterr().err


def test_runs_of_one_setting_are_counted_once_and_lengths_are_told_apart(tmp_path: Path) -> None:
    """One late in both lengths, one in the long run alone, one in time, one open.

    The last three never learn held-out sums.
    """
    short = {"post-relu": APART, "post-gelu": (NEVER, ramp(9.9), NEVER), "none-relu": TOGETHER}
    long = {"post-relu": APART, "post-gelu": APART, "pre-relu": (NEVER, ramp(9.9), NEVER)}
    for study, each in (("search-small-whole", short), ("search-small-long", long)):
        for name, accuracies in each.items():
            keep(tmp_path, study, run(*accuracies), variant=f"{name}-constant-2e-4-wd0.01")
    keep(tmp_path, "search-small", run(*TOGETHER), variant="none-gelu-constant-8e-4-wd1")
    told = search_together.together_text(tmp_path)
    assert "| 0.0002 | 4 | 2 | 1 | 1 | 1 | 3 |\n| all | 4 | 2 | 1 | 1 | 1 | 3 |" in told
    assert told.endswith("Open: `pre-relu-constant-2e-4-wd0.01`.")
    said = search_together.summary(search_together.together(tmp_path))
    assert said.startswith("at 2 of 4 settings memory is")
    assert said.endswith(", and 1 is open")
